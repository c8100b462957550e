//! Where the time goes, from the library's own profiler, in a session made for that alone.

use crate::{binding::Bound, events, explain, load, model::OrtModel};
use engine::{
    Detail, EngineError, EngineErrorKind, NodeCall, NodeProfile, NodeTime, RunRecord,
    TimelineWriter,
    parts::{PartRecorder, part_of},
};
use events::{Event, Pass};
use std::{
    collections::{BTreeSet, HashMap},
    path::Path,
    time::{Duration, Instant},
};
use types::{HostTensor, Remark, RemarkCode};

/// Runs before those that count: the first allocates, the second settles.
const WARM_UP: u64 = 2;

/// Profiles `count` runs on these inputs.
pub(crate) fn profile(
    model: &OrtModel,
    inputs: Vec<HostTensor>,
    count: u64,
    detail: Detail,
) -> Result<NodeProfile, EngineError> {
    let ((run_nanos, writer), events) = profiled(model, |session| timed(session, inputs, count))?;
    tell(&events, run_nanos, writer, detail)
}

/// The same where a GPU's own records tell what it did: they are told which node was handing work over when.
pub(crate) fn profile_parts(
    model: &OrtModel,
    inputs: Vec<HostTensor>,
    count: u64,
    recorder: &PartRecorder,
) -> Result<NodeProfile, EngineError> {
    let (windows, events) = profiled(model, |session| {
        let mut bound = Bound::new(session, inputs)?;
        for _ in 0..WARM_UP {
            bound.run()?;
        }
        let mut windows = Vec::new();
        for _ in 0..count {
            let (answer, window) = recorder.in_parts(|| bound.run());
            answer?;
            windows.push(window);
        }
        Ok(windows)
    })?;
    let pass = Pass::of(&events, count)?;
    let nodes = nodes(&pass);
    for (time, node) in moments(&pass, &windows, &nodes) {
        recorder.node_at(time, node);
    }
    recorder.flush();
    let run_nanos: Vec<u64> = windows.iter().map(|(begin, end)| end - begin).collect();
    Ok(NodeProfile {
        runs: count,
        total_nanos: run_nanos.iter().sum(),
        run_nanos,
        parts: Some((0..nodes.len()).map(part_of).collect()),
        nodes,
        timeline: None,
        remarks: Vec::new(),
    })
}

/// From when on which node handed work over, in order. The library's clock begins with each run at the recorder's, because
/// both stand around the same call.
fn moments(
    pass: &Pass<'_>,
    windows: &[(u64, u64)],
    nodes: &[NodeTime],
) -> Vec<(u64, Option<usize>)> {
    let places: HashMap<&str, usize> =
        nodes.iter().enumerate().map(|(at, node)| (node.path.as_str(), at)).collect();
    let mut moments = Vec::new();
    for (run, (begin, end)) in pass.runs.iter().zip(windows) {
        let time = |micros: u64| (begin + (micros - run.start) * 1000).min(end.saturating_sub(1));
        // Nodes inside others; the last is the innermost.
        let mut open: Vec<(u64, Option<usize>)> = Vec::new();
        let leave = |open: &mut Vec<(u64, Option<usize>)>, until: u64, moments: &mut Vec<_>| {
            while let Some((ended, _)) = open.pop_if(|(ended, _)| *ended <= until) {
                moments.push((time(ended), open.last().and_then(|(_, node)| *node)));
            }
        };
        let inside = pass.kernels.iter().enumerate().filter(|(_, one)| one.lies_in(run));
        for (index, event) in inside {
            leave(&mut open, event.start, &mut moments);
            let node = places.get(event.node().unwrap_or_default()).copied();
            moments.push((time(event.start), node));
            open.push((pass.ends[index], node));
        }
        leave(&mut open, u64::MAX, &mut moments);
    }
    moments
}

/// Runs something in a session that writes a profile, and reads its events.
fn profiled<T>(
    model: &OrtModel,
    run: impl FnOnce(&ort::session::Session) -> Result<T, EngineError>,
) -> Result<(T, Vec<Event>), EngineError> {
    let unwritten = |why: String| {
        EngineError::new(EngineErrorKind::Failed, "could not write a profile").with_source(why)
    };
    let folder = tempfile::tempdir().map_err(|error| unwritten(error.to_string()))?;
    let builder = load::builder(model.runtime, &model.request, &[])?
        .with_profiling(folder.path().join("profile"))
        .map_err(|error| unwritten(error.to_string()))?;
    let mut session = load::commit(builder, &model.request)?;
    let answer = run(&session)?;
    let file = session
        .end_profiling()
        .map_err(|error| explain::other("could not end the profile", &error))?;
    Ok((answer, events::read(Path::new(&file))?))
}

