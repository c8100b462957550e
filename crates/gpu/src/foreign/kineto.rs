//! Chrome traces of PyTorch's profiler.

use super::{Builder, Tool, small};
use crate::read::Recording;
use serde::{Deserialize, Deserializer, de::IgnoredAny};
use serde_json::Value;
use std::{borrow::Cow, collections::BTreeMap};

/// The file; some writers leave out everything but the list.
#[derive(Deserialize)]
struct File<'a> {
    #[serde(borrow, rename = "traceEvents")]
    events: Option<Vec<Event<'a>>>,
}

/// An event. Other tools add events of their own, whose fields may be of any type: what is not as PyTorch writes it counts as
/// missing.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    ph: Text<'a>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    cat: Text<'a>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    name: Text<'a>,
    #[serde(default)]
    pid: Value,
    #[serde(default)]
    tid: Value,
    #[serde(default)]
    ts: Value,
    #[serde(default)]
    dur: Value,
    #[serde(default, deserialize_with = "lenient")]
    args: Arguments,
}

/// A text that is not copied where the file has it as it is.
#[derive(Deserialize, Default)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Deserialize, Default)]
struct Arguments {
    #[serde(default)]
    correlation: Value,
    #[serde(default)]
    device: Value,
    #[serde(default)]
    stream: Value,
    #[serde(default)]
    context: Value,
    #[serde(default)]
    bytes: Value,
    #[serde(default)]
    grid: Value,
    #[serde(default)]
    block: Value,
    #[serde(default, rename = "graph node id")]
    node: Value,
}

/// A value, or nothing where it is of another type.
fn lenient<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either<T> {
        Wanted(T),
        Other(IgnoredAny),
    }
    Ok(match Either::deserialize(deserializer)? {
        Either::Wanted(value) => value,
        Either::Other(_) => T::default(),
    })
}

/// A number that is whole and not negative; a device may be written `cuda:0`.
fn whole(value: &Value) -> u64 {
    match value {
        Value::Number(number) => number.as_u64().unwrap_or(0),
        Value::String(text) => {
            text.rsplit(':').next().and_then(|last| last.trim().parse().ok()).unwrap_or(0)
        }
        _ => 0,
    }
}

/// The events of the file, or why it has none.
fn events(bytes: &[u8]) -> Result<Vec<Event<'_>>, String> {
    let failed = |error| format!("it is no trace of PyTorch's profiler: {error}");
    if bytes.trim_ascii_start().starts_with(b"[") {
        return serde_json::from_slice(bytes).map_err(failed);
    }
    let file: File<'_> = serde_json::from_slice(bytes).map_err(failed)?;
    file.events.ok_or_else(|| {
        "it is JSON without a list `traceEvents`, so it is no trace of PyTorch's profiler"
            .to_owned()
    })
}

pub(super) fn read(bytes: &[u8]) -> Result<Vec<Recording>, String> {
    let events = events(bytes)?;
    let spans = || {
        let spans = events.iter().filter(|event| event.ph.0 == "X");
        spans.filter_map(|event| Some((event, event.ts.as_f64()?)))
    };
    // Only differences of times matter. Files of PyTorch before 2.4 have microseconds since 1970, of which a floating-point
    // number keeps quarters.
    let begin = spans().map(|(_, time)| time).fold(f64::INFINITY, f64::min);
    let mut builders: BTreeMap<u32, Builder> = BTreeMap::new();
    // Work of a device has the device's number in the place of the process's: it belongs to the one process of the file.
    let host = spans().find(|(event, _)| is_call(event)).map_or(0, |(event, _)| number(&event.pid));
    for (event, time) in spans() {
        let start = ((time - begin) * 1000.0).round() as u64;
        let length = event.dur.as_f64().unwrap_or(0.0).max(0.0);
        let times = (start, start.saturating_add((length * 1000.0).round() as u64));
        let Arguments { correlation, device, stream, context, .. } = &event.args;
        let place = [device, context, stream].map(|value| small(whole(value)));
        let correlation = small(whole(correlation));
        let name = &*event.name.0;
        match &*event.cat.0 {
            "kernel" => {
                let product = |sizes: &Value| {
                    let sizes = sizes.as_array().into_iter().flatten();
                    sizes.fold(1_u32, |all, one| all.saturating_mul(small(whole(one))))
                };
                let size = [product(&event.args.grid), product(&event.args.block)];
                let origin = (correlation, whole(&event.args.node));
                of(&mut builders, host).kernel(name, size, times, place, origin);
            }
            "gpu_memcpy" => {
                let bytes = event.args.bytes.as_f64().unwrap_or(0.0) as u64;
                of(&mut builders, host).copy(bytes, kinds(name), times, place, correlation);
            }
            "gpu_memset" => of(&mut builders, host).set(times, place, correlation),
            _ if is_call(event) => {
                let thread = number(&event.tid);
                of(&mut builders, number(&event.pid)).call(name, times, thread, correlation);
            }
            "user_annotation" => {
                of(&mut builders, number(&event.pid)).range(name, times, number(&event.tid));
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
    matches!(&*event.cat.0, "cuda_runtime" | "cuda_driver" | "hip_runtime" | "Runtime")
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
    let sides = name.split_once('(').and_then(|(_, rest)| rest.split(')').next()?.split_once("->"));
    let (from, to) = sides.map_or((0, 0), |(from, to)| (memory(from), memory(to)));
    [direction, from, to]
}
