//! What the presets cost, counted on their graphs without any weight.

use crate::{
    ModelError, PRESETS, Preset,
    prepare::attach,
    resolved::{CLASSIFIER_SIDE, DEFAULT_LENGTH},
    shapes::{Sizes, settle},
};
use types::{InputRole, Work};

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
    /// What goes in at batch 1: meaning and dims of every input.
    pub inputs: Vec<(InputRole, Vec<usize>)>,
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
        // Sound is as long as it is by default.
        let tokens = has_length.then_some(length);
        let (samples, frames) = Sizes::sound(false);
        let sizes = Sizes {
            batch: 1,
            length: tokens,
            is_asked: false,
            image: [CLASSIFIER_SIDE; 2],
            samples,
            frames,
            other: 1,
        };
        let settled = settle(&model.graph.inputs, &blueprint.inputs, &[], sizes)?;
        let roles = blueprint.inputs.iter().map(|input| input.role);
        let inputs = roles.zip(settled.dims.iter().cloned()).collect();
        let names = model.graph.inputs.iter().map(|input| input.name.clone());
        let shapes: Vec<(String, Vec<usize>)> = names.zip(settled.dims).collect();
        let analysis = graph::analyse(&model, &shapes);
        Ok(PresetSummary {
            preset: self,
            parameters: blueprint.parameters(),
            work: analysis.work,
            length: tokens,
            inputs,
        })
    }
}
