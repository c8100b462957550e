//! Numbers of one kind, as a driver told them, or why it did not.

use types::{Direction, Metric, Unit};

/// Numbers of one kind, as they were read.
#[derive(Default)]
pub(crate) struct Readings {
    values: Vec<f64>,
    why: Option<String>,
}

impl Readings {
    pub(crate) fn push(&mut self, reading: Result<f64, String>) {
        match reading {
            Ok(value) => self.values.push(value),
            Err(why) => self.why = Some(why),
        }
    }

    pub(crate) fn metric(&self, key: &str, unit: Unit, of: fn(&[f64]) -> f64) -> Metric {
        if self.values.is_empty() {
            let why = self.why.clone().unwrap_or_else(|| "the driver was not queried".to_owned());
            return Metric::missing(key, unit, Direction::Neutral, why);
        }
        Metric::measured(key, unit, Direction::Neutral, of(&self.values))
    }
}

pub(crate) fn average(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

pub(crate) fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}
