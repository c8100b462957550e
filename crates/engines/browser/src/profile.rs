//! Where the time goes, from the runtime's own profiler, in a session of the page made for that alone.

use crate::page::{Page, duration};
use engine::{Detail, EngineError, EngineErrorKind, NodeProfile, TimelineWriter};
use serde::Deserialize;
use serde_json::{Value, json};

/// Runs before those that count: the first compiles, the others settle.
const WARM_UP: u64 = 2;

#[derive(Deserialize)]
struct Timed {
    times: Vec<f64>,
}

/// Profiles `count` runs on the bound inputs.
pub(crate) fn profile(page: &Page, count: u64, detail: Detail) -> Result<NodeProfile, EngineError> {
    let writer = TimelineWriter::new();
    let timed: Timed = page.ask("profile", json!({ "count": count, "warmup": WARM_UP }))?;
    let unread = |why: String| {
        EngineError::new(EngineErrorKind::Failed, "could not read the profile of the page")
            .with_source(why)
    };
    let text = page.server.take_upload();
    let said = String::from_utf8_lossy(&text);
    let events = events_in(&said).ok_or_else(|| unread("the page sent none".to_owned()))?;
    let events: Vec<Value> =
        serde_json::from_str(events).map_err(|error| unread(error.to_string()))?;
    let nanos = |time: &f64| u64::try_from(duration(*time).as_nanos()).unwrap_or(u64::MAX);
    let run_nanos = timed.times.iter().map(nanos).collect();
    let events = serde_json::to_vec(&of_device(events)).unwrap_or_default();
    engine_onnxruntime::node_profile(&events, run_nanos, writer, detail)
}

/// The list of events among other lines of the console.
fn events_in(said: &str) -> Option<&str> {
    let begin = said.find("[\n").or_else(|| said.find("[{"))?;
    let end = said.rfind(']')?;
    said.get(begin..=end)
}

/// Where the device has a clock of its own, its kernels take the place of the nodes that only handed them over.
fn of_device(mut events: Vec<Value>) -> Vec<Value> {
    if !events.iter().any(|event| event["cat"] == "Api") {
        return events;
    }
    let thread = events.iter().find(|event| event["name"] == "model_run");
    let thread = thread.map(|event| event["tid"].clone()).unwrap_or_default();
    events.retain(|event| {
        let on_device = event["args"]["provider"] == "WebGpuExecutionProvider";
        event["cat"] != "Node" || !on_device
    });
    for event in events.iter_mut().filter(|event| event["cat"] == "Api") {
        let name = event["name"].as_str().unwrap_or_default().to_owned();
        // The node, its operator, and the program that the device ran for it.
        let mut parts = name.splitn(3, '&');
        let node = parts.next().unwrap_or_default();
        let operator = parts.next().unwrap_or_default();
        event["name"] = json!(format!("{node}_kernel_time"));
        event["cat"] = json!("Node");
        event["tid"] = thread.clone();
        event["args"] = json!({ "op_name": operator });
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_of_the_device_take_the_place_of_what_handed_them_over() {
        let node = |provider: &str, name: &str| {
            json!({ "cat": "Node", "name": name, "tid": 7, "ts": 5, "dur": 1,
                    "args": { "provider": provider, "op_name": "MatMul" } })
        };
        let events = vec![
            node("WebGpuExecutionProvider", "a_kernel_time"),
            node("CPUExecutionProvider", "b_kernel_time"),
            json!({ "cat": "Session", "name": "model_run", "tid": 7, "ts": 0, "dur": 90 }),
            json!({ "cat": "Api", "name": "a&MatMul&MatMulNaive", "tid": -1, "ts": 6, "dur": 80 }),
        ];
        let found = of_device(events.clone());
        assert_eq!(found.len(), 3);
        assert_eq!(found[2]["name"], "a_kernel_time");
        assert_eq!((&found[2]["tid"], &found[2]["dur"]), (&json!(7), &json!(80)));
        assert_eq!(found[2]["args"]["op_name"], "MatMul");
        assert_eq!(of_device(events[..3].to_vec()).len(), 3, "without a clock the nodes stay");
    }

    #[test]
    fn the_events_are_found_between_other_lines() {
        assert_eq!(events_in("a warning\n[\n{\"cat\" : 1}\n]\nbye"), Some("[\n{\"cat\" : 1}\n]"));
        assert_eq!(events_in("nothing"), None);
    }
}
