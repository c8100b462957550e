//! An answer of HTTP/1.1 out of bytes that come in any pieces.

/// An answer that is not HTTP/1.1 as we understand it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    /// The head cannot be read.
    #[error("the answer is not HTTP: {0}")]
    Head(String),
    /// The head never ends.
    #[error("the head of the answer is longer than {} KiB", LONGEST_HEAD >> 10)]
    HeadTooLong,
    /// A chunk cannot be read.
    #[error("the answer is cut into chunks that cannot be read")]
    Chunk,
    /// The connection ended before the answer did.
    #[error("the connection was closed in the middle of the answer")]
    Cut,
}

/// The longest head of an answer.
const LONGEST_HEAD: usize = 64 << 10;
/// The most lines in it.
const LINES: usize = 100;
/// The longest line that says how long a chunk is, or stands behind the last one.
const LONGEST_LINE: usize = 4096;

/// What stands in the head of an answer, as far as anybody here asks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Head {
    /// 200, 404.
    pub status: u16,
    /// What its body is: `text/event-stream`; empty if it is not said.
    pub content_type: String,
    /// Where it redirects to.
    pub location: Option<String>,
    /// The length of the JSON before binary tensors.
    pub inference_header: Option<usize>,
    /// Whether the connection can be used again.
    pub keep_alive: bool,
    length: Length,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Length {
    /// Until the connection is closed.
    #[default]
    Open,
    Known(u64),
    Chunked,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Head,
    Known(u64),
    Open,
    ChunkSize,
    ChunkData(u64),
    ChunkEnd,
    Trailer,
    Done,
}

/// Takes an answer apart.
#[derive(Debug)]
pub struct ResponseDecoder {
    state: State,
    /// Bytes of the head, or of a line.
    kept: Vec<u8>,
    head: Option<Head>,
}

impl Default for ResponseDecoder {
    fn default() -> ResponseDecoder {
        ResponseDecoder { state: State::Head, kept: Vec::new(), head: None }
    }
}

impl ResponseDecoder {
    /// A decoder at the start of an answer.
    #[must_use]
    pub fn new() -> ResponseDecoder {
        ResponseDecoder::default()
    }

    /// The head, once it is whole.
    #[must_use]
    pub fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    /// Whether the answer is whole.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Whether nothing of the answer has come.
    #[must_use]
    pub fn is_untouched(&self) -> bool {
        self.state == State::Head && self.kept.is_empty()
    }

    /// Takes the next bytes and hands on what belongs to the body. What comes after the end of the answer is left out; the
    /// connection is then not used again.
    ///
    /// # Errors
    /// Where the bytes are no answer.
    pub fn feed(
        &mut self,
        mut bytes: &[u8],
        hear: &mut dyn FnMut(&Head, &[u8]),
    ) -> Result<(), HttpError> {
        while !bytes.is_empty() {
            match self.state.clone() {
                State::Head => bytes = self.take_head(bytes)?,
                State::Known(left) | State::ChunkData(left) => {
                    let most = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
                    let (part, rest) = bytes.split_at(most);
                    self.hand_on(part, hear);
                    let left = left - most as u64;
                    self.state = match (&self.state, left) {
                        (State::Known(_), 0) => State::Done,
                        (State::Known(_), _) => State::Known(left),
                        (_, 0) => State::ChunkEnd,
                        _ => State::ChunkData(left),
                    };
                    bytes = rest;
                }
                State::Open => {
                    self.hand_on(bytes, hear);
                    bytes = &[];
                }
                State::ChunkSize | State::ChunkEnd | State::Trailer => {
                    bytes = self.take_line(bytes)?
                }
                State::Done => {
                    if let Some(head) = &mut self.head {
                        head.keep_alive = false;
                    }
                    bytes = &[];
                }
            }
        }
        Ok(())
    }

    /// The connection was closed.
    ///
    /// # Errors
    /// Where the answer is not whole.
    pub fn finish(&mut self) -> Result<(), HttpError> {
        match self.state {
            State::Done => Ok(()),
            State::Open => {
                self.state = State::Done;
                Ok(())
            }
            _ => Err(HttpError::Cut),
        }
    }

