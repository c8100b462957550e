//! Turns a model into another number format, into a folder.

use super::{Changed, QuantizationConfig, activations, changed::Pieces, prover::after};
use crate::{Error, Profiler, prepare};
use graph::{ConvertOptions, Int8};
use models::{Export, ModelError};
use std::{path::Path, time::Instant};
use types::{Event, MadeFrom, Optimisation, Precision};

/// Quantises models.
#[derive(Debug, Clone)]
pub struct Quantizer {
    config: QuantizationConfig,
}

impl Quantizer {
    /// A quantiser that does this.
    #[must_use]
    pub fn new(config: QuantizationConfig) -> Quantizer {
        Quantizer { config }
    }

    /// Quantises a profiler's model and writes it into a folder; one that is there is replaced only if `replace`.
    ///
    /// # Errors
    /// Where the model cannot be had or quantised so, or the folder cannot be written. Nothing half-written stays.
    pub fn quantize(
        &self,
        model: &Profiler,
        folder: &Path,
        replace: bool,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Changed, Error> {
        self.write(model, None, folder, replace, sink)
    }

    fn write(
        &self,
        model: &Profiler,
        earlier: Option<&Changed>,
        folder: &Path,
        replace: bool,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Changed, Error> {
        let config = &self.config;
        config.check()?;
        Export::check(folder, replace)?;
        let resolved = prepare::resolve_changed(model, sink)?;
        if resolved.is_program() {
            return Err(ModelError::NothingToChange { model: resolved.info.name }.into());
        }
        let begin = Instant::now();
        let int8 = match (config.weights_only, config.calibrate.as_slice()) {
            (true, _) => Int8::WeightsOnly,
            (false, []) => Int8::Dynamic,
            (false, texts) => {
                let names = graph::product_inputs(&resolved.model);
                Int8::Static(activations::ranges(model, texts, &names, sink)?)
            }
        };
        // What `--precision` does: activations are quantised while the model runs.
        let is_conversion = matches!(int8, Int8::Dynamic);
        let options =
            ConvertOptions { per_channel: config.per_channel, int8, ..ConvertOptions::default() };
        let plan =
            graph::plan_conversion(&resolved.model, config.to, &options).map_err(|source| {
                let (model, source) = (resolved.info.name.clone(), Box::new(source));
                ModelError::Convert { model, asked: config.to, source }
            })?;
        let made_from = match earlier {
            Some(earlier) => {
                MadeFrom { fingerprint: earlier.model.fingerprint.clone(), converted_to: None }
            }
            None => MadeFrom {
                fingerprint: resolved.info.fingerprint.clone(),
                converted_to: is_conversion.then_some(config.to),
            },
        };
        let (blocks, uniform) = (&[], &[]);
        let export =
            Export { resolved: &resolved, plan, blocks, uniform, made_from, folder, replace };
        let exported = export.write(&mut |progress| sink(prepare::event(&progress)))?;
        let took = begin.elapsed();
        Ok(Changed::of(Pieces {
            resolved: &resolved,
            exported,
            optimisation: Optimisation::Quantised {
                to: config.to,
                how: config.how(),
                per_channel: config.per_channel,
            },
            weights: Vec::new(),
            blocks: Vec::new(),
            nonzeros: graph::nonzero_weights(&resolved.model),
            took,
            remarks: Vec::new(),
        }))
    }

    /// Quantises what another change left of a profiler's model; the two count as one change.
    ///
    /// # Errors
    /// As [`quantize`](Quantizer::quantize), and where it is not int8: 16-bit floats go into a folder for `transformers`
    /// too, which would have to know of the other change.
    pub fn quantize_changed(
        &self,
        model: &Profiler,
        earlier: &Changed,
        folder: &Path,
        replace: bool,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Changed, Error> {
        if self.config.to != Precision::Int8 {
            return Err(Error::Rule("only int8 can follow another change".into()));
        }
        let later = self.write(&after(model, earlier), Some(earlier), folder, replace, sink)?;
        Ok(later.following(earlier))
    }
}
