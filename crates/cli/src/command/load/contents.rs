//! What is sent, out of files and arguments.

use crate::{
    Exit, Failure,
    arguments::{LoadArguments, LoadTo},
};
use endpoint::{Bodies, Prompts};
use serde_json::{Map, Value};
use std::path::Path;
use types::Protocol;

/// The most bytes of a file of prompts, a body or a trace.
const MOST: u64 = 256 << 20;

/// Open dimensions of KServe inputs where nobody gives any.
const SEQUENCE_LENGTH: usize = 128;

/// The bodies of all requests. Which kind follows from the protocol, or from what was given.
pub(super) fn bodies(arguments: &LoadArguments) -> Result<Bodies, Failure> {
    let is_tensors = matches!(
        arguments.server.protocol,
        Some(Protocol::KserveJson | Protocol::KserveBinary)
    ) || matches!(&arguments.target, LoadTo::Server(address) if address.bare_path().contains("/v2"))
        || !arguments.shape.is_empty();
    if arguments.server.protocol == Some(Protocol::Http) {
        let body = match &arguments.body {
            Some(path) => read(path)?,
            None => Vec::new(),
        };
        return Ok(Bodies::Bytes { body, content_type: arguments.content_type.clone() });
    }
    if arguments.body.is_some() {
        return Err(
            Failure::new(Exit::Wrong, "`--body` is for plain HTTP").hint("add `--protocol http`")
        );
    }
    if is_tensors {
        return Ok(Bodies::Tensors {
            shapes: arguments.shape.clone(),
            batch: arguments.batch_size,
            length: arguments.sequence_length.unwrap_or(SEQUENCE_LENGTH),
        });
    }
    let prompts = match &arguments.prompts {
        Some(path) => Prompts::Given(prompts(path)?),
        None => Prompts::Random(arguments.prompt),
    };
    let extra = match &arguments.extra {
        Some(text) => extra(text)?,
        None => Map::new(),
    };
    Ok(Bodies::Prompts { prompts, tokens: arguments.new_tokens, extra })
}

fn extra(text: &str) -> Result<Map<String, Value>, Failure> {
    serde_json::from_str(text).map_err(|error| {
        Failure::new(Exit::Wrong, "`--extra` is not an object of JSON")
            .cause(error.to_string())
            .hint("such as `--extra '{\"temperature\":0}'`")
    })
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let failed = |error: std::io::Error| {
        let text = format!("could not read `{}`", path.display());
        Failure::new(Exit::Wrong, text).cause(error.to_string())
    };
    let length = std::fs::metadata(path).map_err(failed)?.len();
    if length > MOST {
        let text = format!("`{}` is larger than {} MiB", path.display(), MOST >> 20);
        return Err(Failure::new(Exit::Wrong, text));
    }
    std::fs::read(path).map_err(failed)
}

/// One text a line, or JSON: texts, objects with a text, or conversations as ShareGPT has them (the first turn of each).
fn prompts(path: &Path) -> Result<Vec<String>, Failure> {
    let bytes = read(path)?;
    let text = String::from_utf8(bytes).map_err(|_| {
        Failure::new(Exit::Wrong, format!("`{}` is not text in UTF-8", path.display()))
    })?;
    let found = match serde_json::from_str::<Value>(&text) {
        Ok(Value::Array(entries)) => entries.iter().filter_map(prompt).collect(),
        _ => lines(&text),
    };
    if found.is_empty() {
        let text = format!("`{}` has no prompts", path.display());
        return Err(Failure::new(Exit::Wrong, text).hint(
            "write one prompt a line, a JSON list of texts, or conversations as ShareGPT has them",
        ));
    }
    Ok(found)
}

/// A line is a text, or an object of JSON with one.
fn lines(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let of = |line: &str| match serde_json::from_str::<Value>(line) {
        Ok(entry @ Value::Object(_)) => prompt(&entry),
        _ => Some(line.to_owned()),
    };
    lines.filter_map(of).collect()
}

fn prompt(entry: &Value) -> Option<String> {
    let text = match entry {
        Value::String(text) => text,
        _ => {
            let own =
                ["prompt", "text", "question"].iter().find_map(|key| entry.get(key)?.as_str());
            let turns = entry.get("conversations").or_else(|| entry.get("messages"));
            let turn = || {
                let first = turns?.as_array()?.iter().find(|turn| {
                    let who = turn.get("from").or_else(|| turn.get("role"));
                    matches!(who.and_then(Value::as_str), Some("human" | "user"))
                })?;
                first.get("value").or_else(|| first.get("content"))?.as_str()
            };
            own.or_else(turn)?
        }
    };
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The moments of a trace, and the hash over its file; nothing if there is no trace.
pub(super) fn trace(path: Option<&Path>) -> Result<(Vec<f64>, Option<String>), Failure> {
    let Some(path) = path else { return Ok((Vec::new(), None)) };
    let bytes = read(path)?;
    let hash = format!("{:016x}", types::stable_hash(bytes.iter().copied()));
    let text = String::from_utf8_lossy(&bytes);
    let mut moments = Vec::new();
    for (place, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let first = line.split([',', ';', '\t']).next().unwrap_or_default().trim();
        match first.parse::<f64>() {
            Ok(moment) if moment.is_finite() => moments.push(moment),
            // The names of columns.
            _ if place == 0 => {}
            _ => {
                let text = format!(
                    "line {} of `{}` does not begin with a moment in seconds",
                    place + 1,
                    path.display()
                );
                return Err(Failure::new(Exit::Wrong, text));
            }
        }
    }
    if moments.is_empty() {
        return Err(Failure::new(Exit::Wrong, format!("`{}` has no moments", path.display())));
    }
    Ok((moments, Some(hash)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        file
    }

    #[test]
    fn prompts_are_read_from_lines_lists_and_conversations() {
        for text in [
            "one\n\ntwo\n",
            r#"["one", "two"]"#,
            "{\"prompt\": \"one\"}\n{\"text\": \"two\"}\n",
            r#"[{"conversations": [{"from": "human", "value": "one"}, {"from": "gpt", "value": "x"}]},
                {"messages": [{"role": "system", "content": "x"}, {"role": "user", "content": "two"}]},
                {"conversations": []}]"#,
        ] {
            assert_eq!(prompts(file(text).path()).unwrap(), ["one", "two"], "{text}");
        }
        assert!(prompts(file("[]").path()).is_err());
        assert!(prompts(Path::new("/nowhere")).is_err());
    }

    #[test]
    fn a_trace_is_the_first_column_with_or_without_a_name() {
        let (moments, hash) = trace(Some(file("seconds,tokens\n0.5,3\n1.25,4\n").path())).unwrap();
        assert_eq!(moments, [0.5, 1.25]);
        assert_eq!(hash.unwrap().len(), 16);
        assert_eq!(trace(None).unwrap(), (Vec::new(), None));
        assert!(trace(Some(file("0.5\nx\n").path())).is_err());
        assert!(trace(Some(file("\n").path())).is_err());
    }
}
