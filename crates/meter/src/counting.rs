//! Who counts what a job's inference takes, and what came of it.
//!
//! Work is counted on the graph. A program has none, so its own framework counts, in its worker and after the timing.
//! A number that nobody could count is named with its reason; it is never a zero.

use crate::{Job, Link, MeterError};
use engine::{ProgramCount, Reply, Request};
use std::collections::BTreeMap;
use types::{Bytes, Flops, Module, Ratio, Work};

/// Who counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Counting {
    /// The graph, whose numbers the job brings.
    #[default]
    Graph,
    /// The graph, but the framework turned weights into fewer bits in its own way: it says what is left of these bytes.
    Weights {
        /// Bytes of the graph's weights, which the job's work counts.
        held: Bytes,
    },
    /// The framework, for a program.
    Program,
}

/// What was counted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Counted {
    pub(crate) work: Work,
    /// Instead of the job's own.
    pub(crate) parameters: Option<u64>,
    /// Instead of the job's own.
    pub(crate) size: Option<Bytes>,
    /// Fields whose value means nothing, by path, with the reason.
    pub(crate) unknown: BTreeMap<String, String>,
}

impl From<Work> for Counted {
    fn from(work: Work) -> Counted {
        Counted { work, parameters: None, size: None, unknown: BTreeMap::new() }
    }
}

/// Counts what the job's inference takes, after its timing.
///
/// # Errors
/// When the worker is gone; one that cannot count costs only the numbers.
pub(crate) fn count(link: &mut Link, job: &Job<'_>) -> Result<Counted, MeterError> {
    if job.training.is_some() || job.generation.is_some() {
        return Ok(job.work.into());
    }
    match job.counting {
        Counting::Graph => Ok(on_graph(job)),
        Counting::Weights { held } => Ok(match asked(link)? {
            Ok(count) => narrowed(job, held, count.weight_bytes),
            Err(_) => job.work.into(),
        }),
        Counting::Program => Ok(match asked(link)? {
            Ok(count) => of_program(count),
            Err(why) => uncounted(job, &why),
        }),
    }
}

/// The work as counted on the graph; shapes that only a run shows are looked for in a worker of their own, so that the
/// count is the same whoever ran.
fn on_graph(job: &Job<'_>) -> Counted {
    match job.unknown_shapes.as_slice() {
        [] => job.work.into(),
        _ => (job.refine)(&[]).into(),
    }
}

/// The framework's own count, or why there is none.
fn asked(link: &mut Link) -> Result<Result<ProgramCount, String>, MeterError> {
    match link.ask(&Request::Count, "count its operations") {
        Ok(Reply::Counted { count }) => Ok(Ok(*count)),
        Ok(_) => Ok(Err("the worker cannot count operations".into())),
        Err(MeterError::Engine(failure)) => Ok(Err(failure.message)),
        Err(error) => Err(error),
    }
}

/// A graph whose weights were turned into fewer bits: so much less is held, and so much less is read.
fn narrowed(job: &Job<'_>, held: Bytes, left: u64) -> Counted {
    let saved = held.0.saturating_sub(left);
    let less = |bytes: Bytes| Bytes(bytes.0.saturating_sub(saved));
    let work = Work { bytes_read: less(job.work.bytes_read), ..job.work };
    Counted { size: Some(less(job.model.size)), ..work.into() }
}

fn of_program(count: ProgramCount) -> Counted {
    let mut unknown = BTreeMap::new();
    let work = match &count.work {
        Some(work) => Work {
            flops: Flops(work.flops),
            coverage: Ratio(work.coverage.unwrap_or(0.0)),
            bytes_read: Bytes(work.bytes_read),
            bytes_written: Bytes(work.bytes_written),
            activation_peak: Some(Bytes(work.activation_peak)),
        },
        None => nothing(),
    };
    match count.work {
        Some(work) if work.flops == 0 && work.coverage.is_none_or(|share| share < 1.0) => {
            let why = match work.uncounted.as_slice() {
                [] => "no operator that computes was seen".to_owned(),
                names => format!("the cost of `{}` is unknown", names.join("`, `")),
            };
            name(&mut unknown, &["work.flops", "work.coverage"], &why);
        }
        Some(_) => {}
        None => {
            let why = count.why.unwrap_or_else(|| "the framework could not count it".into());
            name(&mut unknown, &WORK, &why);
        }
    }
    Counted {
        work,
        parameters: Some(count.parameters),
        size: Some(Bytes(count.weight_bytes)),
        unknown,
    }
}

/// A program that nobody counted: what its files tell stays.
fn uncounted(job: &Job<'_>, why: &str) -> Counted {
    let mut unknown = BTreeMap::new();
    name(&mut unknown, &WORK, why);
    if job.model.parameters == 0 {
        name(&mut unknown, &["model.parameters"], why);
    }
    if matches!(job.module, Some(Module::Factory { .. })) {
        // Its file is the code, not the weights.
        name(&mut unknown, &["model.size"], why);
    }
    Counted { unknown, ..nothing().into() }
}

/// Everything of [`Work`], by the paths of its fields.
const WORK: [&str; 4] = ["work.flops", "work.coverage", "work.bytes", "work.activation_peak"];

fn name(unknown: &mut BTreeMap<String, String>, paths: &[&str], why: &str) {
    unknown.extend(paths.iter().map(|path| ((*path).to_owned(), why.to_owned())));
}

fn nothing() -> Work {
    Work {
        flops: Flops(0),
        coverage: Ratio(0.0),
        bytes_read: Bytes(0),
        bytes_written: Bytes(0),
        activation_peak: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::ProgramWork;

    fn work(flops: u64, coverage: Option<f64>, uncounted: &[&str]) -> ProgramWork {
        let uncounted = uncounted.iter().map(|name| (*name).to_owned()).collect();
        ProgramWork {
            flops,
            coverage,
            bytes_read: 7,
            bytes_written: 5,
            activation_peak: 3,
            uncounted,
        }
    }

    fn counted(work: Option<ProgramWork>, why: Option<&str>) -> Counted {
        let why = why.map(str::to_owned);
        of_program(ProgramCount { parameters: 11, weight_bytes: 44, work, why })
    }

    #[test]
    fn what_a_program_counts_is_taken_over() {
        let all = counted(Some(work(100, Some(0.5), &["mystery"])), None);
        assert_eq!((all.parameters, all.size), (Some(11), Some(Bytes(44))));
        assert_eq!((all.work.flops, all.work.coverage), (Flops(100), Ratio(0.5)));
        assert_eq!(all.work.activation_peak, Some(Bytes(3)));
        assert!(all.unknown.is_empty());
    }

    #[test]
    fn what_could_not_be_counted_is_named_with_its_reason_and_is_no_zero() {
        let none = counted(None, Some("it branches on a value"));
        assert_eq!(none.unknown.len(), WORK.len());
        assert!(none.unknown.values().all(|why| why == "it branches on a value"));
        let strange = counted(Some(work(0, Some(0.0), &["mystery"])), None);
        assert_eq!(strange.unknown["work.flops"], "the cost of `mystery` is unknown");
        assert!(!strange.unknown.contains_key("work.bytes"));
        // Either it only moves numbers, or it computes where nobody sees it.
        let idle = counted(Some(work(0, None, &[])), None);
        assert!(idle.unknown.contains_key("work.flops"));
    }
}
