//! Training that would not fit: activations computed twice instead of kept.

use super::advise;
use crate::advice::{
    Facts, Judgement, Missing, Rests, Rule,
    footprint::{Footprint, PLANNED_SHARE},
    judgement::{change, evidence, gain},
};
use types::{Bytes, Change, ExpectedGain, Goal, Proof, TrainingMemory, Unit};

/// Bytes for each parameter in training: weight, gradient and AdamW's two moments, 32 bits each.
const BYTES_A_PARAMETER: f64 = 16.0;
/// Checkpoints at every √n of n blocks keep √n of them, and the √n blocks between two while they are computed again.
const KEPT: f64 = 2.0;

pub(super) struct GradientCheckpointing;

impl Rule for GradientCheckpointing {
    fn id(&self) -> &'static str {
        "gradient-checkpointing"
    }

    fn about(&self) -> &'static str {
        "whether training would fit the memory"
    }

    fn rests(&self) -> Rests {
        Rests::OnSizes
    }

    fn judge(&self, facts: &Facts<'_>) -> Result<Judgement, Missing> {
        if let Some(training) = &facts.run.training {
            return trained(facts, training.memory);
        }
        let run = facts.run;
        let memory = facts.memory.as_ref().map_err(Clone::clone)?;
        let kept = run.work.bytes_written.0 as f64;
        if kept == 0.0 || run.model.parameters == 0 {
            return Err(Missing::because("there is no graph to count activations on"));
        }
        let state = BYTES_A_PARAMETER * run.model.parameters as f64;
        let needed = state + kept;
        let available = memory.available.0 as f64;
        let batch = run.cell.batch_size;
        if needed <= PLANNED_SHARE * available {
            let text = format!("share of the memory that training at batch {batch} would need");
            let share = needed / available;
            return Ok(Judgement::Fine(evidence(
                text,
                "memory.training.share",
                share,
                Unit::Ratio,
            )));
        }
        let blocks = facts.blocks.filter(|blocks| *blocks > 0).ok_or_else(|| {
            Missing::because(
                "training would not fit, and the model shows no equal blocks to cut at",
            )
        })?;
        let share = (KEPT / (blocks as f64).sqrt()).min(1.0);
        let saved = kept * (1.0 - share);
        let numbers = vec![
            evidence(
                format!("memory of training at batch {batch}"),
                "memory.training",
                needed,
                Unit::Bytes,
            ),
            evidence(
                "of which activations that are kept",
                "memory.training.activations",
                kept,
                Unit::Bytes,
            ),
            evidence(
                "of which weights, gradients and moments",
                "memory.training.state",
                state,
                Unit::Bytes,
            ),
            evidence(
                format!("memory of {}", memory.whose),
                "memory.available",
                available,
                Unit::Bytes,
            ),
            evidence("equal blocks", "model.blocks", blocks as f64, Unit::Count),
        ];
        let basis =
            "2√n of n blocks are kept instead of all; what every node writes is kept otherwise";
        let gain = ExpectedGain {
            saved: Some(Bytes(saved as u64)),
            ..gain(Goal::Memory, 1.0, needed / (needed - saved), basis)
        };
        let why = "it is a run of inference; `modelmeter profile … --train` measures a training"
            .to_owned();
        let title = "if you train it: checkpoint activations at block borders";
        let caveat = "one more forward pass a step: about a third more time";
        Ok(advise(title, numbers, gain, Proof::Elsewhere { why }, Some(caveat)))
    }
}

