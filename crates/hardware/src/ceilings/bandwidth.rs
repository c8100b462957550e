//! Reading, copying and updating arrays that no cache can hold.
//!
//! Reading moves nothing but what is counted. A copy of a large block bypasses the cache on the way out. An update reads what it
//! writes, so no line is fetched in vain. Whichever is fastest here, no program moves more counted bytes in a second.

use super::laps;
use crate::{available_memory, cgroup, processor::last_level_cache};
use std::{hint::black_box, path::Path};

/// STREAM's rule: each array at least four times all last-level caches together.
const CACHES: u64 = 4;
/// Where the caches are unknown or tiny.
const SMALLEST_ARRAY: u64 = 64 << 20;
/// Both arrays together may take this share of the memory that is free.
const SHARE_OF_MEMORY: u64 = 4;
/// Repetitions of each pattern, at most and at least.
const REPETITIONS: (u64, u64) = (8, 3);
/// All repetitions together move about this much; on one thread that takes half a second to a second.
const BUDGET: u64 = 10 << 30;

const WORD: u64 = size_of::<u64>() as u64;

/// How memory is gone through.
#[derive(Clone, Copy)]
enum Pattern {
    Read,
    Copy,
    Update,
}

const PATTERNS: [Pattern; 3] = [Pattern::Read, Pattern::Copy, Pattern::Update];

impl Pattern {
    /// Words read and written for each word of an array.
    fn words(self) -> u64 {
        match self {
            Pattern::Read => 1,
            Pattern::Copy => 2,
            Pattern::Update => 3,
        }
    }

    fn run(self, source: &[u64], target: &mut [u64]) {
        match self {
            Pattern::Read => {
                black_box(read(source));
            }
            Pattern::Copy => target.copy_from_slice(source),
            Pattern::Update => {
                for (target, source) in target.iter_mut().zip(source) {
                    *target = target.wrapping_add(*source);
                }
            }
        }
        black_box(target);
    }
}

/// Adds up in sixteen lanes, so that no addition waits for the one before.
fn read(source: &[u64]) -> u64 {
    let mut lanes = [0u64; 16];
    let (blocks, rest) = source.as_chunks::<16>();
    for block in blocks {
        for (lane, word) in lanes.iter_mut().zip(block) {
            *lane = lane.wrapping_add(*word);
        }
    }
    lanes.iter().chain(rest).fold(0, |sum, word| sum.wrapping_add(*word))
}

/// Bytes a second of each repetition of the fastest pattern; empty where memory is too small to leave the caches.
pub(super) fn rates(threads: u32) -> Vec<f64> {
    let caches = last_level_cache(Path::new("/")).map_or(0, |bytes| bytes.0);
    let free = [available_memory(), cgroup::limits(std::process::id()).memory];
    let free = free.into_iter().flatten().map(|bytes| bytes.0).min();
    let Some(array) = array_bytes(caches, free) else { return Vec::new() };
    let words = (array / WORD / u64::from(threads)) as usize;
    let repetitions = repetitions(array);

    // Every thread fills its own part, so that the pages lie in the memory next to it.
    let prepare = || (vec![1u64; words], vec![2u64; words]);
    let spans = laps::laps(threads, PATTERNS.len() * repetitions, prepare, |state, number| {
        PATTERNS[number / repetitions].run(&state.0, &mut state.1);
    });
    let moved = words as u64 * WORD * u64::from(threads);
    let mut fastest: Vec<f64> = Vec::new();
    for (pattern, spans) in PATTERNS.iter().zip(spans.chunks(repetitions)) {
        let bytes = (moved * pattern.words()) as f64;
        let rates: Vec<f64> = spans.iter().map(|span| bytes / span.as_secs_f64()).collect();
        if super::best(&rates) > super::best(&fastest) {
            fastest = rates;
        }
    }
    fastest
}

/// Fewer where the arrays are huge because the caches are.
fn repetitions(array: u64) -> usize {
    let words: u64 = PATTERNS.iter().map(|pattern| pattern.words()).sum();
    (BUDGET / (array * words)).clamp(REPETITIONS.1, REPETITIONS.0) as usize
}

/// The size of one array; `None` where free memory does not allow one that outgrows the caches twice.
fn array_bytes(caches: u64, free: Option<u64>) -> Option<u64> {
    let wanted = (caches * CACHES).max(SMALLEST_ARRAY);
    let allowed = free.map_or(wanted, |free| free / SHARE_OF_MEMORY / 2);
    let array = wanted.min(allowed);
    (array >= caches * 2 && array >= SMALLEST_ARRAY / 4).then_some(array)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_outgrow_the_caches_or_nothing_is_measured() {
        assert_eq!(array_bytes(36 << 20, Some(24 << 30)), Some(144 << 20));
        assert_eq!(array_bytes(0, None), Some(64 << 20));
        assert_eq!(array_bytes(1 << 30, Some(4 << 30)), None);
    }

    #[test]
    fn huge_arrays_are_gone_through_less_often() {
        assert_eq!(repetitions(144 << 20), 8);
        assert_eq!(repetitions(1200 << 20), 3);
    }

    #[test]
    fn the_patterns_really_move_what_they_claim() {
        let source: Vec<u64> = (0..100).collect();
        let mut target = vec![7; 100];
        assert_eq!(read(&source), 4950);
        Pattern::Update.run(&source, &mut target);
        assert_eq!(target[99], 106);
        Pattern::Copy.run(&source, &mut target);
        assert_eq!(target, source);
    }
}
