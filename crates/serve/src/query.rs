//! What stands behind the question mark of an address: the state of a view.

use std::fmt::Write;

/// More than this is no state of a view, in pairs.
const MOST: usize = 256;

/// Names and values, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(text: &str) -> Query {
        let pair = |part: &str| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            (decoded(&name.replace('+', " ")), decoded(&value.replace('+', " ")))
        };
        Query(text.split('&').filter(|part| !part.is_empty()).take(MOST).map(pair).collect())
    }

    /// The value of this name; one that is empty is none.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let named = self.0.iter().find(|(known, value)| known == name && !value.trim().is_empty());
        named.map(|(_, value)| value.trim())
    }

    /// Every value of this name.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = self.0.iter().filter(move |(known, _)| known == name);
        named.map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
    }

    /// The same with another value, or without one.
    pub(crate) fn with(&self, name: &str, value: Option<String>) -> Query {
        let mut pairs: Vec<(String, String)> =
            self.0.iter().filter(|(known, _)| known != name).cloned().collect();
        pairs.extend(value.map(|value| (name.to_owned(), value)));
        Query(pairs)
    }

    /// As it stands in an address, with the question mark where there is anything.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for (name, value) in self.0.iter().filter(|(_, value)| !value.is_empty()) {
            let mark = if text.is_empty() { '?' } else { '&' };
            let _ = write!(text, "{mark}{}={}", encoded(name), encoded(value));
        }
        text
    }
}

/// Text for a part of an address.
pub(crate) fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

/// A part of an address as text; what is no text becomes signs that stand for nothing.
pub(crate) fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let pair = bytes.get(at + 1..at + 3).and_then(|pair| std::str::from_utf8(pair).ok());
        let byte = pair.and_then(|pair| u8::from_str_radix(pair, 16).ok());
        match (bytes[at], byte) {
            (b'%', Some(byte)) => {
                out.push(byte);
                at += 3;
            }
            (byte, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_survives_its_text() {
        let query = Query::parse("?model=a%20b%26c&run=1&run=2&empty=&x".trim_start_matches('?'));
        assert_eq!(query.get("model"), Some("a b&c"));
        assert_eq!(query.all("run").collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!(query.get("empty"), None);
        assert_eq!(query.text(), "?model=a%20b%26c&run=1&run=2");
        assert_eq!(Query::parse(&query.text()[1..]).text(), query.text());
        assert_eq!(
            query.with("run", None).with("offset", Some("5".into())).text(),
            "?model=a%20b%26c&offset=5"
        );
    }

    #[test]
    fn what_is_no_text_harms_nobody() {
        assert_eq!(decoded("%"), "%");
        assert_eq!(decoded("%zz%4"), "%zz%4");
        assert_eq!(decoded("%ff"), "\u{fffd}");
        assert_eq!(encoded("<ü>"), "%3C%C3%BC%3E");
    }
}
