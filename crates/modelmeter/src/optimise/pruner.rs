//! Prunes a model into a folder.

use super::{Changed, PruningConfig, Schedule, activations, changed::Pieces};
use crate::{Error, Profiler, prepare, scratch::Scratch};
use graph::{Block, Model, PruneMethod, PruneOptions, Pruning, Scales};
use models::{Export, Exported, ModelError, Resolved};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    time::Instant,
};
use types::{BlockFacts, Event, MadeFrom, Optimisation, Remark, RemarkCode, WeightFacts};

/// A length that no width of a model has: shapes are followed by it.
const LENGTH: usize = 7;

/// Prunes models.
///
/// ```no_run
/// use modelmeter::{Profiler, Prover, Pruner, PruningConfig, PruningMethod, Session};
///
/// fn main() -> Result<(), modelmeter::Error> {
///     modelmeter::serve_if_worker();
///     let model = Profiler::new("encoder-small");
///     let pruner = Pruner::new(PruningConfig::new(PruningMethod::Structured, 0.3));
///     let pruned = pruner.prune(&model, "pruned".as_ref(), false, &mut |_| {})?;
///     let proof = Prover::new().prove(&model, &pruned, &mut Session::without_store(), &mut |_| {})?;
///     println!("{}", modelmeter::report::proof_document(&proof).markdown());
///     Ok(())
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Pruner {
    config: PruningConfig,
}

impl Pruner {
    /// A pruner that does this.
    #[must_use]
    pub fn new(config: PruningConfig) -> Pruner {
        Pruner { config }
    }

