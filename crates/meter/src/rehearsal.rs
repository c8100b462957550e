//! Runs a job a few times in a fresh worker, only to see whether its memory suffices.

use crate::{Job, Launch, Link, MeterError, generation, measure, sampling};
use probe::{Target, Watcher};
use std::time::{Duration, Instant};
use types::{Bytes, Event, GenerationReport, MemoryLimit, Stage, key};

/// Inferences after the first: allocators settle on the second, and a third costs little.
const RUNS: u64 = 2;

/// What a rehearsal showed.
#[derive(Debug, Clone, PartialEq)]
pub struct Rehearsal {
    /// The most that it held where it computes: resident, or on a device with its own memory; `None` if nobody tells.
    pub peak: Option<Bytes>,
    /// What the worker was held to.
    pub limit: Option<MemoryLimit>,
    /// From starting the process to the end of the first inference.
    pub start: Duration,
    /// One inference after the first, roughly.
    pub each: Duration,
    /// What was resident of its own when it had run, files apart; `None` on devices with their own memory.
    pub resident: Option<Bytes>,
    /// What a language model left in its cache.
    pub generation: Option<Box<GenerationReport>>,
}

/// Loads a job and runs it a few times; nothing is timed.
///
/// # Errors
/// When the worker or the engine fails, also for want of memory.
pub fn rehearse(
    job: &Job<'_>,
    launch: &Launch,
    timeout: Duration,
    sink: &mut dyn FnMut(Event),
) -> Result<Rehearsal, MeterError> {
    sink(Event::stage(Stage::Start));
    let begin = Instant::now();
    let mut link = Link::open(launch, timeout)?;
    let device = job.cell.device;
    let watcher =
        Watcher::start(&measure::loading_probes(device), &Target::new(link.pid(), device));
    sink(Event::stage(Stage::Load));
    measure::load(&mut link, job)?;
    sink(Event::stage(Stage::First));
    measure::first_inference(&mut link)?;
    let start = begin.elapsed();
    sampling::window(&mut link, &job.cell, RUNS, timeout)?;
    let each = (begin.elapsed() - start) / RUNS as u32;
    let reports = watcher.stop();
    let resident = probe::anonymous(link.pid()).filter(|_| !device.has_own_memory());
    let generation = generation::state(&mut link, job)?.map(Box::new);
    let limit = link.limit();
    link.close();
    let mut metrics = reports.iter().flat_map(|report| &report.metrics);
    let wanted = match device.has_own_memory() {
        true => key::GPU_MEMORY_PROCESS,
        false => key::MEMORY_PEAK,
    };
    let peak = metrics.find(|metric| metric.key == wanted).and_then(|metric| metric.value);
    let peak = peak.map(|bytes| Bytes(bytes as u64));
    Ok(Rehearsal { peak, limit, start, each, resident, generation })
}
