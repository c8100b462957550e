//! What a device can do at best, as a table and as JSON.

use crate::{
    clean::clean,
    csv::{number, text},
    document::{Timestamp, to_json},
    result::{Block, DataTable, Note, ResultDocument},
    sheet::Grid,
    summary::processor,
    table::Column,
    timestamp::{minute, rfc3339},
    wrap::DOT,
};
use number::{MISSING, bytes_per_second, fixed, flops_per_second, seconds, significant};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;
use types::{
    Bytes, Ceiling, Ceilings, CopyDirection, CopyMemory, Device, Interval, Machine, Precision,
    Unmeasured,
};

/// The name and version of the JSON.
pub const CEILINGS_SCHEMA: &str = "modelmeter.ceilings/1";

/// Repetitions this far below the best show that something else ran.
const DISTURBED: f64 = 0.8;

/// The heading of what nearly all repetitions reached; the ceiling is what the best one did.
const ALMOST_ALWAYS: &str = "97.5 % reach";

/// Ceilings to be shown.
#[derive(Debug, Clone, Copy)]
pub struct CeilingsView<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// What stands.
    pub standing: &'a Ceilings,
    /// What was measured just now; `None` if nothing was.
    pub measured: Option<&'a Ceilings>,
    /// The database in which they are stored.
    pub stored: Option<&'a Path>,
}

/// The measured ceilings of a device.
#[must_use]
pub fn ceilings_document(view: &CeilingsView<'_>) -> ResultDocument {
    let CeilingsView { machine, standing, measured, stored } = view;
    let mut facts = Vec::new();
    match standing.threads {
        0 => {}
        1 => facts.push("1 thread".into()),
        threads => facts.push(format!("{threads} threads")),
    }
    facts.push(format!("measured {} UTC", minute(standing.measured_at)));
    let mut notes: Vec<Note> = standing
        .unmeasured
        .iter()
        .map(|missing| Note::new(format!("{} was not measured: {}", missing.what, missing.why)))
        .collect();
    if measured.is_some_and(is_disturbed) {
        notes.push(Note::warning(
            "other work disturbed the measurement: repetitions vary widely; measure again on a quiet machine, the \
             higher numbers are kept",
        ));
    }
    notes.push(Note::new(format!(
        "the ceiling is the best repetition; \"{ALMOST_ALWAYS}\" is what 97.5 % of the repetitions reached at least"
    )));
    notes.push(Note::new(match stored {
        Some(path) => format!("stored for this machine in {}", path.display()),
        None => "not stored".into(),
    }));
    let rows = rows(standing, *measured);
    ResultDocument {
        title: vec![format!("{}{}", standing.device, hardware(machine, standing.device))],
        facts,
        is_list: false,
        verdict: None,
        blocks: vec![Block::table("ceilings", grid(&rows)), Block::Notes(notes)],
        json: to_json(&CeilingsDocument::from(view)),
        data: Some(data(standing, &rows)),
        ..ResultDocument::default()
    }
}

fn grid(rows: &[Row]) -> Grid {
    let mut grid = Grid::of([
        Column::left("what"),
        Column::right("ceiling"),
        Column::right(ALMOST_ALWAYS),
        Column::right("FLOP/byte").leaves(1),
        Column::left("how").wraps(),
    ]);
    for Row { what, stands, now, balance, way, show } in rows {
        let mut how = way.clone();
        if let Some(now) = now.filter(|now| now.value < stands.value) {
            let space = if how.is_empty() { "" } else { "; " };
            how += &format!("{space}from an earlier measurement, now {}", show(now.value));
        }
        let balance = balance.map_or(String::new(), |balance| significant(balance, 3));
        let cells = [what.clone(), show(stands.value), show(stands.interval.low), balance, how];
        grid.row(cells);
    }
    grid
}

fn data(standing: &Ceilings, rows: &[Row]) -> DataTable {
    const COLUMNS: [&str; 9] = [
        "device",
        "threads",
        "measured_at",
        "what",
        "ceiling_per_second",
        "ci95_low_per_second",
        "ci95_high_per_second",
        "flops_per_byte",
        "how",
    ];
    let row = |row: &Row| {
        vec![
            Some(standing.device.to_string()),
            (standing.threads > 0).then(|| standing.threads.to_string()),
            Some(rfc3339(standing.measured_at)),
            text(&row.what),
            number(row.stands.value),
            number(row.stands.interval.low),
            number(row.stands.interval.high),
            row.balance.and_then(number),
            text(&row.way),
        ]
    };
    DataTable::new(COLUMNS, rows.iter().map(row))
}

