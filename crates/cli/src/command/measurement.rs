//! What every measuring command asks alike: how the groups of arguments become a measurement, in one place.

use crate::{
    Exit, Failure,
    arguments::{
        DeviceArgument, EngineArguments, Global, LimitArguments, LimitMeans, LossArgument,
        OptimizerArgument, Origin, PrecisionArgument, SampleCounts, Sampling, Tags,
        ThreadsArgument, Timeout, TrainingArguments, Tuning, Workload,
    },
    output,
};
use engine::Places;
use exchange::bounds::{BY_HAND, read_text};
use modelmeter::{Profiler, TrainingRequest};
use std::fs;
use types::{Loss, Optimizer};

/// What is measured where nobody names a model.
pub(crate) const DEFAULT_MODEL: &str = "distilbert-base-uncased";

/// The model where none was named, said aloud; a module of the user's own has no other name.
pub(crate) fn default_model(origin: &Origin, global: &Global) -> &'static str {
    if origin.torch_module.is_some() {
        return "";
    }
    if !global.quiet {
        output::complain(&format!("no model given: using `{DEFAULT_MODEL}`\n"));
    }
    DEFAULT_MODEL
}

/// A group of arguments that says something about a measurement.
pub(crate) trait Settings {
    /// The same measurement with what the arguments say; what they leave open stays.
    fn apply(&self, profiler: Profiler) -> Profiler;
}

/// The measurement with several groups of arguments.
pub(crate) fn with(profiler: Profiler, groups: &[&dyn Settings]) -> Profiler {
    groups.iter().fold(profiler, |profiler, group| group.apply(profiler))
}

/// The measurement with a setting, where it was given.
fn set<T>(profiler: Profiler, value: Option<T>, how: impl Fn(Profiler, T) -> Profiler) -> Profiler {
    match value {
        Some(value) => how(profiler, value),
        None => profiler,
    }
}

impl Settings for EngineArguments {
    fn apply(&self, profiler: Profiler) -> Profiler {
        let named = self.engine.as_ref().filter(|engine| *engine != "auto");
        let profiler = set(profiler, named, Profiler::engine);
        with(profiler, &[&self.device, &self.precision, &self.threads, &self.tuning])
    }
}

impl Settings for DeviceArgument {
    fn apply(&self, profiler: Profiler) -> Profiler {
        profiler.device(self.device)
    }
}

impl Settings for PrecisionArgument {
    fn apply(&self, profiler: Profiler) -> Profiler {
        set(profiler, self.precision, Profiler::precision)
    }
}

impl Settings for ThreadsArgument {
    fn apply(&self, profiler: Profiler) -> Profiler {
        set(profiler, self.threads, Profiler::threads)
    }
}

impl Settings for Tuning {
    fn apply(&self, profiler: Profiler) -> Profiler {
        profiler.options(self.options())
    }
}

impl Settings for LimitArguments {
    fn apply(&self, profiler: Profiler) -> Profiler {
        self.means.apply(set(profiler, self.memory_limit, Profiler::memory_limit))
    }
}

impl Settings for LimitMeans {
    fn apply(&self, profiler: Profiler) -> Profiler {
        set(profiler, self.limit_by, Profiler::limit_by)
    }
}

impl Settings for Sampling {
    fn apply(&self, profiler: Profiler) -> Profiler {
        let profiler = set(self.counts.apply(profiler), self.duration, Profiler::duration);
        set(profiler, self.target_error, Profiler::target_error)
    }
}

impl Settings for SampleCounts {
    fn apply(&self, profiler: Profiler) -> Profiler {
        set(set(profiler, self.runs, Profiler::runs), self.warmup, Profiler::warmup)
    }
}

impl Settings for Timeout {
    fn apply(&self, profiler: Profiler) -> Profiler {
        set(profiler, self.timeout, Profiler::timeout)
    }
}

impl Settings for Tags {
    fn apply(&self, profiler: Profiler) -> Profiler {
        self.tag.iter().fold(profiler, |profiler, tag| profiler.tag(tag))
    }
}

/// A measurement of one model as the shared arguments describe it; engine and sampling are applied by [`with`].
pub(crate) fn measurement(
    model: &str,
    workload: &Workload,
    origin: &Origin,
    places: Places,
) -> Result<Profiler, Failure> {
    let Workload { batch, inputs, data, .. } = workload;
    let mut profiler =
        hub(Profiler::new(model), origin.hub.offline).seed(inputs.seed.value()).places(places);
    profiler = set(profiler, batch.batch_size, Profiler::batch_size);
    profiler = set(profiler, inputs.sequence_length, Profiler::sequence_length);
    profiler = set(profiler, data.as_ref(), Profiler::data);
    profiler = inputs.input.iter().fold(profiler, |profiler, input| input.apply(profiler));
    profiler = set(profiler, origin.revision.as_ref(), Profiler::revision);
    if let Some((file, function)) = &origin.torch_module {
        profiler = profiler.torch_module(file, function);
    }
    let lines = text(workload)?;
    Ok(if lines.is_empty() { profiler } else { profiler.text(lines) })
}

/// The hub as its own tools find it, or none.
pub(crate) fn hub(profiler: Profiler, offline: bool) -> Profiler {
    profiler
        .offline(offline || is_set("HF_HUB_OFFLINE"))
        .hub(text_of("HF_ENDPOINT"), text_of("HF_TOKEN"))
}

/// How a model shall be trained.
pub(crate) fn training(arguments: &TrainingArguments) -> TrainingRequest {
    TrainingRequest {
        optimizer: match arguments.optimizer {
            Some(OptimizerArgument::Sgd) => Optimizer::Sgd,
            Some(OptimizerArgument::Adam) => Optimizer::Adam,
            Some(OptimizerArgument::Adamw) | None => Optimizer::AdamW,
        },
        loss: arguments.loss.map(|loss| match loss {
            LossArgument::CrossEntropy => Loss::CrossEntropy,
            LossArgument::Mse => Loss::Mse,
        }),
        learning_rate: arguments.learning_rate,
        accumulation: arguments.gradient_accumulation.unwrap_or(1),
        checkpointing: arguments.gradient_checkpointing,
        world_size: arguments.world_size.unwrap_or(1),
    }
}

/// The texts to tokenise; none where token ids shall be drawn.
fn text(workload: &Workload) -> Result<Vec<String>, Failure> {
    let Some(path) = &workload.text_file else { return Ok(workload.text.clone()) };
    let unreadable = |cause: String| {
        Failure::new(Exit::Wrong, format!("could not read the text file `{}`", path.display()))
            .cause(cause)
    };
    let kind = fs::metadata(path).map_err(|error| unreadable(error.to_string()))?;
    if !kind.is_file() {
        // A pipe would wait for ever and a device never ends.
        return Err(unreadable("it is not a file".into()));
    }
    let text = read_text(path, BY_HAND).map_err(|error| unreadable(error.to_string()))?;
    let lines: Vec<String> =
        text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect();
    if lines.is_empty() {
        return Err(Failure::new(Exit::Wrong, format!("`{}` has no text", path.display())));
    }
    Ok(lines)
}

fn is_set(variable: &str) -> bool {
    let value = text_of(variable).unwrap_or_default().to_ascii_lowercase();
    ["1", "on", "yes", "true"].contains(&value.as_str())
}

fn text_of(variable: &str) -> Option<String> {
    std::env::var(variable).ok().filter(|value| !value.is_empty())
}
