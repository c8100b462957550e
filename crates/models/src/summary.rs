//! What the presets are worth, counted on their graphs without any weight.

use crate::{ModelError, PRESETS, Preset, prepare::attach, resolve::parameters};

/// A preset with its numbers.
#[derive(Debug, Clone)]
pub struct PresetSummary {
    /// The preset.
    pub preset: &'static Preset,
    /// Its parameters.
    pub parameters: u64,
}

/// The numbers of every preset, at batch 1 and its default length.
pub fn preset_summaries() -> Result<Vec<PresetSummary>, ModelError> {
    PRESETS.iter().map(summary).collect()
}

fn summary(preset: &'static Preset) -> Result<PresetSummary, ModelError> {
    let blueprint = preset.blueprint()?;
    let (_model, _) = attach(&blueprint)?;
    Ok(PresetSummary { preset, parameters: parameters(&blueprint.weights) })
}
