//! The largest batch whose memory suffices, found by trying: short runs in fresh workers, nothing timed, nothing stored.

mod bracket;

pub(crate) use bracket::Bracket;

use crate::{Error, Profiler, error::spell, prepare};
use meter::MeterError;
use number::mebibytes;
use types::{Bytes, Event, GenerationReport, LimitedBy, MemoryLimit, Refusal, RefusalKind};

/// The most batches that are tried. Halving alone settles anything up to 4,096 exactly.
const MOST_TRIES: usize = 12;

/// One batch that was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchTry {
    /// Samples in one inference.
    pub batch: usize,
    /// Peak resident memory, if it ran to its end.
    pub peak: Option<Bytes>,
    /// Why it does not fit; `None` if it does.
    pub refused: Option<String>,
}

/// The largest batch that fits, as far as it was looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LargestBatch {
    /// The largest that ran; `None` if not even one sample fits.
    pub batch: Option<usize>,
    /// The smallest that is known not to fit.
    pub refused: usize,
    /// Every batch that was tried, in order.
    pub tries: Vec<BatchTry>,
    /// What the workers were held to, where a limit was asked for and one of them ran to its end.
    pub limit: Option<MemoryLimit>,
}

impl LargestBatch {
    /// Whether the next larger batch is known not to fit; otherwise the tries ran out before.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.batch.unwrap_or(0) + 1 == self.refused
    }
}

/// Finds the largest batch below `refused`, which ran out of memory, that fits on this machine or under the profiler's
/// [memory limit](Profiler::memory_limit).
///
/// At most twelve short runs: each loads the model in a fresh worker and infers three times. What the measured peaks
/// foretell is tried first; what does not halve the bracket gives way to halving.
///
/// # Errors
/// When a try fails for another reason than memory.
pub fn largest_batch(
    profiler: &Profiler,
    refused: usize,
    sink: &mut dyn FnMut(Event),
) -> Result<LargestBatch, Error> {
    let bracket = Bracket::below(refused, budget(profiler));
    let found = search(profiler, bracket, |_| false, sink)?;
    let told = |tried: Tried| BatchTry {
        batch: tried.batch,
        peak: tried.peak,
        refused: tried.refused.map(|refusal| refusal.why),
    };
    let limit = found.tries.iter().find_map(|tried| tried.limit);
    let tries = found.tries.into_iter().map(told).collect();
    Ok(LargestBatch { batch: found.largest, refused: found.refused, tries, limit })
}

/// What may be resident: the limit, or what the machine has to give now.
pub(crate) fn budget(profiler: &Profiler) -> Option<u64> {
    profiler.memory_limit.or_else(hardware::available_memory).map(|bytes| bytes.0)
}

/// What a search came to.
pub(crate) struct Found {
    /// The largest that ran.
    pub(crate) largest: Option<usize>,
    /// The smallest that did not, or the end of the bracket.
    pub(crate) refused: usize,
    /// Every try, in order.
    pub(crate) tries: Vec<Tried>,
}

/// Narrows a bracket until it is closed or the tries are spent; `is_refusal` says which failures beside those for want
/// of memory mean that a batch does not fit.
pub(crate) fn search(
    profiler: &Profiler,
    bracket: Bracket,
    is_refusal: impl Fn(&MeterError) -> bool,
    sink: &mut dyn FnMut(Event),
) -> Result<Found, Error> {
    search_with(&|batch| profiler.clone().batch_size(batch), bracket, &is_refusal, sink)
}

/// The same for whatever grows with a number: `at` says what is measured with it.
pub(crate) fn search_with(
    at: &dyn Fn(usize) -> Profiler,
    mut bracket: Bracket,
    is_refusal: &dyn Fn(&MeterError) -> bool,
    sink: &mut dyn FnMut(Event),
) -> Result<Found, Error> {
    let mut tries = Vec::new();
    while let Some(batch) = bracket.next().filter(|_| tries.len() < MOST_TRIES) {
        let tried = rehearse_as(&at(batch), batch, is_refusal, sink)?;
        match &tried.refused {
            None => bracket.fits(batch, tried.counted_peak(), tried.each),
            Some(_) => bracket.refuses(batch),
        }
        tries.push(tried);
    }
    Ok(Found { largest: bracket.largest(), refused: bracket.refused(), tries })
}

