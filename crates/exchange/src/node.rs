//! A look into a JSON value that knows where it is, so that every complaint names its field.

use crate::{Problem, weighed::Weighed};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::Value;
use std::fmt;

/// A value and its path in the file.
#[derive(Debug, Clone)]
pub(crate) struct Node<'a> {
    pub(crate) value: &'a Value,
    pub(crate) path: String,
}

type Found<T> = Result<T, Problem>;

impl<'a> Node<'a> {
    /// The top of a file, or a record of it under this path.
    pub(crate) fn new(value: &'a Value, path: impl Into<String>) -> Node<'a> {
        Node { value, path: path.into() }
    }

    fn below(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// The field, unless it is missing or null.
    pub(crate) fn maybe(&self, key: &str) -> Option<Node<'a>> {
        let value = self.value.get(key).filter(|value| !value.is_null())?;
        Some(Node::new(value, self.below(key)))
    }

    /// The field, which must be there.
    pub(crate) fn need(&self, key: &str) -> Found<Node<'a>> {
        self.maybe(key).ok_or_else(|| {
            let what = match self.value.get(key) {
                Some(_) => "is null, or was not a number",
                None => "is missing",
            };
            Problem::field(self.below(key), what)
        })
    }

    /// What it holds, as a list.
    pub(crate) fn list(&self) -> Found<Vec<Node<'a>>> {
        let items = self.value.as_array().ok_or_else(|| self.wrong("a list"))?;
        let node = |(at, value)| Node::new(value, format!("{}[{at}]", self.path));
        Ok(items.iter().enumerate().map(node).collect())
    }

    /// A finite number; text that is one will do, since SQL and CSV give text.
    pub(crate) fn number(&self) -> Found<f64> {
        let number = match self.value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        let number = number.ok_or_else(|| self.wrong("a number"))?;
        if number.is_finite() { Ok(number) } else { Err(self.wrong("a finite number")) }
    }

    /// A number that is not negative.
    pub(crate) fn amount(&self) -> Found<f64> {
        let number = self.number()?;
        if number >= 0.0 {
            Ok(number)
        } else {
            Err(self.complain(format!("is negative ({number})")))
        }
    }

    /// A time above nothing, in seconds, from a number in the given share of a second.
    pub(crate) fn seconds(&self, unit: f64) -> Found<f64> {
        let number = self.amount()?;
        if number > 0.0 {
            Ok(number * unit)
        } else {
            Err(self.complain("is 0, which is not a valid time"))
        }
    }

    /// A count.
    pub(crate) fn whole(&self) -> Found<u64> {
        let number = self.amount()?;
        if number.fract() == 0.0 && number <= 9e15 {
            Ok(number as u64)
        } else {
            Err(self.wrong("a whole number"))
        }
    }

    /// Text; a number is put into digits.
    pub(crate) fn text(&self) -> Found<String> {
        match self.value {
            Value::String(text) => Ok(text.trim().to_owned()),
            Value::Number(number) => Ok(number.to_string()),
            Value::Bool(flag) => Ok(flag.to_string()),
            _ => Err(self.wrong("text")),
        }
    }

    /// The text of a field that may be missing or of another kind.
    pub(crate) fn text_of(&self, key: &str) -> Option<String> {
        self.maybe(key)?.text().ok().filter(|text| !text.is_empty())
    }

    /// The count in a field that may be missing; a complaint where it is there and no count.
    pub(crate) fn whole_of(&self, key: &str) -> Found<Option<u64>> {
        self.maybe(key).map(|node| node.whole()).transpose()
    }

    /// The amount in a field that may be missing; a complaint where it is there and no amount.
    pub(crate) fn amount_of(&self, key: &str) -> Found<Option<f64>> {
        self.maybe(key).map(|node| node.amount()).transpose()
    }

    fn wrong(&self, wanted: &str) -> Problem {
        let mut shown = self.value.to_string();
        if shown.chars().count() > 40 {
            shown = shown.chars().take(40).chain(['…']).collect();
        }
        self.complain(format!("is `{shown}`, not {wanted}"))
    }

    /// A complaint about this field.
    pub(crate) fn complain(&self, what: impl Into<String>) -> Problem {
        Problem::field(self.path.clone(), what)
    }
}

