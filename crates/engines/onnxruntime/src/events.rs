//! The events of the library's profile, and those of a pass that count.
//!
//! The library cuts starts and lengths off to whole microseconds. What is lost of a length is half a microsecond in the
//! mean; it is put back as far as the run that the kernels lie in allows.

use engine::{EngineError, EngineErrorKind};
use serde::Deserialize;
use std::{cmp::Reverse, fs, path::Path};

/// What is lost of a length that is cut off to microseconds, in the mean, in nanoseconds.
const LOST: u64 = 500;

/// One event of the profile; times in microseconds.
#[derive(Debug, Deserialize)]
pub(crate) struct Event {
    #[serde(rename = "cat", default)]
    category: String,
    #[serde(default)]
    name: String,
    #[serde(rename = "tid", default)]
    pub(crate) thread: i64,
    #[serde(rename = "ts", default)]
    pub(crate) start: u64,
    #[serde(rename = "dur", default)]
    length: u64,
    #[serde(rename = "args", default)]
    arguments: Arguments,
}

/// What stands beside an event; sizes and shapes are left where they are.
#[derive(Debug, Default, Deserialize)]
struct Arguments {
    #[serde(default)]
    op_name: String,
}

impl Event {
    /// Where it ended at the earliest: the parts below a microsecond are cut off.
    pub(crate) fn end(&self) -> u64 {
        self.start + self.length
    }

    /// The node's name, where this is the time of a kernel.
    pub(crate) fn node(&self) -> Option<&str> {
        let name = self.name.strip_suffix("_kernel_time")?;
        (self.category == "Node").then_some(name)
    }

    /// The operator of a kernel.
    pub(crate) fn operator(&self) -> &str {
        &self.arguments.op_name
    }

    /// Whether it began in a run.
    pub(crate) fn lies_in(&self, run: &Event) -> bool {
        (run.start..=run.end()).contains(&self.start)
    }

    #[cfg(test)]
    pub(crate) fn new(category: &str, name: &str, start: u64, length: u64) -> Event {
        let arguments = Arguments { op_name: "Op".into() };
        Event { category: category.into(), name: name.into(), thread: 1, start, length, arguments }
    }
}

/// Reads a profile.
pub(crate) fn read(path: &Path) -> Result<Vec<Event>, EngineError> {
    let unread = |why: String| {
        EngineError::new(EngineErrorKind::Failed, "could not read ONNX Runtime's profile")
            .with_source(why)
    };
    parse(&fs::read(path).map_err(|error| unread(error.to_string()))?)
}

/// Reads a profile in memory.
pub(crate) fn parse(text: &[u8]) -> Result<Vec<Event>, EngineError> {
    serde_json::from_slice(text).map_err(|error| {
        EngineError::new(EngineErrorKind::Failed, "could not read ONNX Runtime's profile")
            .with_source(error)
    })
}

/// The runs that count and their kernels.
pub(crate) struct Pass<'a> {
    pub(crate) runs: Vec<&'a Event>,
    /// By thread, then by start, outer ones before those inside them.
    pub(crate) kernels: Vec<&'a Event>,
    /// Where each kernel ended, not before those inside it.
    pub(crate) ends: Vec<u64>,
    /// The kernels directly inside each: the bodies of `If`, `Loop` and `Scan` are nodes too.
    inner: Vec<Vec<usize>>,
    /// What is put back to each kernel, in nanoseconds.
    lost: Vec<u64>,
}

