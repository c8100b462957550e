//! Stored runs as material for pictures: cells, and of those that are shown what their runs know.

use crate::{Error, Survey};
use analysis::{Cells, Selection, analyse};
use draw::{
    Detail, LoadDetail, MOST_SAMPLES, Material, Steps, thin, wanted_details, wanted_samples,
};
use std::collections::BTreeMap;
use store::{Store, StoreError};
use types::{Ceilings, CellKey, LoadMetric, LoadReport, Measured, Mode, Phase, Run, RunId};

/// Samples that are read of one run before they are thinned; more would only cost memory.
const MOST_OF_A_RUN: usize = 100_000;

impl Survey {
    /// What pictures are drawn from; only the runs that they show are read.
    ///
    /// # Errors
    /// As [`Survey::analyse`].
    pub fn material(&self, store: &Store) -> Result<Material, Error> {
        let analysis = self.analyse(store)?;
        let mut material = Material {
            cells: analysis.cells.into_iter().map(|cell| cell.cell).collect(),
            machines: analysis.machines,
            not_valid: analysis.not_valid,
            again: analysis.again,
            has_pages: true,
            ..Material::default()
        };
        let mut machines: Vec<&String> =
            material.cells.iter().map(|cell| &cell.key.machine).collect();
        machines.sort();
        machines.dedup();
        for machine in machines {
            material.ceilings.insert(machine.clone(), store.all_ceilings(machine)?);
        }
        let runs: BTreeMap<&CellKey, &[RunId]> =
            material.cells.iter().map(|cell| (&cell.key, cell.runs.as_slice())).collect();
        let of = |key: &CellKey| runs.get(key).copied().unwrap_or_default();
        let (mut samples, mut details) = (BTreeMap::new(), BTreeMap::new());
        for key in wanted_samples(&material) {
            let mut all = Vec::new();
            for id in of(&key) {
                all.extend(read(store, id)?.map_or_else(Vec::new, |run| seconds(&run)));
            }
            samples.insert(key, thin(all, MOST_SAMPLES));
        }
        for key in wanted_details(&material) {
            let newest = of(&key).first().map(|id| read(store, id)).transpose()?.flatten();
            details.extend(newest.map(|run| (key, detail(&run))));
        }
        (material.samples, material.details) = (samples, details);
        Ok(material)
    }
}

/// What pictures of these runs alone are drawn from.
pub(crate) fn material_of(runs: &[&Run], ceilings: BTreeMap<String, Vec<Ceilings>>) -> Material {
    let cells: Cells = runs.iter().map(|run| Measured::from(*run)).collect();
    let analysis = analyse(&cells, &Selection::default());
    let mut material = Material {
        cells: analysis.cells.into_iter().map(|cell| cell.cell).collect(),
        machines: analysis.machines,
        not_valid: analysis.not_valid,
        ceilings,
        ..Material::default()
    };
    let by_id: BTreeMap<&RunId, &Run> = runs.iter().map(|run| (&run.id, *run)).collect();
    let of = |key: &CellKey| -> Vec<&Run> {
        let cell = material.cells.iter().find(|cell| cell.key == *key);
        let ids = cell.map_or(&[][..], |cell| cell.runs.as_slice());
        ids.iter().filter_map(|id| by_id.get(id).copied()).collect()
    };
    let samples = wanted_samples(&material).into_iter().map(|key| {
        let all = of(&key).into_iter().flat_map(seconds).collect();
        (key, thin(all, MOST_SAMPLES))
    });
    let details = wanted_details(&material)
        .into_iter()
        .filter_map(|key| Some((key.clone(), detail(of(&key).first()?))));
    let (samples, details) = (samples.collect(), details.collect());
    (material.samples, material.details) = (samples, details);
    material
}

/// The run, unless somebody has deleted it meanwhile.
fn read(store: &Store, id: &RunId) -> Result<Option<Run>, Error> {
    match store.run(&id.0) {
        Ok(run) => Ok(Some(run)),
        Err(StoreError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The samples of the phase people mean by latency.
fn seconds(run: &Run) -> Vec<f64> {
    let nanos = run.samples_of(run.main_phase()).unwrap_or_default();
    thin(nanos.iter().map(|nanos| *nanos as f64 / 1e9).collect(), MOST_OF_A_RUN)
}

fn detail(run: &Run) -> Detail {
    let measured = run.imported.is_none();
    let held = run.training.as_ref().map(|training| training.memory);
    let by_graph = run.memory.as_ref().and_then(|memory| memory.graph.weights.value);
    let weights = held.map(|held| held.weights).or(by_graph);
    let weights = weights.or(Some(run.model.size).filter(|_| run.tells("model.size")));
    let phase = |phase: Phase| Some((phase, run.summaries.get(&phase)?.median));
    Detail {
        work: (measured && run.cell.mode == Mode::Inference)
            .then_some(run.work)
            .filter(|_| run.tells("work.flops") && run.tells("work.bytes")),
        weights: weights.filter(|weights| measured && weights.0 > 0),
        gradients: held.map(|held| held.gradients.saturating_add(held.optimizer)),
        activations: held
            .map(|held| held.activations)
            .or(run.work.activation_peak)
            .filter(|_| measured),
        limit: run.environment.memory_limit.map(|limit| limit.bytes),
        phases: Phase::ALL.into_iter().filter_map(phase).collect(),
        steps: Steps::of(run),
        load: run.load.as_deref().map(load_detail),
    }
}

fn load_detail(load: &LoadReport) -> LoadDetail {
    let shown = [LoadMetric::E2e, LoadMetric::Ttft, LoadMetric::Itl];
    let times = shown.into_iter().filter_map(|metric| {
        let summary = load.latency(metric)?;
        let of = |key: &str, value: f64| Some(value).filter(|_| summary.supports(key));
        Some((metric, [Some(summary.median), of("p95", summary.p95), of("p99", summary.p99)]))
    });
    let held: Option<Vec<bool>> = load.limits.iter().map(|limit| limit.holds).collect();
    let broken = load.limits.iter().any(|limit| limit.holds == Some(false));
    LoadDetail {
        times: times.collect(),
        held: match held {
            _ if broken => Some(false),
            Some(all) if !all.is_empty() => Some(true),
            _ => None,
        },
    }
}