/// JSON as Python writes it: `NaN` and `Infinity` become null, so that the field can be named that holds them.
pub(crate) fn parse(text: &str) -> Result<Value, Problem> {
    tolerant(text, |text| {
        let mut reader = serde_json::Deserializer::from_str(text);
        let value = Weighed::new().deserialize(&mut reader)?;
        reader.end().map(|()| value)
    })
}

/// The records of a list, each of which is gone before the next one comes; `false` ends it.
pub(crate) fn each(
    text: &str,
    mut record: impl FnMut(usize, Value) -> bool,
) -> Result<(), Problem> {
    let mut next = 0;
    tolerant(text, |text| {
        let mut at = 0;
        let mut one = |value: Value| {
            at += 1;
            // The second time, without Python's numbers, goes on where the first ended.
            if at <= next {
                return true;
            }
            next = at;
            record(at - 1, value)
        };
        let mut reader = serde_json::Deserializer::from_str(text);
        reader.deserialize_seq(Each(&mut one))?;
        reader.end()
    })
}

/// Reads text; where that fails because of Python's numbers, reads it again without them.
fn tolerant<T>(
    text: &str,
    mut read: impl FnMut(&str) -> Result<T, serde_json::Error>,
) -> Result<T, Problem> {
    read(text).or_else(|error| {
        if !text.contains("NaN") && !text.contains("Infinity") {
            return Err(Problem::json(&error));
        }
        read(&without_python_numbers(text)).map_err(|error| Problem::json(&error))
    })
}

/// Hands over the elements of a list one by one.
struct Each<'f>(&'f mut dyn FnMut(Value) -> bool);

impl<'de> Visitor<'de> for Each<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(value) = list.next_element_seed(Weighed::new())? {
            if !(self.0)(value) {
                while list.next_element::<IgnoredAny>()?.is_some() {}
                break;
            }
        }
        Ok(())
    }
}

/// Replaces what Python writes for numbers that are none; places stay where they were.
fn without_python_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut quoted, mut escaped) = (text, false, false);
    while let Some(character) = rest.chars().next() {
        let word = ["-Infinity", "Infinity", "NaN"]
            .into_iter()
            .find(|word| !quoted && rest.starts_with(word));
        if let Some(word) = word {
            out.push_str(&format!("{:<width$}", "null", width = word.len()));
            rest = &rest[word.len()..];
            continue;
        }
        match character {
            '"' if !escaped => quoted = !quoted,
            _ => {}
        }
        escaped = quoted && character == '\\' && !escaped;
        out.push(character);
        rest = &rest[character.len_utf8()..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_names_the_field_and_what_stands_there() {
        let value = parse(r#"{"a": {"b": [1, "x", -2, NaN]}, "c": "NaN, \"NaN"}"#).unwrap();
        let top = Node::new(&value, "");
        let list = top.need("a").unwrap().need("b").unwrap().list().unwrap();
        assert_eq!(list[0].number(), Ok(1.0));
        assert_eq!(list[1].number().unwrap_err().to_string(), "`a.b[1]`: is `\"x\"`, not a number");
        assert_eq!(list[2].amount().unwrap_err().to_string(), "`a.b[2]`: is negative (-2)");
        assert!(list[3].number().is_err());
        assert_eq!(top.text_of("c").unwrap(), "NaN, \"NaN");
        assert_eq!(top.need("d").unwrap_err().to_string(), "`d`: is missing");
    }

    #[test]
    fn records_come_one_by_one_and_each_once() {
        let mut seen = Vec::new();
        let text = r#"[1, {"a": NaN}, "x"]"#;
        each(text, |at, value| {
            seen.push((at, value.to_string()));
            true
        })
        .unwrap();
        let wanted = [(0, "1"), (1, r#"{"a":null}"#), (2, "\"x\"")];
        assert_eq!(seen, wanted.map(|(at, text)| (at, text.to_owned())));
        assert!(each("[1, 2] 3", |_, _| true).unwrap_err().to_string().contains("trailing"));
        assert!(each("[1, 2", |_, _| true).unwrap_err().to_string().contains("ends too early"));
        assert!(each("{}", |_, _| true).unwrap_err().to_string().contains("expected a list"));
    }

    #[test]
    fn a_truncated_file_says_where_it_ends() {
        let problem = parse("{\n \"a\": [1,").unwrap_err();
        assert_eq!(
            problem.to_string(),
            "line 2, column 9: the file ends too early (EOF while parsing a value)"
        );
    }
}