    fn hand_on(&self, part: &[u8], hear: &mut dyn FnMut(&Head, &[u8])) {
        if let Some(head) = self.head.as_ref().filter(|_| !part.is_empty()) {
            hear(head, part);
        }
    }

    fn take_head<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], HttpError> {
        let before = self.kept.len();
        let room = (LONGEST_HEAD + 1).saturating_sub(before).min(bytes.len());
        self.kept.extend_from_slice(&bytes[..room]);
        let mut lines = [httparse::EMPTY_HEADER; LINES];
        let mut parsed = httparse::Response::new(&mut lines);
        let status =
            parsed.parse(&self.kept).map_err(|error| HttpError::Head(error.to_string()))?;
        let httparse::Status::Complete(length) = status else {
            return match self.kept.len() > LONGEST_HEAD {
                true => Err(HttpError::HeadTooLong),
                false => Ok(&bytes[room..]),
            };
        };
        let head = Head::of(&parsed)?;
        self.kept.clear();
        let rest = &bytes[length - before..];
        // 100 and 103 come before the real answer.
        if (100..200).contains(&head.status) && head.status != 101 {
            return Ok(rest);
        }
        let has_no_body = matches!(head.status, 101 | 204 | 304);
        self.state = match head.length {
            _ if has_no_body => State::Done,
            Length::Known(0) => State::Done,
            Length::Known(length) => State::Known(length),
            Length::Chunked => State::ChunkSize,
            Length::Open => State::Open,
        };
        self.head = Some(head);
        Ok(rest)
    }

    /// A line of its own between chunks, or behind the last one.
    fn take_line<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], HttpError> {
        let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
            self.kept.extend_from_slice(bytes);
            let is_long = self.kept.len() > LONGEST_LINE;
            return if is_long { Err(HttpError::Chunk) } else { Ok(&[]) };
        };
        self.kept.extend_from_slice(&bytes[..end]);
        if self.kept.len() > LONGEST_LINE {
            return Err(HttpError::Chunk);
        }
        let line = self.kept.strip_suffix(b"\r").unwrap_or(&self.kept);
        self.state = match self.state {
            State::ChunkSize => match chunk_size(line)? {
                0 => State::Trailer,
                size => State::ChunkData(size),
            },
            State::ChunkEnd if line.is_empty() => State::ChunkSize,
            State::Trailer if line.is_empty() => State::Done,
            State::Trailer => State::Trailer,
            _ => return Err(HttpError::Chunk),
        };
        self.kept.clear();
        Ok(&bytes[end + 1..])
    }
}

/// `1a;name=value`
fn chunk_size(line: &[u8]) -> Result<u64, HttpError> {
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    // A sign would be read as a number too.
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_hexdigit) {
        return Err(HttpError::Chunk);
    }
    let text = std::str::from_utf8(digits).map_err(|_| HttpError::Chunk)?;
    u64::from_str_radix(text, 16).map_err(|_| HttpError::Chunk)
}

impl Head {
    fn of(parsed: &httparse::Response<'_, '_>) -> Result<Head, HttpError> {
        let wrong = |why: &str| HttpError::Head(why.to_owned());
        let mut head = Head {
            status: parsed.code.unwrap_or_default(),
            // HTTP/1.0 closes unless it says otherwise.
            keep_alive: parsed.version == Some(1),
            ..Head::default()
        };
        for line in parsed.headers.iter() {
            let value = String::from_utf8_lossy(line.value).trim().to_owned();
            match line.name.to_ascii_lowercase().as_str() {
                "content-type" => head.content_type = value.to_ascii_lowercase(),
                "location" => head.location = Some(value),
                "inference-header-content-length" => head.inference_header = value.parse().ok(),
                "content-length" if head.length != Length::Chunked => {
                    let length = value.parse().map_err(|_| wrong("its length is not a number"))?;
                    if matches!(head.length, Length::Known(other) if other != length) {
                        return Err(wrong("it has two lengths"));
                    }
                    head.length = Length::Known(length);
                }
                "transfer-encoding" => {
                    if !value.eq_ignore_ascii_case("chunked") {
                        return Err(wrong("its transfer encoding is not known"));
                    }
                    head.length = Length::Chunked;
                }
                "connection" => {
                    let has = |word: &str| {
                        value.split(',').any(|one| one.trim().eq_ignore_ascii_case(word))
                    };
                    head.keep_alive = (head.keep_alive || has("keep-alive")) && !has("close");
                }
                "content-encoding" if !value.eq_ignore_ascii_case("identity") => {
                    return Err(wrong("it is compressed, which was not asked for"));
                }
                _ => {}
            }
        }
        if head.length == Length::Open {
            head.keep_alive = false;
        }
        Ok(head)
    }