    /// Prunes a profiler's model and writes it into a folder; one that is there is replaced only if `replace`.
    ///
    /// # Errors
    /// Where the model cannot be had or pruned so, or the folder cannot be written. Nothing half-written stays.
    pub fn prune(
        &self,
        model: &Profiler,
        folder: &Path,
        replace: bool,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Changed, Error> {
        self.config.check()?;
        Export::check(folder, replace)?;
        let resolved = prepare::resolve(model, None, sink)?;
        if resolved.is_program() {
            return Err(ModelError::NothingToChange { model: resolved.info.name }.into());
        }
        let begin = Instant::now();
        match self.config.schedule {
            Schedule::OneShot => {
                let scales = self.scales(model, &resolved.model, sink)?;
                let options = self.options(&resolved, self.config.sparsity, scales)?;
                let pruning = plan(&resolved, &resolved.model, &options)?;
                self.finish(&resolved, pruning, 1, begin, (folder, replace), sink)
            }
            Schedule::Gradual { steps } => {
                self.gradually(model, &resolved, steps, begin, (folder, replace), sink)
            }
        }
    }

    /// Prunes a little more at each step, and looks at the activations of what is left in between.
    fn gradually(
        &self,
        model: &Profiler,
        resolved: &Resolved,
        steps: u32,
        begin: Instant,
        (folder, replace): (&Path, bool),
        sink: &mut dyn FnMut(Event),
    ) -> Result<Changed, Error> {
        // Cut heads and neurons take less, and how much is known only when they are cut.
        let needed = match self.config.method {
            PruneMethod::Structured => 0,
            _ => resolved.info.size.0,
        };
        let between = Scratch::make("the model between two steps", needed)?;
        let mut current: Option<(PathBuf, Model)> = None;
        for step in 1..=steps {
            let share = f64::from(step) / f64::from(steps);
            // Zhu and Gupta: much at first, when much is superfluous, and ever less towards the end.
            let sparsity = self.config.sparsity * (1.0 - (1.0 - share).powi(3));
            let mut profiler = model.clone();
            let graph = match &current {
                Some((onnx, graph)) => {
                    profiler.changed = Some(onnx.clone());
                    graph
                }
                None => &resolved.model,
            };
            let scales = self.scales(&profiler, graph, sink)?;
            let options = self.options(resolved, sparsity, scales)?;
            let pruning = plan(resolved, graph, &options)?;
            if step == steps {
                return self.finish(resolved, pruning, steps, begin, (folder, replace), sink);
            }
            let place = between.path().join(step.to_string());
            let exported = export(resolved, pruning, (&place, false), sink)?.0;
            let last = current.replace((place.join("onnx/model.onnx"), exported.converted.model));
            if let Some((onnx, _)) = last {
                // One step in between is enough to keep.
                let old = onnx.ancestors().nth(2).map(Path::to_owned).unwrap_or(onnx);
                let _ = std::fs::remove_dir_all(old);
            }
        }
        Err(Error::Rule("a gradual schedule has 2 to 100 steps".into()))
    }

    fn scales(
        &self,
        profiler: &Profiler,
        graph: &Model,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Scales, Error> {
        let texts = &self.config.calibrate;
        if texts.is_empty() {
            return Ok(Scales::new());
        }
        activations::strengths(profiler, texts, &graph::product_inputs(graph), sink)
    }

    fn options(
        &self,
        resolved: &Resolved,
        sparsity: f64,
        scales: Scales,
    ) -> Result<PruneOptions, Error> {
        let inputs = match self.config.method {
            PruneMethod::Structured => dims(resolved)?,
            _ => Vec::new(),
        };
        let PruningConfig { method, layers, exclude, also, seed, .. } = &self.config;
        Ok(PruneOptions {
            method: *method,
            sparsity,
            layers: layers.clone(),
            exclude: exclude.clone(),
            also: also.clone(),
            seed: *seed,
            scales,
            inputs,
        })
    }

    fn finish(
        &self,
        resolved: &Resolved,
        pruning: Pruning<'_>,
        steps: u32,
        begin: Instant,
        place: (&Path, bool),
        sink: &mut dyn FnMut(Event),
    ) -> Result<Changed, Error> {
        let nonzeros = graph::nonzero_weights(&resolved.model);
        let targets = pruning.targets.clone();
        let blocks = pruning.blocks.clone();
        let mut remarks = pruning.remarks.clone();
        let (exported, _) = export(resolved, pruning, place, sink)?;
        let left = |name: &str| exported.converted.nonzeros.get(name).copied();
        let weights: Vec<WeightFacts> = match blocks.is_empty() {
            true => targets
                .iter()
                .map(|target| {
                    let whole = target.numbers;
                    let before = nonzeros.get(&target.tensor).copied();
                    let before = before.unwrap_or(whole - target.zeros);
                    let after = left(&target.tensor).unwrap_or(whole - target.wanted);
                    let name = target.label.clone();
                    WeightFacts { name, before: [whole, before], after: [whole, after] }
                })
                .collect(),
            false => cut_weights(&blocks, &nonzeros, &exported),
        };
        let calibrated = !self.config.calibrate.is_empty();
        let asked = match self.config.method {
            PruneMethod::Groups { keep, of } => 1.0 - keep as f64 / of as f64,
            _ => self.config.sparsity,
        };
        let optimisation = match blocks.is_empty() {
            true => {
                let sum = |of: fn(&WeightFacts) -> u64| weights.iter().map(of).sum::<u64>();
                let zero = 1.0 - sum(|w| w.after[1]) as f64 / sum(|w| w.after[0]).max(1) as f64;
                Optimisation::Zeroed {
                    method: self.config.method_name().into(),
                    pattern: match self.config.method {
                        PruneMethod::Groups { keep, of } => Some(format!("{keep}:{of}")),
                        _ => None,
                    },
                    asked,
                    reached: zero,
                    calibrated,
                    steps,
                }
            }
            false => {
                Optimisation::Structured { asked, reached: reached(&blocks), calibrated, steps }
            }
        };
        if blocks.iter().any(|block| block.importance == graph::Importance::Magnitude)
            && calibrated
            && !blocks.is_empty()
        {
            remarks.push(Remark::new(
                RemarkCode::RankedByWeights,
                "some blocks were ranked by their weights: no activations of them were recorded",
            ));
        }
        let blocks = blocks.iter().map(facts).collect();
        let took = begin.elapsed();
        Ok(Changed::of(Pieces {
            resolved,
            exported,
            optimisation,
            weights,
            blocks,
            nonzeros,
            took,
            remarks,
        }))
    }
}

/// Shapes of the graph's inputs by which heads are followed: small, and unlike any width.
fn dims(resolved: &Resolved) -> Result<Vec<(String, Vec<usize>)>, Error> {
    let batch = resolved.default_batch(&[]).unwrap_or(2);
    let fixed = resolved.length(&[]).filter(|_| resolved.inputs(batch, Some(LENGTH), &[]).is_err());
    let length = fixed.or_else(|| resolved.default_length.map(|_| LENGTH));
    let inputs = resolved.inputs(batch, length, &[])?;
    Ok(inputs.into_iter().map(|input| (input.name, input.dims)).collect())
}

fn plan<'m>(
    resolved: &Resolved,
    model: &'m Model,
    options: &PruneOptions,
) -> Result<Pruning<'m>, Error> {
    graph::plan_pruning(model, options).map_err(|source| {
        let model = resolved.info.name.clone();
        ModelError::Prune { model, source: Box::new(source) }.into()
    })
}

