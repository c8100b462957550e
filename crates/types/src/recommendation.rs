//! What to run a model on: what is wished for, what was found, and what that rests on.

use crate::{
    Bytes, CellKey, Device, InvalidRuns, Mode, PERCENTILE_FLOORS, Percentiles, Pooled, PooledCell,
    Precision, Remark, RunId, Seconds, Variant,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt, str::FromStr};

/// What is to be optimised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Objective {
    /// The time of one inference.
    Latency,
    /// Samples a second.
    #[default]
    Throughput,
    /// Peak memory.
    Memory,
    /// Energy of a sample.
    Energy,
    /// Cost of one sample.
    Cost,
}

/// A word that names no objective.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown objective `{0}`; known objectives: latency, throughput, memory, energy, cost")]
pub struct ParseObjectiveError(pub String);

impl Objective {
    /// Every objective.
    pub const ALL: [Objective; 5] = [
        Objective::Latency,
        Objective::Throughput,
        Objective::Memory,
        Objective::Energy,
        Objective::Cost,
    ];

    /// The name used in arguments and documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Objective::Latency => "latency",
            Objective::Throughput => "throughput",
            Objective::Memory => "memory",
            Objective::Energy => "energy",
            Objective::Cost => "cost",
        }
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Objective {
    type Err = ParseObjectiveError;

    fn from_str(text: &str) -> Result<Objective, ParseObjectiveError> {
        let found = Objective::ALL.into_iter().find(|one| one.name().eq_ignore_ascii_case(text));
        found.ok_or_else(|| ParseObjectiveError(text.into()))
    }
}

/// A percentile that a service level can limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Percentile {
    /// The median.
    #[serde(rename = "p50")]
    P50,
    /// 90th percentile.
    #[serde(rename = "p90")]
    P90,
    /// 95th percentile.
    #[serde(rename = "p95")]
    P95,
    /// 99th percentile.
    #[serde(rename = "p99")]
    P99,
    /// 99.9th percentile.
    #[serde(rename = "p99.9")]
    P999,
}

impl Percentile {
    /// Every percentile.
    pub const ALL: [Percentile; 5] =
        [Percentile::P50, Percentile::P90, Percentile::P95, Percentile::P99, Percentile::P999];

    /// Its key: `p95`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Percentile::P50 => "p50",
            Percentile::P90 => "p90",
            Percentile::P95 => "p95",
            Percentile::P99 => "p99",
            Percentile::P999 => "p99.9",
        }
    }

    /// The fewest samples that support it.
    #[must_use]
    pub fn floor(self) -> u64 {
        let own = PERCENTILE_FLOORS.iter().find(|floor| floor.name == self.name());
        own.map_or(u64::MAX, |floor| floor.samples)
    }

    /// Its value in a cell: of the slowest of the pooled runs.
    #[must_use]
    pub fn of(self, cell: &PooledCell) -> Option<f64> {
        let Percentiles { p90, p95, p99, p999 } = cell.percentiles;
        match self {
            Percentile::P50 => Some(cell.slowest),
            Percentile::P90 => p90,
            Percentile::P95 => p95,
            Percentile::P99 => p99,
            Percentile::P999 => p999,
        }
    }
}

/// A service level: a percentile of the latency that must not be above a limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Slo {
    /// Which percentile.
    pub percentile: Percentile,
    /// The limit.
    pub limit: Seconds,
}

/// What an hour of a device costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// The machine's host name or the beginning of its key; `None` for every machine.
    pub machine: Option<String>,
    /// The device: `cpu`, `cuda` for every such device, `cuda:1` for one; `None` for every device.
    pub device: Option<String>,
    /// Money for an hour.
    pub per_hour: f64,
}

/// What devices cost.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Prices {
    /// What the numbers are in: `EUR`.
    pub currency: String,
    /// Price by price.
    pub prices: Vec<Price>,
}

impl Prices {
    /// What an hour of this device costs: the price that names most of it; of two such, the later.
    #[must_use]
    pub fn per_hour(&self, machine: &str, host: &str, device: Device) -> Option<f64> {
        let name = device.to_string();
        let kind = name.split(':').next().unwrap_or(&name);
        let fit = |price: &Price| {
            let machine_fits = match price.machine.as_deref() {
                None => Some(0),
                Some("") => None,
                Some(text) if machine.starts_with(text) || host == text => Some(3),
                Some(_) => None,
            };
            let device_fits = match price.device.as_deref() {
                None => Some(0),
                Some(text) if text == name => Some(2),
                Some(text) if text == kind => Some(1),
                Some(_) => None,
            };
            Some(machine_fits? + device_fits?)
        };
        let fitting = self.prices.iter().filter_map(|price| Some((fit(price)?, price.per_hour)));
        fitting.max_by_key(|(fit, _)| *fit).map(|(_, per_hour)| per_hour)
    }
}

/// The objective and the limits.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Wish {
    /// What is to be optimised.
    pub objective: Objective,
    /// Service levels that must hold.
    pub slos: Vec<Slo>,
    /// The most memory that may be used.
    pub memory_limit: Option<Bytes>,
    /// What devices cost.
    pub prices: Prices,
    /// Whether results of other tools may be recommended.
    pub imported: bool,
}

