//! Chrome traces of PyTorch's profiler.

use super::{Builder, Tool, small};
use crate::read::Recording;
use serde::Deserialize;
use serde_json::Value;
use std::{borrow::Cow, collections::BTreeMap};

/// The file; some writers leave out everything but the list.
#[derive(Deserialize)]
#[serde(untagged)]
enum File<'a> {
    Whole {
        #[serde(borrow, rename = "traceEvents")]
        events: Vec<Event<'a>>,
    },
    List(#[serde(borrow)] Vec<Event<'a>>),
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, default)]
    ph: Cow<'a, str>,
    #[serde(borrow, default)]
    cat: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(default)]
    pid: Value,
    #[serde(default)]
    tid: Value,
    #[serde(default)]
    ts: f64,
    #[serde(default)]
    dur: f64,
    #[serde(default)]
    args: Arguments,
}

#[derive(Deserialize, Default)]
struct Arguments {
    #[serde(default)]
    correlation: Option<u64>,
    #[serde(default)]
    device: Option<i64>,
    #[serde(default)]
    stream: Option<i64>,
    #[serde(default)]
    context: Option<i64>,
    #[serde(default)]
    bytes: Option<f64>,
    #[serde(default)]
    grid: Option<Vec<u64>>,
    #[serde(default)]
    block: Option<Vec<u64>>,
    #[serde(default, rename = "graph node id")]
    node: Option<u64>,
}

pub(super) fn read(bytes: &[u8]) -> Result<Vec<Recording>, String> {
    let file: File<'_> = serde_json::from_slice(bytes)
        .map_err(|error| format!("it is no trace of PyTorch's profiler: {error}"))?;
    let (File::Whole { events } | File::List(events)) = file;
    let spans = || events.iter().filter(|event| event.ph == "X");
    // Times may be those of 1970; only their differences matter, and they stay exact.
    let begin = spans().map(|event| event.ts).fold(f64::INFINITY, f64::min);
    let mut builders: BTreeMap<u32, Builder> = BTreeMap::new();
    // Work of a device has the device's number in the place of the process's: it belongs to the one process of the file.
    let host = spans().find(|event| is_call(event)).map_or(0, |event| number(&event.pid));
    for event in spans() {
        let start = ((event.ts - begin) * 1000.0).round() as u64;
        let times = (start, start.saturating_add((event.dur.max(0.0) * 1000.0).round() as u64));
        let Arguments { correlation, device, stream, context, .. } = event.args;
        let place =
            [small(device.unwrap_or(0)), small(context.unwrap_or(0)), small(stream.unwrap_or(0))];
        let correlation = small(correlation.unwrap_or(0));
        match &*event.cat {
            "kernel" => {
                let product = |sizes: &Option<Vec<u64>>| {
                    sizes.iter().flatten().fold(1_u32, |all, one| all.saturating_mul(small(*one)))
                };
                let size = [product(&event.args.grid), product(&event.args.block)];
                let node = event.args.node.unwrap_or(0);
                of(&mut builders, host).kernel(
                    &event.name,
                    size,
                    times,
                    place,
                    (correlation, node),
                );
            }
            "gpu_memcpy" => {
                let bytes = event.args.bytes.unwrap_or(0.0) as u64;
                of(&mut builders, host).copy(bytes, kinds(&event.name), times, place, correlation);
            }
            "gpu_memset" => of(&mut builders, host).set(times, place, correlation),
            _ if is_call(event) => {
                let thread = number(&event.tid);
                of(&mut builders, number(&event.pid)).call(&event.name, times, thread, correlation);
            }
            "user_annotation" => {
                of(&mut builders, number(&event.pid)).range(&event.name, times, number(&event.tid));
            }
            _ => {}
        }
    }
    Ok(builders.into_values().map(Builder::finish).collect())
}

fn of(builders: &mut BTreeMap<u32, Builder>, process: u32) -> &mut Builder {
    builders.entry(process).or_insert_with(|| Builder::new(process, Tool::Kineto))
}

fn is_call(event: &Event<'_>) -> bool {
    matches!(&*event.cat, "cuda_runtime" | "cuda_driver" | "hip_runtime" | "Runtime")
}

/// A process or a thread; some are texts.
fn number(value: &Value) -> u32 {
    match value {
        Value::Number(number) => small(number.as_u64().unwrap_or(0) & u64::from(u32::MAX)),
        Value::String(text) => text.parse().unwrap_or(0),
        _ => 0,
    }
}

/// CUPTI's numbers for the direction and the memory on both sides: `Memcpy HtoD (Pageable -> Device)`.
fn kinds(name: &str) -> [u8; 3] {
    let direction = match () {
        () if name.contains("HtoD") => 1,
        () if name.contains("DtoH") => 2,
        () if name.contains("DtoD") => 8,
        () if name.contains("HtoH") => 9,
        () if name.contains("PtoP") => 10,
        () => 0,
    };
    let memory = |name: &str| match name.trim() {
        "Pageable" => 1,
        "Pinned" => 2,
        "Device" => 3,
        "Array" => 4,
        "Managed" => 5,
        _ => 0,
    };
    let sides =
        name.split_once('(').and_then(|(_, rest)| rest.trim_end_matches(')').split_once("->"));
    let (from, to) = sides.map_or((0, 0), |(from, to)| (memory(from), memory(to)));
    [direction, from, to]
}