fn rows(standing: &Ceilings, measured: Option<&Ceilings>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (precision, stands) in &standing.flops {
        rows.push(Row {
            what: precision.name().to_owned(),
            stands: *stands,
            now: measured.and_then(|measured| measured.flops_at(*precision)),
            balance: standing.balance(*precision),
            way: standing.way(*precision).unwrap_or_default().to_owned(),
            show: if *precision == Precision::Int8 { integer_operations } else { flops_per_second },
        });
    }
    rows.extend(standing.tf32.map(|stands| Row {
        what: "tf32".into(),
        stands,
        now: measured.and_then(|measured| measured.tf32),
        balance: None,
        way: "fp32 whose factors are rounded to 10 bits".into(),
        show: flops_per_second,
    }));
    rows.extend(standing.caches.iter().map(|cache| Row {
        what: format!("L{}", cache.level),
        stands: cache.ceiling,
        now: measured.and_then(|measured| {
            measured.caches.iter().find(|now| now.level == cache.level).map(|now| now.ceiling)
        }),
        balance: None,
        way: format!("arrays within {}", binary_bytes(cache.size)),
        show: bytes_per_second,
    }));
    rows.extend(standing.bandwidth.map(|stands| Row {
        what: "memory".into(),
        stands,
        now: measured.and_then(|measured| measured.bandwidth),
        balance: None,
        way: "arrays larger than every cache".into(),
        show: bytes_per_second,
    }));
    rows.extend(standing.copies.iter().map(|copy| Row {
        what: copy.direction.words().to_owned(),
        stands: copy.ceiling,
        now: measured.and_then(|measured| measured.copy(copy.direction, copy.memory)),
        balance: None,
        way: format!("{} memory", copy.memory.words()),
        show: bytes_per_second,
    }));
    rows.extend(standing.launches.map(|stands| Row {
        what: "launch".into(),
        stands,
        now: measured.and_then(|measured| measured.launches),
        balance: None,
        way: "one kernel after the other".into(),
        show: each,
    }));
    rows
}

/// A rate as the time of each.
fn each(rate: f64) -> String {
    seconds(1.0 / rate.max(f64::MIN_POSITIVE))
}

/// A row's numbers.
struct Row {
    what: String,
    stands: Ceiling,
    now: Option<Ceiling>,
    balance: Option<f64>,
    way: String,
    show: fn(f64) -> String,
}

/// Integers are operations, but not on floating points.
fn integer_operations(value: f64) -> String {
    flops_per_second(value).replace("FLOP/s", "OP/s")
}

fn operations(value: f64, precision: Precision) -> String {
    if precision == Precision::Int8 { integer_operations(value) } else { flops_per_second(value) }
}

fn is_disturbed(measured: &Ceilings) -> bool {
    let all = measured.flops.iter().map(|(_, ceiling)| *ceiling).chain(measured.bandwidth);
    all.into_iter().any(|ceiling| ceiling.interval.low < ceiling.value * DISTURBED)
}

/// Caches are sold in powers of two: `32 KiB`, `35.8 MiB`.
fn binary_bytes(size: Bytes) -> String {
    let kib = size.0 as f64 / 1024.0;
    let (value, unit) = if kib < 1024.0 { (kib, "KiB") } else { (kib / 1024.0, "MiB") };
    format!("{} {unit}", fixed(value, usize::from(value.fract() != 0.0)))
}

/// ` (Xeon, 2 cores)`, ` (NVIDIA H200)`.
fn hardware(machine: &Machine, device: Device) -> String {
    let name = match device {
        Device::Cpu => {
            let cores = machine.cpu.cores;
            let cores = if cores == 1 { "1 core".into() } else { format!("{cores} cores") };
            match processor(&machine.cpu.model) {
                name if name.is_empty() => cores,
                name => format!("{name}, {cores}"),
            }
        }
        Device::Cuda(index) => {
            let gpu = machine.gpus.iter().find(|gpu| gpu.index == index);
            gpu.map_or_else(String::new, |gpu| clean(&gpu.name))
        }
        _ => String::new(),
    };
    if name.is_empty() { name } else { format!(" ({name})") }
}

/// What a device computes at best: `fp32 304 GFLOP/s · int8 1.05 TOP/s`.
pub(crate) fn operations_line(ceilings: &Ceilings) -> String {
    joined(operations_each(ceilings))
}

/// One line for a list of devices: `fp32 304 GFLOP/s · int8 1.05 TOP/s · memory 22.9 GB/s`.
#[must_use]
pub fn ceilings_line(ceilings: &Ceilings) -> String {
    let memory = ceilings.bandwidth.map(|found| bytes_per_second(found.value));
    let memory = memory.map(|text| format!("memory {text}"));
    joined(operations_each(ceilings).chain(memory))
}

fn operations_each(ceilings: &Ceilings) -> impl Iterator<Item = String> {
    ceilings.flops.iter().map(|(precision, ceiling)| {
        format!("{precision} {}", operations(ceiling.value, *precision))
    })
}

fn joined(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    if items.is_empty() { MISSING.into() } else { items.join(DOT) }
}

