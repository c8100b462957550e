//! A batch size that follows the memory.

use super::advise;
use crate::advice::{
    Facts, Judgement, Missing, Rests, Rule,
    footprint::Footprint,
    judgement::{change, evidence, gain},
};
use types::{Bytes, Change, ExpectedGain, Goal, Proof, Unit};

pub(super) struct DynamicBatching;

impl Rule for DynamicBatching {
    fn id(&self) -> &'static str {
        "dynamic-batching"
    }

    fn about(&self) -> &'static str {
        "whether the next larger batch still fits the memory"
    }

    fn rests(&self) -> Rests {
        Rests::OnSizes
    }

    fn judge(&self, facts: &Facts<'_>) -> Result<Judgement, Missing> {
        let footprint = Footprint::of(facts)?;
        let now = facts.run.cell.batch_size;
        let next = now.saturating_mul(2);
        let needed = footprint.at(next);
        if !footprint.is_limit(now) {
            let share = needed / footprint.available;
            let text = format!("share of the memory that batch {next} would need");
            return Ok(Judgement::Fine(evidence(text, "memory.next.share", share, Unit::Ratio)));
        }
        let whose = facts.memory.as_ref().map_or("", |memory| memory.whose.as_str());
        let most = footprint.largest_batch();
        let then = footprint.at(most);
        let numbers = vec![
            evidence(
                format!("memory of batch {now}"),
                "memory.peak",
                footprint.at(now),
                Unit::Bytes,
            ),
            evidence(format!("memory of batch {next}"), "memory.next", needed, Unit::Bytes),
            evidence(
                format!("memory of {whose}"),
                "memory.available",
                footprint.available,
                Unit::Bytes,
            ),
            evidence(
                "activations of one sample",
                "memory.sample",
                footprint.per_sample,
                Unit::Bytes,
            ),
        ];
        let proof = if most < now {
            change(Change { batch_size: Some(most), ..Change::default() })
        } else {
            let why = format!("batch {next} would not fit, so nothing can run it");
            Proof::Elsewhere { why }
        };
        let basis = "weights and process stay, activations grow with the batch";
        let gain = ExpectedGain {
            saved: Some(Bytes((needed - then).max(0.0) as u64)),
            ..gain(Goal::Memory, 1.0, needed / then, basis)
        };
        let title = format!("size batches by the memory that is free: at most {most} samples here");
        Ok(advise(title, numbers, gain, proof, Some("smaller batches are less efficient")))
    }
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
    fn the_largest_batch_that_fits_is_told() {
        let run = scene::run();
        let mut facts = scene::facts(&run);
        // 260 MB stay, 10 MB per sample; nine tenths of 350 MB hold 5 samples, and 8 need 340 MB.
        facts.memory = limit(350);
        let advice = said::advice(&DynamicBatching, &facts);
        assert!(advice.title.contains("at most 5 samples"), "{}", advice.title);
        said::is_between(&advice, 1.0, 340.0 / 310.0);
        assert_eq!(advice.gain.saved, Some(Bytes(30_000_000)));
        assert!(matches!(advice.proof, Proof::Elsewhere { .. }));
        // Now even batch 4 is too much for what may be planned with: 297 MB hold 3.
        facts.memory = limit(330);
        let advice = said::advice(&DynamicBatching, &facts);
        let change = Change { batch_size: Some(3), ..Change::default() };
        assert_eq!(advice.proof, Proof::Change { change });
    }

    #[test]
    fn room_for_twice_the_batch_is_fine() {
        let run = scene::run();
        let fine = said::fine(&DynamicBatching, &scene::facts(&run));
        assert!((fine.value - 340.0 / 8000.0).abs() < 1e-12);
    }

    #[test]
    fn unknown_shapes_or_memory_are_not_judged() {
        let mut run = scene::run();
        run.work.activation_peak = None;
        assert!(said::missing(&DynamicBatching, &scene::facts(&run)).why.contains("activations"));
        let run = scene::run();
        let mut facts = scene::facts(&run);
        facts.memory = Err(Missing::because("not told"));
        assert_eq!(said::missing(&DynamicBatching, &facts).why, "not told");
    }
}