/// What a profile in the library's format tells of its last runs, whose times are known.
///
/// # Errors
/// When it cannot be read, or lacks a run.
pub fn node_profile(
    text: &[u8],
    run_nanos: Vec<u64>,
    writer: TimelineWriter,
    detail: Detail,
) -> Result<NodeProfile, EngineError> {
    tell(&events::parse(text)?, run_nanos, writer, detail)
}

fn tell(
    events: &[Event],
    run_nanos: Vec<u64>,
    writer: TimelineWriter,
    detail: Detail,
) -> Result<NodeProfile, EngineError> {
    let count = run_nanos.len() as u64;
    let pass = Pass::of(events, count)?;
    Ok(NodeProfile {
        runs: count,
        total_nanos: run_nanos.iter().sum(),
        run_nanos,
        nodes: nodes(&pass),
        parts: None,
        timeline: (detail == Detail::Timeline).then(|| timeline(&pass, writer)),
        remarks: remarks(&pass),
    })
}

fn timed(
    session: &ort::session::Session,
    inputs: Vec<HostTensor>,
    count: u64,
) -> Result<(Vec<u64>, TimelineWriter), EngineError> {
    let mut bound = Bound::new(session, inputs)?;
    for _ in 0..WARM_UP {
        bound.run()?;
    }
    let mut each = Vec::new();
    let writer = TimelineWriter::new();
    for _ in 0..count {
        let begin = Instant::now();
        bound.run()?;
        each.push(nanos(begin.elapsed()));
    }
    Ok((each, writer))
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The nodes, in the order they ran first.
fn nodes(pass: &Pass<'_>) -> Vec<NodeTime> {
    let mut order: Vec<usize> = (0..pass.kernels.len()).collect();
    order.sort_by_key(|&index| pass.kernels[index].start);
    let mut nodes: Vec<NodeTime> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for index in order {
        let event = pass.kernels[index];
        let path = event.node().unwrap_or_default();
        let place = *places.entry(path).or_insert_with(|| {
            let kind = event.operator().to_owned();
            nodes.push(NodeTime { path: path.to_owned(), kind, calls: 0, nanos: 0, phase: None });
            nodes.len() - 1
        });
        nodes[place].calls += 1;
        nodes[place].nanos += pass.own_nanos(index);
    }
    nodes
}

/// Threads that ran kernels.
fn threads(pass: &Pass<'_>) -> BTreeSet<i64> {
    pass.kernels.iter().map(|event| event.thread).collect()
}

fn timeline(pass: &Pass<'_>, mut writer: TimelineWriter) -> types::Timeline {
    let Some(first) = pass.runs.first() else { return writer.finish() };
    let since = |micros: u64| (micros - first.start) * 1000;
    for run in &pass.runs {
        // Starts and lengths are cut off one by one, so what lies inside may seem to end later; it does not.
        let inside =
            pass.kernels.iter().filter(|event| event.lies_in(run)).map(|event| event.end());
        let end = inside.max().unwrap_or_default().max(run.end());
        writer.inference_at(since(run.start), (end - run.start) * 1000);
    }
    let names: HashMap<i64, String> = threads(pass)
        .into_iter()
        .filter(|thread| *thread != first.thread)
        .enumerate()
        .map(|(index, thread)| (thread, format!("thread {}", index + 2)))
        .collect();
    for (index, event) in pass.kernels.iter().enumerate() {
        let track = writer.track(names.get(&event.thread).map_or("main", String::as_str));
        let node = (event.node().unwrap_or_default(), event.operator());
        let length = (pass.ends[index] - event.start) * 1000;
        writer.operator(track, node, since(event.start), length);
    }
    writer.finish()
}

/// Every run with its kernels, outer ones before those inside them.
pub(crate) fn records(pass: &Pass<'_>) -> Vec<RunRecord> {
    let mut records = vec![RunRecord::default(); pass.runs.len()];
    let threads = threads(pass);
    for (index, event) in pass.kernels.iter().enumerate() {
        let at = pass.runs.partition_point(|run| run.start <= event.start).max(1) - 1;
        let Some(run) = pass.runs.get(at) else { continue };
        let others = threads.iter().filter(|thread| **thread != run.thread);
        let place = others.clone().position(|thread| *thread == event.thread);
        records[at].calls.push(NodeCall {
            path: event.node().unwrap_or_default().to_owned(),
            kind: event.operator().to_owned(),
            thread: place.map_or(0, |place| place + 1),
            start: (event.start - run.start) * 1000,
            length: (pass.ends[index] - event.start) * 1000,
            own: pass.own_nanos(index),
        });
    }
    records
}

pub(crate) fn remarks(pass: &Pass<'_>) -> Vec<Remark> {
    let mut remarks = Vec::new();
    let (told, added) = pass.sums();
    // Where it is less, nobody would see it.
    if added * 50 > told {
        remarks.push(Remark::new(RemarkCode::CoarseTimes, format!(
            "ONNX Runtime truncates times to whole microseconds; this was corrected by at most half a microsecond per \
             call, {} in total",
            number::percent(added as f64 / (told + added).max(1) as f64)
        )));
    }
    let threads = threads(pass).len();
    if threads > 1 {
        remarks.push(Remark::new(RemarkCode::ParallelOperators, format!(
            "operators ran in parallel on {threads} threads: their times can add up to more than the whole"
        )));
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warm_up_is_not_counted_and_inner_time_is_not_counted_twice() {
        let mut events = Vec::new();
        for start in [0, 100, 200] {
            events.push(Event::new("Node", "loop.Loop_kernel_time", start + 1, 50));
            events.push(Event::new("Node", "body.Add_kernel_time", start + 1, 10));
            events.push(Event::new("Node", "body.Add_kernel_time", start + 20, 10));
            events.push(Event::new("Node", "loop.Loop_fence_before", start, 1));
            events.push(Event::new("Node", "last_kernel_time", start + 51, 4));
            events.push(Event::new("Session", "model_run", start, 60));
        }
        let found = nodes(&Pass::of(&events, 2).unwrap());
        let time = |path: &str, calls, nanos| NodeTime {
            path: path.into(),
            kind: "Op".into(),
            calls,
            nanos,
            phase: None,
        };
        // Half a microsecond a call was cut off, from the loop once more for each call inside it.
        assert_eq!(
            found,
            [
                time("loop.Loop", 2, 60_000 - 2 * 500),
                time("body.Add", 4, 40_000 + 4 * 500),
                time("last", 2, 8_000 + 2 * 500)
            ]
        );
    }

    #[test]
    fn a_gpus_work_belongs_to_the_node_that_handed_it_over() {
        let mut events = vec![Event::new("Session", "model_run", 100, 60)];
        events.push(Event::new("Node", "loop.Loop_kernel_time", 110, 40));
        events.push(Event::new("Node", "body.Add_kernel_time", 115, 10));
        events.push(Event::new("Node", "last_kernel_time", 152, 20));
        let pass = Pass::of(&events, 1).unwrap();
        let nodes = nodes(&pass);
        let found = moments(&pass, &[(1_000_000, 1_061_000)], &nodes);
        let expected = [
            (1_010_000, Some(0)),
            (1_015_000, Some(1)),
            (1_025_000, Some(0)),
            (1_050_000, None),
            (1_052_000, Some(2)),
            // Not after the run's own end.
            (1_060_999, None),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_was_cut_off_is_put_back_no_further_than_the_run_allows() {
        let mut events = vec![Event::new("Session", "model_run", 0, 10)];
        events.extend((0..10).map(|at| Event::new("Node", "a_kernel_time", at, 1)));
        let pass = Pass::of(&events, 1).unwrap();
        let found = nodes(&pass);
        assert_eq!(
            found[0].nanos, 10_500,
            "the run itself may have been cut by half a microsecond"
        );
        assert_eq!(remarks(&pass).len(), 1);
    }

    #[test]
    fn spans_of_a_timeline_begin_with_the_first_run_that_counts_and_nest() {
        let events = [
            Event::new("Session", "model_run", 5, 20),
            Event::new("Session", "model_run", 30, 10),
            Event::new("Node", "a.If_kernel_time", 31, 5),
            // Cut off to what seems one later than the end of what is around it.
            Event::new("Node", "a.b.Add_kernel_time", 33, 4),
            Event::new("Node", "c.Mul_kernel_time", 38, 3),
        ];
        let timeline = timeline(&Pass::of(&events, 1).unwrap(), TimelineWriter::new());
        let told: Vec<(&str, u64, u64)> = timeline
            .spans
            .iter()
            .map(|span| (span.name.as_str(), span.start, span.start + span.length))
            .collect();
        assert_eq!(
            told,
            [
                ("inference", 0, 11_000),
                ("Op", 1_000, 7_000),
                ("Op", 3_000, 7_000),
                ("Op", 8_000, 11_000)
            ]
        );
        assert!(!timeline.laid_out);
        assert_eq!(timeline.tracks.len(), 1);
    }
}
