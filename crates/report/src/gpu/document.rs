//! The document `modelmeter.gpu/1`, and its rows.

use super::result::GpuView;
use crate::result::DataTable;
use schemars::JsonSchema;
use serde::Serialize;
use types::{GpuProblemKind, GpuProcess, GpuProfile};

/// The name and version of the JSON.
pub const GPU_SCHEMA: &str = "modelmeter.gpu/1";

/// What a command and its children did on NVIDIA GPUs. Times are seconds, sizes bytes. Missing values are null.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct GpuDocument<'a> {
    #[schemars(extend("const" = GPU_SCHEMA))]
    schema: &'static str,
    /// The command; empty for recordings that were kept.
    command: &'a [String],
    /// The exit code of the command; null if it was ended by a signal, or for recordings that were kept.
    exit_code: Option<i32>,
    /// The signal that ended the command.
    signal: Option<i32>,
    /// Why nothing could be recorded, if that was known before the command began.
    refused: Option<&'a str>,
    /// Whether something was recorded, and no record is missing in between.
    valid: bool,
    /// Every process that opened a range or used CUDA, the first to begin first.
    processes: &'a [GpuProcess],
    /// Files that could not be read.
    unread: Vec<UnreadDocument<'a>>,
}

/// A file that could not be read.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "UnreadRecording")]
struct UnreadDocument<'a> {
    file: &'a str,
    why: &'a str,
}

impl<'a> From<&GpuView<'a>> for GpuDocument<'a> {
    fn from(view: &GpuView<'a>) -> GpuDocument<'a> {
        let unread = view.profile.unread.iter();
        GpuDocument {
            schema: GPU_SCHEMA,
            command: view.command,
            exit_code: view.exit_code,
            signal: view.signal,
            refused: view.refused,
            valid: is_valid(view.profile),
            processes: &view.profile.processes,
            unread: unread.map(|(file, why)| UnreadDocument { file, why }).collect(),
        }
    }
}

/// Whether something was recorded, and no record is missing in between.
pub(super) fn is_valid(profile: &GpuProfile) -> bool {
    profile.processes.iter().any(has_begun)
        && profile.unread.is_empty()
        && profile.processes.iter().all(GpuProcess::is_valid)
}

/// Whether the recording of a process began.
pub(super) fn has_begun(process: &GpuProcess) -> bool {
    process.problems.iter().all(|problem| problem.kind != GpuProblemKind::NeverBegan)
}

/// Kernels, copies and idle time as rows.
pub(super) fn data(profile: &GpuProfile) -> DataTable {
    const COLUMNS: [&str; 11] = [
        "process",
        "rank",
        "device",
        "what",
        "name",
        "count",
        "time_s",
        "share_of_window",
        "median_s",
        "longest_s",
        "bytes",
    ];
    let mut rows = Vec::new();
    for process in &profile.processes {
        for device in &process.devices {
            let mut row = |what: &str,
                           name: &str,
                           count: Option<u64>,
                           time: f64,
                           rest: [Option<String>; 3]| {
                let share = (device.window > 0.0).then(|| (time / device.window).to_string());
                let [median, longest, bytes] = rest;
                rows.push(vec![
                    Some(process.process.to_string()),
                    process.rank.map(|rank| rank.to_string()),
                    Some(device.device.to_string()),
                    Some(what.to_owned()),
                    Some(name.to_owned()),
                    count.map(|count| count.to_string()),
                    Some(time.to_string()),
                    share,
                    median,
                    longest,
                    bytes,
                ]);
            };
            let number = |value: f64| Some(value.to_string());
            for (activity, time) in super::result::times(device) {
                row("time", activity.words(), None, time, [None, None, None]);
            }
            for gap in &device.gaps {
                let rest = [None, number(gap.longest), None];
                row("idle", gap.cause.words(), Some(gap.count), gap.time, rest);
            }
            for kernel in &device.kernels {
                let rest = [number(kernel.median), number(kernel.longest), None];
                row("kernel", &kernel.name, Some(kernel.count), kernel.time, rest);
            }
            for part in &device.modules {
                row("module", &part.path, Some(part.kernels), part.time, [None, None, None]);
            }
            for part in &device.ranges {
                row("range", &part.path, Some(part.kernels), part.time, [None, None, None]);
            }
            for copies in &device.copy_kinds {
                let name = format!(
                    "{} ({} to {})",
                    copies.direction.words(),
                    copies.from.words(),
                    copies.to.words()
                );
                let rest = [None, None, Some(copies.bytes.to_string())];
                row("copy", &name, Some(copies.count), copies.time, rest);
            }
        }
    }
    DataTable::new(COLUMNS, rows)
}
