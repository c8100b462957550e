//! What programs did on GPUs, from the records of their own driver: where the time of each device went.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a command and its children did. Times are seconds, sizes bytes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct GpuProfile {
    /// Every process that opened a range or used CUDA, the first to begin first.
    pub processes: Vec<GpuProcess>,
    /// Files that could not be read at all: name, reason.
    pub unread: Vec<(String, String)>,
}

/// One process.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct GpuProcess {
    /// Its number.
    pub process: u32,
    /// The number of the process that started it.
    pub parent: u32,
    /// Its rank, if `torchrun` or a like program gave it one.
    pub rank: Option<u32>,
    /// The command line.
    pub command: String,
    /// The version of CUPTI that recorded; `None` if CUDA was not used or not recorded.
    pub cupti: Option<u32>,
    /// Time between the first and the last record.
    pub length: f64,
    /// The devices that it used.
    pub devices: Vec<GpuDevice>,
    /// The ranges that were open on its threads, as a tree in the order of its first opening, each after the one around it.
    pub ranges: Vec<GpuRange>,
    /// Calls into CUDA that were recorded: work started, copies, waits.
    pub calls: u64,
    /// What was not recorded, and why.
    pub problems: Vec<GpuProblem>,
}

impl GpuProcess {
    /// Whether the numbers are those of everything that happened.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        !self.problems.iter().any(|problem| problem.kind.spoils())
    }
}

/// What is wrong with a recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GpuProblem {
    /// What happened.
    pub kind: GpuProblemKind,
    /// The same for people, with the answer of the library that refused.
    pub text: String,
}

/// What can be wrong with a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GpuProblemKind {
    /// No CUPTI library was found.
    NoCupti,
    /// The CUPTI library is too old, or is none.
    NoSymbol,
    /// Another tool uses CUPTI in this process.
    OtherTool,
    /// CUPTI refused to record.
    Refused,
    /// Another tool in this process took the records.
    Stolen,
    /// The file reached its limit.
    Full,
    /// The program's own profiler got the records from there on.
    Released,
    /// Kernels of CUDA graphs could not be followed to their ranges.
    NoGraphs,
    /// Some calls into CUDA were not recorded.
    NoCalls,
    /// CUPTI dropped records.
    Dropped,
    /// The file could not be written to its end.
    Unwritten,
    /// The process was killed or left without its last words: at most half a second is missing.
    Killed,
    /// The file ends in the middle, or is damaged.
    Cut,
    /// Recording was to begin with a later step, and the process ended before.
    NeverBegan,
    /// The other tool recorded CUDA graphs as a whole: their kernels are missing.
    WholeGraphs,
}

impl GpuProblemKind {
    /// Whether the numbers are wrong because of it, and not only fewer.
    #[must_use]
    pub fn spoils(self) -> bool {
        use GpuProblemKind as Kind;
        matches!(self, Kind::Stolen | Kind::Dropped | Kind::Cut | Kind::WholeGraphs)
    }

    /// Whether there is no work of a GPU because of it.
    #[must_use]
    pub fn blinds(self) -> bool {
        use GpuProblemKind as Kind;
        matches!(self, Kind::NoCupti | Kind::NoSymbol | Kind::OtherTool | Kind::Refused)
    }
}

/// One device as one process used it. `compute`, `communication`, `copies` and `idle` add up to `window`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct GpuDevice {
    /// Its number in the process.
    pub device: u32,
    /// Its name, if this machine's driver tells it.
    pub name: Option<String>,
    /// Streams that had work.
    pub streams: u32,
    /// From the beginning of its first work to the end of its last.
    pub window: f64,
    /// At least one kernel ran that is not communication.
    pub compute: f64,
    /// Communication ran, and no other kernel.
    pub communication: f64,
    /// Memory was copied or set, and no kernel ran.
    pub copies: f64,
    /// Nothing ran.
    pub idle: f64,
    /// All the time in which communication ran, hidden behind compute or not.
    pub communication_all: f64,
    /// All the time in which memory was copied or set, hidden behind kernels or not.
    pub copies_all: f64,
    /// The times of all kernels, summed: more than the time in which any ran if some ran at once.
    pub kernel_sum: f64,
    /// Idle time by cause, the largest first.
    pub gaps: Vec<GpuGap>,
    /// Kernels by name, the most time first.
    pub kernels: Vec<GpuKernel>,
    /// Kernel time by module, the most first; empty without `--modules`.
    pub modules: Vec<GpuPart>,
    /// Kernel time by innermost range, the most first.
    pub ranges: Vec<GpuPart>,
    /// Copies by direction and memory, the most time first.
    pub copy_kinds: Vec<GpuCopies>,
    /// How kernels were launched.
    pub launches: GpuLaunches,
    /// The share of time in which a kernel ran, in parts of the window of equal length.
    pub busy: Vec<f64>,
    /// The most memory that was allocated through the driver at once; `None` if nothing was recorded.
    pub memory_peak: Option<u64>,
}

/// Why a device had nothing to do.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum GpuGapCause {
    /// The program launched the next work late: it did something else.
    HostLate,
    /// The program had waited for the device, and had to start anew.
    Synchronisation,
    /// The program waited for a copy or an allocation.
    Copy,
    /// The next work was being launched.
    Launch,
    /// The next work had been launched, but waited for other work or for the device.
    Dependency,
    /// Between the nodes of one CUDA graph.
    Graph,
    /// The call that launched the next work was not recorded.
    Unknown,
}

