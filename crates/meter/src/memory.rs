//! The memory pass: a fresh worker that runs with every allocation written down, and without, by turns.

use crate::{Job, Launch, Link, MeterError, derive, measure, sampling};
use engine::{MemoryRecord, Reply, Request, read_allocations};
use probe::{PROBES, Probe, Target, Watcher};
use std::{fs, path::Path, time::Duration};
use types::{
    Bytes, Cell, Device, Estimate, Event, Interval, MissingCode, Phase, ProbeReport, Reading,
    Samples, Stage, SystemMemory,
};

/// Inferences that are watched whole; enough to see whether they leave memory behind.
const RUNS: u64 = 12;

/// The longest they may take, where an inference is slow.
const LONGEST: Duration = Duration::from_secs(30);

/// How long the worker runs undisturbed, for the system's view: several readings of the memory.
const UNDISTURBED: Duration = Duration::from_millis(600);

/// Pairs of windows with and without instruments, how long a window lasts, and the steps it has at most.
const TURNS: usize = 10;
const WINDOW: Duration = Duration::from_millis(150);
const STEPS: u64 = 4;
const LONGEST_TURNS: Duration = Duration::from_secs(20);

/// Below this many pairs there is no interval.
const FEWEST_TURNS: usize = 4;

/// Seed of the bootstrap: fixed, so that the same samples always give the same interval.
const SEED: u64 = 0x006d_656d_6f72_7900;

/// What the memory pass found.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryPass {
    /// What the engine's memory did; `None` if the engine cannot tell.
    pub record: Option<MemoryRecord>,
    /// What the system saw, without instruments.
    pub system: SystemMemory,
    /// What the instruments cost: with ÷ without − 1.
    pub cost: Reading<Estimate>,
    /// What is resident of the model's own files, mapped into the worker; `None` if the system does not tell.
    pub mapped: Option<Bytes>,
    /// Whether the worker was a part of this process, which allocates as well.
    pub is_shared: bool,
}

/// Runs a job in a fresh worker, first undisturbed, then with every allocation written down. `folder` is for files
/// that pass between the processes.
///
/// # Errors
/// When the worker or the engine fails.
pub fn memory_pass(
    job: &Job<'_>,
    launch: &Launch,
    timeout: Duration,
    folder: &Path,
    sink: &mut dyn FnMut(Event),
) -> Result<MemoryPass, MeterError> {
    sink(Event::progress(Stage::Sample, 0, None, "recording memory"));
    let mut link = Link::open(launch, timeout)?;
    let target = Target::new(link.pid(), job.cell.device);
    let watcher = Watcher::start(&probes(job.cell.device), &target);
    measure::load(&mut link, job)?;
    measure::first_inference(&mut link)?;
    let loading = watcher.stop();
    let watcher = Watcher::start(&probes(job.cell.device), &target);
    let phase = derive::model_phase(&job.cell);
    let plain = of_phase(sampling::window(&mut link, &job.cell, u64::MAX, UNDISTURBED)?, phase);
    let running = watcher.stop();
    let mapped = job.onnx.parent().and_then(|folder| probe::mapped_from(link.pid(), folder));
    let each = Duration::from_nanos(stats::median(&plain).map_or(0, |s| (s * 1e9) as u64));
    let runs = RUNS.min(times(LONGEST, each)).max(1);
    let record = remember(&mut link, runs, folder)?;
    let cost = match &record {
        Some(_) => cost(&mut link, &job.cell, each, folder)?,
        None => {
            Reading::missing(MissingCode::NotReported, "this engine does not report its memory")
        }
    };
    link.close();
    Ok(MemoryPass {
        record,
        system: system(job.cell.device, &loading, &running),
        cost,
        mapped,
        is_shared: !launch.is_isolated(),
    })
}

fn probes(device: Device) -> Vec<&'static dyn Probe> {
    let wanted = |id: &str| id == "memory" || (id == "gpu" && device != Device::Cpu);
    PROBES.iter().copied().filter(|probe| wanted(probe.id())).collect()
}

fn of_phase(samples: Vec<Samples>, phase: Phase) -> Vec<u64> {
    let found = samples.into_iter().find(|samples| samples.phase == phase);
    found.map(|samples| samples.nanos).unwrap_or_default()
}

