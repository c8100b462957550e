//! The machine's ceilings: the best rates it can reach, measured on it.
//!
//! What they bound:
//! - FLOP/s: independent chains of fused multiply-adds that stay in registers, on all threads at once, with the widest vector
//!   units. No memory is touched, so no matrix product in fp32 on as many threads can be faster; a multiply-add counts as 2.
//! - Bytes a second: reading, copying and updating arrays far larger than the caches, counting what the program reads and writes.
//!   A layer whose data comes from memory cannot be faster; one whose data stays in a cache can.
//!
//! The value is the best of many short repetitions, because a disturbance can only slow one down. The interval reaches from
//! the repetitions' 2.5th percentile up to that best one.

mod bandwidth;
mod fma;
mod laps;

use std::time::{Duration, SystemTime, UNIX_EPOCH};
use types::{Ceiling, Ceilings, Interval, Precision};

/// Long enough that the start of the threads does not count, short enough to fall between disturbances.
const LAP: Duration = Duration::from_millis(8);

/// Laps in one round.
const LAPS: usize = 16;

/// A round that raises the best by less shows that nothing disturbed it.
const SETTLED: f64 = 1.01;

/// On a machine that never gets quiet the search ends here; half a second for each vector unit.
const ROUNDS: usize = 4;

/// Measures the ceilings with so many threads in one to two seconds; `progress` is told steps done and steps in all.
pub fn ceilings(threads: u32, progress: &mut dyn FnMut(u64, u64)) -> Ceilings {
    let threads = threads.max(1);
    let kernels = fma::kernels();
    let steps = kernels.len() as u64 + 1;
    let mut rates = Vec::new();
    for (step, kernel) in kernels.iter().enumerate() {
        progress(step as u64, steps);
        let found = fma_rates(kernel, threads);
        // The widest unit is not always the fastest: a processor may have one of those and two of the narrower.
        if best(&found) > best(&rates) {
            rates = found;
        }
    }
    progress(steps - 1, steps);
    let bandwidth = ceiling(bandwidth::rates(threads));
    progress(steps, steps);
    Ceilings {
        threads,
        flops: ceiling(rates).map(|ceiling| (Precision::Fp32, ceiling)).into_iter().collect(),
        bandwidth,
        measured_at: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_micros() as i64),
    }
}

/// FLOP/s of each lap, in rounds until one more does not raise the best.
fn fma_rates(kernel: &fma::Kernel, threads: u32) -> Vec<f64> {
    let iterations = kernel.iterations_for(LAP);
    let flops = kernel.flops(iterations) * f64::from(threads);
    let mut rates = Vec::new();
    for _ in 0..ROUNDS {
        let before = best(&rates);
        let spans = laps::laps(threads, LAPS, || (), |(), _| kernel.run(iterations));
        rates.extend(spans.into_iter().map(|span| flops / span.as_secs_f64()));
        if before > 0.0 && best(&rates) < before * SETTLED {
            break;
        }
    }
    rates
}

fn best(rates: &[f64]) -> f64 {
    rates.iter().copied().fold(0.0, f64::max)
}

/// The best rate and the interval below it; `None` where nothing was measured.
fn ceiling(mut rates: Vec<f64>) -> Option<Ceiling> {
    rates.retain(|rate| rate.is_finite() && *rate > 0.0);
    rates.sort_by(f64::total_cmp);
    let value = *rates.last()?;
    let low = rates[(rates.len() as f64 * 0.025) as usize];
    Some(Ceiling { value, interval: Interval { low, high: value } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_repetition_is_the_ceiling_and_ends_its_interval() {
        let ceiling = ceiling(vec![3.0, 1.0, 2.0, f64::INFINITY]).unwrap();
        assert_eq!(ceiling.value, 3.0);
        assert_eq!((ceiling.interval.low, ceiling.interval.high), (1.0, 3.0));
        assert!(super::ceiling(Vec::new()).is_none());
    }
}
