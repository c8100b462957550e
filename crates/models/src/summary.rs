//! What the presets cost, counted on their graphs without any weight.

use crate::{
    ModelError, PRESETS, Preset,
    prepare::attach,
    resolved::{CLASSIFIER_SIDE, DEFAULT_LENGTH},
    shapes::{Sizes, settle},
};
use types::Work;

/// A preset with its numbers.
#[derive(Debug, Clone)]
pub struct PresetSummary {
    /// The preset.
    pub preset: &'static Preset,
    /// Its parameters.
    pub parameters: u64,
    /// The work of one inference at batch 1 and the default length.
    pub work: Work,
    /// That length; `None` for a model without one.
    pub length: Option<usize>,
}

/// The numbers of every preset, in the order of the list.
pub fn preset_summaries() -> Result<Vec<PresetSummary>, ModelError> {
    PRESETS.iter().map(Preset::summary).collect()
}

impl Preset {
    /// Its numbers, counted on the graph.
    pub fn summary(&'static self) -> Result<PresetSummary, ModelError> {
        let blueprint = self.blueprint()?;
        let (model, _) = attach(&blueprint)?;
        let length = DEFAULT_LENGTH.min(blueprint.max_length.unwrap_or(DEFAULT_LENGTH));
        let has_length = blueprint.inputs.iter().any(|input| input.vocabulary.is_some());
        let sizes =
            Sizes { batch: 1, length: Some(length), image: [CLASSIFIER_SIDE; 2], streaming: false };
        let settled = settle(&model.graph.inputs, &blueprint.inputs, &[], sizes)?;
        let names = model.graph.inputs.iter().map(|input| input.name.clone());
        let shapes: Vec<(String, Vec<usize>)> = names.zip(settled.dims).collect();
        let analysis = graph::analyse(&model, &shapes);
        Ok(PresetSummary {
            preset: self,
            parameters: blueprint.parameters(),
            work: analysis.work,
            length: has_length.then_some(length),
        })
    }
}
