//! optimum-benchmark: `benchmark.json` (configuration and report) and `benchmark_report.json` (the report alone).
//!
//! Its known faults are checked by arithmetic, not by version: a number is put right where it is wrong and left alone where
//! a later release has mended it.

use super::{generation, mean, same};
use crate::{
    Problem,
    draft::{Draft, MachineFacts},
    import::Found,
    node::{self, Node},
};
use serde_json::Value;
use types::{
    Category, Device, Direction, Loss, Metric, Mode, Optimizer, Phase, Precision, Rate, ReasonCode,
    Training, Unit, Weights,
};

/// Its memory is in millions of bytes.
const MEGA: f64 = 1e6;
/// Joules in a kilowatt-hour.
const KILOWATT_HOUR: f64 = 3.6e6;

type Taken<T> = Result<T, Problem>;

/// One file holds one benchmark.
pub(crate) fn optimum_benchmark(text: &str) -> Taken<Found> {
    let value = node::parse(text)?;
    let top = Node::new(&value, "");
    let mut found = Found::default();
    let report = top.maybe("report").unwrap_or_else(|| top.clone());
    found.add(benchmark(&report, top.maybe("config").as_ref()));
    Ok(found)
}

fn benchmark(report: &Node<'_>, config: Option<&Node<'_>>) -> Taken<Draft> {
    let mut draft = Draft {
        tool: "optimum-benchmark".into(),
        engine: crate::draft::UNKNOWN.into(),
        ..Draft::default()
    };
    if let Some(config) = config {
        describe(&mut draft, config)?;
    }
    if let Some(load) = report.maybe("load_model").or_else(|| report.maybe("load")) {
        draft.load = latencies(&load)?.first().copied();
    }
    if report.maybe("train").is_some() {
        train(&mut draft, report, config)?;
    } else if report.maybe("generate").is_some() || report.maybe("decode").is_some() {
        generation::generate(&mut draft, report, config)?;
    } else if let Some(forward) = report.maybe("forward") {
        draft.first_inference = first(report, "first_forward")?;
        plain(&mut draft, &forward, "throughput.samples")?;
    } else if let Some(call) = report.maybe("call") {
        draft.first_inference = first(report, "first_call")?;
        plain(&mut draft, &call, "throughput.images")?;
    } else {
        let what = "has none of the targets `forward`, `generate`, `call`, `train`";
        return Err(report.complain(what));
    }
    synchronised(&mut draft);
    Ok(draft)
}

/// The first and only time of a target that ran once.
fn first(report: &Node<'_>, target: &str) -> Taken<Option<f64>> {
    let Some(target) = report.maybe(target) else { return Ok(None) };
    Ok(latencies(&target)?.first().copied())
}

/// Every time of a target in seconds; none where it was not tracked.
pub(super) fn latencies(target: &Node<'_>) -> Taken<Vec<f64>> {
    let Some(latency) = target.maybe("latency") else { return Ok(Vec::new()) };
    let unit = match latency.need("unit")?.text()?.as_str() {
        "s" => 1.0,
        "ms" => 1e-3,
        other => {
            let what = format!("is `{other}`, an unknown unit of time");
            return Err(latency.need("unit")?.complain(what));
        }
    };
    let nodes = latency.need("values")?.list()?;
    let values = nodes.iter().map(|node| node.seconds(unit)).collect::<Taken<Vec<f64>>>()?;
    let stated = latency.maybe("mean").map(|node| node.seconds(unit)).transpose()?;
    if let Some(stated) =
        stated.filter(|stated| !values.is_empty() && !same(*stated, mean(&values)))
    {
        let what = format!("is {stated} s, but the values' own mean is {} s", mean(&values));
        return Err(latency.need("mean")?.complain(what));
    }
    Ok(values)
}

