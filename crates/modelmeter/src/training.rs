//! From a model to what a worker needs to train it: the graphs of a step in files, labels, and the work of each phase.

use crate::{Error, Profiler, inside, scratch::Scratch};
use engine::{
    DropoutMask, Engine, PreparedValue, TrainedParameter, TrainingFiles, TrainingJob,
    TrainingTraits,
};
use graph::{
    GradientForm, LabelSpec, Loss as GraphLoss, Model, OptimizerKind, Tensor, TensorData,
    TrainingGraphs, TrainingPlan, differentiate,
};
use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufWriter, Write},
    path::PathBuf,
};
use types::{
    Bytes, ElementType, Fill, Flops, InputRole, InputSpec, LayerWork, Loss, Optimizer, Phase, Rate,
    Ratio, Training, Work, step_path,
};

/// How a model shall be trained; what is left open is settled by the model.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct TrainingRequest {
    /// The optimiser.
    pub optimizer: Optimizer,
    /// What is made small; cross-entropy where the model gives `logits`, mean squares elsewhere.
    pub loss: Option<Loss>,
    /// The learning rate.
    pub learning_rate: Option<f64>,
    /// Batches whose gradients are accumulated before the weights are updated.
    pub accumulation: u32,
    /// Gradient checkpointing: activations are recomputed in the backward pass.
    pub checkpointing: bool,
    /// Processes that train together.
    pub world_size: u32,
}

impl Default for TrainingRequest {
    fn default() -> TrainingRequest {
        TrainingRequest {
            optimizer: Optimizer::default(),
            loss: None,
            learning_rate: None,
            accumulation: 1,
            checkpointing: false,
            world_size: 1,
        }
    }
}

impl From<&Training> for TrainingRequest {
    fn from(training: &Training) -> TrainingRequest {
        TrainingRequest {
            optimizer: training.optimizer,
            loss: Some(training.loss),
            learning_rate: Some(training.learning_rate.0),
            accumulation: training.accumulation,
            checkpointing: training.checkpointing,
            world_size: training.world_size,
        }
    }
}

impl TrainingRequest {
    /// Settled for a model.
    fn settled(&self, model: &Model) -> Training {
        let has_logits = model.graph.outputs.iter().any(|output| output.name == "logits");
        let usual = if has_logits { Loss::CrossEntropy } else { Loss::Mse };
        let rate = if self.optimizer == Optimizer::Sgd { 1e-2 } else { 1e-4 };
        Training {
            optimizer: self.optimizer,
            loss: self.loss.unwrap_or(usual),
            learning_rate: Rate(self.learning_rate.unwrap_or(rate)),
            accumulation: self.accumulation.max(1),
            checkpointing: self.checkpointing,
            world_size: self.world_size.max(1),
        }
    }
}

/// A training that is ready to be handed to a worker; its files go with it.
pub(crate) struct Trained {
    pub(crate) job: TrainingJob,
    pub(crate) work: Work,
    pub(crate) flops: Vec<(Phase, u64)>,
    /// The work of every node of a step, by phase and module.
    pub(crate) layers: Vec<LayerWork>,
    pub(crate) untrained: Vec<String>,
    _folder: Scratch,
}

/// Writes the graphs of a training step.
pub(crate) fn prepare(
    profiler: &Profiler,
    request: &TrainingRequest,
    model: &Model,
    inputs: &[(String, Vec<usize>)],
    engine: &dyn Engine,
) -> Result<Trained, Error> {
    if profiler.text.is_some() {
        let why = "text has no labels to train with".to_owned();
        return Err(Error::Training { why, hint: Some("omit `--text`".into()) });
    }
    let training = request.settled(model);
    let traits = engine.training().unwrap_or(TrainingTraits::OF_GRAPHS);
    let plan = TrainingPlan {
        loss: match training.loss {
            Loss::CrossEntropy => GraphLoss::CrossEntropy,
            Loss::Mse => GraphLoss::MeanSquares,
        },
        optimizer: match training.optimizer {
            Optimizer::Sgd => OptimizerKind::Sgd,
            Optimizer::Adam => OptimizerKind::Adam,
            Optimizer::AdamW => OptimizerKind::AdamW,
        },
        output: None,
        checkpointing: training.checkpointing,
        turned_first: traits.transposes_slowly,
        prepared: true,
        spare_columns: traits.needs_spare_columns,
    };
    let graphs = differentiated(model, inputs, &plan)?;
    let inside = |tensor: &Tensor| match &tensor.data {
        TensorData::Inline(bytes) => bytes.len() as u64,
        TensorData::External { .. } | TensorData::Strings(_) => 0,
    };
    let needed = graphs.parameters.iter().map(|parameter| inside(&parameter.initializer)).sum();
    let folder = Scratch::make("the graphs of a step and weights from inside the model", needed)?;
    let files = write(&graphs, model, &folder)?;
    let Counted { work, flops, layers } =
        count(model, inputs, &plan, &graphs, training.accumulation)?;
    Ok(Trained {
        job: TrainingJob {
            training,
            labels: labels(&graphs.labels),
            output: graphs.output.name.clone(),
            graphs: Some(files),
        },
        work,
        flops,
        layers,
        untrained: graphs.untrained,
        _folder: folder,
    })
}

