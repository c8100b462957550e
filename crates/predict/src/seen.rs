//! The hardware that was learned from, and how far another one is from it.

use crate::{Observation, predictor::TOO_FAR};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Fewer machines do not tell how much another one differs.
const FEW_MACHINES: usize = 3;
/// What an answer may be off by for a distance from the nearest machine, both as logarithms. Between an RTX 3090 and an RTX 4090,
/// nine of ten answers of timm's `amp nchw` are off by less.
const DOUBT: f64 = 0.5;

/// Hardware by the kind of test that was measured on it.
pub(crate) type ByTest<'a> = HashMap<&'a str, Seen<'a>>;

/// The hardware that a kind of test was measured on.
#[derive(Default)]
pub(crate) struct Seen<'a> {
    pub(crate) machines: BTreeSet<&'a str>,
    /// Different rates, as bits.
    rates: HashSet<[u64; 2]>,
}

impl<'a> Seen<'a> {
    /// The hardware of these times, by the kind of test.
    pub(crate) fn by_test(rows: impl Iterator<Item = &'a Observation>) -> ByTest<'a> {
        let mut found = ByTest::new();
        for one in rows {
            let seen = found.entry(one.test_kind()).or_default();
            seen.machines.insert(&one.machine);
            seen.rates.insert(one.rates.map(f64::to_bits));
        }
        found
    }

    pub(crate) fn log_rates(&self) -> impl Iterator<Item = [f64; 3]> {
        self.rates.iter().map(|rates| log_rates(rates.map(f64::from_bits)))
    }
}

/// Rates of hardware as logarithms: calculation, reading, and how much it calculates for what it reads.
pub(crate) fn log_rates(rates: [f64; 2]) -> [f64; 3] {
    let [calculation, reading] = rates.map(f64::ln);
    [calculation, reading, calculation - reading]
}

/// How much more an answer on new hardware may be off, where there are too few machines to hold out: more, the further the
/// hardware is from the nearest one that was learned. As a logarithm. `all` has the machines that were held out too.
pub(crate) fn doubt(one: &Observation, all: &ByTest<'_>, learned: &ByTest<'_>) -> f64 {
    let kind = one.test_kind();
    let is_few = all.get(kind).is_some_and(|seen| seen.machines.len() < FEW_MACHINES);
    let Some(seen) = learned.get(kind).filter(|_| is_few) else { return 0.0 };
    let own = log_rates(one.rates);
    let away = |other: [f64; 3]| {
        let apart = own.iter().zip(other).map(|(own, its)| (own - its).abs());
        apart.fold(0.0, f64::max)
    };
    DOUBT * seen.log_rates().map(away).fold(TOO_FAR, f64::min)
}
