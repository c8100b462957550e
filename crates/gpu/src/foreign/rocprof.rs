//! The JSON of rocprofv3 (`--output-format json`).

use super::{Builder, Tool, small};
use crate::read::Recording;
use serde::Deserialize;
use std::collections::HashMap;

#[derive(Deserialize)]
struct File {
    #[serde(rename = "rocprofiler-sdk-tool")]
    tools: Vec<Output>,
}

#[derive(Deserialize)]
struct Output {
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    agents: Vec<Agent>,
    #[serde(default)]
    kernel_symbols: Vec<Symbol>,
    #[serde(default)]
    strings: Strings,
    #[serde(default)]
    buffer_records: Records,
}

#[derive(Deserialize, Default)]
struct Metadata {
    #[serde(default)]
    pid: u32,
}

#[derive(Deserialize)]
struct Agent {
    id: Handle,
    /// 1 for processors, 2 for GPUs.
    #[serde(default, rename = "type")]
    kind: u32,
    #[serde(default)]
    logical_node_type_id: i64,
}

#[derive(Deserialize, Default, Clone, Copy, PartialEq, Eq, Hash)]
struct Handle {
    #[serde(default)]
    handle: u64,
}

#[derive(Deserialize)]
struct Symbol {
    #[serde(default)]
    kernel_id: u64,
    #[serde(default)]
    formatted_kernel_name: String,
    #[serde(default)]
    kernel_name: String,
}

#[derive(Deserialize, Default)]
struct Strings {
    #[serde(default)]
    buffer_records: Vec<Names>,
}

/// The operations of one kind of record.
#[derive(Deserialize, Default)]
struct Names {
    #[serde(default)]
    operations: Vec<String>,
}

#[derive(Deserialize, Default)]
struct Records {
    #[serde(default)]
    kernel_dispatch: Vec<Dispatch>,
    #[serde(default)]
    hip_api: Vec<Api>,
    #[serde(default)]
    memory_copy: Vec<Moved>,
    #[serde(default)]
    marker_api: Vec<Api>,
}

#[derive(Deserialize, Default)]
struct Correlation {
    #[serde(default)]
    internal: u64,
}

#[derive(Deserialize, Default)]
struct Size {
    #[serde(default)]
    x: u32,
    #[serde(default)]
    y: u32,
    #[serde(default)]
    z: u32,
}

impl Size {
    fn product(&self) -> u32 {
        self.x.saturating_mul(self.y.max(1)).saturating_mul(self.z.max(1))
    }
}

#[derive(Deserialize)]
struct Dispatch {
    start_timestamp: u64,
    end_timestamp: u64,
    #[serde(default)]
    correlation_id: Correlation,
    dispatch_info: Info,
    #[serde(default)]
    stream_id: Option<Handle>,
}

#[derive(Deserialize)]
struct Info {
    #[serde(default)]
    agent_id: Handle,
    #[serde(default)]
    queue_id: Handle,
    #[serde(default)]
    kernel_id: u64,
    #[serde(default)]
    workgroup_size: Size,
    #[serde(default)]
    grid_size: Size,
}

#[derive(Deserialize)]
struct Api {
    #[serde(default)]
    kind: usize,
    #[serde(default)]
    operation: usize,
    start_timestamp: u64,
    end_timestamp: u64,
    #[serde(default)]
    thread_id: u64,
    #[serde(default)]
    correlation_id: Correlation,
    /// The text of a marker.
    #[serde(default)]
    message: Option<String>,
}

#[derive(Deserialize)]
struct Moved {
    #[serde(default)]
    kind: usize,
    #[serde(default)]
    operation: usize,
    start_timestamp: u64,
    end_timestamp: u64,
    #[serde(default)]
    correlation_id: Correlation,
    #[serde(default)]
    bytes: u64,
    #[serde(default)]
    dst_agent_id: Handle,
    #[serde(default)]
    src_agent_id: Handle,
}

pub(super) fn read(bytes: &[u8]) -> Result<Vec<Recording>, String> {
    let file: File = serde_json::from_slice(bytes)
        .map_err(|error| format!("it is no file of rocprofv3: {error}"))?;
    Ok(file.tools.into_iter().map(recording).collect())
}

fn recording(output: Output) -> Recording {
    let mut builder = Builder::new(output.metadata.pid, Tool::Rocprof);
    let gpus: HashMap<Handle, u32> = output
        .agents
        .iter()
        .filter(|agent| agent.kind == 2)
        .enumerate()
        .map(|(at, agent)| {
            (agent.id, u32::try_from(agent.logical_node_type_id).unwrap_or(small(at)))
        })
        .collect();
    let symbols: HashMap<u64, &str> = output
        .kernel_symbols
        .iter()
        .map(|symbol| match symbol.formatted_kernel_name.as_str() {
            "" => (symbol.kernel_id, symbol.kernel_name.as_str()),
            name => (symbol.kernel_id, name),
        })
        .collect();
    let name = |kind: usize, operation: usize| {
        let names = output.strings.buffer_records.get(kind);
        names.and_then(|names| names.operations.get(operation)).map_or("", String::as_str)
    };
    let Records { kernel_dispatch, hip_api, memory_copy, marker_api } = &output.buffer_records;
    for one in kernel_dispatch {
        let Info { agent_id, queue_id, kernel_id, workgroup_size, grid_size } = &one.dispatch_info;
        let threads = workgroup_size.product();
        // Its grid counts work-items, not groups.
        let size = [grid_size.product() / threads.max(1), threads];
        let stream = one.stream_id.unwrap_or(*queue_id).handle;
        let place = [gpus.get(agent_id).copied().unwrap_or(0), 0, small(stream)];
        let kernel = symbols.get(kernel_id).copied().unwrap_or("(unknown kernel)");
        let times = (one.start_timestamp, one.end_timestamp);
        builder.kernel(kernel, size, times, place, (small(one.correlation_id.internal), 0));
    }
    for one in memory_copy {
        let direction = name(one.kind, one.operation);
        let kinds = match () {
            () if direction.ends_with("HOST_TO_DEVICE") => [1, 0, 3],
            () if direction.ends_with("DEVICE_TO_HOST") => [2, 3, 0],
            () if direction.ends_with("DEVICE_TO_DEVICE") => [8, 3, 3],
            () if direction.ends_with("HOST_TO_HOST") => [9, 0, 0],
            () => [0; 3],
        };
        let agent = gpus.get(&one.dst_agent_id).or_else(|| gpus.get(&one.src_agent_id));
        let place = [agent.copied().unwrap_or(0), 0, 0];
        let times = (one.start_timestamp, one.end_timestamp);
        builder.copy(one.bytes, kinds, times, place, small(one.correlation_id.internal));
    }
    for one in hip_api {
        let times = (one.start_timestamp, one.end_timestamp);
        let call = name(one.kind, one.operation);
        builder.call(call, times, small(one.thread_id), small(one.correlation_id.internal));
    }
    for one in marker_api.iter().filter(|one| one.end_timestamp > one.start_timestamp) {
        let times = (one.start_timestamp, one.end_timestamp);
        let text = one.message.as_deref().unwrap_or_else(|| name(one.kind, one.operation));
        builder.range(text, times, small(one.thread_id));
    }
    builder.finish()
}