/// A target whose throughput is what it says.
fn plain(draft: &mut Draft, target: &Node<'_>, key: &str) -> Taken<()> {
    let values = latencies(target)?;
    if values.is_empty() {
        return Err(target.complain("has no latency; run it with `scenario.latency=true`"));
    }
    draft.sample(Phase::Inference, &values);
    if let Some(rate) = throughput(target)? {
        draft.rate(key, rate);
        if key != "throughput.samples" {
            draft.rate("throughput.samples", rate);
        }
        // Without a configuration the batch follows from the rate.
        let volume = rate * mean(&values);
        draft.batch_size =
            draft.batch_size.or(Some(volume.round() as u64).filter(|batch| *batch > 0));
    }
    memory(draft, target)?;
    energy(draft, target)
}

pub(super) fn throughput(target: &Node<'_>) -> Taken<Option<f64>> {
    let Some(throughput) = target.maybe("throughput") else { return Ok(None) };
    Ok(Some(throughput.need("value")?.amount()?).filter(|value| *value > 0.0))
}

/// The step's throughput is inflated by the number of steps: the volume of all steps is divided by the time of one.
fn train(draft: &mut Draft, report: &Node<'_>, config: Option<&Node<'_>>) -> Taken<()> {
    let target = report.need("train")?;
    let steps = latencies(&target)?;
    if steps.is_empty() {
        return Err(target.complain("has no latency; run it with `scenario.latency=true`"));
    }
    draft.mode = Mode::Training;
    draft.sample(Phase::Total, &steps);
    let warmup = report.maybe("warmup").map(|warmup| latencies(&warmup)).transpose()?;
    draft.warmup_runs = warmup.map(|values| values.len() as u64);
    let scenario = config.and_then(|config| config.maybe("scenario"));
    let arguments = scenario.as_ref().and_then(|scenario| scenario.maybe("training_arguments"));
    let launcher = config.and_then(|config| config.maybe("launcher"));
    let of = |node: &Option<Node<'_>>, key: &str| {
        node.as_ref().and_then(|node| node.whole_of(key).ok().flatten())
    };
    let batch = of(&arguments, "per_device_train_batch_size");
    let accumulation = of(&arguments, "gradient_accumulation_steps").unwrap_or(1).max(1);
    let world = of(&launcher, "nproc_per_node").unwrap_or(1).max(1);
    draft.batch_size = batch;
    draft.sequence_length = scenario
        .and_then(|scenario| scenario.maybe("dataset_shapes"))
        .and_then(|shapes| shapes.whole_of("sequence_length").ok().flatten());
    draft.training = Some(Training {
        optimizer: Optimizer::AdamW,
        loss: Loss::CrossEntropy,
        learning_rate: Rate(5e-5),
        accumulation: accumulation as u32,
        checkpointing: false,
        world_size: world as u32,
    });
    let step = mean(&steps);
    let stated = throughput(&target)?;
    // The steps of every process are in one list, so the list is longer than the training by the number of processes.
    let true_rate = match (batch, stated) {
        (Some(batch), _) => (batch * accumulation * world) as f64 / step,
        (None, Some(stated)) => stated / steps.len() as f64,
        (None, None) => return memory(draft, &target),
    };
    if draft.batch_size.is_none() {
        let samples = (true_rate * step).round() as u64;
        draft.batch_size = Some(samples).filter(|samples| *samples > 0);
    }
    draft.rate("throughput.samples", true_rate);
    if let Some(stated) = stated.filter(|stated| !same(*stated, true_rate)) {
        let times = stated / true_rate;
        let why = format!(
            "optimum-benchmark divides the samples of all steps by the time of one, {} times too many",
            number::significant(times, 4)
        );
        draft.correct("throughput.samples", stated, Some(true_rate), &why);
    }
    memory(draft, &target)
}