fn export(
    resolved: &Resolved,
    pruning: Pruning<'_>,
    (folder, replace): (&Path, bool),
    sink: &mut dyn FnMut(Event),
) -> Result<(Exported, Vec<Block>), Error> {
    let Pruning { plan, blocks, uniform, .. } = pruning;
    let made_from = MadeFrom { fingerprint: resolved.info.fingerprint.clone(), converted_to: None };
    let (removed, uniform) = (&blocks, &uniform);
    let export = Export { resolved, plan, blocks: removed, uniform, made_from, folder, replace };
    let exported = export.write(&mut |progress| sink(prepare::event(&progress)))?;
    Ok((exported, blocks))
}

/// The weights that became smaller, each once.
fn cut_weights(
    blocks: &[Block],
    nonzeros: &HashMap<String, u64>,
    exported: &Exported,
) -> Vec<WeightFacts> {
    let mut weights: Vec<WeightFacts> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    let cuts = blocks.iter().flat_map(|block| block.cuts.iter().map(move |cut| (block, cut)));
    for (block, cut) in cuts {
        if !seen.insert(&cut.tensor) {
            continue;
        }
        // Exporters number their constants; the module says more.
        let is_path = cut.tensor.contains('.') && !cut.tensor.contains("::");
        let name = match is_path || !block.label.contains('.') {
            true => cut.tensor.clone(),
            false => format!("{}.{}", block.label, cut.tensor),
        };
        let tensors = &exported.converted.model.graph.initializers;
        let Some(tensor) = tensors.iter().find(|tensor| tensor.name == cut.tensor) else {
            continue;
        };
        let whole = cut.dims.iter().product::<usize>() as u64;
        let numbers = tensor.elements() as u64;
        let left = exported.converted.nonzeros.get(&cut.tensor).copied().unwrap_or(numbers);
        weights.push(WeightFacts {
            name,
            before: [whole, nonzeros.get(&cut.tensor).copied().unwrap_or(whole)],
            after: [numbers, left],
        });
    }
    weights
}

/// The share of heads and neurons that were removed; every block has the same weight.
fn reached(blocks: &[Block]) -> f64 {
    let gone = |block: &Block| 1.0 - block.kept.len() as f64 / block.units as f64;
    blocks.iter().map(gone).sum::<f64>() / blocks.len().max(1) as f64
}

fn facts(block: &Block) -> BlockFacts {
    BlockFacts {
        name: block.label.clone(),
        what: block.kind.units().into(),
        before: block.units,
        after: block.kept.len(),
    }
}
