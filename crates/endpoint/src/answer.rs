//! Reads answers as they come: which of their events carry content, and what the server says of its tokens.

use crate::{
    HttpError, ResponseDecoder, ServerEvent, SseSplitter, kserve,
    openai::{self, Piece},
    response::Head,
};
use load::{ContentEvent, TokenCounts};
use types::{Protocol, RequestOutcome};

/// The most of a failed answer that is shown.
const SHOWN: usize = 200;

/// An answer that failed, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) outcome: RequestOutcome,
    pub(crate) why: String,
}

impl Failure {
    pub(crate) fn new(outcome: RequestOutcome, why: impl Into<String>) -> Failure {
        Failure { outcome, why: why.into() }
    }

    fn http(error: &HttpError) -> Failure {
        let outcome = match error {
            HttpError::Cut => RequestOutcome::Closed,
            _ => RequestOutcome::Protocol,
        };
        Failure::new(outcome, error.to_string())
    }
}

/// What is kept of an answer.
pub(crate) struct AnswerReader {
    protocol: Protocol,
    streaming: bool,
    most: usize,
    decoder: ResponseDecoder,
    splitter: SseSplitter,
    /// The body where it is read as a whole.
    body: Vec<u8>,
    received: usize,
    events: Vec<ContentEvent>,
    tokens: TokenCounts,
    failure: Option<Failure>,
    /// The server said that the stream is over.
    ended: bool,
}

impl AnswerReader {
    /// A reader of one answer that may have so many bytes.
    pub(crate) fn new(protocol: Protocol, streaming: bool, most: usize) -> AnswerReader {
        AnswerReader {
            protocol,
            streaming,
            most,
            decoder: ResponseDecoder::new(),
            splitter: SseSplitter::new(),
            body: Vec::new(),
            received: 0,
            events: Vec::new(),
            tokens: TokenCounts::default(),
            failure: None,
            ended: false,
        }
    }

    /// Takes bytes that were read at this moment; whether the answer is whole.
    pub(crate) fn feed(&mut self, bytes: &[u8], at: u64) -> Result<bool, Failure> {
        let AnswerReader { decoder, splitter, body, events, tokens, failure, ended, .. } = self;
        let (streaming, most) = (self.streaming, self.most);
        self.received = self.received.saturating_add(bytes.len());
        if self.received > most {
            let why = format!("the answer is larger than {} MiB", most >> 20);
            return Err(Failure::new(RequestOutcome::TooLarge, why));
        }
        let fed = decoder.feed(bytes, &mut |head, part| {
            if !(streaming && head.status == 200 && head.is_events()) {
                body.extend_from_slice(part);
                return;
            }
            let mut hear = |event: &ServerEvent| {
                let heard = hear_event(event, at, events, tokens, ended);
                // The first failure stays.
                *failure = failure.take().or(heard);
            };
            if splitter.feed(part, &mut hear).is_err() {
                let why = "the answer contains an event that never ends";
                failure.get_or_insert_with(|| Failure::new(RequestOutcome::TooLarge, why));
            }
        });
        fed.map_err(|error| Failure::http(&error))?;
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        self.check_head()?;
        Ok(self.decoder.is_done())
    }

    /// What can be told from the head alone: a redirect is not waited for.
    fn check_head(&self) -> Result<(), Failure> {
        let Some(head) = self.decoder.head() else { return Ok(()) };
        if (300..400).contains(&head.status) {
            let to = head.location.as_deref().unwrap_or("nowhere");
            let why = format!(
                "status {}: redirects to `{}`, which is not followed",
                head.status,
                shown(to.as_bytes())
            );
            return Err(Failure::new(RequestOutcome::Redirect, why));
        }
        Ok(())
    }

    /// The connection was closed.
    pub(crate) fn close(&mut self) -> Result<(), Failure> {
        // A server that says that it is done and then hangs up has answered.
        let is_over = self.ended && self.decoder.head().is_some();
        match self.decoder.finish() {
            Err(_) if is_over => Ok(()),
            Err(error) => Err(Failure::http(&error)),
            Ok(()) => Ok(()),
        }
    }