/// A training run tells what it holds; nothing has to be foretold.
fn trained(facts: &Facts<'_>, held: TrainingMemory) -> Result<Judgement, Missing> {
    let run = facts.run;
    let memory = facts.memory.as_ref().map_err(Clone::clone)?;
    let available = memory.available.0 as f64;
    let footprint = Footprint::of(facts)?;
    let batch = run.cell.batch_size;
    let needed = footprint.at(batch);
    let kept = held.activations.0 as f64;
    let text =
        format!("share of the memory of {} that training at batch {batch} takes", memory.whose);
    let number = evidence(text, "memory.training.share", needed / available, Unit::Ratio);
    let checkpoints = run.cell.training.as_ref().is_some_and(|training| training.checkpointing);
    if checkpoints || !footprint.is_limit(batch) {
        return Ok(Judgement::Fine(number));
    }
    let blocks = facts.blocks.filter(|blocks| *blocks > 0).ok_or_else(|| {
        Missing::because("memory is short, and the model shows no equal blocks to cut at")
    })?;
    let saved = kept * (1.0 - (KEPT / (blocks as f64).sqrt()).min(1.0));
    let state = (held.weights.0 + held.gradients.0 + held.optimizer.0) as f64;
    let numbers = vec![
        number,
        evidence("activations that are kept", "memory.training.activations", kept, Unit::Bytes),
        evidence(
            "weights, gradients and optimiser state",
            "memory.training.state",
            state,
            Unit::Bytes,
        ),
        evidence("equal blocks", "model.blocks", blocks as f64, Unit::Count),
    ];
    let basis = "2√n of n blocks are kept instead of all";
    let gain = ExpectedGain {
        saved: Some(Bytes(saved as u64)),
        ..gain(Goal::Memory, 1.0, needed / (needed - saved).max(1.0), basis)
    };
    let proof = change(Change { checkpointing: Some(true), ..Change::default() });
    let caveat = "one more forward pass a step: about a third more time";
    let title = "checkpoint activations at block borders (`--gradient-checkpointing`)";
    Ok(advise(title, numbers, gain, proof, Some(caveat)))
}

#[cfg(test)]
mod tests {
    use super::super::said;
    use super::*;
    use crate::advice::{MemoryLimit, scene};

    fn limit(megabytes: u64) -> Result<MemoryLimit, Missing> {
        let available = Bytes(megabytes * 1_000_000);
        Ok(MemoryLimit { available, whose: "this machine".into() })
    }

    #[test]
    fn training_that_does_not_fit_keeps_fewer_activations() {
        let run = scene::run();
        let mut facts = scene::facts(&run);
        // 50 M parameters × 16 bytes and 160 MB of activations; 16 blocks keep 2 × 4 of them.
        facts.memory = limit(1000);
        let advice = said::advice(&GradientCheckpointing, &facts);
        assert_eq!(advice.gain.saved, Some(Bytes(80_000_000)));
        said::is_between(&advice, 1.0, 960.0 / 880.0);
    }

    #[test]
    fn training_that_fits_is_fine() {
        let run = scene::run();
        let fine = said::fine(&GradientCheckpointing, &scene::facts(&run));
        assert!((fine.value - 0.12).abs() < 1e-12);
    }

    #[test]
    fn a_training_run_is_judged_by_what_it_held() {
        let mut run = scene::training_run();
        let facts = scene::facts(&run);
        // 1200 MB of 8 GB.
        let fine = said::fine(&GradientCheckpointing, &facts);
        assert!((fine.value - 0.15).abs() < 1e-12, "{fine:?}");
        let mut facts = scene::facts(&run);
        // Twice the batch needs 1360 MB, and nine tenths of 1400 MB are less.
        facts.memory = limit(1400);
        let advice = said::advice(&GradientCheckpointing, &facts);
        assert_eq!(advice.gain.saved, Some(Bytes(80_000_000)));
        said::is_between(&advice, 1.0, 1200.0 / 1120.0);
        let change = Change { checkpointing: Some(true), ..Change::default() };
        assert_eq!(advice.proof, Proof::Change { change });
        if let Some(training) = &mut run.cell.training {
            training.checkpointing = true;
        }
        let mut facts = scene::facts(&run);
        facts.memory = limit(1400);
        said::fine(&GradientCheckpointing, &facts);
    }

    #[test]
    fn no_graph_or_no_blocks_are_not_judged() {
        let mut run = scene::run();
        let mut facts = scene::facts(&run);
        (facts.memory, facts.blocks) = (limit(1000), None);
        assert!(said::missing(&GradientCheckpointing, &facts).why.contains("blocks"));
        run.work.bytes_written = Bytes(0);
        said::missing(&GradientCheckpointing, &scene::facts(&run));
    }
}
