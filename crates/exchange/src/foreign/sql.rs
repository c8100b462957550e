//! The one statement of SQL that llama-bench prints: `INSERT INTO llama_bench (…) VALUES (…);`.

use serde_json::{Map, Value};

/// Every statement with its line: the record, or what is wrong with it.
pub(crate) fn inserts(
    text: &str,
) -> impl Iterator<Item = (u64, Result<Map<String, Value>, String>)> {
    text.lines().enumerate().filter_map(|(at, line)| {
        let rest = strip(line.trim_start(), "INSERT INTO")?;
        Some((at as u64 + 1, record(rest)))
    })
}

fn record(rest: &str) -> Result<Map<String, Value>, String> {
    let rest =
        strip(rest.trim_start(), "llama_bench").ok_or("is not about the table `llama_bench`")?;
    let (names, rest) = parenthesis(rest)?;
    let rest = strip(rest.trim_start(), "VALUES").ok_or("has no `VALUES`")?;
    let (values, _) = parenthesis(rest)?;
    if names.len() != values.len() {
        return Err(format!("has {} columns and {} values", names.len(), values.len()));
    }
    Ok(names.into_iter().zip(values.into_iter().map(Value::String)).collect())
}

fn strip<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let head = text.get(..word.len())?;
    head.eq_ignore_ascii_case(word).then(|| &text[word.len()..])
}

/// The items between parentheses, and what follows.
fn parenthesis(text: &str) -> Result<(Vec<String>, &str), String> {
    let mut rest = text.trim_start().strip_prefix('(').ok_or("lacks a `(`")?;
    let mut items = Vec::new();
    loop {
        rest = rest.trim_start();
        let item = match rest.strip_prefix('\'') {
            Some(quoted) => {
                let (item, after) = string(quoted)?;
                rest = after;
                item
            }
            None => {
                let end = rest.find([',', ')']).ok_or("ends too early: lacks a `)`")?;
                let item = rest[..end].trim().to_owned();
                rest = &rest[end..];
                item
            }
        };
        items.push(item);
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix(',') {
            rest = after;
        } else if let Some(after) = rest.strip_prefix(')') {
            return Ok((items, after));
        } else {
            return Err("ends too early: lacks a `)`".into());
        }
    }
}

/// A text between apostrophes. llama-bench does not double those inside, so one ends the text only before `,` or `)`.
fn string(text: &str) -> Result<(String, &str), String> {
    let mut item = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\'') {
        item.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        if after.trim_start().starts_with([',', ')']) {
            return Ok((item, after));
        }
        item.push('\'');
        rest = after.strip_prefix('\'').unwrap_or(after);
    }
    Err("ends in the middle of a string".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apostrophes_inside_are_kept_doubled_or_not() {
        let line = "INSERT INTO llama_bench (a, b, c, d) VALUES ('it''s', 'it's', '', 5);";
        let (number, record) = inserts(line).next().unwrap();
        let record = record.unwrap();
        assert_eq!(number, 1);
        assert_eq!(record["a"], "it's");
        assert_eq!(record["b"], "it's");
        assert_eq!(record["c"], "");
        assert_eq!(record["d"], "5");
    }

    #[test]
    fn a_statement_that_ends_too_early_is_named() {
        let (_, record) = inserts("INSERT INTO llama_bench (a) VALUES ('x").next().unwrap();
        assert!(record.unwrap_err().contains("middle of a string"));
        let (_, record) = inserts("INSERT INTO llama_bench (a, b) VALUES ('x');").next().unwrap();
        assert_eq!(record.unwrap_err(), "has 2 columns and 1 values");
    }
}
