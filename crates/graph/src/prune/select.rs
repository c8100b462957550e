//! The score below which so many numbers lie, found by counting and not by sorting.
//!
//! A score that is not negative orders like its bits. A first pass counts by the upper bits, a second by the lower ones
//! among those that share the upper bits of the one looked for: two passes, no copy, however many numbers there are.

use super::mask::Factors;
use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

const LOW: u32 = 15;
const HIGH_BINS: usize = 1 << 16;
const LOW_BINS: usize = 1 << LOW;

/// A score, and how many of those that equal it count as below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Threshold {
    /// The score's bits.
    pub(crate) bits: u32,
    /// How many of the equals go.
    pub(crate) ties: u64,
}

/// The numbers of a weight and by how much each counts.
pub(super) struct Scored<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) columns: usize,
    pub(super) factors: Factors,
}

impl Scored<'_> {
    fn each(&self, see: &mut impl FnMut(u32)) {
        let elements = self.bytes.as_chunks::<4>().0;
        let mut row_values: Vec<f32> = Vec::with_capacity(self.columns);
        match self.factors {
            Factors::One => {
                for element in elements {
                    see(u32::from_le_bytes(*element) & 0x7fff_ffff);
                }
            }
            Factors::Rows(_) | Factors::Columns(_) => {
                for (row, values) in elements.chunks(self.columns.max(1)).enumerate() {
                    row_values.clear();
                    row_values.extend(values.iter().map(|element| f32::from_le_bytes(*element)));
                    self.factors.visit(row, &mut row_values, &mut |_, score| see(score));
                }
            }
        }
    }
}

/// The threshold for each part by itself, so that as many of its own numbers are below as its entry of `wanted` says.
pub(super) fn each_alone(parts: &[Scored<'_>], wanted: &[u64]) -> Vec<Threshold> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut found = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(part) = parts.get(place) else { return found };
            let threshold = thresholds(std::slice::from_ref(part), wanted[place]);
            found.extend(threshold.into_iter().map(|threshold| (place, threshold)));
        }
    };
    let threads = thread::available_parallelism().map_or(1, |n| n.get().min(8));
    let mut all = vec![Threshold { bits: 0, ties: 0 }; parts.len()];
    thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for (place, found) in
            handles.into_iter().flat_map(|h| h.join().expect("counting does not panic"))
        {
            all[place] = found;
        }
    });
    all
}

/// The threshold for each part, so that `wanted` numbers of all parts together are below.
pub(super) fn thresholds(parts: &[Scored<'_>], wanted: u64) -> Vec<Threshold> {
    if wanted == 0 {
        return vec![Threshold { bits: 0, ties: 0 }; parts.len()];
    }
    let high = histogram(parts, HIGH_BINS, &|score| Some((score >> LOW) as usize));
    let (bin, before) = reach(&high, wanted);
    let low = histogram(parts, LOW_BINS, &|score| {
        ((score >> LOW) as usize == bin).then_some(score as usize & (LOW_BINS - 1))
    });
    let (rest, smaller) = reach(&low, wanted - before);
    let bits = ((bin as u32) << LOW) | rest as u32;
    let mut ties = wanted - before - smaller;
    if let [_] = parts {
        return vec![Threshold { bits, ties }];
    }
    let equals = |part: &Scored<'_>| {
        let mut equals = 0;
        part.each(&mut |score| equals += u64::from(score == bits));
        equals
    };
    let each = parts.iter().map(|part| {
        let taken = ties.min(if ties > 0 { equals(part) } else { 0 });
        ties -= taken;
        Threshold { bits, ties: taken }
    });
    each.collect()
}

/// The first bin at which the sum reaches what is wanted, and the sum before it.
fn reach(bins: &[u64], wanted: u64) -> (usize, u64) {
    let mut before = 0;
    for (bin, count) in bins.iter().enumerate() {
        if before + count >= wanted {
            return (bin, before);
        }
        before += count;
    }
    (bins.len().saturating_sub(1), before)
}

fn histogram(
    parts: &[Scored<'_>],
    bins: usize,
    bin: &(impl Fn(u32) -> Option<usize> + Sync),
) -> Vec<u64> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut counts = vec![0u64; bins];
        while let Some(part) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
            part.each(&mut |score| {
                if let Some(bin) = bin(score) {
                    counts[bin] += 1;
                }
            });
        }
        counts
    };
    let most = parts.len().clamp(1, 8);
    let threads = thread::available_parallelism().map_or(1, |n| n.get().min(most));
    if threads == 1 {
        return work();
    }
    let mut all = vec![0u64; bins];
    thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for handle in handles {
            let counts = handle.join().expect("counting does not panic");
            all.iter_mut().zip(counts).for_each(|(all, count)| *all += count);
        }
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    proptest! {
        #[test]
        fn as_many_lie_below_as_sorting_says(
            values in prop::collection::vec(prop_oneof![-2.0f32..2.0, Just(0.5f32), Just(0.0f32)], 1..200),
            cut in 0usize..200,
            share in 0.0f64..1.0,
        ) {
            let cut = cut.min(values.len());
            let wanted = (share * values.len() as f64) as u64;
            let (a, b) = (bytes(&values[..cut]), bytes(&values[cut..]));
            let part = |bytes| Scored { bytes, columns: 1, factors: Factors::One };
            let found = thresholds(&[part(&a), part(&b)], wanted);
            let mut sorted: Vec<u32> = values.iter().map(|v| v.abs().to_bits()).collect();
            sorted.sort_unstable();
            if wanted > 0 {
                prop_assert_eq!(found[0].bits, sorted[wanted as usize - 1]);
            }
            let below = sorted.iter().filter(|bits| **bits < found[0].bits).count() as u64;
            prop_assert_eq!(below + found[0].ties + found[1].ties, wanted);
        }
    }
}
