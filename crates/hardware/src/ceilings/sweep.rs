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

type Through = fn(Pattern, &[Line], &mut [Line], usize) -> u64;

/// The widest way through memory that this processor has.
fn through() -> Through {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            return |pattern, source, target, passes| {
                // SAFETY: the processor has AVX-512F.
                unsafe { through_512(pattern, source, target, passes) }
            };
        }
        if is_x86_feature_detected!("avx2") {
            return |pattern, source, target, passes| {
                // SAFETY: the processor has AVX2.
                unsafe { through_256(pattern, source, target, passes) }
            };
        }
    }
    go_through
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn through_512(pattern: Pattern, source: &[Line], target: &mut [Line], passes: usize) -> u64 {
    go_through(pattern, source, target, passes)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn through_256(pattern: Pattern, source: &[Line], target: &mut [Line], passes: usize) -> u64 {
    go_through(pattern, source, target, passes)
}

/// Inlined into each of the above, so that the compiler makes as many versions of it.
#[inline(always)]
fn go_through(pattern: Pattern, source: &[Line], target: &mut [Line], passes: usize) -> u64 {
    match pattern {
        Pattern::Read => return read(source, passes),
        Pattern::Copy => {
            for _ in 0..passes {
                let target = black_box(&mut *target);
                target.copy_from_slice(&black_box(source)[..target.len()]);
            }
        }
        Pattern::Update => {
            for _ in 0..passes {
                let (source, target) = (black_box(source), black_box(&mut *target));
                for (target, source) in target.iter_mut().zip(source) {
                    for (to, from) in target.0.iter_mut().zip(source.0) {
                        *to = to.wrapping_add(from);
                    }
                }
            }
        }
    }
    black_box(target).len() as u64
}

/// Adds up four lines at a time, so that no addition waits for the one before.
#[inline(always)]
fn read(source: &[Line], passes: usize) -> u64 {
    let mut sums = [Line([0; 8]); 4];
    for _ in 0..passes {
        let (blocks, rest) = black_box(source).as_chunks::<4>();
        for block in blocks {
            for (sum, line) in sums.iter_mut().zip(block) {
                add(sum, line);
            }
        }
        for line in rest {
            add(&mut sums[0], line);
        }
    }
    sums.iter().flat_map(|line| line.0).fold(0, u64::wrapping_add)
}

#[inline(always)]
fn add(sum: &mut Line, line: &Line) {
    for (sum, word) in sum.0.iter_mut().zip(line.0) {
        *sum = sum.wrapping_add(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_patterns_really_move_what_they_claim() {
        let through: [Through; 2] = [through(), go_through];
        for through in through {
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