impl GpuGapCause {
    /// Every cause.
    pub const ALL: [GpuGapCause; 7] = [
        GpuGapCause::HostLate,
        GpuGapCause::Synchronisation,
        GpuGapCause::Copy,
        GpuGapCause::Launch,
        GpuGapCause::Dependency,
        GpuGapCause::Graph,
        GpuGapCause::Unknown,
    ];

    /// The cause in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            GpuGapCause::HostLate => "host late",
            GpuGapCause::Synchronisation => "synchronisation",
            GpuGapCause::Copy => "host waits for a copy",
            GpuGapCause::Launch => "launch",
            GpuGapCause::Dependency => "dependency",
            GpuGapCause::Graph => "inside a CUDA graph",
            GpuGapCause::Unknown => "unknown",
        }
    }
}

/// Idle time of one cause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GpuGap {
    /// The cause.
    pub cause: GpuGapCause,
    /// Gaps in which it had a part.
    pub count: u64,
    /// Their time.
    pub time: f64,
    /// The longest.
    pub longest: f64,
    /// Where the program was, by time: the range or the call that it was in, and for how long.
    pub places: Vec<(String, f64)>,
}

/// Kernels of one name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GpuKernel {
    /// The name as people write it, without parameters.
    pub name: String,
    /// One whole name, as the compiler wrote it.
    pub symbol: String,
    /// How many ran.
    pub count: u64,
    /// Their time, summed.
    pub time: f64,
    /// The median of one.
    pub median: f64,
    /// The shortest.
    pub shortest: f64,
    /// The longest.
    pub longest: f64,
    /// Whether it moves data between devices.
    pub is_communication: bool,
}

/// Kernel time of a module or a range.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GpuPart {
    /// Its path; empty for kernels that were launched outside of all.
    pub path: String,
    /// Kernels launched by itself, without those of parts inside it.
    pub kernels: u64,
    /// Their time, summed.
    pub time: f64,
    /// Time of all kernels launched in it, those of parts inside it too.
    pub total: f64,
    /// How often it was opened.
    pub calls: u64,
    /// The time in which it was open on the host, summed; `None` if it was never seen to close.
    pub host: Option<f64>,
}

/// A range of a thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GpuRange {
    /// Its name.
    pub name: String,
    /// How many ranges are around it.
    pub depth: u32,
    /// Its domain, if it is not the default one.
    pub domain: Option<String>,
    /// Whether it is a module.
    pub is_module: bool,
    /// How often it was opened.
    pub calls: u64,
    /// The time in which it was open, summed.
    pub host: f64,
    /// Time of all kernels launched in it, on all devices.
    pub kernels: f64,
}

/// Where a copy goes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum CopyDirection {
    /// To a device.
    #[serde(rename = "host to device")]
    HostToDevice,
    /// From a device.
    #[serde(rename = "device to host")]
    DeviceToHost,
    /// From a device's memory to the same memory.
    #[serde(rename = "within the device")]
    WithinDevice,
    /// From memory of the host to memory of the host.
    #[serde(rename = "host to host")]
    HostToHost,
    /// From one device to another.
    #[serde(rename = "device to device")]
    DeviceToDevice,
    /// What a recorder did not tell.
    #[serde(rename = "unknown", other)]
    Unknown,
}

impl CopyDirection {
    /// As documents and people have it.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            CopyDirection::HostToDevice => "host to device",
            CopyDirection::DeviceToHost => "device to host",
            CopyDirection::WithinDevice => "within the device",
            CopyDirection::HostToHost => "host to host",
            CopyDirection::DeviceToDevice => "device to device",
            CopyDirection::Unknown => "unknown",
        }
    }
}

/// The memory at one end of a copy.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum CopyMemory {
    /// Ordinary memory of the host, which the system may move to disk.
    Pageable,
    /// Memory of the host that stays in its place.
    Pinned,
    /// Memory of a device.
    Device,
    /// A texture of a device.
    Array,
    /// Memory that host and device share.
    Managed,
    /// What a recorder did not tell.
    #[serde(other)]
    Unknown,
}

impl CopyMemory {
    /// As documents and people have it.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            CopyMemory::Pageable => "pageable",
            CopyMemory::Pinned => "pinned",
            CopyMemory::Device => "device",
            CopyMemory::Array => "array",
            CopyMemory::Managed => "managed",
            CopyMemory::Unknown => "unknown",
        }
    }
}

/// Copies of one direction between memory of the same kinds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GpuCopies {
    /// The direction.
    pub direction: CopyDirection,
    /// The memory of the source.
    pub from: CopyMemory,
    /// The memory of the target.
    pub to: CopyMemory,
    /// How many.
    pub count: u64,
    /// Bytes.
    pub bytes: u64,
    /// Their time, summed.
    pub time: f64,
    /// Bytes a second, over their own time.
    pub rate: f64,
}

/// How kernels were launched.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct GpuLaunches {
    /// Kernels that are not communication.
    pub kernels: u64,
    /// Those of them that took less than 10 µs: about as long as a launch takes.
    pub short: u64,
    /// The time of those.
    pub short_time: f64,
    /// The median time of a call that launches; `None` if none was recorded.
    pub call: Option<f64>,
    /// Kernels that a CUDA graph launched.
    pub graph_kernels: u64,
    /// Those of them whose range is known from when the graph was made.
    pub graph_named: u64,
    /// Launches of graphs.
    pub graph_launches: u64,
}
