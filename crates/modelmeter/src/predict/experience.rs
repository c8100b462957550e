//! What a database knows: its valid cells as cases, and what was left out.

use super::machines::{Machines, Unusable};
use crate::Error;
use predict::{Case, Catalogue, Known, Learned};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use store::{Scope, Store};
use types::{InvalidRuns, Measured};

/// Of one cell, so many of the newest valid runs are put together.
const RUNS: usize = 5;
/// Cells that are read, at most: what a person's database holds many times over.
const CELLS: usize = 20_000;
/// Runs of one cell that differ by more than this factor contradict each other.
const CONTRADICTING: f64 = 1.5;

/// What a database knows, by kind of hardware, and what of it was left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Experience {
    /// Cells on processors.
    pub processors: Vec<Known>,
    /// Cells on GPUs.
    pub gpus: Vec<Known>,
    /// Cells that were left out or are doubtful: why, and how many.
    pub left_out: BTreeMap<String, usize>,
    /// Runs that are not valid, by their reasons: nothing is learned from them.
    pub not_valid: InvalidRuns,
}

impl Experience {
    /// The question as its cells are named: a name that stands for another model here may be a model's own name in imported
    /// runs. Then the cells with the name that was typed are meant, if the other name has none.
    #[must_use]
    pub fn met_by(&self, case: Case, typed: &str) -> Case {
        let all = self.of_kind(case.is_gpu);
        if all.iter().any(|known| known.case.model == case.model) {
            return case;
        }
        let alike = |known: &Case| {
            let same = [
                known.machine == case.machine,
                known.mode == case.mode,
                known.engine == case.engine,
                known.precision == case.precision,
                known.batch == case.batch,
            ];
            same.into_iter().fold(0, |score, same| score * 2 + u8::from(same))
        };
        let typed = all.iter().map(|known| &known.case).filter(|known| known.model == typed);
        match typed.max_by_key(|known| alike(known)) {
            Some(known) => {
                let scaled = |amount: Option<f64>| amount.map(|one| one * case.batch / known.batch);
                Case {
                    model: known.model.clone(),
                    family: known.family.clone(),
                    variant: known.variant.clone(),
                    length: known.length,
                    flops: scaled(known.flops),
                    bytes: scaled(known.bytes),
                    weights: known.weights,
                    ..case
                }
            }
            None => case,
        }
    }

    /// Everything valid of a database; invalid runs are left out and counted.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn of(store: &Store, catalogue: &Catalogue) -> Result<Experience, Error> {
        let mut cells: Vec<Vec<Measured>> = Vec::new();
        let mut left_out: BTreeMap<String, usize> = BTreeMap::new();
        let mut not_valid = InvalidRuns::default();
        let mut more = 0;
        store.newest(&Scope::default(), RUNS, |newest| {
            not_valid.merge(&newest.invalid);
            let valid: Vec<Measured> =
                newest.runs.into_iter().filter(|run| run.valid && run.median.is_some()).collect();
            if valid.is_empty() {
                *left_out.entry("no run of the cell is valid".into()).or_default() += 1;
            } else if cells.len() < CELLS {
                cells.push(valid);
            } else {
                more += 1;
            }
        })?;
        if more > 0 {
            left_out.insert(format!("more than {CELLS} cells"), more);
        }
        let mut found =
            Experience { processors: Vec::new(), gpus: Vec::new(), left_out, not_valid };
        let mut machines = Machines::of(store, catalogue);
        for mut runs in cells {
            runs.sort_by_key(|run| run.started_at);
            match machines.known(&runs) {
                Ok(known) => {
                    if is_contradicting(&runs) {
                        *found
                            .left_out
                            .entry("runs contradict each other; their median is used".into())
                            .or_default() += 1;
                    }
                    if known.case.is_gpu {
                        found.gpus.push(known)
                    } else {
                        found.processors.push(known)
                    }
                }
                Err(Unusable::Because(why)) => *found.left_out.entry(why).or_default() += 1,
                Err(Unusable::Error(error)) => return Err(*error),
            }
        }
        Ok(found)
    }

    /// What was learned of one kind of hardware.
    ///
    /// # Errors
    /// If it is too little.
    pub fn learn(&self, is_gpu: bool) -> Result<Learned, predict::Error> {
        Learned::fit(self.of_kind(is_gpu).to_vec())
    }

    /// The cells on one kind of hardware.
    pub(super) fn of_kind(&self, is_gpu: bool) -> &[Known] {
        if is_gpu { &self.gpus } else { &self.processors }
    }
}

fn is_contradicting(runs: &[Measured]) -> bool {
    let times = || runs.iter().filter_map(|run| run.median);
    let (low, high) =
        times().fold((f64::INFINITY, 0.0f64), |(low, high), one| (low.min(one), high.max(one)));
    high / low > CONTRADICTING
}
