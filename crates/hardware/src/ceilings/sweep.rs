//! Going through arrays: reading, copying, updating, with the widest loads and stores there are.
//!
//! Reading moves nothing but what is counted. A copy of a large block bypasses the cache on the way out. An update reads what it
//! writes, so no line is fetched in vain. Whichever is fastest, no program moves more counted bytes in a second.

use super::laps;
use std::hint::black_box;

/// What every cache moves at once, and as wide as the widest register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(align(64))]
struct Line([u64; 8]);

pub(super) const LINE: u64 = size_of::<Line>() as u64;

/// How memory is gone through.
#[derive(Clone, Copy)]
enum Pattern {
    Read,
    Copy,
    Update,
}

const PATTERNS: [Pattern; 3] = [Pattern::Read, Pattern::Copy, Pattern::Update];

impl Pattern {
    /// Lines read and written for each line gone through.
    fn lines(self) -> u64 {
        match self {
            Pattern::Read => 1,
            Pattern::Copy => 2,
            Pattern::Update => 3,
        }
    }
}

/// Lines moved by all patterns together for each line of an array.
pub(super) fn lines_in_all() -> u64 {
    PATTERNS.iter().map(|pattern| pattern.lines()).sum()
}

/// How large the arrays are and how often they are gone through.
pub(super) struct Sweep {
    /// Lines that reading goes through.
    pub(super) read: usize,
    /// Lines in each of two arrays, one of them read, that copying and updating go through; at most `read`.
    pub(super) written: usize,
    /// Times through the arrays in one lap.
    pub(super) passes: usize,
    /// Laps of each pattern.
    pub(super) laps: usize,
}

impl Sweep {
    /// Bytes a second of each lap of the fastest pattern, all threads together, each on arrays of its own.
    pub(super) fn rates(&self, threads: u32) -> Vec<f64> {
        // Every thread fills its own part, so that the pages lie in the memory next to it.
        let prepare = || (vec![Line([1; 8]); self.read], vec![Line([2; 8]); self.written]);
        let through = through();
        let spans = laps::laps(threads, PATTERNS.len() * self.laps, prepare, |state, number| {
            let pattern = PATTERNS[number / self.laps];
            black_box(through(pattern, &state.0, &mut state.1, self.passes));
        });
        let mut fastest: Vec<f64> = Vec::new();
        for (pattern, spans) in PATTERNS.iter().zip(spans.chunks(self.laps)) {
            let lines = match pattern {
                Pattern::Read => self.read,
                Pattern::Copy | Pattern::Update => self.written,
            };
            let lines = (lines * self.passes) as u64 * pattern.lines();
            let bytes = (lines * LINE * u64::from(threads)) as f64;
            let rates: Vec<f64> = spans.iter().map(|span| bytes / span.as_secs_f64()).collect();
            if super::best(&rates) > super::best(&fastest) {
                fastest = rates;
            }
        }
        fastest
    }
}

/// Goes through the arrays so many times; returns something that depends on what was read.
type Through = fn(Pattern, &[Line], &mut [Line], usize) -> u64;

/// The widest way through memory that this processor has.
fn through() -> Through {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has AVX-512F.
            return |pattern, source, target, passes| unsafe {
                match pattern {
                    Pattern::Read => x86::read_512(source, passes),
                    Pattern::Copy => copy(source, target, passes),
                    Pattern::Update => x86::update_512(source, target, passes),
                }
            };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            return |pattern, source, target, passes| unsafe {
                match pattern {
                    Pattern::Read => x86::read_256(source, passes),
                    Pattern::Copy => copy(source, target, passes),
                    Pattern::Update => x86::update_256(source, target, passes),
                }
            };
        }
    }
    portable
}

fn portable(pattern: Pattern, source: &[Line], target: &mut [Line], passes: usize) -> u64 {
    match pattern {
        Pattern::Read => read(source, passes),
        Pattern::Copy => copy(source, target, passes),
        Pattern::Update => update(source, target, passes),
    }
}

/// The system's own copy, which knows this processor.
fn copy(source: &[Line], target: &mut [Line], passes: usize) -> u64 {
    for _ in 0..passes {
        let target = black_box(&mut *target);
        target.copy_from_slice(&black_box(source)[..target.len()]);
    }
    black_box(target).len() as u64
}

/// Adds up in sixteen lanes, so that no addition waits for the one before.
fn read(source: &[Line], passes: usize) -> u64 {
    let mut lanes = [0u64; 16];
    for _ in 0..passes {
        let (pairs, rest) = black_box(source).as_chunks::<2>();
        for [first, second] in pairs {
            for (lane, word) in lanes.iter_mut().zip(first.0.iter().chain(&second.0)) {
                *lane = lane.wrapping_add(*word);
            }
        }
        for (lane, word) in lanes.iter_mut().zip(rest.iter().flat_map(|line| line.0)) {
            *lane = lane.wrapping_add(word);
        }
    }
    lanes.iter().fold(0, |sum, lane| sum.wrapping_add(*lane))
}

