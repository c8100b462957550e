//! Whole runs, one per line: nothing is lost, not a sample and not a digit.

use crate::{
    Problem, WriteError,
    bounds::{LINE, OBJECTS},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{
    io::{BufRead, Read, Write},
    iter,
};
use types::Run;

/// The name and version of a line.
pub const WHOLE_RUN_SCHEMA: &str = "modelmeter.whole-run/1";

/// One complete run with all its data; numbers in SI base units, samples in nanoseconds.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WholeRun<'a> {
    #[schemars(extend("const" = WHOLE_RUN_SCHEMA))]
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
    let line = serde_json::to_vec(&WholeRun { schema: WHOLE_RUN_SCHEMA, run })
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
pub(crate) fn read(mut input: impl BufRead) -> impl Iterator<Item = Result<Run, Problem>> {
    let (mut line, mut number, mut ended) = (Vec::new(), 0, false);
    iter::from_fn(move || {
        while !ended {
            number += 1;
            line.clear();
            match input.by_ref().take(LINE + 1).read_until(b'\n', &mut line) {
                Ok(0) => ended = true,
                Ok(read) if read as u64 > LINE => {
                    // It may never end.
                    ended = true;
                    let what = format!(
                        "is longer than {}, the limit of one run; the rest was not read",
                        number::mebibytes(LINE)
                    );
                    return Some(Err(Problem::line(number, what)));
                }
                Ok(_) if line.trim_ascii().is_empty() => {}
                Ok(_) => {
                    let whole = line.strip_suffix(b"\n").unwrap_or(&line);
                    return Some(one(whole, number));
                }
                Err(error) => {
                    // A disk that fails goes on failing.
                    ended = true;
                    return Some(Err(Problem::line(number, format!("could not be read: {error}"))));
                }
            }
        }
        None
    })
}

fn one(line: &[u8], number: u64) -> Result<Run, Problem> {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    if line.iter().filter(|byte| **byte == b'{').count() > OBJECTS {
        let what = format!("has more than {OBJECTS} objects, the limit of one run");
        return Err(Problem::line(number, what));
    }
    let parsed: LineIn = serde_json::from_slice(line).map_err(|error| {
        let schema =
            serde_json::from_slice::<Head>(line).map(|head| head.schema).unwrap_or_default();
        let what = if schema.starts_with("modelmeter.whole-run/") && schema != WHOLE_RUN_SCHEMA {
            format!("is `{schema}`, of a newer Modelmeter; update this one")
        } else if error.is_eof() {
            format!("ends too early, in column {}", error.column())
        } else {
            format!("is not a run: {error}")
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
