//! What cells are called: what all have in common is said once, above; what differs is said in each row.

use std::collections::{BTreeMap, BTreeSet};
use types::{CellKey, LengthUnit, Mode, PooledCell};

/// A part of what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Facet {
    Machine,
    Device,
    Engine,
    Precision,
    Mode,
    Batch,
    Length,
    Threads,
    Weights,
    Variant,
    Origin,
}

impl Facet {
    pub(crate) const ALL: [Facet; 11] = [
        Facet::Machine,
        Facet::Device,
        Facet::Engine,
        Facet::Precision,
        Facet::Mode,
        Facet::Batch,
        Facet::Length,
        Facet::Threads,
        Facet::Weights,
        Facet::Variant,
        Facet::Origin,
    ];

    /// What a cell says to it; empty if that is nothing worth saying.
    pub(crate) fn of(self, key: &CellKey, machines: &BTreeMap<String, String>) -> String {
        match self {
            Facet::Machine => {
                let name = machines.get(&key.machine).filter(|name| !name.is_empty());
                report::clean(name.unwrap_or(&key.machine))
            }
            Facet::Device => key.device.to_string(),
            Facet::Engine => report::clean(&key.engine),
            Facet::Precision => key.precision.to_string(),
            Facet::Mode => key.mode.name().into(),
            Facet::Batch => format!("batch {}", report::count(key.batch_size)),
            Facet::Length => {
                key.sequence_length.map_or_else(String::new, |n| match key.length_unit() {
                    LengthUnit::Tokens => format!("{} tokens", report::count(n)),
                    unit => unit.words(n as usize),
                })
            }
            Facet::Threads if key.threads == 1 => "1 thread".into(),
            Facet::Threads if key.threads == 0 => String::new(),
            Facet::Threads => {
                format!("{} threads", report::count(u64::from(key.threads)))
            }
            Facet::Weights if key.random_weights => "random weights".into(),
            Facet::Weights => String::new(),
            Facet::Variant => report::variant(&key.variant),
            Facet::Origin if key.imported => "imported".into(),
            Facet::Origin => String::new(),
        }
    }
}

/// What belongs to a model rather than to a row where all rows of the model agree.
const OF_MODELS: [Facet; 2] = [Facet::Length, Facet::Weights];

/// How the cells of one picture are told apart.
pub(crate) struct Words<'a> {
    machines: &'a BTreeMap<String, String>,
    varying: Vec<Facet>,
    common: Vec<String>,
    /// What all rows of a model agree on and other models do not.
    models: BTreeMap<String, Vec<(Facet, String)>>,
}

impl<'a> Words<'a> {
    /// Looks at what the cells share; facets in `apart` are told by other means.
    pub(crate) fn of(
        cells: &[&PooledCell],
        machines: &'a BTreeMap<String, String>,
        apart: &[Facet],
    ) -> Words<'a> {
        let (varying, common, models) = (Vec::new(), Vec::new(), BTreeMap::new());
        let mut words = Words { machines, varying, common, models };
        for facet in Facet::ALL.into_iter().filter(|facet| !apart.contains(facet)) {
            let said: BTreeSet<String> =
                cells.iter().map(|cell| facet.of(&cell.key, machines)).collect();
            match said.len() {
                0 | 1 => words.common.extend(said.into_iter().filter(|word| !word.is_empty())),
                _ => words.varying.push(facet),
            }
        }
        for facet in OF_MODELS.into_iter().filter(|facet| words.varying.contains(facet)) {
            let mut said: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
            for cell in cells {
                said.entry(&cell.key.model).or_default().insert(facet.of(&cell.key, machines));
            }
            for (model, said) in said.into_iter().filter(|(_, said)| said.len() == 1) {
                let of_model = words.models.entry(model.to_owned()).or_default();
                of_model.extend(said.into_iter().map(|word| (facet, word)));
            }
        }
        words
    }

    /// What all rows of a model agree on and other models do not: `128 tokens`.
    pub(crate) fn of_model(&self, model: &str) -> String {
        let said = self.models.get(model).into_iter().flatten();
        let said: Vec<&str> =
            said.map(|(_, word)| word.as_str()).filter(|word| !word.is_empty()).collect();
        said.join(" · ")
    }

    /// What all of them are.
    pub(crate) fn common(&self) -> String {
        self.common.join(" · ")
    }

    /// Whether the cells differ in this.
    pub(crate) fn varies(&self, facet: Facet) -> bool {
        self.varying.contains(&facet)
    }

    /// What this one is, beyond that; the engine where all is the same.
    pub(crate) fn row(&self, key: &CellKey) -> String {
        let of_model = self.models.get(&key.model).map_or(&[][..], Vec::as_slice);
        let is_told = |facet: &&Facet| of_model.iter().any(|(known, _)| known == *facet);
        // Beside trainings, what says nothing is an inference.
        let is_usual = |facet: &&Facet| **facet == Facet::Mode && key.mode == Mode::Inference;
        let facets = self.varying.iter().filter(|facet| !is_told(facet) && !is_usual(facet));
        let said = facets.map(|facet| facet.of(key, self.machines));
        let said: Vec<String> = said.filter(|word| !word.is_empty()).collect();
        if said.is_empty() { Facet::Engine.of(key, self.machines) } else { said.join(" · ") }
    }
}

/// How many runs a picture rests on: `12 runs pooled in 4 cells`.
pub(crate) fn pooled(cells: &[&PooledCell]) -> String {
    let runs: u64 = cells.iter().map(|cell| cell.runs.len() as u64).sum();
    let of = |count: u64, word: &str| {
        let plural = if count == 1 { "" } else { "s" };
        format!("{} {word}{plural}", report::count(count))
    };
    format!("{} pooled in {}", of(runs, "run"), of(cells.len() as u64, "cell"))
}