fn labels(spec: &LabelSpec) -> InputSpec {
    let (dtype, fill) = match spec.classes {
        Some(classes) => (ElementType::I64, Fill::Integers { low: 0, high: classes as i64 }),
        None => (ElementType::F32, Fill::Normal { mean: 0.0, std: 1.0 }),
    };
    let (name, dims) = (spec.name.clone(), spec.dims.clone());
    InputSpec { name, dtype, dims, role: InputRole::Other, fill }
}

fn differentiated(
    model: &Model,
    inputs: &[(String, Vec<usize>)],
    plan: &TrainingPlan,
) -> Result<TrainingGraphs, Error> {
    differentiate(model, inputs, plan)
        .map_err(|error| Error::Training { why: error.to_string(), hint: None })
}

/// What a step has to do.
struct Counted {
    work: Work,
    flops: Vec<(Phase, u64)>,
    layers: Vec<LayerWork>,
}

/// The work of one step of the model, without spare columns, and of each of its phases and nodes.
fn count(
    model: &Model,
    inputs: &[(String, Vec<usize>)],
    plan: &TrainingPlan,
    graphs: &TrainingGraphs,
    accumulation: u32,
) -> Result<Counted, Error> {
    let has_spare = graphs.parameters.iter().any(|p| p.dims != p.initializer.dims);
    let plain = TrainingPlan { spare_columns: false, ..plan.clone() };
    let plain = has_spare.then(|| differentiated(model, inputs, &plain)).transpose()?;
    let graphs = plain.as_ref().unwrap_or(graphs);
    let phases = [
        (Phase::Forward, &graphs.forward, u64::from(accumulation)),
        (Phase::Loss, &graphs.loss, u64::from(accumulation)),
        (Phase::Backward, &graphs.backward, u64::from(accumulation)),
        (Phase::Optimizer, &graphs.optimizer, 1),
    ];
    let mut whole = graph::analyse(&graphs.forward, &[]).work;
    whole.flops = Flops(0);
    let (mut flops, mut layers) = (Vec::new(), Vec::new());
    for (phase, model, times) in phases {
        let analysis = graph::analyse(model, &[]);
        let work = analysis.work;
        layers.extend(analysis.nodes.into_iter().map(|node| {
            let done = inside::layer_work(node);
            LayerWork {
                path: step_path(phase, &done.path),
                flops: done.flops.map(|flops| Flops(flops.0.saturating_mul(times))),
                bytes: done.bytes.map(|bytes| Bytes(bytes.0.saturating_mul(times))),
                ..done
            }
        }));
        let own = work.flops.0.saturating_mul(times);
        flops.push((phase, own));
        whole.flops = Flops(whole.flops.0.saturating_add(own));
        whole.coverage = Ratio(whole.coverage.0.min(work.coverage.0));
    }
    Ok(Counted { work: whole, flops, layers })
}

