//! What every measuring command asks alike: the model, what goes into it, and what engines are told.

use crate::{
    Exit, Failure,
    arguments::{
        Global, LossArgument, OptimizerArgument, Origin, TrainingArguments, Tuning, Workload,
    },
    output,
};
use modelmeter::{
    Profiler, TrainingRequest,
    engine::Places,
    exchange::bounds::{BY_HAND, read_text},
    types::{Loss, Optimizer},
};
use std::fs;

/// What is measured where nobody names a model.
const DEFAULT_MODEL: &str = "distilbert-base-uncased";

/// The model where none was named, said aloud; a module of the user's own has no other name.
pub(crate) fn default_model(origin: &Origin, global: &Global) -> &'static str {
    if origin.torch_module.is_some() {
        return "";
    }
    if !global.quiet {
        output::complain(&format!("no model was named: this is `{DEFAULT_MODEL}`\n"));
    }
    DEFAULT_MODEL
}

/// A measurement of one model as the shared arguments describe it.
pub(crate) fn measurement(
    model: &str,
    workload: &Workload,
    origin: &Origin,
    tuning: &Tuning,
    places: Places,
) -> Result<Profiler, Failure> {
    let mut profiler = hub(Profiler::new(model), origin.offline)
        .seed(workload.seed)
        .places(places)
        .options(tuning.options());
    if let Some(batch_size) = workload.batch_size {
        profiler = profiler.batch_size(batch_size);
    }
    if let Some(length) = workload.sequence_length {
        profiler = profiler.sequence_length(length);
    }
    if let Some(data) = &workload.data {
        profiler = profiler.data(data);
    }
    for input in &workload.input {
        profiler = input.apply(profiler);
    }
    if let Some(threads) = workload.threads {
        profiler = profiler.threads(threads);
    }
    if let Some(revision) = &origin.revision {
        profiler = profiler.revision(revision);
    }
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
