//! A model that learns in the worker: phases, gradients, and all the ways it does not go well.

use crate::{
    conformance::small_network,
    worker::{Worker, floats, job_with, run_script, script, values},
};
use engine::{
    Detail, EngineErrorKind as Kind, FirstReport, LoadJob, Reply, Request, TrainingJob, Window,
    read_tensors,
};
use models::Resolved;
use std::{fs, path::Path, time::Duration};
use types::{
    ElementType, Elements, Fill, HostTensor, InputRole, InputSpec, Loss, Module, ModuleTensor,
    Optimizer, Phase, Precision, Rate, Training, TrainingReport,
};

pub(crate) const STEP_PHASES: [Phase; 5] =
    [Phase::Forward, Phase::Loss, Phase::Backward, Phase::Optimizer, Phase::Total];

pub(crate) fn training(optimizer: Optimizer, loss: Loss, learning_rate: f64) -> Training {
    Training {
        optimizer,
        loss,
        learning_rate: Rate(learning_rate),
        accumulation: 1,
        checkpointing: false,
        world_size: 1,
    }
}

/// A job that trains a module on these inputs and labels.
pub(crate) fn training_job(
    module: Module,
    inputs: &[HostTensor],
    labels: HostTensor,
    output: &str,
    training: Training,
    folder: &Path,
) -> LoadJob {
    let spec = InputSpec {
        name: labels.name.clone(),
        dtype: labels.elements.element_type(),
        dims: labels.dims.clone(),
        role: InputRole::Other,
        fill: Fill::Constant { value: 0.0 },
    };
    let mut all = inputs.to_vec();
    all.push(labels);
    let mut job = job_with(module, &all, folder);
    job.inputs.pop();
    for input in &mut job.inputs {
        if input.dtype == ElementType::I64 && input.name == "input_ids" {
            input.role = InputRole::TokenIds;
        }
    }
    job.training =
        Some(Box::new(TrainingJob { training, labels: spec, output: output.into(), graphs: None }));
    job
}

pub(crate) fn integers(name: &str, dims: &[usize], values: Vec<i64>) -> HostTensor {
    HostTensor { name: name.into(), dims: dims.to_vec(), elements: Elements::I64(values) }
}

/// Numbers without a pattern, between −1 and 1.
pub(crate) fn noise(name: &str, dims: &[usize]) -> HostTensor {
    let count: usize = dims.iter().product();
    let values: Vec<f32> = (1..=count).map(|at| (at as f32 * 12.9898).sin()).collect();
    floats(name, dims, &values)
}