pub(super) fn memory(draft: &mut Draft, target: &Node<'_>) -> Taken<()> {
    let Some(memory) = target.maybe("memory") else { return Ok(()) };
    let unit = match memory.need("unit")?.text()?.as_str() {
        "MB" => MEGA,
        other => {
            let what = format!("is `{other}`, an unknown unit of memory");
            return Err(memory.need("unit")?.complain(what));
        }
    };
    let is_rocm = matches!(draft.device, Some(Device::Rocm(_)));
    for (field, key) in [
        ("max_ram", "memory.peak"),
        ("max_global_vram", "gpu.memory.used"),
        ("max_process_vram", "gpu.memory.process"),
        ("max_reserved", "gpu.memory.reserved"),
        ("max_allocated", "gpu.memory.allocated"),
    ] {
        let Some(amount) = memory.amount_of(field)? else { continue };
        let wrong = match field {
            "max_process_vram" if is_rocm => Some(
                "on ROCm optimum-benchmark adds up every reading instead of taking the largest",
            ),
            "max_global_vram" if is_rocm => {
                Some("on ROCm optimum-benchmark reports the installed memory as the memory in use")
            }
            _ => None,
        };
        match wrong {
            Some(why) => {
                draft.correct(key, amount, None, why);
                draft.metrics.push(Metric::missing(key, Unit::Bytes, Direction::Lower, why));
            }
            None => draft.metric(key, Unit::Bytes, Direction::Lower, amount * unit),
        }
    }
    Ok(())
}

/// Energy of one inference, read once a second from the whole machine.
fn energy(draft: &mut Draft, target: &Node<'_>) -> Taken<()> {
    let Some(energy) = target.maybe("energy") else { return Ok(()) };
    let unit = energy.need("unit")?.text()?;
    if unit != "kWh" {
        let what = format!("is `{unit}`, an unknown unit of energy");
        return Err(energy.need("unit")?.complain(what));
    }
    for (field, key) in [
        ("total", "energy.inference"),
        ("cpu", "cpu.energy.inference"),
        ("gpu", "gpu.energy.inference"),
    ] {
        if let Some(amount) = energy.amount_of(field)? {
            draft.metric(key, Unit::Joules, Direction::Lower, amount * KILOWATT_HOUR);
        }
    }
    Ok(())
}

/// The only device that it waits for is CUDA's.
fn synchronised(draft: &mut Draft) {
    if let Some(device @ (Device::Mps | Device::Xpu(_))) = draft.device {
        draft.invalid(
            ReasonCode::NotSynchronised,
            format!(
                "optimum-benchmark does not wait for {device}: it timed the launch, not the work"
            ),
        );
    }
}

fn describe(draft: &mut Draft, config: &Node<'_>) -> Taken<()> {
    if let Some(backend) = config.maybe("backend") {
        backend_facts(draft, &backend);
    }
    if let Some(scenario) = config.maybe("scenario") {
        draft.warmup_runs = scenario.whole_of("warmup_runs")?;
        if let Some(shapes) = scenario.maybe("input_shapes") {
            draft.batch_size = shapes.whole_of("batch_size")?;
            draft.sequence_length = shapes.whole_of("sequence_length")?;
        }
    }
    if let Some(environment) = config.maybe("environment") {
        environment_facts(draft, &environment);
    }
    // Its `cuda` is AMD's as well.
    let is_amd = |name: &String| {
        ["AMD", "Radeon", "Instinct", "Advanced Micro"].iter().any(|word| name.contains(word))
    };
    if let Some(Device::Cuda(index)) = draft.device
        && draft.machine.gpus.iter().any(is_amd)
    {
        draft.device = Some(Device::Rocm(index));
    }
    Ok(())
}