fn write(graphs: &TrainingGraphs, model: &Model, folder: &Scratch) -> Result<TrainingFiles, Error> {
    let save = |name: &str, model: &Model| -> Result<PathBuf, Error> {
        let path = folder.path().join(name);
        model.write(&path).map_err(|error| match error {
            graph::WriteError::Write { source, .. } => folder.failed(source),
            other => Error::Training {
                why: format!("could not write the graphs of a step: {other}"),
                hint: None,
            },
        })?;
        Ok(path)
    };
    let mut values = Values::new(folder)?;
    let mut parameters = Vec::with_capacity(graphs.parameters.len());
    for parameter in &graphs.parameters {
        let (file, offset) = values.place(&parameter.initializer, model)?;
        let (gradient, rows) = match parameter.gradient.clone() {
            GradientForm::Dense { gradient } => (Some(gradient), None),
            GradientForm::Rows { indices, values, .. } => (None, Some((indices, values))),
            GradientForm::DenseAndRows { dense, indices, values, .. } => {
                (Some(dense), Some((indices, values)))
            }
        };
        parameters.push(TrainedParameter {
            name: parameter.name.clone(),
            dims: parameter.dims.clone(),
            own_dims: parameter.initializer.dims.clone(),
            file,
            offset,
            gradient,
            rows,
        });
    }
    values.finish()?;
    let mask = |mask: &graph::MaskSpec| DropoutMask {
        name: mask.name.clone(),
        dims: mask.dims.clone(),
        ratio: mask.ratio,
    };
    let prepared = |value: &graph::PreparedValue| PreparedValue {
        name: value.name.clone(),
        of: value.of.clone(),
        dims: value.dims.clone(),
        turned: value.turned,
    };
    Ok(TrainingFiles {
        forward: save("forward.onnx", &graphs.forward)?,
        loss: save("loss.onnx", &graphs.loss)?,
        backward: save("backward.onnx", &graphs.backward)?,
        parameters,
        saved: graphs.saved.iter().map(|saved| saved.name.clone()).collect(),
        prepared: graphs.prepared.iter().map(prepared).collect(),
        output_gradient: graphs.output_gradient.clone(),
        loss_value: graphs.loss_value.clone(),
        loss_scale: graphs.loss_scale.clone(),
        masks: graphs.masks.iter().map(mask).collect(),
        modules: modules(graphs),
    })
}

/// The module of every parameter and of every value that the forward graph keeps.
fn modules(graphs: &TrainingGraphs) -> BTreeMap<String, String> {
    let nodes = &graphs.forward.graph.nodes;
    let mut makers: BTreeMap<&str, String> = BTreeMap::new();
    let mut readers: BTreeMap<&str, String> = BTreeMap::new();
    for work in graph::analyse(&graphs.forward, &[]).nodes.into_iter().filter(|w| w.depth == 0) {
        let Some(node) = nodes.get(work.index) else { continue };
        for output in &node.outputs {
            makers.insert(output, work.path.clone());
        }
        for input in &node.inputs {
            readers.entry(input).or_insert_with(|| work.path.clone());
        }
    }
    let of_parameter = |name: &str| match name.rsplit_once('.') {
        Some((module, _)) => module.to_owned(),
        // A file of somebody else's may number its weights: who reads one first has it.
        None => readers.get(name).cloned().unwrap_or_default(),
    };
    let saved = graphs.saved.iter().map(|saved| {
        let module = makers.get(saved.name.as_str()).cloned();
        (saved.name.clone(), module.unwrap_or_default())
    });
    let parameters = graphs.parameters.iter().map(|p| (p.name.clone(), of_parameter(&p.name)));
    saved.chain(parameters).collect()
}

/// First values of weights: where they are, or in a file of ours where they lie inside the model.
struct Values<'a> {
    folder: &'a Scratch,
    path: PathBuf,
    file: BufWriter<File>,
    length: u64,
}

impl Values<'_> {
    fn new(folder: &Scratch) -> Result<Values<'_>, Error> {
        let path = folder.path().join("weights.bin");
        let file = File::create(&path).map_err(|source| folder.failed(source))?;
        Ok(Values { folder, path, file: BufWriter::new(file), length: 0 })
    }

    fn place(&mut self, tensor: &Tensor, model: &Model) -> Result<(PathBuf, u64), Error> {
        if tensor.dtype != graph::DataType::Float {
            let why = format!("the weight `{}` is not a 32-bit float", tensor.name);
            let hint = Some("train the fp32 export of the model".into());
            return Err(Error::Training { why, hint });
        }
        match &tensor.data {
            TensorData::External { path, offset, .. } => {
                let folder = model.folder.clone().unwrap_or_default();
                Ok((folder.join(path), *offset))
            }
            TensorData::Inline(bytes) => {
                let offset = self.length;
                self.length += bytes.len() as u64;
                self.file.write_all(bytes).map_err(|source| self.folder.failed(source))?;
                Ok((self.path.clone(), offset))
            }
            TensorData::Strings(_) => Err(Error::Training {
                why: format!("the weight `{}` is text", tensor.name),
                hint: None,
            }),
        }
    }

    fn finish(mut self) -> Result<(), Error> {
        self.file.flush().map_err(|source| self.folder.failed(source))
    }
}