/// How far behind the best a candidate is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Behind {
    /// How many times worse it is: above 1, except by rounding.
    pub factor: Pooled,
    /// What may still differ without being seen, as a share of the factor: drift, other processes.
    pub allowance: f64,
    /// Whether the two differ: the interval, after the allowance, excludes 1.
    pub told_apart: bool,
}

/// A device, an engine, a precision and a batch, and how good they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// Its numbers.
    pub cell: PooledCell,
    /// What the objective is about: seconds, samples per second, bytes, joules a sample, money a sample.
    pub value: Pooled,
    /// How far behind the best it is; `None` for the best.
    pub behind: Option<Behind>,
}

/// Why a cell was not considered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "reason")]
pub enum Exclusion {
    /// A service level does not hold.
    Slo {
        /// Which one.
        slo: Slo,
        /// What was found, in seconds.
        found: f64,
    },
    /// Too few samples to say that a service level holds.
    TooFewSamples {
        /// Which one.
        slo: Slo,
        /// Samples of the run that has fewest.
        samples: u64,
        /// Samples it takes.
        needs: u64,
    },
    /// Nobody stated the percentile.
    NoPercentile {
        /// Which one.
        slo: Slo,
    },
    /// It needs more memory than allowed.
    Memory {
        /// What it needs.
        found: Bytes,
        /// What is allowed.
        limit: Bytes,
    },
    /// Its memory is not known, and there is a limit.
    NoMemory,
    /// What the objective is about was not measured.
    NoValue,
    /// Its device has no price.
    NoPrice,
    /// Another tool measured it.
    Imported,
    /// Its runs are not valid.
    Invalid {
        /// How many for which reason.
        reasons: InvalidRuns,
    },
}

/// Something that was not considered, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Which cell.
    pub cell: CellKey,
    /// Why.
    pub why: Exclusion,
    /// Number of runs this affects.
    pub count: u64,
    /// Some of these runs, newest first.
    pub runs: Vec<RunId>,
}

/// A configuration that other models were measured with and this model was not.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Gap {
    /// The machine's key.
    pub machine: String,
    /// The device.
    pub device: Device,
    /// The engine's id.
    pub engine: String,
    /// The number format.
    pub precision: Precision,
    /// Batch sizes that were never measured; sizes with runs that are not valid are not listed.
    pub batch_sizes: Vec<u64>,
}

/// What to run one model on; another length or mode is other work and has a recommendation of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recommendation {
    /// The model's name.
    pub model: String,
    /// Whether its weights were drawn.
    pub random_weights: bool,
    /// Inference or training.
    pub mode: Mode,
    /// Tokens in each sample; `None` for models without a length.
    pub sequence_length: Option<u64>,
    /// The objective and the limits.
    pub wish: Wish,
    /// The best batch of each device, engine and precision, the best of them first; empty if nothing will do.
    pub candidates: Vec<Candidate>,
    /// What was not considered.
    pub left_out: Vec<LeftOut>,
    /// What was not measured.
    pub gaps: Vec<Gap>,
    /// What machines are called, by their keys.
    pub machines: BTreeMap<String, String>,
    /// The command that measures the newest cell without a valid run again.
    #[serde(default)]
    pub again: Option<String>,
    /// Remarks that limit or explain the result.
    pub remarks: Vec<Remark>,
}

impl Recommendation {
    /// What of the variants of its cells is the work: they share it.
    #[must_use]
    pub fn work(&self) -> Variant {
        let candidate = self.candidates.first().map(|one| &one.cell.key);
        let key = candidate.or(self.left_out.first().map(|one| &one.cell));
        key.map(CellKey::work).unwrap_or_default()
    }

    /// What to use.
    #[must_use]
    pub fn best(&self) -> Option<&Candidate> {
        self.candidates.first()
    }

    /// What comes next, on another device or with another engine or precision.
    #[must_use]
    pub fn runner_up(&self) -> Option<&Candidate> {
        self.candidates.get(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_objective_survives_its_name() {
        for objective in Objective::ALL {
            assert_eq!(objective.name().parse(), Ok(objective));
        }
        assert!("speed".parse::<Objective>().unwrap_err().to_string().contains("`speed`"));
    }

    #[test]
    fn every_percentile_has_its_floor() {
        assert_eq!(Percentile::ALL.map(Percentile::floor), [11, 64, 130, 662, 6636]);
    }

    #[test]
    fn the_price_that_names_most_counts() {
        let price = |machine: Option<&str>, device: &str, per_hour| Price {
            machine: machine.map(Into::into),
            device: Some(device.into()),
            per_hour,
        };
        let prices = Prices {
            currency: "EUR".into(),
            prices: vec![
                price(None, "cuda:1", 3.0),
                price(None, "cuda", 2.0),
                price(Some("c0ff"), "cuda", 1.0),
                price(Some("bench"), "cpu", 0.5),
            ],
        };
        let of = |machine, device| prices.per_hour(machine, "bench", device);
        assert_eq!(of("aa", Device::Cuda(0)), Some(2.0));
        assert_eq!(of("aa", Device::Cuda(1)), Some(3.0));
        assert_eq!(of("c0ffee", Device::Cuda(1)), Some(1.0), "a machine says more than a number");
        assert_eq!(of("aa", Device::Cpu), Some(0.5));
        assert_eq!(of("aa", Device::Mps), None);
    }
}
