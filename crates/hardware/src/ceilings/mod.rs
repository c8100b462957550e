//! The machine's ceilings: the best rates it can reach, measured on it.
//!
//! What they bound:
//! - Operations a second: independent chains of multiply-adds that stay in registers, on all threads at once, on the fastest
//!   unit for the precision. No memory is touched, so no matrix product in that precision on as many threads can be faster; a
//!   multiply-add counts as 2. A precision without units of its own is widened to fp32 by every engine, so its ceiling is that of
//!   fp32; and none is below it, because an engine may always widen.
//! - Bytes a second: reading, copying and updating arrays, counting what the program reads and writes. From memory, the arrays
//!   are far larger than the caches; from a cache, they fit in half of it and outgrow the level before.
//!
//! The value is the best of many short repetitions, because a disturbance can only slow one down. The interval reaches from
//! the repetitions' 2.5th percentile up to that best one.

mod bandwidth;
mod fp32;
mod int8;
mod kernel;
mod laps;
mod sixteen;
mod sweep;
#[cfg(target_arch = "x86_64")]
mod tiles;

use kernel::{Kernel, Units};
use std::time::{Duration, Instant};
use types::{CacheBandwidth, Ceiling, Ceilings, Device, Interval, Precision, Unmeasured};

/// Long enough that the start of the threads does not count, short enough to fall between disturbances: a scheduler that lets
/// others run takes a processor away every three or four milliseconds.
const LAP: Duration = Duration::from_millis(2);

/// Laps in one round.
const LAPS: usize = 64;

/// A round that raises the best by less than this has found it.
const SETTLED: f64 = 1.01;

/// But only where half of all laps come this close to the best: otherwise something disturbs them all.
const QUIET: f64 = 0.95;

/// On a machine that never gets quiet the search for each unit ends after the round that passes this.
const PATIENCE: Duration = Duration::from_secs(1);

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// One precision, with fp32 beneath it, and memory: one to three seconds.
    Only(Precision),
    /// Every precision, memory and the caches: a few seconds more.
    All,
}

/// What was reached and on which unit.
struct Reached {
    rates: Vec<f64>,
    way: String,
}

/// Measures the processors' ceilings with so many threads; `progress` is told steps done and steps in all.
pub fn ceilings(threads: u32, scope: Scope, progress: &mut dyn FnMut(u64, u64)) -> Ceilings {
    let threads = threads.max(1);
    let precisions: Vec<Precision> = Precision::ALL
        .into_iter()
        .filter(|known| match scope {
            Scope::All => true,
            Scope::Only(asked) => *known == Precision::Fp32 || *known == asked,
        })
        .collect();
    let units: Vec<Units> = precisions.iter().map(|precision| kernel::units(*precision)).collect();
    let levels = if scope == Scope::All { bandwidth::levels(threads) } else { Vec::new() };
    let kernels: usize = units.iter().map(|units| units.kernels().len()).sum();
    let steps = (kernels + 1 + levels.len()) as u64;
    let mut done = 0;
    let mut step = || {
        progress(done, steps);
        done += 1;
    };

    let mut found = Ceilings::of(Device::Cpu, threads);
    let mut fp32: Option<Reached> = None;
    for (precision, units) in precisions.into_iter().zip(&units) {
        let own = fastest(units.kernels(), threads, &mut step);
        let reached = match (units, own, &fp32) {
            (Units::Unknown(why), ..) => Err(why.clone()),
            (Units::AsFp32, _, Some(fp32)) => Ok(Reached {
                rates: fp32.rates.clone(),
                way: format!("{} in fp32: no {precision} units here", fp32.way),
            }),
            // An engine may always widen; where that is faster it is the bound.
            (_, Some(own), Some(fp32)) if best(&fp32.rates) > best(&own.rates) => Ok(Reached {
                rates: fp32.rates.clone(),
                way: format!("{} in fp32, faster than {}", fp32.way, own.way),
            }),
            (_, Some(own), _) => Ok(own),
            _ => Err("the system refused the threads".to_owned()),
        };
        match reached {
            Ok(reached) => {
                found.flops.extend(ceiling(&reached.rates).map(|ceiling| (precision, ceiling)));
                found.ways.push((precision, reached.way.clone()));
                if precision == Precision::Fp32 {
                    fp32 = Some(reached);
                }
            }
            Err(why) => {
                found.unmeasured.push(Unmeasured { what: precision.name().to_owned(), why });
            }
        }
    }

    step();
    found.bandwidth = ceiling(&bandwidth::memory_rates(threads));
    if found.bandwidth.is_none() {
        let why = "too little free memory to exceed the caches".to_owned();
        found.unmeasured.push(Unmeasured { what: "memory".to_owned(), why });
    }
    for level in levels {
        step();
        let cache = level.cache;
        match (ceiling(&level.rates(threads)), level.bytes) {
            (Some(ceiling), _) => {
                let (level, size) = (cache.level, cache.size);
                found.caches.push(CacheBandwidth { level, size, ceiling });
            }
            (None, bytes) => {
                let why = bytes.err().unwrap_or_else(|| "the system refused the threads".into());
                found.unmeasured.push(Unmeasured { what: format!("L{}", cache.level), why });
            }
        }
    }
    progress(steps, steps);
    found.measured_at = clock::now();
    found
}