/// How often something fits into a time.
fn times(whole: Duration, each: Duration) -> u64 {
    u64::try_from(whole.as_nanos() / each.as_nanos().max(1)).unwrap_or(u64::MAX)
}

/// Asks for runs under instruments and reads what they allocated.
fn remember(
    link: &mut Link,
    count: u64,
    folder: &Path,
) -> Result<Option<MemoryRecord>, MeterError> {
    let events = folder.join(format!("allocations-{}", link.pid()));
    let doing = "record its memory";
    let request = Request::Memory { count, events: events.clone() };
    let record = match link.ask(&request, doing)? {
        Reply::Remembered { record } => record,
        other => return Err(MeterError::Protocol { doing, said: format!("{other:?}") }),
    };
    let Some(mut record) = record else { return Ok(None) };
    if let Some(allocations) = &mut record.allocations.value {
        let read = read_allocations(&events, allocations);
        // Many events of several turns need not stay on the disk until the end.
        let _ = fs::remove_file(&events);
        read?;
    }
    Ok(Some(*record))
}

/// Windows with and without instruments in turns, the order turned round each time.
fn cost(
    link: &mut Link,
    cell: &Cell,
    each: Duration,
    folder: &Path,
) -> Result<Reading<Estimate>, MeterError> {
    let phase = derive::model_phase(cell);
    // A training step allocates far more often than an inference, and all of it is written down.
    let most = if phase == Phase::Inference { 1000 } else { STEPS };
    let count = times(WINDOW, each).clamp(1, most);
    let pair = each.saturating_mul(2 * u32::try_from(count).unwrap_or(1));
    let turns = TURNS.min(times(LONGEST_TURNS, pair) as usize).max(FEWEST_TURNS);
    let mut logs = Vec::with_capacity(turns);
    let plain = |link: &mut Link| {
        sampling::window(link, cell, count, Duration::MAX).map(|samples| of_phase(samples, phase))
    };
    for turn in 0..turns {
        let early = if turn % 2 == 0 { Some(plain(link)?) } else { None };
        let watched = remember(link, count, folder)?.map(|record| record.run_nanos);
        let plain = early.map_or_else(|| plain(link), Ok)?;
        logs.extend(stats::log_ratio(&plain, &watched.unwrap_or_default()));
    }
    let estimate = stats::paired_ratio(&[logs], SEED).and_then(|estimate| {
        // The other way round: how much longer it takes with instruments.
        let cost = |ratio: f64| 1.0 / ratio - 1.0;
        let interval = estimate.interval?;
        let interval = Interval { low: cost(interval.high), high: cost(interval.low) };
        Some(Estimate { value: cost(estimate.ratio), interval })
    });
    Ok(Reading::or_missing(
        estimate,
        MissingCode::TooFewValues,
        "too few inferences to measure the cost of the instruments",
    ))
}

fn system(device: Device, loading: &[ProbeReport], running: &[ProbeReport]) -> SystemMemory {
    let reading = |reports: &[ProbeReport], probe: &str, key: &str| -> Reading<Bytes> {
        let report = reports.iter().find(|report| report.probe == probe);
        let Some(report) = report else {
            return Reading::missing(MissingCode::NotMeasured, "it was not recorded");
        };
        if let Some(why) = &report.unavailable {
            return Reading::missing(MissingCode::NotReported, why.clone());
        }
        match report.metrics.iter().find(|metric| metric.key == key) {
            Some(metric) => Reading::or_missing(
                metric.value.map(|bytes| Bytes(bytes as u64)),
                MissingCode::NotReported,
                metric.why.as_deref().unwrap_or("it was not reported"),
            ),
            None => Reading::missing(MissingCode::NotMeasured, format!("`{key}` was not recorded")),
        }
    };
    // The high-water mark is set back between loading and running; the peak people mean is over both.
    let larger = |probe: &str, key: &str| {
        let (first, second) = (reading(loading, probe, key), reading(running, probe, key));
        match first.value > second.value {
            true => first,
            false => second,
        }
    };
    let is_device = device != Device::Cpu;
    SystemMemory {
        peak: larger("memory", "memory.peak"),
        average: reading(running, "memory", "memory.average"),
        device_peak: is_device.then(|| larger("gpu", "gpu.memory.used")),
        device_process: is_device.then(|| larger("gpu", "gpu.memory.process")),
    }
}