/// What one try showed.
pub(crate) struct Tried {
    pub(crate) batch: usize,
    /// Peak resident memory, if it ran to its end.
    pub(crate) peak: Option<Bytes>,
    /// What the worker was held to, where it ran to its end.
    pub(crate) limit: Option<MemoryLimit>,
    /// What one more sample should take, as the graph says.
    each: Option<u64>,
    /// What was resident of its own at the end, files apart.
    pub(crate) resident: Option<Bytes>,
    /// What a language model left in its cache.
    pub(crate) generation: Option<Box<GenerationReport>>,
    /// Why it does not fit.
    pub(crate) refused: Option<Refusal>,
}

impl Tried {
    /// The peak, where it is what the limit counts: a device's own memory is not resident.
    fn counted_peak(&self) -> Option<u64> {
        let device = self.limit.is_some_and(|limit| limit.by == LimitedBy::DeviceAllocator);
        self.peak.filter(|_| !device).map(|bytes| bytes.0)
    }
}

/// Loads a batch in a fresh worker and runs it a few times.
pub(crate) fn rehearse(
    profiler: &Profiler,
    batch: usize,
    is_refusal: &dyn Fn(&MeterError) -> bool,
    sink: &mut dyn FnMut(Event),
) -> Result<Tried, Error> {
    rehearse_as(&profiler.clone().batch_size(batch), batch, is_refusal, sink)
}

/// Runs what the profiler says a few times, under the number that stands for it.
pub(crate) fn rehearse_as(
    profiler: &Profiler,
    batch: usize,
    is_refusal: &dyn Fn(&MeterError) -> bool,
    sink: &mut dyn FnMut(Event),
) -> Result<Tried, Error> {
    profiler.check_rule()?;
    let refused = |each, kind, why| {
        let refused = Some(Refusal { kind, why });
        let (resident, generation) = (None, None);
        Ok(Tried { batch, peak: None, limit: None, each, resident, generation, refused })
    };
    let prepared = match prepare::prepare(profiler, sink) {
        Err(error) if error.is_out_of_memory() => {
            return refused(None, RefusalKind::OutOfMemory, error.to_string());
        }
        prepared => prepared?,
    };
    let launch = profiler.launch(&prepared)?;
    let refine = |seen: &[(String, Vec<usize>)]| prepared.count_again(seen);
    let job = prepared.job(&refine);
    let each = job.work.activation_peak.map(|peak| peak.0 / batch.max(1) as u64);
    match meter::rehearse(&job, &launch, profiler.rule.timeout, sink) {
        Ok(ran) => {
            // A limit of the process says nothing about a device's own memory.
            let resident = ran.peak.filter(|_| !job.cell.device.has_own_memory());
            let over = over(resident, ran.limit);
            let refused = over.map(|why| Refusal { kind: RefusalKind::OverLimit, why });
            let (peak, limit, resident) = (ran.peak, ran.limit, ran.resident);
            Ok(Tried { batch, peak, limit, each, resident, generation: ran.generation, refused })
        }
        // Memory that only just suffices for what is written makes the kernel read the mapped weights again and again.
        Err(error)
            if error.is_out_of_memory()
                || matches!(error, MeterError::Timeout { .. })
                || is_refusal(&error) =>
        {
            refused(each, kind_of(&error), spell(&error))
        }
        Err(error) => Err(error.into()),
    }
}

/// How a worker ended that did not fit.
pub(crate) fn kind_of(error: &MeterError) -> RefusalKind {
    match error {
        error if error.is_out_of_memory() => RefusalKind::OutOfMemory,
        MeterError::Timeout { .. } => RefusalKind::Timeout,
        _ => RefusalKind::Crash,
    }
}

/// Why a run that nobody stopped was over the limit all the same: pages of mapped files count for the group that read
/// them first, and not at all for `RLIMIT_DATA`.
pub(crate) fn over(peak: Option<Bytes>, limit: Option<MemoryLimit>) -> Option<String> {
    let limit = limit.filter(|limit| matches!(limit.by, LimitedBy::Cgroup | LimitedBy::Rlimit))?;
    let peak = peak.filter(|peak| *peak > limit.bytes)?;
    Some(format!(
        "{} were resident, mapped files included; the limit is {}",
        mebibytes(peak.0),
        mebibytes(limit.bytes.0)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_resident_is_held_against_a_limit_of_the_process_only() {
        let by = |by| Some(MemoryLimit { bytes: Bytes(100 << 20), by });
        let peak = Some(Bytes(101 << 20));
        assert!(over(peak, by(LimitedBy::Cgroup)).unwrap().contains("101 MiB"));
        assert!(over(peak, by(LimitedBy::Rlimit)).is_some());
        assert_eq!(over(peak, by(LimitedBy::DeviceAllocator)), None);
        assert_eq!(over(Some(Bytes(100 << 20)), by(LimitedBy::Cgroup)), None);
        assert_eq!(over(peak, None), None);
    }
}