    /// Whether nothing has come yet.
    pub(crate) fn is_untouched(&self) -> bool {
        self.decoder.is_untouched()
    }

    /// Whether the connection can be used again.
    pub(crate) fn keeps_connection(&self) -> bool {
        self.decoder.is_done() && self.decoder.head().is_some_and(|head| head.keep_alive)
    }

    /// The events so far.
    pub(crate) fn take(&mut self) -> (Vec<ContentEvent>, TokenCounts) {
        (std::mem::take(&mut self.events), self.tokens)
    }

    /// The whole answer has come, the last of it at this moment.
    pub(crate) fn conclude(&mut self, at: u64) -> Result<(), Failure> {
        let Some(head) = self.decoder.head().cloned() else {
            return Err(Failure::http(&HttpError::Cut));
        };
        if !(200..300).contains(&head.status) {
            let said = openai::error_of(&self.body).unwrap_or_else(|| shown(&self.body));
            let said = if said.is_empty() { String::new() } else { format!(": {said}") };
            return Err(Failure::new(
                RequestOutcome::Status,
                format!("status {}{said}", head.status),
            ));
        }
        if self.streaming && head.is_events() {
            return match self.ended || !self.events.is_empty() {
                true => Ok(()),
                false => Err(Failure::new(
                    RequestOutcome::Protocol,
                    "the stream has no event with an answer",
                )),
            };
        }
        self.conclude_whole(&head, at)
    }

    fn conclude_whole(&mut self, head: &Head, at: u64) -> Result<(), Failure> {
        let protocol = |why: String| Failure::new(RequestOutcome::Protocol, why);
        match self.protocol {
            Protocol::OpenaiChat | Protocol::OpenaiCompletions => {
                let whole = openai::whole(&self.body).map_err(|why| self.unlike(head, &why))?;
                if let Some(error) = whole.error {
                    return Err(Failure::new(RequestOutcome::Server, error));
                }
                if self.streaming {
                    return Err(self.unlike(head, "it is not a stream of events"));
                }
                self.tokens = whole.tokens;
                self.events.push(ContentEvent { at, visible: true, size: whole.size });
                Ok(())
            }
            Protocol::KserveJson | Protocol::KserveBinary => {
                kserve::check_answer(head, &self.body).map_err(protocol)?;
                self.events.push(ContentEvent { at, visible: true, size: 0 });
                Ok(())
            }
            Protocol::Http | Protocol::InProcess => {
                self.events.push(ContentEvent { at, visible: true, size: 0 });
                Ok(())
            }
        }
    }

    fn unlike(&self, head: &Head, why: &str) -> Failure {
        let kind = match head.content_type.as_str() {
            "" => "no type".to_owned(),
            kind => format!("`{}`", shown(kind.as_bytes())),
        };
        Failure::new(
            RequestOutcome::Protocol,
            format!("the answer ({kind}) is not that of {}: {why}", self.protocol),
        )
    }
}

/// Hears one event; a failure if the server reports one.
fn hear_event(
    event: &ServerEvent,
    at: u64,
    events: &mut Vec<ContentEvent>,
    tokens: &mut TokenCounts,
    ended: &mut bool,
) -> Option<Failure> {
    if event.data == b"[DONE]" {
        *ended = true;
        return None;
    }
    match openai::piece(&event.data) {
        Ok(Piece { error: Some(error), .. }) => Some(Failure::new(RequestOutcome::Server, error)),
        Ok(piece) => {
            *ended |= piece.finished;
            if let Some(counts) = piece.tokens {
                *tokens = counts;
            }
            if piece.size > 0 {
                events.push(ContentEvent { at, visible: piece.visible, size: piece.size });
            }
            None
        }
        Err(why) => Some(Failure::new(
            RequestOutcome::Protocol,
            format!(
                "an event is not JSON as OpenAI has it: {why}; it begins with `{}`",
                shown(&event.data)
            ),
        )),
    }
}

/// The beginning of something that a server said, on one line.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * SHOWN)]);
    let words: Vec<&str> = text.split(|c: char| c.is_whitespace() || c.is_control()).collect();
    let line = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
