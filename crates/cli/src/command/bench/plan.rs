//! From a file and arguments to a plan.

use crate::{
    Exit, Failure,
    arguments::{Bench, SampleCounts, Sampling, Tags, Timeout},
    command::measurement::{hub, training, with},
};
use engine::Places;
use modelmeter::{Mode, PlanFile, PlanSpec, Profiler, engine_id};
use std::path::Path;

/// What a file and arguments say together.
pub(crate) struct Read {
    /// The plan.
    pub(crate) spec: PlanSpec,
    /// What all its cells have in common.
    pub(crate) base: Profiler,
    /// How often a disturbed process is repeated, where somebody says so.
    pub(crate) repeats: Option<u32>,
}

/// The plan and what all its cells have in common; options that are given replace what the file says.
pub(crate) fn read(arguments: &Bench, places: Places) -> Result<Read, Failure> {
    let (plan, mut model) = subjects(&arguments.subjects)?;
    let file = match plan {
        Some(path) => PlanFile::read(path)?,
        None => PlanFile::default(),
    };
    let mut spec = file.spec(engine_id)?;
    let Bench { category, all, .. } = arguments;
    model.extend(arguments.model.iter().cloned());
    if !model.is_empty() || !category.is_empty() || *all {
        spec.models = PlanSpec::models_of(&model, category, *all)?;
    }
    replace(&mut spec.engines, &arguments.engines.engines);
    replace(&mut spec.devices, &arguments.devices.devices);
    replace(&mut spec.precisions, &arguments.precisions.precisions);
    replace(&mut spec.batch_sizes, &arguments.batch.batch_sizes);
    replace(&mut spec.sequence_lengths, &arguments.sequence_lengths);
    replace(&mut spec.threads, &arguments.threads.thread_counts);
    if arguments.training_mode && !spec.modes.contains(&Mode::Training) {
        spec.modes.push(Mode::Training);
    }
    spec.processes = arguments.processes.processes.unwrap_or(spec.processes);
    spec.seed = arguments.seed.seed.unwrap_or(spec.seed);
    spec.limit = arguments.limit.or(spec.limit);
    if spec.name.is_empty() {
        spec.name = spec.name_by_content();
    }
    let trains = spec.modes.contains(&Mode::Training);
    if let Some(flag) = arguments.training.given().filter(|_| !trains) {
        return Err(Failure::new(Exit::Wrong, format!("`{flag}` needs `--training-mode`")));
    }
    let repeats = arguments.repeats.or(file.repeats);
    Ok(Read { spec, base: base(arguments, &file, places), repeats })
}

fn base(arguments: &Bench, file: &PlanFile, places: Places) -> Profiler {
    let base = hub(Profiler::new(""), arguments.hub.offline)
        .places(places)
        .training(training(&arguments.training));
    let given = &arguments.sampling;
    // One of the two says how long: given options beat the file.
    let (runs, duration) = match (given.counts.runs, given.duration) {
        (None, None) => (file.runs, file.duration),
        given => given,
    };
    let sampling = Sampling {
        counts: SampleCounts { runs, warmup: given.counts.warmup.or(file.warmup) },
        duration,
        target_error: given.target_error.or(file.target_error),
    };
    let timeout = Timeout { timeout: arguments.timeout.timeout.or(file.timeout) };
    let tags = Tags { tag: file.tags.iter().chain(&arguments.tags.tag).cloned().collect() };
    with(base, &[&arguments.tuning, &sampling, &timeout, &arguments.memory, &tags])
}

/// The plan and the models among what was named without an option; a model's name is no file.
fn subjects(named: &[String]) -> Result<(Option<&Path>, Vec<String>), Failure> {
    let (plans, models): (Vec<&String>, Vec<&String>) =
        named.iter().partition(|name| is_plan(name));
    if let [_, second, ..] = plans.as_slice() {
        let text = format!("one plan is measured at a time, and `{second}` is a second one");
        return Err(Failure::new(Exit::Wrong, text).hint(format!("`modelmeter bench {second}`")));
    }
    let plan = plans.first().map(|plan| Path::new(plan.as_str()));
    Ok((plan, models.into_iter().cloned().collect()))
}

/// A TOML file, also one that is not there: the error then says so. A model may be a file of another kind.
fn is_plan(name: &str) -> bool {
    let path = Path::new(name);
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let is_model = ["onnx", "pt", "pt2", "safetensors"].contains(&ending);
    ending.eq_ignore_ascii_case("toml") || (path.is_file() && !is_model)
}

fn replace<T: Clone>(setting: &mut Vec<T>, given: &[T]) {
    if !given.is_empty() {
        *setting = given.to_vec();
    }
}