impl Worker {
    pub(crate) fn first_step(&mut self) -> FirstReport {
        match self.ask(&Request::First) {
            Reply::First(first) => *first,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn steps(&mut self, count: u64) -> Window {
        match self.ask(&Request::Run { count, budget: Duration::from_secs(600) }) {
            Reply::Window(window) => window,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn trained(&mut self) -> TrainingReport {
        match self.ask(&Request::Trained) {
            Reply::Trained { report } => *report,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn gradients(&mut self, folder: &Path) -> Vec<HostTensor> {
        let path = folder.join("gradients.safetensors");
        assert_eq!(self.ask(&Request::Gradients { path: path.clone() }), Reply::Written);
        read_tensors(&path).unwrap()
    }
}

/// The gradients of a fresh worker's first step.
fn gradients_of(job: &LoadJob, folder: &Path) -> Vec<HostTensor> {
    let mut worker = Worker::start();
    worker.load(job);
    worker.gradients(folder)
}

/// Every phase of every step is there, and the phases fit into the whole.
pub(crate) fn check_window(window: &Window, count: usize) {
    let phases: Vec<Phase> = window.samples.iter().map(|samples| samples.phase).collect();
    assert_eq!(phases, STEP_PHASES);
    assert!(window.samples.iter().all(|samples| samples.nanos.len() == count));
    for step in 0..count {
        let of = |at: usize| window.samples[at].nanos[step];
        let parts: u64 = (0..4).map(of).sum();
        assert!((0..5).all(|at| of(at) > 0) && parts <= of(4), "{parts} of {}", of(4));
    }
}

/// How far two lists are apart, compared with the largest of the numbers.
fn distance(found: &[f32], expected: &[f32]) -> f32 {
    assert_eq!(found.len(), expected.len());
    let largest = expected.iter().fold(1e-6f32, |most, value| most.max(value.abs()));
    let apart = found.iter().zip(expected).map(|(a, b)| (a - b).abs());
    apart.fold(0.0, f32::max) / largest
}

fn resolve(path: &Path, root: &Path) -> Resolved {
    let request = models::Request {
        offline: true,
        ..models::Request::new(path.to_str().unwrap(), root.join("cache"))
    };
    models::resolve(&request, &mut |_| {}).unwrap()
}

/// A transformer of three layers with dropout in its description; the loss reads every number that leaves it.
pub(crate) fn encoder_job(folder: &Path, training: Training) -> LoadJob {
    let file = folder.join("encoder.toml");
    let text = "vocab_size = 40\nd_model = 16\nnum_heads = 2\nnum_layers = 3\nd_ff = 32\n\
                dropout = 0.1\npositional_encoding = \"learned\"\nmax_seq_length = 8\n";
    fs::write(&file, text).unwrap();
    let module = resolve(&file, folder).module.unwrap();
    let ids = (0..24).map(|at| at * 7 % 40).collect();
    let inputs =
        [integers("input_ids", &[4, 6], ids), integers("attention_mask", &[4, 6], vec![1; 24])];
    let labels = noise("labels", &[4, 6, 16]);
    training_job(module, &inputs, labels, "last_hidden_state", training, folder)
}

fn tensors_of(module: &Module) -> &[ModuleTensor] {
    match module {
        Module::Transformers { weights, .. }
        | Module::Encoder { weights, .. }
        | Module::FeedForward { weights, .. } => &weights.tensors,
        other => panic!("{other:?}"),
    }
}

#[test]
fn twenty_steps_are_timed_by_phase_and_make_the_loss_fall() {
    let folder = tempfile::tempdir().unwrap();
    let job = encoder_job(folder.path(), training(Optimizer::AdamW, Loss::Mse, 3e-3));
    let mut worker = Worker::start();
    let loaded = worker.load(&job);
    assert!(
        loaded.remarks.iter().any(|one| one.code == types::RemarkCode::DropoutOff),
        "{loaded:?}"
    );
    let first = worker.first_step();
    assert_eq!(first.outputs, [("last_hidden_state".to_owned(), vec![4, 6, 16])]);
    assert!(first.non_finite.is_empty() && first.inference > Duration::ZERO);
    check_window(&worker.steps(19), 19);
    let report = worker.trained();
    assert_eq!(report.losses.len(), 20);
    assert!(report.losses[19] < 0.8 * report.losses[0], "{:?}", report.losses);
    assert_eq!(report.output, "last_hidden_state");
    assert_eq!((report.broken, report.untrained), (None, Vec::new()));

    // What is counted is not timed and teaches nothing.
    let numbers: usize = worker
        .gradients(folder.path())
        .iter()
        .filter(|tensor| tensor.name != "loss")
        .map(|tensor| tensor.elements.len())
        .sum();
    let memory = report.memory;
    assert_eq!(memory.weights.0, 4 * numbers as u64);
    assert_eq!(memory.gradients, memory.weights);
    // Two numbers a weight, and a counter a tensor.
    assert!(memory.optimizer.0 > 2 * memory.weights.0 && memory.optimizer.0 < 3 * memory.weights.0);
    // At least what the two linear layers of every block take in.
    assert!(memory.activations.0 > 4 * 3 * 24 * (16 + 32), "{memory:?}");
    assert_eq!(worker.trained().losses.len(), 21);

    // What is looked into is a step.
    let profiled = worker.ask(&Request::Profile { count: 1, detail: Detail::Times });
    let Reply::Profiled { profile: Some(profile) } = profiled else { panic!("{profiled:?}") };
    let phases: Vec<Phase> = profile.nodes.iter().filter_map(|node| node.phase).collect();
    for phase in [Phase::Forward, Phase::Loss, Phase::Backward, Phase::Optimizer] {
        assert!(phases.contains(&phase), "{phase:?} in {:?}", profile.nodes);
    }
    let inside: u64 = profile.nodes.iter().map(|node| node.nanos).sum();
    assert!(inside > 0 && inside <= profile.total_nanos, "{inside} of {}", profile.total_nanos);
    let events = folder.path().join("events");
    let remembered = worker.ask(&Request::Memory { count: 1, events });
    let Reply::Remembered { record: Some(record) } = remembered else { panic!("{remembered:?}") };
    let step = record.step.unwrap();
    assert_eq!(step.total(), memory, "{step:?}");
    assert!(step.modules.iter().filter(|module| module.held.weights.0 > 0).count() > 6);
    assert!(matches!(worker.ask(&Request::Observe { values: Vec::new() }), Reply::Observed { .. }));
    assert_eq!(worker.outputs(folder.path()).len(), 1);
}

#[test]
fn gradients_are_those_of_plain_pytorch_in_the_graphs_layout() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    run_script(&script("plain_gradients.py"), root);
    for (name, output) in [("bert", "last_hidden_state"), ("gpt2", "logits"), ("llama", "logits")] {
        let model = root.join(name);
        let module = resolve(&model, root).module.unwrap();
        let mut batch = read_tensors(&model.join("batch.safetensors")).unwrap();
        let labels = batch.iter().position(|tensor| tensor.name == "labels").unwrap();
        let labels = batch.remove(labels);
        let loss = if output == "logits" { Loss::CrossEntropy } else { Loss::Mse };
        let how = training(Optimizer::Adam, loss, 1e-3);
        let job = training_job(module.clone(), &batch, labels, output, how, root);
        let found = gradients_of(&job, root);
        let expected = read_tensors(&model.join("expected.safetensors")).unwrap();
        let has = |name: &str| expected.iter().find(|tensor| tensor.name == name);
        let mut compared = 0;
        for tensor in tensors_of(&module) {
            let gradient = found.iter().find(|gradient| gradient.name == tensor.stored);
            let Some(wanted) = tensor.names.iter().find_map(|name| has(name)) else {
                // Only a head that the loss does not read.
                assert!(tensor.stored.contains("pooler") && gradient.is_none(), "{tensor:?}");
                continue;
            };
            let gradient = gradient.unwrap();
            let Elements::F32(mut numbers) = wanted.elements.clone() else { panic!("{wanted:?}") };
            let mut dims = wanted.dims.clone();
            if tensor.transposed {
                let (rows, columns) = (dims[0], dims[1]);
                let at = |place: usize| place % rows * columns + place / rows;
                numbers = (0..rows * columns).map(|place| numbers[at(place)]).collect();
                dims = vec![columns, rows];
            }
            assert_eq!(gradient.dims, dims, "{name}: {}", tensor.stored);
            let apart = distance(values(&found, &tensor.stored), &numbers);
            assert!(apart < 1e-4, "{name}: `{}` is {apart} apart", tensor.stored);
            compared += 1;
        }
        assert_eq!(compared, found.len() - 1, "{name}");
        let apart = distance(values(&found, "loss"), values(&expected, "loss"));
        assert!(apart < 1e-5, "{name}: the loss is {apart} apart");
        if name == "bert" {
            let mut worker = Worker::start();
            worker.load(&job);
            worker.first_step();
            let untrained = worker.trained().untrained;
            assert_eq!(untrained.len(), 2, "{untrained:?}");
            assert!(untrained.iter().all(|name| name.contains("pooler")));
        }
    }
}

#[test]
fn activations_that_are_computed_again_change_no_gradient_and_take_less_memory() {
    let folder = tempfile::tempdir().unwrap();
    let how = training(Optimizer::Sgd, Loss::Mse, 1e-2);
    let again = Training { checkpointing: true, ..how };
    let mut found = Vec::new();
    for how in [how, again] {
        let mut worker = Worker::start();
        worker.load(&encoder_job(folder.path(), how));
        found.push((worker.gradients(folder.path()), worker.trained().memory));
    }
    let [(kept, memory), (computed, less)] = &found[..] else { panic!() };
    assert_eq!(kept.len(), computed.len());
    for tensor in kept {
        let apart = distance(values(computed, &tensor.name), values(kept, &tensor.name));
        assert!(apart < 1e-6, "`{}` is {apart} apart", tensor.name);
    }
    assert!(less.activations.0 * 2 < memory.activations.0, "{less:?} {memory:?}");
    assert_eq!(memory.optimizer.0, 0, "plain gradient descent remembers nothing");

    let input = floats("input", &[2, 2], &[1.0, 1.0, 0.0, 1.0]);
    let labels = noise("labels", &[2, 2]);
    let module = small_network(folder.path());
    let job = training_job(module, &[input], labels, "output", again, folder.path());
    let failure = Worker::start().refuse(&job, Kind::Unsupported);
    assert!(failure.message.contains("no repeated blocks"), "{failure:?}");
}

/// Multiplies by how often it was called, or does what cannot be learnt from.
const MODULES: &str = r#"
import torch

class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))
        self.unused = torch.nn.Parameter(torch.ones(3))
        self.frozen = torch.nn.Parameter(torch.ones(1), requires_grad=False)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return {"scores": x * self.weight * self.frozen * self.calls, "kinds": x.long()}

class Hungry(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x.clone()

    @staticmethod
    def backward(context, gradient):
        return torch.empty(1 << 60)

class Greedy(Counting):
    def forward(self, x):
        return {"scores": Hungry.apply(x * self.weight)}

def counting(): return Counting()
def greedy(): return Greedy()
"#;

fn factory_job(folder: &Path, function: &str, output: &str, how: Training) -> LoadJob {
    let file = folder.join("modules.py");
    fs::write(&file, MODULES).unwrap();
    let module = Module::Factory { file, function: function.into() };
    let (x, labels) = (floats("x", &[1, 1], &[1.0]), floats("labels", &[1, 1], &[0.0]));
    training_job(module, &[x], labels, output, how, folder)
}

#[test]
fn the_batches_of_a_step_are_added_up() {
    let folder = tempfile::tempdir().unwrap();
    let how = Training { accumulation: 2, ..training(Optimizer::Sgd, Loss::Mse, 0.1) };
    let mut worker = Worker::start();
    worker.load(&factory_job(folder.path(), "counting", "scores", how));
    // (1² + 2²) ÷ 2, and its gradient twice that.
    let found = worker.gradients(folder.path());
    assert_eq!(values(&found, "loss"), [2.5]);
    assert_eq!(values(&found, "weight"), [5.0]);
    assert_eq!(found.len(), 2);
    // The weight is 1 − 0.1 × 5 by now, and the calls are 3 and 4.
    check_window(&worker.steps(1), 1);
    let report = worker.trained();
    assert_eq!(report.losses, [2.5, 0.25 * (9.0 + 16.0) / 2.0]);
    assert_eq!(report.untrained, ["unused", "frozen"]);
}

#[test]
fn what_does_not_fit_is_refused_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let how = training(Optimizer::AdamW, Loss::CrossEntropy, 1e-3);
    let input = floats("input", &[2, 2], &[1.0, 1.0, 0.0, 1.0]);
    let job = |labels: HostTensor, output: &str| {
        let module = small_network(folder);
        training_job(module, std::slice::from_ref(&input), labels, output, how, folder)
    };
    let fails = |job: LoadJob| {
        let mut worker = Worker::start();
        worker.load(&job);
        match worker.ask(&Request::First) {
            Reply::Failed(failure) => {
                assert_eq!(failure.kind, Kind::BadInput, "{failure:?}");
                // It goes on, and says the same again instead of computing with it.
                assert!(matches!(worker.ask(&Request::First), Reply::Failed(_)));
                failure
            }
            other => panic!("{other:?}"),
        }
    };
    let failure = fails(job(integers("labels", &[2], vec![0, 7]), "output"));
    assert_eq!(failure.message, "label 7 is out of range: `output` has 2 classes");
    let failure = fails(job(integers("labels", &[2], vec![-1, 1]), "output"));
    assert!(failure.message.starts_with("label -1 is out of range"), "{failure:?}");
    let failure = fails(job(integers("labels", &[1], vec![1]), "output"));
    assert!(failure.message.contains("labels of shape [1]"), "{failure:?}");
    let failure = fails(job(integers("labels", &[2], vec![0, 1]), "logits"));
    assert!(failure.message.contains("no output `logits`"), "{failure:?}");
    assert!(failure.hint.unwrap().contains("`output`"));
    let how = training(Optimizer::Sgd, Loss::Mse, 0.1);
    let failure = fails(factory_job(folder, "counting", "kinds", how));
    assert!(failure.message.contains("no loss fits whole numbers"), "{failure:?}");

    let mut worker = Worker::start();
    let numbers = job(noise("labels", &[2]), "output");
    let failure = worker.refuse(&numbers, Kind::BadInput);
    assert!(failure.hint.unwrap().contains("--loss mse"));
    let good = job(integers("labels", &[2], vec![0, 1]), "output");
    let mut absent = good.clone();
    absent.training.as_mut().unwrap().labels.name = "answers".into();
    let failure = worker.refuse(&absent, Kind::BadInput);
    assert!(failure.message.contains("labels `answers`"), "{failure:?}");
    for precision in [Precision::Int8, Precision::Fp16] {
        let mut short = good.clone();
        short.request.precision = precision;
        let failure = worker.refuse(&short, Kind::Unsupported);
        assert!(failure.message.contains(precision.name()), "{failure:?}");
        assert!(failure.hint.unwrap().contains("bf16"));
    }
    // The same worker trains what fits.
    worker.load(&good);
    worker.first_step();
    check_window(&worker.steps(3), 3);
    assert_eq!(worker.trained().losses.len(), 4);

    let mut worker = Worker::start();
    worker.load(&LoadJob { training: None, ..good });
    match worker.ask(&Request::Trained) {
        Reply::Failed(failure) => assert!(failure.message.contains("not loaded to be trained")),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_loss_that_is_no_number_is_named_with_its_step_and_place() {
    let folder = tempfile::tempdir().unwrap();
    let how = training(Optimizer::Sgd, Loss::Mse, 1e25);
    let module = small_network(folder.path());
    let input = floats("input", &[2, 2], &[1.0, 1.0, 0.0, 1.0]);
    // Far above what comes out, so that the weights grow.
    let labels = floats("labels", &[2, 2], &[100.0; 4]);
    let job = training_job(module, &[input], labels, "output", how, folder.path());
    let mut worker = Worker::start();
    worker.load(&job);
    assert!(worker.first_step().non_finite.is_empty());
    check_window(&worker.steps(4), 4);
    let report = worker.trained();
    let broken = report.broken.unwrap();
    // The first step makes weights so large that their products are infinite in the second.
    assert_eq!(broken.step, 2);
    assert_eq!(broken.place, "layers.2");
    assert_eq!(report.losses.len(), 1, "{:?}", report.losses);
}

#[test]
fn shorter_formats_keep_the_weights_whole() {
    let folder = tempfile::tempdir().unwrap();
    let how = training(Optimizer::Adam, Loss::Mse, 1e-3);
    let mut job = encoder_job(folder.path(), how);
    let whole = gradients_of(&job, folder.path());
    job.request.precision = Precision::Bf16;
    let mut worker = Worker::start();
    let loaded = worker.load(&job);
    assert!(
        loaded.remarks.iter().any(|one| one.code == types::RemarkCode::MixedPrecision),
        "{loaded:?}"
    );
    let short = worker.gradients(folder.path());
    // All together: where a ReLU closes in one format and not in the other, single numbers may differ by anything.
    let (mut product, mut squares) = (0.0, [0.0; 2]);
    for tensor in whole.iter().filter(|tensor| tensor.name != "loss") {
        for (a, b) in values(&short, &tensor.name).iter().zip(values(&whole, &tensor.name)) {
            let (a, b) = (f64::from(*a), f64::from(*b));
            product += a * b;
            squares = [squares[0] + a * a, squares[1] + b * b];
        }
    }
    let cosine = product / (squares[0] * squares[1]).sqrt();
    assert!(cosine > 0.99, "bf16 keeps {cosine} of the direction");
    assert!(cosine < 1.0 - 1e-9, "bf16 that rounds nothing is no bf16");
    let numbers: usize = whole.iter().map(|tensor| tensor.elements.len()).sum();
    assert_eq!(worker.trained().memory.weights.0, 4 * (numbers as u64 - 1));
}

#[test]
fn a_backward_pass_that_asks_for_too_much_memory_is_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let mut worker = Worker::start();
    let how = training(Optimizer::Sgd, Loss::Mse, 0.1);
    worker.load(&factory_job(folder.path(), "greedy", "scores", how));
    match worker.ask(&Request::First) {
        Reply::Failed(failure) => {
            assert_eq!(failure.message, "out of memory on `cpu`");
            assert!(failure.hint.unwrap().contains("--batch-size"));
        }
        other => panic!("{other:?}"),
    }
}