impl Units {
    fn kernels(&self) -> &[Kernel] {
        match self {
            Units::Own(kernels) => kernels,
            Units::AsFp32 | Units::Unknown(_) => &[],
        }
    }
}

/// The widest unit is not always the fastest: a processor may have one of those and two of the narrower.
fn fastest(kernels: &[Kernel], threads: u32, step: &mut dyn FnMut()) -> Option<Reached> {
    let mut fastest: Option<Reached> = None;
    for kernel in kernels {
        step();
        let rates = kernel_rates(kernel, threads);
        let before = fastest.as_ref().map_or(0.0, |reached| best(&reached.rates));
        if best(&rates) > before {
            fastest = Some(Reached { rates, way: kernel.unit.to_owned() });
        }
    }
    fastest
}

/// Operations a second of each lap, in rounds until one more does not raise the best.
fn kernel_rates(kernel: &Kernel, threads: u32) -> Vec<f64> {
    let iterations = kernel.iterations_for(LAP);
    let operations = kernel.operations(iterations) * f64::from(threads);
    let mut rates = Vec::new();
    let begin = Instant::now();
    loop {
        let before = best(&rates);
        let spans = laps::laps(threads, LAPS, || (), |(), _| kernel.run(iterations));
        let refused = spans.is_empty();
        rates.extend(spans.into_iter().map(|span| operations / span.as_secs_f64()));
        let settled = best(&rates) < before * SETTLED && is_quiet(&mut rates);
        if settled || refused || begin.elapsed() > PATIENCE {
            return rates;
        }
    }
}

/// Whether half of the laps come close to the best.
fn is_quiet(rates: &mut [f64]) -> bool {
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).is_some_and(|median| *median > best(rates) * QUIET)
}

fn best(rates: &[f64]) -> f64 {
    rates.iter().copied().fold(0.0, f64::max)
}

/// The best rate and the interval below it; `None` if nothing was measured.
fn ceiling(rates: &[f64]) -> Option<Ceiling> {
    let mut rates: Vec<f64> =
        rates.iter().copied().filter(|rate| rate.is_finite() && *rate > 0.0).collect();
    rates.sort_by(f64::total_cmp);
    let value = *rates.last()?;
    let low = rates[(rates.len() as f64 * 0.025) as usize];
    Some(Ceiling { value, interval: Interval { low, high: value } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn laps_that_differ_widely_are_not_quiet() {
        assert!(is_quiet(&mut [99.0, 100.0, 60.0]));
        assert!(!is_quiet(&mut [60.0, 100.0, 60.0]));
        assert!(!is_quiet(&mut []));
    }

    #[test]
    fn the_best_repetition_is_the_ceiling_and_ends_its_interval() {
        let ceiling = ceiling(&[3.0, 1.0, 2.0, f64::INFINITY]).unwrap();
        assert_eq!(ceiling.value, 3.0);
        assert_eq!((ceiling.interval.low, ceiling.interval.high), (1.0, 3.0));
        assert!(super::ceiling(&[]).is_none());
    }
}
