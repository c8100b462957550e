//! The way in: bytes of a file become runs.

use crate::{Error, Format, Given, Problem, bounds, draft::Draft, foreign, own};
use std::collections::BTreeSet;
use types::{Correction, Run, RunId};

/// What a file held.
#[derive(Debug)]
pub struct Imported {
    /// The format it was read as.
    pub format: Format,
    /// Its results, each of which says that it was imported.
    pub runs: Vec<Run>,
    /// What could not be taken; everything else was.
    pub problems: Vec<Problem>,
}

impl Imported {
    /// Every number that was put right, with the run it stands in.
    pub fn corrections(&self) -> impl Iterator<Item = (&RunId, &Correction)> {
        self.runs.iter().flat_map(|run| {
            let corrections = run.imported.iter().flat_map(|import| &import.corrections);
            corrections.map(|correction| (&run.id, correction))
        })
    }
}

/// What was read of a file, before it became runs.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) drafts: Vec<Draft>,
    pub(crate) problems: Vec<Problem>,
    is_hopeless: bool,
}

impl Found {
    /// One more record, or why it is none.
    pub(crate) fn add(&mut self, record: Result<Draft, Problem>) {
        match record {
            Ok(draft) => self.drafts.push(draft),
            Err(problem) => self.problem(problem),
        }
    }

    /// One more thing that could not be taken.
    pub(crate) fn problem(&mut self, problem: Problem) {
        if self.problems.len() < bounds::PROBLEMS {
            self.problems.push(problem);
        } else if !self.is_hopeless {
            self.is_hopeless = true;
            self.problems.push(Problem::file("has more problems, and the rest was not read"));
        }
    }

    /// Whether reading on is of no use: too much of the file is no result, or it has too many of them.
    pub(crate) fn is_full(&self) -> bool {
        self.is_hopeless || self.drafts.len() > bounds::HELD
    }
}

/// Reads the results in a file; `name` is its path or name, `format` forces one instead of looking.
///
/// # Errors
/// Where the format is unknown, or nothing in the file could be taken.
pub fn import(name: &str, bytes: &[u8], format: Option<Format>) -> Result<Imported, Error> {
    import_with(name, bytes, format, &Given::default())
}

/// The same, with what the caller knows and the file may not say.
///
/// # Errors
/// Where the format is unknown, or nothing in the file could be taken.
pub fn import_with(
    name: &str,
    bytes: &[u8],
    format: Option<Format>,
    given: &Given,
) -> Result<Imported, Error> {
    let file = file_name(name);
    let format = match format {
        Some(format) => format,
        None => Format::detect(file, bytes)?,
    };
    let broken = |problem| Error::Broken { file: file.to_owned(), format, problem };
    if bytes.len() as u64 > bounds::RESULTS.bytes {
        let most = number::mebibytes(bounds::RESULTS.bytes);
        let what = format!("is larger than the limit of {most}: split it");
        return Err(broken(Problem::file(what)));
    }
    let (mut runs, mut problems) = if format.is_ours() {
        own::read(format, file, bytes).map_err(broken)?
    } else {
        let text = text_of(bytes).map_err(broken)?;
        let found = read_foreign(format, text, name).map_err(broken)?;
        if found.drafts.len() > bounds::HELD {
            let what = format!("has more than {} results: split it", bounds::HELD);
            return Err(broken(Problem::file(what)));
        }
        let finish = |draft: Draft| draft.finish(file, given);
        (found.drafts.into_iter().map(finish).collect::<Vec<Run>>(), found.problems)
    };
    let mut seen = BTreeSet::new();
    runs.retain(|run| {
        let is_new = seen.insert(run.id.clone());
        if !is_new {
            problems
                .push(Problem::file(format!("holds `{}` of `{}` twice", run.id, run.cell.model)));
        }
        is_new
    });
    if runs.is_empty() {
        let count = problems.len();
        let problem =
            problems.into_iter().next().unwrap_or_else(|| Problem::file("holds no result"));
        let more =
            if count > 1 { format!(" (and {} more like it)", count - 1) } else { String::new() };
        return Err(broken(Problem { what: format!("{}{more}", problem.what), ..problem }));
    }
    Ok(Imported { format, runs, problems })
}

fn read_foreign(format: Format, text: &str, name: &str) -> Result<Found, Problem> {
    match format {
        Format::OptimumBenchmark => foreign::optimum_benchmark(text),
        Format::LlamaBench => foreign::llama_bench(text),
        Format::LlamaBenchSql => foreign::llama_bench_sql(text),
        Format::OnnxRuntime => foreign::onnxruntime(text, name),
        Format::TrtexecTimes => foreign::trtexec_times(text, name),
        Format::TrtexecProfile => foreign::trtexec_profile(text, name),
        Format::Mlperf => foreign::mlperf(text, name),
        Format::Timm => foreign::timm(text, name),
        Format::JsonLines | Format::Csv | Format::Parquet => {
            Err(Problem::file("is a file of Modelmeter"))
        }
    }
}

/// The last part of a path, whichever way its slashes lean.
pub(crate) fn file_name(name: &str) -> &str {
    name.rsplit(['/', '\\']).next().unwrap_or(name)
}

fn text_of(bytes: &[u8]) -> Result<&str, Problem> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = 1 + bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
        Problem::line(line as u64, "is not UTF-8 text")
    })?;
    Ok(text.trim_start_matches('\u{feff}'))
}
