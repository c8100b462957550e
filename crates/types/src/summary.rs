//! What a list of samples says, and how sure it is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A 95 % interval, in the unit of the value it surrounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Half the width as a share of `value`; `None` if the value is not positive.
    #[must_use]
    pub fn relative_half_width(&self, value: f64) -> Option<f64> {
        (value > 0.0).then(|| (self.high - self.low) / 2.0 / value)
    }
}

/// A percentile and the number of samples that it needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Floor {
    /// The percentile, 0 to 100.
    pub percentile: f64,
    /// Its key: `p90`.
    pub name: &'static str,
    /// The fewest samples that support it at 99 % confidence.
    pub samples: u64,
}

/// The floors: one observation may lie above the percentile, at 99 % confidence (the rule of MLPerf's early stopping).
pub const PERCENTILE_FLOORS: [Floor; 5] = [
    Floor { percentile: 50.0, name: "p50", samples: 11 },
    Floor { percentile: 90.0, name: "p90", samples: 64 },
    Floor { percentile: 95.0, name: "p95", samples: 130 },
    Floor { percentile: 99.0, name: "p99", samples: 662 },
    Floor { percentile: 99.9, name: "p99.9", samples: 6636 },
];

/// A percentile that is shown without enough samples to support it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unsupported {
    /// The percentile's key: `p99`.
    #[schemars(regex(pattern = r"^p[0-9.]+$"))]
    pub percentile: String,
    /// How many samples it needs.
    pub needs: u64,
}

/// Summary of a list of samples; times in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// How many samples.
    pub count: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation of the samples (n − 1).
    pub std: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// Median.
    pub median: f64,
    /// Median absolute deviation from the median, unscaled.
    pub mad: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Bootstrap 95 % interval of the mean.
    pub ci95_mean: Interval,
    /// Bootstrap 95 % interval of the median.
    pub ci95_median: Interval,
    /// Outliers: samples with a modified Z-score above 3.5; reported, never removed.
    pub outliers: u64,
    /// Percentiles above that have too few samples to be reliable.
    pub unsupported: Vec<Unsupported>,
}

impl Summary {
    /// Whether the percentile with this key may be claimed.
    #[must_use]
    pub fn supports(&self, percentile: &str) -> bool {
        self.unsupported.iter().all(|entry| entry.percentile != percentile)
    }
}
