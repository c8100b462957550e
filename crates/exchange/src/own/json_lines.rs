//! Whole runs, one a line: nothing is lost, not a sample and not a digit.

use crate::{Problem, WriteError};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, Write};
use types::Run;

/// The name and version of a line.
const WHOLE_RUN_SCHEMA: &str = "modelmeter.whole-run/1";

#[derive(Serialize)]
struct LineOut<'a> {
    schema: &'static str,
    run: &'a Run,
}

#[derive(Deserialize)]
struct LineIn {
    schema: String,
    run: Run,
}

/// The version alone, for a line that is not understood otherwise.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    schema: String,
}

/// One run more; refused where the line could not be read back, because a number in it is not finite.
pub(crate) fn write(run: &Run, out: &mut dyn Write) -> Result<(), WriteError> {
    let unwritable = |why: String| WriteError::Unwritable { id: run.id.0.clone(), why };
    let line = serde_json::to_vec(&LineOut { schema: WHOLE_RUN_SCHEMA, run })
        .map_err(|error| unwritable(error.to_string()))?;
    // One reader for both ways: a second kind of it would be compiled for every type of a run.
    let back: LineIn = serde_json::from_slice(&line)
        .map_err(|error| unwritable(format!("a number in it is not finite ({error})")))?;
    if back.run != *run {
        return Err(unwritable("a number in it is not finite".into()));
    }
    out.write_all(&line)?;
    out.write_all(b"\n")?;
    Ok(())
}

/// The runs of all lines; empty lines are passed over.
pub(crate) fn read(input: impl BufRead) -> impl Iterator<Item = Result<Run, Problem>> {
    let lines = input.split(b'\n').enumerate();
    let mut ended = false;
    lines.filter_map(move |(at, line)| {
        let number = at as u64 + 1;
        if ended {
            return None;
        }
        match line {
            Ok(line) if line.trim_ascii().is_empty() => None,
            Ok(line) => Some(one(&line, number)),
            Err(error) => {
                // A disk that fails goes on failing.
                ended = true;
                Some(Err(Problem::line(number, format!("could not be read: {error}"))))
            }
        }
    })
}

fn one(line: &[u8], number: u64) -> Result<Run, Problem> {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    let parsed: LineIn = serde_json::from_slice(line).map_err(|error| {
        let schema =
            serde_json::from_slice::<Head>(line).map(|head| head.schema).unwrap_or_default();
        let what = if schema.starts_with("modelmeter.whole-run/") && schema != WHOLE_RUN_SCHEMA {
            format!("is `{schema}`, of a newer Modelmeter; update this one")
        } else if error.is_eof() {
            format!("ends too early, in column {}", error.column())
        } else {
            format!("is no run: {error}")
        };
        Problem::line(number, what)
    })?;
    if parsed.schema != WHOLE_RUN_SCHEMA {
        let what = format!("is `{}`, not `{WHOLE_RUN_SCHEMA}`", parsed.schema);
        return Err(Problem::line(number, what));
    }
    if parsed.run.id.0.is_empty() {
        return Err(Problem::line(number, "holds a run without an id"));
    }
    Ok(parsed.run)
}
