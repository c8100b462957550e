//! What was learned, in a form that is kept between commands: an answer must not wait for a fit.

use super::{Calibrated, Case, Known, Learned, process::Process};
use crate::Situation;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What was learned of one kind of hardware.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    known: Vec<Known>,
    seconds: Vec<f64>,
    memory: Option<Vec<f64>>,
    calibrated: BTreeMap<Situation, Calibrated>,
    of_memory: BTreeMap<Situation, Calibrated>,
    measured: usize,
}

impl From<&Learned> for Kept {
    fn from(learned: &Learned) -> Kept {
        Kept {
            known: learned.known.clone(),
            seconds: learned.seconds.variances().to_vec(),
            memory: learned.memory.as_ref().map(|memory| memory.variances().to_vec()),
            calibrated: learned.calibrated.clone(),
            of_memory: learned.of_memory.clone(),
            measured: learned.measured,
        }
    }
}

impl Kept {
    /// What was learned; `None` if this was kept by another version.
    #[must_use]
    pub fn learned(self) -> Option<Learned> {
        let process = |some: Vec<&Known>, targets: Vec<f64>, variances: Vec<f64>| {
            let cases: Vec<&Case> = some.iter().map(|one| &one.case).collect();
            Some(Process::with(&cases, targets, variances.try_into().ok()?))
        };
        let all: Vec<&Known> = self.known.iter().collect();
        let targets = all.iter().map(|one| one.seconds.ln() - one.case.origin()).collect();
        let seconds = process(all, targets, self.seconds)?;
        let memory = match self.memory {
            Some(variances) => {
                let some: Vec<&Known> =
                    self.known.iter().filter(|one| one.memory.is_some()).collect();
                let target =
                    |one: &&Known| one.memory.unwrap_or(1.0).ln() - one.case.memory_origin();
                let targets = some.iter().map(target).collect();
                Some(process(some, targets, variances)?)
            }
            None => None,
        };
        Some(Learned {
            known: self.known,
            seconds,
            memory,
            calibrated: self.calibrated,
            of_memory: self.of_memory,
            measured: self.measured,
            rest: Vec::new(),
        })
    }
}
