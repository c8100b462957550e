//! Where the time goes, from the library's own profiler, in a session made for that alone.

use crate::{binding::Bound, explain, load, model::OrtModel};
use engine::{EngineError, EngineErrorKind, NodeProfile, NodeTime};
use serde::Deserialize;
use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::Path,
    time::{Duration, Instant},
};
use types::HostTensor;

/// Runs before those that count: the first allocates, the second settles.
const WARM_UP: u64 = 2;

/// Profiles `count` runs on these inputs.
pub(crate) fn profile(
    model: &OrtModel,
    inputs: Vec<HostTensor>,
    count: u64,
) -> Result<NodeProfile, EngineError> {
    let unwritten = |why: String| {
        EngineError::new(EngineErrorKind::Failed, "could not write a profile").with_source(why)
    };
    let folder = tempfile::tempdir().map_err(|error| unwritten(error.to_string()))?;
    let builder = load::builder(model.runtime, &model.request)?
        .with_profiling(folder.path().join("profile"))
        .map_err(|error| unwritten(error.to_string()))?;
    let mut session = load::commit(builder, &model.request)?;
    let run_nanos = timed(&session, inputs, count)?;
    let file = session
        .end_profiling()
        .map_err(|error| explain::other("could not end the profile", &error))?;
    let nodes = nodes(&events(Path::new(&file))?, count)?;
    Ok(NodeProfile {
        runs: count,
        total_nanos: run_nanos.iter().sum(),
        run_nanos,
        nodes,
        ..NodeProfile::default()
    })
}

fn timed(
    session: &ort::session::Session,
    inputs: Vec<HostTensor>,
    count: u64,
) -> Result<Vec<u64>, EngineError> {
    let mut bound = Bound::new(session, inputs)?;
    for _ in 0..WARM_UP {
        bound.run()?;
    }
    let mut each = Vec::new();
    for _ in 0..count {
        let begin = Instant::now();
        bound.run()?;
        each.push(nanos(begin.elapsed()));
    }
    Ok(each)
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// One event of the profile; times in microseconds.
#[derive(Debug, Deserialize)]
struct Event {
    #[serde(rename = "cat", default)]
    category: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    tid: i64,
    #[serde(rename = "ts", default)]
    start: u64,
    #[serde(rename = "dur", default)]
    length: u64,
    #[serde(rename = "args", default)]
    arguments: BTreeMap<String, serde_json::Value>,
}

impl Event {
    /// Where it ended at the earliest: the parts below a microsecond are cut off.
    fn end(&self) -> u64 {
        self.start + self.length
    }

    /// The node's name, where this is the time of a kernel.
    fn node(&self) -> Option<&str> {
        let name = self.name.strip_suffix("_kernel_time")?;
        (self.category == "Node").then_some(name)
    }
}

fn events(path: &Path) -> Result<Vec<Event>, EngineError> {
    let unread = |why: String| {
        EngineError::new(EngineErrorKind::Failed, "could not read ONNX Runtime's profile")
            .with_source(why)
    };
    let text = fs::read(path).map_err(|error| unread(error.to_string()))?;
    serde_json::from_slice(&text).map_err(|error| unread(error.to_string()))
}

/// The nodes of the last `count` runs, in the order they ran first.
fn nodes(events: &[Event], count: u64) -> Result<Vec<NodeTime>, EngineError> {
    let mut runs: Vec<u64> = events
        .iter()
        .filter(|event| event.category == "Session" && event.name == "model_run")
        .map(|event| event.start)
        .collect();
    runs.sort_unstable();
    let skipped = runs.len().checked_sub(usize::try_from(count).unwrap_or(usize::MAX));
    let Some(begin) = skipped.and_then(|skipped| runs.get(skipped)) else {
        // Its profiler stops at a million events and says so only in its log.
        let message = format!("ONNX Runtime's profile holds {} of {count} runs", runs.len());
        return Err(EngineError::new(EngineErrorKind::Failed, message)
            .with_hint("profile fewer runs; the profile of a large model fills up"));
    };
    let mut kernels: Vec<&Event> =
        events.iter().filter(|event| event.node().is_some() && event.start >= *begin).collect();
    // Outer nodes come before the inner ones that begin with them.
    kernels.sort_by_key(|event| (event.tid, event.start, std::cmp::Reverse(event.length)));
    let inner = inner_time(&kernels);
    let mut order: Vec<usize> = (0..kernels.len()).collect();
    order.sort_by_key(|&index| kernels[index].start);
    let mut nodes: Vec<NodeTime> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for index in order {
        let event = kernels[index];
        let path = event.node().unwrap_or_default();
        let place = *places.entry(path).or_insert_with(|| {
            let kind = event.arguments.get("op_name").and_then(|name| name.as_str());
            let kind = kind.unwrap_or_default().to_owned();
            nodes.push(NodeTime { path: path.to_owned(), kind, calls: 0, nanos: 0 });
            nodes.len() - 1
        });
        nodes[place].calls += 1;
        nodes[place].nanos += event.length.saturating_sub(inner[index]) * 1000;
    }
    Ok(nodes)
}

/// For each kernel the time of those directly inside it: the bodies of `If`, `Loop` and `Scan` are nodes too.
fn inner_time(kernels: &[&Event]) -> Vec<u64> {
    let mut inner = vec![0; kernels.len()];
    let mut open: Vec<usize> = Vec::new();
    for (index, event) in kernels.iter().enumerate() {
        while let Some(&outer) = open.last()
            && (kernels[outer].tid != event.tid || kernels[outer].end() <= event.start)
        {
            open.pop();
        }
        if let Some(&outer) = open.last() {
            inner[outer] += event.length;
        }
        open.push(index);
    }
    inner
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(category: &str, name: &str, start: u64, length: u64) -> Event {
        let arguments = BTreeMap::from([("op_name".to_owned(), "Op".into())]);
        Event { category: category.into(), name: name.into(), tid: 1, start, length, arguments }
    }

    #[test]
    fn warm_up_is_not_counted_and_inner_time_is_not_counted_twice() {
        let mut events = Vec::new();
        for start in [0, 100, 200] {
            events.push(event("Node", "loop.Loop_kernel_time", start + 1, 50));
            events.push(event("Node", "body.Add_kernel_time", start + 1, 10));
            events.push(event("Node", "body.Add_kernel_time", start + 20, 10));
            events.push(event("Node", "loop.Loop_fence_before", start, 1));
            events.push(event("Node", "last_kernel_time", start + 51, 4));
            events.push(event("Session", "model_run", start, 60));
        }
        let found = nodes(&events, 2).unwrap();
        let time = |path: &str, calls, micros: u64| NodeTime {
            path: path.into(),
            kind: "Op".into(),
            calls,
            nanos: micros * 1000,
        };
        assert_eq!(found, [time("loop.Loop", 2, 60), time("body.Add", 4, 40), time("last", 2, 8)]);
    }

    #[test]
    fn a_profile_that_lacks_runs_is_refused() {
        let events = [event("Session", "model_run", 0, 1)];
        let error = nodes(&events, 2).unwrap_err();
        assert!(error.to_string().contains("1 of 2"), "{error}");
        assert!(error.hint.is_some());
    }
}
