//! From a file and arguments to a plan.

use crate::{
    Exit, Failure,
    arguments::Bench,
    command::measurement::{hub, training},
};
use modelmeter::{Mode, PlanFile, PlanSpec, Profiler, engine::Places};

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
    let file = match &arguments.plan {
        Some(path) => PlanFile::read(path)?,
        None => PlanFile::default(),
    };
    let mut spec = file.spec()?;
    let Bench { model, category, all, .. } = arguments;
    if !model.is_empty() || !category.is_empty() || *all {
        spec.models = PlanSpec::models_of(model, category, *all)?;
    }
    replace(&mut spec.engines, &arguments.engines);
    replace(&mut spec.devices, &arguments.device);
    replace(&mut spec.precisions, &arguments.precision);
    replace(&mut spec.batch_sizes, &arguments.batch_sizes);
    replace(&mut spec.sequence_lengths, &arguments.sequence_lengths);
    replace(&mut spec.threads, &arguments.threads);
    if arguments.training_mode && !spec.modes.contains(&Mode::Training) {
        spec.modes.push(Mode::Training);
    }
    spec.processes = arguments.processes.unwrap_or(spec.processes);
    spec.seed = arguments.seed.unwrap_or(spec.seed);
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
    let mut base = hub(Profiler::new(""), arguments.offline)
        .places(places)
        .options(arguments.tuning.options())
        .training(training(&arguments.training));
    // One of the two says how long: given options beat the file.
    let given = (arguments.runs, arguments.duration);
    let (runs, duration) = match given {
        (None, None) => (file.runs, file.duration),
        given => given,
    };
    if let Some(runs) = runs {
        base = base.runs(runs);
    }
    if let Some(duration) = duration {
        base = base.duration(duration);
    }
    if let Some(warmup) = arguments.warmup.or(file.warmup) {
        base = base.warmup(warmup);
    }
    if let Some(share) = arguments.target_error.or(file.target_error) {
        base = base.target_error(share);
    }
    if let Some(timeout) = arguments.timeout.or(file.timeout) {
        base = base.timeout(timeout);
    }
    base = arguments.memory.apply(base);
    for tag in file.tags.iter().chain(&arguments.tag) {
        base = base.tag(tag);
    }
    base
}

fn replace<T: Clone>(setting: &mut Vec<T>, given: &[T]) {
    if !given.is_empty() {
        *setting = given.to_vec();
    }
}