fn backend_facts(draft: &mut Draft, backend: &Node<'_>) {
    let name = backend.text_of("name").unwrap_or_else(|| crate::draft::UNKNOWN.into());
    draft.engine = match name.as_str() {
        "pytorch" => "torch".into(),
        "llama_cpp" | "llama-cpp" => "llama.cpp".into(),
        _ => name,
    };
    draft.engine_version = backend.text_of("version");
    draft.model = backend.text_of("model").map(|model| last_of_path(&model));
    draft.architecture = backend.text_of("model_type");
    let task = backend.text_of("task").unwrap_or_default();
    draft.category = Some(category(&task));
    let device = backend.text_of("device");
    draft.device = device.as_deref().and_then(|device| device.parse().ok());
    let ids = backend.text_of("device_ids");
    if let (Some(Device::Cuda(_)), Some(first)) =
        (draft.device, ids.as_deref().and_then(|ids| ids.split(',').next()))
    {
        draft.device = Some(Device::Cuda(first.trim().parse().unwrap_or(0)));
    }
    draft.placement = device;
    let flag = |key: &str| backend.maybe(key).is_some_and(|node| node.value == &Value::Bool(true));
    let dtype = backend.text_of("torch_dtype").or_else(|| backend.text_of("dtype"));
    let cast = flag("autocast_enabled").then(|| backend.text_of("autocast_dtype")).flatten();
    // Nothing said means what the checkpoint holds, which for models from a hub is nearly always fp32.
    draft.precision = cast.or(dtype).map_or(Some(Precision::Fp32), |name| name.parse().ok());
    if let Some(scheme) = backend.text_of("quantization_scheme") {
        draft.options.settings.insert("quantization".into(), scheme);
    }
    if let Some(seed) = backend.whole_of("seed").ok().flatten() {
        draft.seed = Some(seed);
        draft.weights = flag("no_weights").then_some(Weights::Random { seed });
    }
    if flag("torch_compile") {
        draft.options.compile = Some("default".into());
    }
    draft.threads =
        backend.whole_of("intra_op_num_threads").ok().flatten().map(|count| count as u32);
    draft.options.inter_threads =
        backend.whole_of("inter_op_num_threads").ok().flatten().map(|count| count as u32);
}

/// A folder's name, or a hub's name whole.
fn last_of_path(model: &str) -> String {
    let is_path = model.starts_with(['/', '.', '~']) || model.contains('\\');
    if is_path {
        crate::import::file_name(model.trim_end_matches(['/', '\\'])).to_owned()
    } else {
        model.to_owned()
    }
}

fn category(task: &str) -> Category {
    match task {
        "text-generation" | "text2text-generation" | "automatic-speech-recognition" => {
            Category::Generation
        }
        "image-to-text" | "visual-question-answering" => Category::Multimodal,
        _ if task.contains("image") || task.contains("object") || task.contains("segmentation") => {
            Category::Vision
        }
        _ if task.contains("audio") => Category::Audio,
        "" => Category::Other,
        _ => Category::Text,
    }
}

/// The field is called megabytes and holds bytes; no GPU has ten terabytes, and none ten megabytes.
fn megabytes_or_bytes(amount: u64) -> u64 {
    if amount < 10_000_000 { amount * 1_000_000 } else { amount }
}

fn environment_facts(draft: &mut Draft, environment: &Node<'_>) {
    draft.version = environment.text_of("optimum_benchmark_version");
    let gpus = environment.maybe("gpu").and_then(|node| node.list().ok()).unwrap_or_default();
    let bytes = |key: &str, unit: f64| {
        let amount = environment.amount_of(key).ok().flatten()?;
        Some((amount * unit) as u64)
    };
    draft.machine = MachineFacts {
        os: environment.text_of("system").map(|name| name.to_ascii_lowercase()),
        architecture: environment.text_of("machine"),
        cpu: environment.text_of("cpu"),
        threads: environment.whole_of("cpu_count").ok().flatten().map(|count| count as u32),
        memory: bytes("cpu_ram_mb", MEGA),
        gpus: gpus.iter().filter_map(|gpu| gpu.text().ok()).collect(),
        gpu_memory: bytes("gpu_vram_mb", 1.0).map(megabytes_or_bytes),
        ..MachineFacts::default()
    };
    for library in ["transformers", "accelerate", "diffusers", "optimum", "timm", "peft", "python"]
    {
        if let Some(version) = environment.text_of(&format!("{library}_version")) {
            draft.versions.insert(library.into(), version);
        }
    }
}