fn update(source: &[Line], target: &mut [Line], passes: usize) -> u64 {
    for _ in 0..passes {
        let (source, target) = (black_box(source), black_box(&mut *target));
        for (target, source) in target.iter_mut().zip(source) {
            for (to, from) in target.0.iter_mut().zip(source.0) {
                *to = to.wrapping_add(from);
            }
        }
    }
    black_box(target).len() as u64
}

/// Written out, because a compiler left to itself gathers words from several lines.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Line;
    use std::{arch::x86_64::*, hint::black_box};

    macro_rules! wide {
        (
            $read:ident, $update:ident, $feature:literal, $vector:ty, parts: $parts:literal,
            $zero:ident, $load:ident, $add:ident, $store:ident
        ) => {
            #[target_feature(enable = $feature)]
            pub(super) fn $read(source: &[Line], passes: usize) -> u64 {
                let mut sums = [$zero(); 8];
                for _ in 0..passes {
                    let (blocks, rest) = black_box(source).as_chunks::<{ 8 / $parts }>();
                    for block in blocks {
                        let from = block.as_ptr().cast::<$vector>();
                        for (part, sum) in sums.iter_mut().enumerate() {
                            // SAFETY: a block is eight vectors, aligned as its lines are.
                            *sum = $add(*sum, unsafe { $load(from.add(part)) });
                        }
                    }
                    for line in rest {
                        let from = line.0.as_ptr().cast::<$vector>();
                        for (part, sum) in sums.iter_mut().enumerate().take($parts) {
                            // SAFETY: a line is as many vectors, aligned as it is.
                            *sum = $add(*sum, unsafe { $load(from.add(part)) });
                        }
                    }
                }
                let mut words = [Line([0; 8]); 8 / $parts];
                let to = words.as_mut_ptr().cast::<$vector>();
                for (part, sum) in sums.iter().enumerate() {
                    // SAFETY: the words are eight vectors, aligned as their lines are.
                    unsafe { $store(to.add(part), *sum) };
                }
                words.iter().flat_map(|line| line.0).fold(0, u64::wrapping_add)
            }

            #[target_feature(enable = $feature)]
            pub(super) fn $update(source: &[Line], target: &mut [Line], passes: usize) -> u64 {
                for _ in 0..passes {
                    let (source, target) = (black_box(source), black_box(&mut *target));
                    for (target, source) in target.iter_mut().zip(source) {
                        let from = source.0.as_ptr().cast::<$vector>();
                        let to = target.0.as_mut_ptr().cast::<$vector>();
                        for part in 0..$parts {
                            // SAFETY: a line is as many vectors, aligned as it is.
                            unsafe {
                                let sum = $add($load(to.add(part)), $load(from.add(part)));
                                $store(to.add(part), sum);
                            }
                        }
                    }
                }
                black_box(target).len() as u64
            }
        };
    }

    wide!(
        read_512, update_512, "avx512f", __m512i, parts: 1,
        _mm512_setzero_si512, _mm512_load_si512, _mm512_add_epi64, _mm512_store_si512
    );
    wide!(
        read_256, update_256, "avx2", __m256i, parts: 2,
        _mm256_setzero_si256, _mm256_load_si256, _mm256_add_epi64, _mm256_store_si256
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_patterns_really_move_what_they_claim() {
        let mut ways: Vec<Through> = vec![through(), portable];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            ways.push(|pattern, source, target, passes| unsafe {
                match pattern {
                    Pattern::Read => x86::read_256(source, passes),
                    Pattern::Copy => copy(source, target, passes),
                    Pattern::Update => x86::update_256(source, target, passes),
                }
            });
        }
        for through in ways {
            let source: Vec<Line> = (0..103).map(|n| Line([n; 8])).collect();
            let mut target = vec![Line([7; 8]); 51];
            let sum = through(Pattern::Read, &source, &mut target, 2);
            assert_eq!(sum, (0..103).sum::<u64>() * 8 * 2);
            through(Pattern::Update, &source, &mut target, 3);
            assert_eq!(target[50], Line([7 + 3 * 50; 8]));
            through(Pattern::Copy, &source, &mut target, 1);
            assert_eq!(target, source[..51]);
        }
    }

    #[test]
    fn every_lap_of_the_fastest_pattern_has_a_rate() {
        let sweep = Sweep { read: 256, written: 128, passes: 100, laps: 5 };
        let rates = sweep.rates(2);
        assert_eq!(rates.len(), 5);
        assert!(rates.iter().all(|rate| *rate > 0.0), "{rates:?}");
    }
}
