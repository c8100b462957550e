//! Seeded chance: the same target, seed and case give the same bytes on every machine.

use stats::SplitMix;
use types::stable_hash;

/// The chance of one case.
#[derive(Debug, Clone)]
pub struct Random(SplitMix);

impl Random {
    /// The chance of one case.
    #[must_use]
    pub fn of_case(target: &str, seed: u64, case: u64) -> Random {
        let name = stable_hash(target.bytes());
        let stir = SplitMix::new(name ^ seed.rotate_left(32)).number();
        Random(SplitMix::new(stir ^ case.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0.number()
    }

    /// A number below `end`; 0 where there is none.
    pub fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { (self.number() % end as u64) as usize }
    }

    /// True in so many of a hundred cases.
    pub fn percent(&mut self, share: usize) -> bool {
        self.below(100) < share
    }

    /// One of these; `None` if there is none.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        let at = self.below(from.len());
        from.get(at)
    }

    /// How many changes a case makes: one in half of the cases, seldom many.
    pub fn changes(&mut self) -> usize {
        1 + (self.number().trailing_ones() as usize).min(7)
    }

    /// A whole number at which code goes wrong: limits of types, small ones, powers of two and their neighbours.
    pub fn edge(&mut self) -> i64 {
        const EDGES: [i64; 24] = [
            0,
            1,
            -1,
            2,
            3,
            -2,
            7,
            16,
            63,
            64,
            127,
            128,
            255,
            256,
            65_535,
            65_536,
            i32::MAX as i64,
            i32::MIN as i64,
            u32::MAX as i64,
            1 << 32,
            1 << 53,
            1 << 62,
            i64::MAX,
            i64::MIN,
        ];
        match self.below(4) {
            0 => (self.number() % 20) as i64 - 4,
            1 => 1_i64.wrapping_shl(self.below(64) as u32).wrapping_sub(self.below(3) as i64 - 1),
            _ => EDGES[self.below(EDGES.len())],
        }
    }
}
