//! How far a machine may have drifted between two batches of runs that did not take turns, as far as the runs
//! themselves show it.

/// From so many runs per side on, their own scatter stands for the machine; fewer may agree by luck.
const ENOUGH_RUNS: usize = 5;

/// The other batch lies within so many deviations of a run 19 times in 20, if the machine drifts between batches as it
/// does between runs.
const DEVIATIONS: f64 = 2.0;

/// Never less than this: runs that agree within a percent do so in one session, and know no other.
const LEAST: f64 = 0.05;

/// The runs of one side: how many, and the deviation of a run in the logarithm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scatter {
    pub(crate) runs: usize,
    pub(crate) deviation: f64,
}

impl Scatter {
    /// Of these logarithms; `None` below two.
    pub(crate) fn of(logs: &[f64]) -> Option<Scatter> {
        let count = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / count;
        let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
        let deviation = (squares / (count - 1.0)).sqrt();
        (logs.len() > 1 && deviation.is_finite()).then_some(Scatter { runs: logs.len(), deviation })
    }
}

/// The share by which drift alone may move one side against the other; `None` if there are too few runs to say it.
pub(crate) fn drift_between(base: Scatter, side: Scatter) -> Option<f64> {
    let enough = base.runs.min(side.runs) >= ENOUGH_RUNS;
    let deviation = base.deviation.max(side.deviation);
    enough.then(|| (DEVIATIONS * deviation).exp_m1().max(LEAST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_deviations_of_the_wilder_side_are_allowed_and_never_less_than_a_twentieth() {
        let calm = Scatter { runs: 10, deviation: 0.01 };
        let wild = Scatter { runs: 8, deviation: 0.04 };
        assert_eq!(drift_between(calm, calm), Some(0.05));
        let allowed = drift_between(calm, wild).unwrap();
        assert!((allowed - 0.08f64.exp_m1()).abs() < 1e-12, "{allowed}");
        assert_eq!(drift_between(calm, Scatter { runs: 4, deviation: 0.01 }), None);
    }

    #[test]
    fn a_deviation_needs_two_numbers() {
        assert_eq!(Scatter::of(&[0.3]), None);
        let found = Scatter::of(&[0.1, 0.3]).unwrap();
        assert!((found.deviation - 0.02f64.sqrt()).abs() < 1e-12, "{found:?}");
    }
}
