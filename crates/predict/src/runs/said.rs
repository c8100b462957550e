//! What is said of a cell that was not measured, and how good such answers were.

use super::Known;
use crate::Situation;
use serde::{Deserialize, Serialize};

/// A number with the interval that should hold it nine times out of ten.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Reach {
    /// The number.
    pub middle: f64,
    /// Where the interval begins.
    pub low: f64,
    /// Where it ends.
    pub high: f64,
}

/// How good answers were in one situation, on cells whose group was held out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibrated {
    /// Cells that were predicted.
    pub cells: usize,
    /// Groups that were held out.
    pub groups: usize,
    /// Median of |predicted ÷ measured − 1|.
    pub median_error: f64,
    /// Mean of the same.
    pub mean_error: f64,
    /// Share of cells within their interval, each interval learned from other groups.
    pub coverage: f64,
    /// The interval is the prediction × ÷ this; the median.
    pub width: f64,
    /// The median error of the roofline; `None` where no peak was known.
    pub physics_error: Option<f64>,
    /// Deviations of the process that an interval is wide.
    pub(super) factor: f64,
}

/// What is said of one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// What is new about it.
    pub situation: Situation,
    /// Whether it is a measurement: nothing had to be predicted.
    pub is_measured: bool,
    /// Seconds of one inference, step or token.
    pub seconds: Reach,
    /// The peak of memory in bytes, where it was measured of others.
    pub memory: Option<Reach>,
    /// The roofline, in seconds.
    pub physics: Option<f64>,
    /// The cells that say most of it.
    pub rests_on: Vec<Known>,
    /// How good such answers were.
    pub calibrated: Option<Calibrated>,
    /// Cells that were learned from.
    pub cells: usize,
}

impl Answer {
    pub(super) fn measured(known: &Known) -> Answer {
        let exactly = |value: f64| Reach { middle: value, low: value, high: value };
        Answer {
            situation: Situation::Known,
            is_measured: true,
            seconds: exactly(known.seconds),
            memory: known.memory.map(exactly),
            physics: known.case.physics(),
            rests_on: vec![known.clone()],
            calibrated: None,
            cells: 1,
        }
    }
}

/// A measurement that would narrow an interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Next {
    /// What to measure.
    pub case: super::Case,
    /// The width of the interval afterwards, as a share of the logarithmic width now.
    pub left: f64,
}