    /// Whether its body is a stream of events.
    #[must_use]
    pub fn is_events(&self) -> bool {
        self.content_type.starts_with("text/event-stream")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(parts: &[&[u8]]) -> Result<(Head, Vec<u8>, bool), HttpError> {
        let mut decoder = ResponseDecoder::new();
        let mut body = Vec::new();
        for part in parts {
            decoder.feed(part, &mut |_, bytes| body.extend_from_slice(bytes))?;
        }
        let done = decoder.is_done();
        decoder.finish()?;
        Ok((decoder.head().cloned().unwrap_or_default(), body, done))
    }

    const CHUNKED: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream; charset=utf-8\r\n\
        Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;ext=1\r\n world\r\n0\r\nx-sum: 1\r\n\r\n";

    #[test]
    fn an_answer_cut_anywhere_is_the_same_answer() {
        for place in 0..=CHUNKED.len() {
            let (one, two) = CHUNKED.split_at(place);
            let (head, body, done) = decode(&[one, two]).unwrap();
            assert!(done && head.is_events() && head.keep_alive, "cut at {place}");
            assert_eq!(body, b"hello world", "cut at {place}");
        }
        let single: Vec<&[u8]> = CHUNKED.chunks(1).collect();
        assert_eq!(decode(&single).unwrap().1, b"hello world");
    }

    #[test]
    fn a_length_a_close_and_no_body_end_an_answer() {
        let known = decode(&[b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"]).unwrap();
        assert_eq!((known.1.as_slice(), known.2, known.0.keep_alive), (&b"ok"[..], true, true));
        let open = decode(&[b"HTTP/1.0 200 OK\r\n\r\nall of it"]).unwrap();
        assert_eq!(
            (open.1.as_slice(), open.2, open.0.keep_alive),
            (&b"all of it"[..], false, false)
        );
        let none = decode(&[b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n"]).unwrap();
        assert!(none.2 && !none.0.keep_alive);
        let zero = decode(&[b"HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n"]).unwrap();
        assert_eq!((zero.0.status, zero.2), (500, true));
    }

    #[test]
    fn what_is_cut_or_broken_is_an_error() {
        let cut: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhel";
        assert_eq!(decode(&[cut]).unwrap_err(), HttpError::Cut);
        assert_eq!(decode(&[b""]).unwrap_err(), HttpError::Cut);
        for broken in [
            &b"SSH-2.0-OpenSSH\r\n\r\n"[..],
            b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n+5\r\nhello\r\n",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhelloX\r\n",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
        ] {
            assert!(decode(&[broken]).is_err(), "{}", String::from_utf8_lossy(broken));
        }
    }

    #[test]
    fn a_head_that_never_ends_does_not_fill_the_memory() {
        let mut decoder = ResponseDecoder::new();
        decoder.feed(b"HTTP/1.1 200 OK\r\nx: ", &mut |_, _| {}).unwrap();
        let part = [b'x'; 4096];
        let refused = (0..40).find_map(|_| decoder.feed(&part, &mut |_, _| {}).err());
        assert_eq!(refused, Some(HttpError::HeadTooLong));
    }

    #[test]
    fn what_follows_an_answer_makes_its_connection_useless() {
        let (head, body, _) =
            decode(&[b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok and more"]).unwrap();
        assert_eq!(body, b"ok");
        assert!(!head.keep_alive);
    }
}