impl<'a> Pass<'a> {
    /// The last `count` runs of a profile.
    pub(crate) fn of(events: &'a [Event], count: u64) -> Result<Pass<'a>, EngineError> {
        let is_run = |event: &&Event| event.category == "Session" && event.name == "model_run";
        let mut runs: Vec<&Event> = events.iter().filter(is_run).collect();
        runs.sort_unstable_by_key(|event| event.start);
        let Some(skipped) = runs.len().checked_sub(usize::try_from(count).unwrap_or(usize::MAX))
        else {
            // Its profiler stops at a million events and says so only in its log.
            let message = format!("ONNX Runtime's profile contains {} of {count} runs", runs.len());
            return Err(EngineError::new(EngineErrorKind::Failed, message)
                .with_hint("profile fewer runs; the profile of a large model fills up"));
        };
        let runs = runs.split_off(skipped);
        let begin = runs.first().map_or(u64::MAX, |run| run.start);
        let mut kernels: Vec<&Event> =
            events.iter().filter(|event| event.node().is_some() && event.start >= begin).collect();
        kernels.sort_by_key(|event| (event.thread, event.start, Reverse(event.length)));
        let (inner, ends) = nest(&kernels);
        let lost = lost(&runs, &kernels, &inner);
        Ok(Pass { runs, kernels, ends, inner, lost })
    }

    /// The time of a kernel without those inside it, in nanoseconds.
    pub(crate) fn own_nanos(&self, index: usize) -> u64 {
        let nanos = |at: usize| self.kernels[at].length * 1000 + self.lost[at];
        let inside: u64 = self.inner[index].iter().map(|&at| nanos(at)).sum();
        nanos(index).saturating_sub(inside)
    }

    /// The time of the outermost kernels as told, and what was put back to it, in nanoseconds.
    pub(crate) fn sums(&self) -> (u64, u64) {
        let outermost = outermost(&self.inner);
        outermost.fold((0, 0), |(told, lost), at| {
            (told + self.kernels[at].length * 1000, lost + self.lost[at])
        })
    }
}

/// For each kernel those directly inside it, and where it ended.
fn nest(kernels: &[&Event]) -> (Vec<Vec<usize>>, Vec<u64>) {
    let mut inner = vec![Vec::new(); kernels.len()];
    let mut ends: Vec<u64> = kernels.iter().map(|event| event.end()).collect();
    let mut open: Vec<usize> = Vec::new();
    for (index, event) in kernels.iter().enumerate() {
        while let Some(&outer) = open.last()
            && (kernels[outer].thread != event.thread || kernels[outer].end() <= event.start)
        {
            open.pop();
        }
        if let Some(&outer) = open.last() {
            inner[outer].push(index);
        }
        for &outer in &open {
            ends[outer] = ends[outer].max(event.end());
        }
        open.push(index);
    }
    (inner, ends)
}

/// The kernels that lie in no other.
fn outermost(inner: &[Vec<usize>]) -> impl Iterator<Item = usize> + use<> {
    let mut is_outermost = vec![true; inner.len()];
    inner.iter().flatten().for_each(|&at| is_outermost[at] = false);
    is_outermost.into_iter().enumerate().filter_map(|(at, is_outermost)| is_outermost.then_some(at))
}

/// What is put back to each kernel: what is lost in the mean, or less where a run has no room for it.
fn lost(runs: &[&Event], kernels: &[&Event], inner: &[Vec<usize>]) -> Vec<u64> {
    let mut told = vec![(0, 0); runs.len()];
    let run_of = |event: &Event| runs.partition_point(|run| run.start <= event.start).max(1) - 1;
    for at in outermost(inner) {
        let (time, count) = &mut told[run_of(kernels[at])];
        *time += kernels[at].length * 1000;
        *count += 1;
    }
    let room = |(run, (time, count)): (&&Event, &(u64, u64))| {
        let room = (run.length * 1000 + LOST).saturating_sub(*time);
        room.checked_div(*count).map_or(LOST, |each| each.min(LOST))
    };
    let each: Vec<u64> = runs.iter().zip(&told).map(room).collect();
    kernels.iter().map(|event| each.get(run_of(event)).copied().unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_that_lacks_runs_is_refused() {
        let events = [Event::new("Session", "model_run", 0, 1)];
        let error = Pass::of(&events, 2).err().unwrap();
        assert!(error.to_string().contains("1 of 2"), "{error}");
        assert!(error.hint.is_some());
    }
}