/// The measured ceilings of a device.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CeilingsDocument<'a> {
    #[schemars(extend("const" = CEILINGS_SCHEMA))]
    schema: &'static str,
    /// The machine's key.
    machine: &'a str,
    device: Device,
    /// Threads used for the measurement; null if the device is not the CPU.
    threads: Option<u32>,
    measured_at: Timestamp,
    /// Operations a second by precision; a multiply-add is 2.
    compute: Vec<ComputeDocument<'a>>,
    /// fp32 with matrix products that round their factors to TF32.
    tf32: Option<CeilingDocument>,
    caches: Vec<CacheDocument>,
    memory: Option<CeilingDocument>,
    /// Copies between the host and the device.
    copies: Vec<CopyDocument>,
    /// Kernels that the host launches a second, one after the other.
    launches: Option<CeilingDocument>,
    /// What could not be measured, and why.
    unmeasured: &'a [Unmeasured],
    /// The database in which they are stored.
    stored: Option<String>,
}

/// One measured upper bound.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Ceiling")]
struct CeilingDocument {
    /// The best repetition.
    value: f64,
    #[schemars(extend("enum" = ["FLOP/s", "B/s", "1/s"]))]
    unit: &'static str,
    /// From the repetitions' 2.5th percentile to the best one.
    interval: Interval,
    /// The newest measurement; null if nothing was measured.
    measured_now: Option<f64>,
}

impl CeilingDocument {
    fn new(stands: Ceiling, now: Option<Ceiling>, unit: &'static str) -> CeilingDocument {
        let measured_now = now.map(|now| now.value);
        CeilingDocument { value: stands.value, unit, interval: stands.interval, measured_now }
    }
}

/// The upper bound of one precision.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ComputeCeiling")]
struct ComputeDocument<'a> {
    precision: Precision,
    #[serde(flatten)]
    ceiling: CeilingDocument,
    /// Operations for each byte of memory above which memory is not the bound.
    flops_per_byte: Option<f64>,
    /// Which unit or kernel reached it.
    way: Option<&'a str>,
}

/// Read bandwidth of one cache level, all threads together.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CacheCeiling")]
struct CacheDocument {
    /// 1 is next to the core.
    level: u32,
    /// Size of one such cache, in bytes.
    size: Bytes,
    #[serde(flatten)]
    ceiling: CeilingDocument,
}

/// How fast the host and the device copy from one to the other.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CopyCeilingOfDevice")]
struct CopyDocument {
    /// To or from the device.
    direction: CopyDirection,
    /// The host's memory: pinned or pageable.
    memory: CopyMemory,
    #[serde(flatten)]
    ceiling: CeilingDocument,
}

impl<'a> From<&CeilingsView<'a>> for CeilingsDocument<'a> {
    fn from(view: &CeilingsView<'a>) -> CeilingsDocument<'a> {
        let CeilingsView { machine, standing, measured, stored } = *view;
        let compute = standing.flops.iter().map(|(precision, stands)| {
            let now = measured.and_then(|measured| measured.flops_at(*precision));
            ComputeDocument {
                precision: *precision,
                ceiling: CeilingDocument::new(*stands, now, "FLOP/s"),
                flops_per_byte: standing.balance(*precision),
                way: standing.way(*precision),
            }
        });
        let caches = standing.caches.iter().map(|cache| {
            let now = measured.and_then(|measured| {
                measured.caches.iter().find(|now| now.level == cache.level).map(|now| now.ceiling)
            });
            let ceiling = CeilingDocument::new(cache.ceiling, now, "B/s");
            CacheDocument { level: cache.level, size: cache.size, ceiling }
        });
        let copies = standing.copies.iter().map(|copy| {
            let now = measured.and_then(|now| now.copy(copy.direction, copy.memory));
            let ceiling = CeilingDocument::new(copy.ceiling, now, "B/s");
            CopyDocument { direction: copy.direction, memory: copy.memory, ceiling }
        });
        let launches =
            |stands| CeilingDocument::new(stands, measured.and_then(|now| now.launches), "1/s");
        let tf32 =
            |stands| CeilingDocument::new(stands, measured.and_then(|now| now.tf32), "FLOP/s");
        let memory =
            |stands| CeilingDocument::new(stands, measured.and_then(|now| now.bandwidth), "B/s");
        CeilingsDocument {
            schema: CEILINGS_SCHEMA,
            machine: &machine.key,
            device: standing.device,
            threads: (standing.threads > 0).then_some(standing.threads),
            measured_at: standing.measured_at.into(),
            compute: compute.collect(),
            tf32: standing.tf32.map(tf32),
            copies: copies.collect(),
            launches: standing.launches.map(launches),
            caches: caches.collect(),
            memory: standing.bandwidth.map(memory),
            unmeasured: &standing.unmeasured,
            stored: stored.map(|path| path.display().to_string()),
        }
    }
}
