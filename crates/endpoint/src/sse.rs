//! Server-sent events out of bytes that come in any pieces.
//!
//! As the standard has it: lines end with LF, CRLF or CR; a line that begins with a colon is a comment; several `data` lines
//! are one text; an empty line ends an event. Bytes are kept until a line is whole, so a character that was cut in two is
//! whole again before anybody reads it.

/// One event of a server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerEvent {
    /// Its kind; empty if none was named.
    pub kind: String,
    /// Its data, as bytes: usually JSON, or `[DONE]`.
    pub data: Vec<u8>,
}

/// An event that is longer than anybody can mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event is longer than {} MiB", LONGEST >> 20)]
pub struct EventTooLong;

/// The longest event.
const LONGEST: usize = 16 << 20;

/// Splits bytes into events.
#[derive(Debug, Default)]
pub struct SseSplitter {
    line: Vec<u8>,
    event: ServerEvent,
    has_data: bool,
    /// The last byte was a CR: an LF now belongs to the same end of a line.
    after_cr: bool,
    /// Bytes so far, until the first line is whole: a byte order mark may stand before it.
    begun: bool,
}

impl SseSplitter {
    /// A splitter at the start of a stream.
    #[must_use]
    pub fn new() -> SseSplitter {
        SseSplitter::default()
    }

    /// Takes the next bytes and hands on every event that is whole now.
    ///
    /// # Errors
    /// Where an event never ends.
    pub fn feed(
        &mut self,
        mut bytes: &[u8],
        hear: &mut dyn FnMut(&ServerEvent),
    ) -> Result<(), EventTooLong> {
        while let Some(first) = bytes.first() {
            if std::mem::take(&mut self.after_cr) && *first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (part, rest) = match end {
                Some(end) => (&bytes[..end], &bytes[end + 1..]),
                None => (bytes, &bytes[bytes.len()..]),
            };
            if self.line.len() + part.len() + self.event.data.len() > LONGEST {
                return Err(EventTooLong);
            }
            self.line.extend_from_slice(part);
            if let Some(end) = end {
                self.after_cr = bytes[end] == b'\r';
                self.end_line(hear);
            }
            bytes = rest;
        }
        Ok(())
    }

    fn end_line(&mut self, hear: &mut dyn FnMut(&ServerEvent)) {
        let mut line = std::mem::take(&mut self.line);
        if !std::mem::replace(&mut self.begun, true) && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        if line.is_empty() {
            if std::mem::take(&mut self.has_data) {
                hear(&self.event);
            }
            self.event.kind.clear();
            self.event.data.clear();
        } else {
            self.field(&line);
        }
        // Its room is used again.
        line.clear();
        self.line = line;
    }

    fn field(&mut self, line: &[u8]) {
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &line[..colon] {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push(b'\n');
                }
                self.event.data.extend_from_slice(value);
            }
            b"event" => self.event.kind = String::from_utf8_lossy(value).into_owned(),
            // Comments, ids, the time to wait before asking again.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The data of every event, with the bytes cut at these places.
    fn events(parts: &[&[u8]]) -> Vec<String> {
        let mut splitter = SseSplitter::new();
        let mut all = Vec::new();
        for part in parts {
            let mut hear =
                |event: &ServerEvent| all.push(String::from_utf8(event.data.clone()).unwrap());
            splitter.feed(part, &mut hear).unwrap();
        }
        all
    }

    const STREAM: &[u8] = "\u{feff}: a comment\r\ndata: {\"a\":\"grün\"}\r\n\r\ndata:two\rdata:  lines\r\revent: error\n\
        data: x\nid: 7\nretry: 10\nnonsense\n\n\n\ndata\n\ndata: [DONE]\n\ndata: never ended"
        .as_bytes();

    fn expected() -> Vec<String> {
        ["{\"a\":\"grün\"}", "two\n lines", "x", "", "[DONE]"].map(String::from).to_vec()
    }

    #[test]
    fn every_end_of_a_line_and_every_field_is_understood() {
        assert_eq!(events(&[STREAM]), expected());
    }

    #[test]
    fn a_stream_cut_anywhere_is_the_same_stream() {
        for place in 0..STREAM.len() {
            let (one, two) = STREAM.split_at(place);
            assert_eq!(events(&[one, two]), expected(), "cut at {place}");
        }
        let single: Vec<&[u8]> = STREAM.chunks(1).collect();
        assert_eq!(events(&single), expected());
    }

    #[test]
    fn kinds_belong_to_their_event_alone() {
        let mut splitter = SseSplitter::new();
        let mut kinds = Vec::new();
        let bytes = b"event: error\ndata: a\n\ndata: b\n\n";
        splitter.feed(bytes, &mut |event| kinds.push(event.kind.clone())).unwrap();
        assert_eq!(kinds, ["error", ""]);
    }

    #[test]
    fn an_event_that_never_ends_does_not_fill_the_memory() {
        let mut splitter = SseSplitter::new();
        let part = vec![b'x'; 1 << 20];
        let refused = (0..20).any(|_| splitter.feed(&part, &mut |_| {}).is_err());
        assert!(refused);
    }
}
