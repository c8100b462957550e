//! What was learned, in a form that is kept between commands: an answer must not wait for a fit.

use super::{Calibrated, Case, Chosen, Known, Learned, process::Process};
use crate::Situation;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What was learned of one kind of hardware, but for the cells that it was learned from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// The variances of the process of times.
    seconds: Vec<f64>,
    memory: Option<Vec<f64>>,
    calibrated: BTreeMap<Situation, Calibrated>,
    of_memory: BTreeMap<Situation, Calibrated>,
    measured: usize,
    /// What is kept apart, since it is long.
    #[serde(skip)]
    numbers: Vec<f64>,
}

impl From<&Learned> for Kept {
    fn from(learned: &Learned) -> Kept {
        Kept {
            seconds: learned.seconds.variances().to_vec(),
            memory: learned.memory.as_ref().map(|memory| memory.variances().to_vec()),
            calibrated: learned.calibrated.clone(),
            of_memory: learned.of_memory.clone(),
            measured: learned.measured,
            numbers: learned
                .seconds
                .numbers()
                .chain(learned.memory.iter().flat_map(Process::numbers))
                .collect(),
        }
    }
}

impl Kept {
    /// The numbers of the fit, which are kept beside the rest: there may be hundreds of thousands.
    #[must_use]
    pub fn numbers(&self) -> &[f64] {
        &self.numbers
    }

    /// The same with its numbers.
    #[must_use]
    pub fn with_numbers(self, numbers: Vec<f64>) -> Kept {
        Kept { numbers, ..self }
    }

    /// What was learned from all these cells; `None` if it was kept by another version, or of other cells.
    #[must_use]
    pub fn learned(self, all: &[Known]) -> Option<Learned> {
        let Chosen { known, rest } = Chosen::of(all.to_vec());
        if known.len() + rest.len() != self.measured {
            return None;
        }
        let process = |some: &[&Known], targets, variances: Vec<f64>, numbers: &[f64]| {
            let cases: Vec<&Case> = some.iter().map(|one| &one.case).collect();
            Process::of_numbers(&cases, targets, variances.try_into().ok()?, numbers)
        };
        let times: Vec<&Known> = known.iter().collect();
        let (of_times, of_memory) =
            self.numbers.split_at_checked(Process::numbers_of(times.len()))?;
        let targets = times.iter().map(|one| one.time_target()).collect();
        let seconds = process(&times, targets, self.seconds, of_times)?;
        let memory = match self.memory {
            Some(variances) => {
                let some: Vec<&Known> = known.iter().filter(|one| one.memory.is_some()).collect();
                let targets = some.iter().map(|one| one.memory_target()).collect();
                Some(process(&some, targets, variances, of_memory)?)
            }
            None => None,
        };
        Some(Learned {
            seconds,
            memory,
            calibrated: self.calibrated,
            of_memory: self.of_memory,
            measured: self.measured,
            known,
            rest,
        })
    }
}
