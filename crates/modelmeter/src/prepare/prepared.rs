//! What is known of a cell before it is measured, for everybody who asks.

use super::{Limits, Prepared, dims_of, generation, precision::saved};
use crate::{Engines, Error, observe};
use engine::{Places, Takes, TrainingFiles};
use graph::{Model, Shapes};
use meter::{Counting, Job, Refine};
use models::{Ask, Guess, Resolved, Trial};
use std::hash::{BuildHasher, Hasher};
use types::{
    Bytes, Cell, InputSpec, LayerWork, ModelInfo, Precision, Reason, Remark, RemarkCode, RunId,
    Work,
};

impl Prepared {
    /// The job for the meter; `refine` is [`Prepared::count_again`].
    pub(crate) fn job<'a>(&self, refine: Refine<'a>) -> Job<'a> {
        Job {
            cell: self.cell.clone(),
            id: new_id(),
            model: self.resolved.info.clone(),
            onnx: self.resolved.onnx.clone(),
            module: self.resolved.module.clone(),
            gguf: self.resolved.gguf.clone(),
            places: self.places.clone(),
            inputs_file: self.drawn.as_ref().map(|drawn| drawn.path.clone()),
            inputs: self.inputs.clone(),
            tokenizer: self.tokenizer.clone(),
            media: self.media.clone(),
            postprocess: self.resolved.postprocess,
            training: self.trained.as_ref().map(|trained| Box::new(trained.job.clone())),
            generation: self.generates.clone().map(Box::new),
            weights_read: self.generates.as_ref().and_then(|_| {
                generation::weights_read(&self.resolved, self.engine.takes(), self.own)
            }),
            phase_flops: self.trained.as_ref().map_or_else(Vec::new, |t| t.flops.clone()),
            work: self.work,
            counting: self.counting(),
            unknown_shapes: self.unknown_shapes.clone(),
            waits_busily: self.engine.waits_busily(),
            reads_windows: self.engine.reads_windows(),
            refine,
            model_commit: self.resolved.commit.clone(),
            remarks: self.assumptions(),
            prepared_in: self.took,
        }
    }

    /// Who counts the work.
    fn counting(&self) -> Counting {
        match self.own {
            _ if self.resolved.is_program() => Counting::Program,
            Precision::Int8 if self.engine.takes() == Takes::Module => {
                Counting::Weights { held: graph::count_weights(&self.resolved.model).bytes }
            }
            _ => Counting::Graph,
        }
    }

    /// The only batch that is possible; `None` where it is free.
    pub(crate) fn fixed_batch(&self) -> Option<usize> {
        self.resolved.default_batch(&self.cell.inputs)
    }

    /// Whether it is a graph from a file, whose inputs we only guess at.
    pub(crate) fn is_file(&self) -> bool {
        self.resolved.module.is_none() && !self.resolved.is_program()
    }

    pub(crate) fn is_trained(&self) -> bool {
        self.trained.is_some()
    }

    /// Everything that was asked but the engine and what it is told.
    pub(crate) fn question(&self) -> String {
        let Cell { batch_size, sequence_length, inputs, .. } = &self.cell;
        let model = &self.resolved.info.fingerprint;
        format!("{model} {batch_size} {sequence_length:?} {inputs:?}")
    }

    /// Other sizes for what nobody said.
    pub(crate) fn trials(&self, is_batch_asked: bool) -> Result<Vec<Trial>, Error> {
        let ask = Ask {
            batch: self.cell.batch_size,
            length: self.cell.sequence_length.filter(|_| self.is_length_asked),
            given: &self.cell.inputs,
            values: &self.cell.feed.values,
            guess: Guess::default(),
        };
        Ok(self.resolved.trials(&ask, is_batch_asked)?)
    }

    /// An input whose shape may be given, with the shape that failed: `x=1x3x224x224`.
    pub(crate) fn free_input(&self) -> Option<String> {
        let is_given = |name: &str| self.cell.inputs.iter().any(|given| given.name == name);
        let input = self.inputs.iter().find(|input| !is_given(&input.name))?;
        let dims: Vec<String> = input.dims.iter().map(usize::to_string).collect();
        Some(format!("{}={}", input.name, dims.join("x")))
    }

    /// Says that other sizes failed before these.
    pub(crate) fn after_trials(mut self, taken: &Trial, failed: &[String]) -> Prepared {
        let engine = self.engine.id();
        let failed: Vec<String> = failed.iter().map(|sizes| format!("{sizes}: failed")).collect();
        let text = format!(
            "sizes that were tried on {engine}: {}; {}: ran",
            failed.join("; "),
            taken.words()
        );
        self.assumed.push(Remark::new(RemarkCode::SizesTried, text));
        self
    }

    /// Weights that a training leaves alone.
    pub(crate) fn untrained(&self) -> Vec<String> {
        self.trained.as_ref().map_or_else(Vec::new, |trained| trained.untrained.clone())
    }

    /// The graphs of a training step; `None` where nothing is trained.
    pub(crate) fn step_files(&self) -> Option<&TrainingFiles> {
        self.trained.as_ref().and_then(|trained| trained.job.graphs.as_ref())
    }

    /// The work of every node of a training step; `None` where nothing is trained.
    pub(crate) fn step_work(&self) -> Option<&[LayerWork]> {
        self.trained.as_ref().map(|trained| trained.layers.as_slice())
    }

    pub(crate) fn inputs(&self) -> &[InputSpec] {
        &self.inputs
    }

    /// The model's name as people use it.
    pub(crate) fn model_name(&self) -> String {
        self.resolved.info.name.clone()
    }

    pub(crate) fn model_info(&self) -> &ModelInfo {
        &self.resolved.info
    }

    /// Whether an engine of this kind can take the model.
    pub(crate) fn fits(&self, takes: Takes) -> bool {
        match takes {
            Takes::Onnx => !self.resolved.is_program(),
            Takes::Module => self.resolved.module.is_some(),
            Takes::Gguf => self.resolved.gguf.is_some(),
        }
    }

    /// Real tokens of each text, where there is text.
    pub(crate) fn text_rows(&self) -> &[usize] {
        &self.text_rows
    }

    /// What holds for a worker beside the measurement.
    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    /// The work of one inference.
    pub(crate) fn work(&self) -> Work {
        self.work
    }

    /// The work of another graph with the same inputs.
    pub(crate) fn work_of(&self, model: &Model) -> Work {
        graph::analyse_shapes(model, &graph::infer(model, &dims_of(&self.inputs))).work
    }

    pub(crate) fn resolved(&self) -> &Resolved {
        &self.resolved
    }

    pub(crate) fn graph(&self) -> &Model {
        &self.resolved.model
    }

    /// The shapes of every value, in the number formats that the engine computes in.
    pub(crate) fn shapes(&self) -> Shapes {
        self.shapes_with(Vec::new())
    }

    /// The same with shapes that a run showed.
    fn shapes_with(&self, mut seen: Vec<(String, Vec<usize>)>) -> Shapes {
        let model = &self.resolved.model;
        if self.generates.is_some() {
            seen.extend(generation::positions(model, &self.inputs));
        }
        graph::infer_observed(model, &dims_of(&self.inputs), &seen).narrowed(self.own)
    }

    /// Bytes of the graph's weights in the number format that the engine keeps them in, as far as the graph can tell.
    pub(crate) fn weight_bytes(&self) -> Bytes {
        let bytes = graph::count_weights(&self.resolved.model).bytes;
        Bytes(bytes.0 - saved(&self.resolved.model, self.own).min(bytes.0))
    }

    /// What a reader of any result must know of the model and its inputs.
    ///
    /// What was assumed or left out; random weights are said by the model's own field.
    pub(crate) fn remarks(&self) -> Vec<Remark> {
        let assumed = self.resolved.remarks.iter().chain(&self.assumed);
        let cut = (self.cut > 0).then(|| {
            let length = self.cell.sequence_length.unwrap_or_default();
            let text = format!(
                "{} tokens of the text were cut off to fit the length of {length}",
                self.cut
            );
            Remark::new(RemarkCode::TextCut, text)
        });
        let meant = self.meant.clone().map(|text| Remark::new(RemarkCode::DeviceMeaning, text));
        assumed.cloned().chain(self.widened()).chain(cut).chain(meant).collect()
    }

    /// Why it does not run in the precision of its checkpoint, where nobody asked for another.
    pub(crate) fn widened(&self) -> Option<Remark> {
        let text = self.widened.clone();
        text.map(|text| Remark::new(RemarkCode::CheckpointWidened, text))
    }

    /// Its remarks as reasons that do not invalidate a run.
    fn assumptions(&self) -> Vec<Reason> {
        self.remarks().into_iter().map(Reason::from).collect()
    }

    /// The engines that may be chosen from.
    pub(crate) fn engines(&self) -> Engines {
        self.engines
    }

    /// Where engines are looked for.
    pub(crate) fn places(&self) -> &Places {
        &self.places
    }

    /// Values whose shape only a run can show.
    pub(crate) fn unknown_shapes(&self) -> &[String] {
        &self.unknown_shapes
    }

    /// Counts the work again with shapes that a real run showed; given none, it looks for them once.
    pub(crate) fn count_again(&self, seen: &[(String, Vec<usize>)]) -> Work {
        let model = &self.resolved.model;
        let seen = match seen {
            [] => self.observed.get_or_init(|| observe::shapes(self)),
            _ => seen,
        };
        graph::analyse_shapes(model, &self.shapes_with(seen.to_vec())).work
    }
}

fn new_id() -> RunId {
    // The standard library seeds its hashers from the system's randomness.
    let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
    store::new_run_id(clock::now(), random)
}
