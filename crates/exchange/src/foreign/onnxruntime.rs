//! ONNX Runtime's own profile: events of sessions, runs and nodes, in whole microseconds.

use super::stem;
use crate::{
    Place, Problem,
    draft::Draft,
    import::Found,
    node::{self, Node},
};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use types::{Device, LayerProfile, LayerTime, Phase, ReasonCode};

/// Microseconds as a share of a second.
const MICRO: f64 = 1e-6;
/// Nanoseconds in a microsecond.
const NANOS: u64 = 1000;

struct Event {
    category: String,
    name: String,
    thread: u64,
    start: u64,
    length: u64,
    operator: Option<String>,
    provider: Option<String>,
}

/// One file holds one session.
pub(crate) fn onnxruntime(text: &str, name: &str) -> Result<Found, Problem> {
    let mut found = Found::default();
    let mut events = Vec::new();
    let mut take = |at: usize, record: &Value, found: &mut Found| {
        match event(&Node::new(record, format!("[{at}]"))) {
            Ok(event) => events.extend(event),
            Err(problem) => found.problem(problem),
        }
        !found.is_full()
    };
    if !text.trim_start().starts_with('[') {
        return Err(Problem::file("is not a list of events"));
    }
    let mut count = 0;
    let whole = node::each(text, |at, record| {
        count = at + 1;
        take(at, &record, &mut found)
    });
    // Where the file is cut off or damaged, every line after it that is whole.
    if let Err(problem) = whole {
        let line = match problem.place {
            Place::Line { line, .. } => usize::try_from(line).unwrap_or(usize::MAX),
            _ => usize::MAX,
        };
        found.problem(problem);
        let lines = text.lines().skip(line).map(|line| line.trim().trim_end_matches(','));
        let records = lines.filter_map(|line| node::parse(line).ok()).filter(Value::is_object);
        for (at, record) in records.enumerate() {
            if !take(count + at, &record, &mut found) {
                break;
            }
        }
    }
    match session(&events, name) {
        Ok(draft) => found.drafts.push(draft),
        // What went wrong first says more than that there is nothing.
        Err(problem) if found.problems.is_empty() => return Err(problem),
        Err(_) => {}
    }
    Ok(found)
}

/// A span; `None` for records that only name things.
fn event(record: &Node<'_>) -> Result<Option<Event>, Problem> {
    if record.text_of("ph").as_deref() != Some("X") {
        return Ok(None);
    }
    let arguments = record.maybe("args");
    let argument = |key: &str| arguments.as_ref()?.text_of(key);
    Ok(Some(Event {
        category: record.need("cat")?.text()?,
        name: record.need("name")?.text()?,
        thread: record.whole_of("tid")?.unwrap_or(0),
        start: record.need("ts")?.whole()?,
        length: record.need("dur")?.whole()?,
        operator: argument("op_name"),
        provider: argument("provider"),
    }))
}

fn session(events: &[Event], name: &str) -> Result<Draft, Problem> {
    let is_run = |event: &&Event| event.category == "Session" && event.name == "model_run";
    let mut runs: Vec<&Event> = events.iter().filter(is_run).collect();
    runs.sort_by_key(|event| event.start);
    let Some((first, warm)) = runs.split_first() else {
        return Err(Problem::file(
            "has no `model_run`: the session ended before its first inference",
        ));
    };
    let seconds = |event: &&Event| event.length as f64 * MICRO;
    let loading: u64 = events
        .iter()
        .filter(|event| event.category == "Session")
        .filter(|event| {
            event.name.starts_with("model_loading") || event.name == "session_initialization"
        })
        .map(|event| event.length)
        .sum();
    let mut draft = Draft {
        tool: "onnxruntime".into(),
        model: Some(model_name(name)),
        engine: "onnxruntime".into(),
        load: (loading > 0).then_some(loading as f64 * MICRO),
        first_inference: Some(seconds(first)),
        warmup_runs: Some(0),
        ..Draft::default()
    };
    place(&mut draft, events);
    let times: Vec<f64> = warm.iter().map(seconds).filter(|time| *time > 0.0).collect();
    draft.sample(Phase::Inference, &times);
    draft.remark(
        ReasonCode::Imported,
        "the profiler was on, which makes times longer, and they are truncated to whole microseconds",
    );
    draft.profile = profile(events, warm);
    Ok(draft)
}

