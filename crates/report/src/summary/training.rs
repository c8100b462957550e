//! What a training adds to the page: the phases' rates, how it went, and what it holds.

use crate::clean::clean;
use number::{bytes, count, flops_per_second, percent, seconds, significant};
use types::{Bytes, GenerationTest, Mode, Run};

/// What one sample is.
#[must_use]
pub fn sample_word(run: &Run) -> &'static str {
    match (run.cell.mode, run.cell.generation.map(|generation| generation.test)) {
        (Mode::Training, _) | (_, Some(GenerationTest::Decode)) => "step",
        (Mode::Load, _) => "request",
        (_, Some(GenerationTest::Prefill)) => "prefill",
        _ => "inference",
    }
}

/// Operations a second in each phase that has some worth telling.
pub(super) fn phases(run: &Run) -> Vec<String> {
    let Some(report) = &run.training else { return Vec::new() };
    let rate = |(phase, flops): &(types::Phase, u64)| {
        let seconds = run.summaries.get(phase)?.median;
        let is_worth = seconds > 0.0 && *flops > 0;
        is_worth.then(|| format!("{} {}", phase.name(), flops_per_second(*flops as f64 / seconds)))
    };
    report.flops.iter().filter_map(rate).collect()
}

/// How it was trained and how the loss went.
pub(super) fn how(run: &Run) -> Vec<String> {
    let (Some(training), Some(report)) = (run.cell.training, &run.training) else {
        return Vec::new();
    };
    let rate = training.learning_rate.0;
    let mut facts = vec![
        format!("{} at {rate}", training.optimizer),
        format!("{} of `{}`", training.loss, clean(&report.output)),
    ];
    if training.accumulation > 1 {
        facts.push(format!("{} batches a step", count(training.accumulation.into())));
    }
    if training.checkpointing {
        facts.push("activations computed twice".into());
    }
    if training.world_size > 1 {
        facts.push(format!("{} processes", training.world_size));
    }
    if let (Some(first), Some(last)) = (report.losses.first(), report.losses.last()) {
        let steps = count(report.losses.len() as u64);
        let (first, last) = (significant(*first, 4), significant(*last, 4));
        facts.push(format!("loss {first} → {last} in {steps} steps"));
    }
    if !report.untrained.is_empty() {
        facts.push(format!("{} weights untrained", count(report.untrained.len() as u64)));
    }
    facts
}

/// What it cost several processes to agree.
pub(super) fn world(run: &Run) -> Vec<String> {
    let Some(world) = run.training.as_ref().and_then(|report| report.world.as_ref()) else {
        return Vec::new();
    };
    let steps: Vec<String> = world.steps.iter().map(|step| seconds(step.0)).collect();
    let mut facts = vec![
        format!("{} ranks over {}", world.steps.len(), clean(&world.backend)),
        format!("steps {}", steps.join(", ")),
    ];
    if let Some(efficiency) = world.efficiency() {
        let alone = seconds(world.step_alone.0);
        facts.push(format!("{} of one process's {alone}", percent(efficiency.0)));
    }
    facts.extend([
        format!("all-reduce {} of {}", seconds(world.all_reduce.0), bytes(world.bytes.0)),
        format!("{} without other work", seconds(world.all_reduce_alone.0)),
        format!("{} hidden behind backward", percent(world.overlap.0)),
    ]);
    facts
}

/// What lies in memory, by what it is.
pub(super) fn held(run: &Run) -> Vec<String> {
    let Some(report) = &run.training else { return Vec::new() };
    let memory = &report.memory;
    let of = |word: &str, Bytes(size): Bytes| format!("{word} {}", bytes(size));
    vec![
        of("weights", memory.weights),
        of("gradients", memory.gradients),
        of("optimiser", memory.optimizer),
        of("activations", memory.activations),
    ]
}