/// `tiny` of `tiny_2026-11-16_20-09-14_009.json`: the prefix that the session was given.
fn model_name(name: &str) -> String {
    let stem = stem(name);
    let parts: Vec<&str> = stem.rsplitn(4, '_').collect();
    let is_stamp =
        |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '-');
    match parts.as_slice() {
        [millis, clock, day, prefix] if [millis, clock, day].iter().all(|part| is_stamp(part)) => {
            (*prefix).to_owned()
        }
        [clock, day, prefix @ ..] if is_stamp(clock) && is_stamp(day) && !prefix.is_empty() => {
            prefix.iter().rev().copied().collect::<Vec<_>>().join("_")
        }
        _ => stem.to_owned(),
    }
}

/// The device of the provider that had most of the time.
fn place(draft: &mut Draft, events: &[Event]) {
    let mut providers: BTreeMap<&str, u64> = BTreeMap::new();
    for event in events {
        if let Some(provider) = &event.provider {
            *providers.entry(provider).or_default() += event.length;
        }
    }
    let names: Vec<&str> = providers.keys().copied().collect();
    draft.placement = (!names.is_empty()).then(|| names.join(", "));
    let most = providers.into_iter().max_by_key(|(_, time)| *time).map(|(name, _)| name);
    draft.device = match most.map(|name| name.trim_end_matches("ExecutionProvider")) {
        Some("CPU" | "Dnnl") => Some(Device::Cpu),
        Some("CUDA") => Some(Device::Cuda(0)),
        Some("Tensorrt" | "NvTensorRTRTX") => Some(Device::Tensorrt(0)),
        Some("ROCM") => Some(Device::Rocm(0)),
        Some("MIGraphX") => Some(Device::Migraphx(0)),
        Some("OpenVINO") => Some(Device::Openvino),
        Some("CoreML") => Some(Device::Coreml),
        Some("Dml") => Some(Device::Directml(0)),
        Some("XNNPACK") => Some(Device::Xnnpack),
        Some("WebGPU" | "JS") => Some(Device::Webgpu),
        Some("WebNN") => Some(Device::Webnn),
        _ => None,
    };
}

/// Where the time of the warm runs went, node by node, without what ran inside another node.
fn profile(events: &[Event], warm: &[&Event]) -> Option<LayerProfile> {
    let begin = warm.first()?.start;
    let mut nodes: Vec<&Event> = events
        .iter()
        .filter(|event| {
            event.category == "Node" && event.name.ends_with("_kernel_time") && event.start >= begin
        })
        .collect();
    nodes.sort_by_key(|event| (event.thread, event.start, u64::MAX - event.length));
    let mut order: Vec<LayerTime> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    // The nodes that are still running on this thread: a loop or a branch holds others.
    let mut open: Vec<(u64, u64, usize)> = Vec::new();
    for event in &nodes {
        let path = event.name.trim_end_matches("_kernel_time");
        let place = *places.entry(path).or_insert_with(|| {
            let kind = event.operator.clone().unwrap_or_default();
            order.push(LayerTime { path: path.to_owned(), kind, calls: 0, nanos: 0, phase: None });
            order.len() - 1
        });
        open.retain(|(thread, end, _)| {
            *thread == event.thread && *end >= event.start + event.length && *end > event.start
        });
        if let Some((_, _, holder)) = open.last() {
            let holder = &mut order[*holder];
            holder.nanos = holder.nanos.saturating_sub(event.length * NANOS);
        }
        order[place].calls += 1;
        order[place].nanos += event.length * NANOS;
        open.push((event.thread, event.start + event.length, place));
    }
    let total = warm.iter().map(|run| run.length * NANOS).sum();
    (!order.is_empty()).then(|| LayerProfile {
        label: "onnxruntime".into(),
        runs: warm.len() as u64,
        total_nanos: total,
        layers: order,
        cost: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_named_by_the_prefix() {
        assert_eq!(model_name("a/tiny_2026-11-16_20-09-14_009.json"), "tiny");
        assert_eq!(model_name("my_bert_2026-11-16_20-09-14.json"), "my_bert");
        assert_eq!(model_name("profile.json"), "profile");
        assert_eq!(model_name("a_b_c_d.json"), "a_b_c_d");
    }
}
