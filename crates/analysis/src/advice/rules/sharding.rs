//! A model that is too large for one device.

use super::advise;
use crate::advice::{
    Facts, Judgement, Missing, Rests, Rule,
    footprint::Footprint,
    judgement::{evidence, gain},
};
use types::{Bytes, ExpectedGain, Goal, Proof, Unit};

/// Where weights are less than this of the memory, other things fill it and splitting the weights does not help.
const WEIGHTY: f64 = 0.5;

pub(super) struct Sharding;

impl Rule for Sharding {
    fn id(&self) -> &'static str {
        "sharding"
    }

    fn about(&self) -> &'static str {
        "weights that fill the memory of one device"
    }

    fn rests(&self) -> Rests {
        Rests::OnSizes
    }

    fn judge(&self, facts: &Facts<'_>) -> Result<Judgement, Missing> {
        let footprint = Footprint::of(facts)?;
        let weights = facts.weights()?;
        let share = weights / footprint.available;
        let text = "share of the memory that the weights fill";
        let number = evidence(text, "memory.weights.share", share, Unit::Ratio);
        let now = facts.run.cell.batch_size;
        if share < WEIGHTY || !footprint.is_limit(now) {
            return Ok(Judgement::Fine(number));
        }
        let (needed, half) = (footprint.at(now), weights / 2.0);
        let numbers = vec![
            number,
            evidence("bytes of the weights", "model.size", weights, Unit::Bytes),
            evidence(format!("memory of batch {now}"), "memory.peak", needed, Unit::Bytes),
            evidence("available memory", "memory.available", footprint.available, Unit::Bytes),
        ];
        let basis = "half of the weights on each of two devices";
        let high = needed / (needed - half).max(1.0);
        let gain = ExpectedGain {
            saved: Some(Bytes(half as u64)),
            ..gain(Goal::Memory, 1.0, high, basis)
        };
        let why = "a model runs on one device here".to_owned();
        let caveat = "transfers between the devices cost time at every layer";
        let title = "split the model over two devices";
        Ok(advise(title, numbers, gain, Proof::Elsewhere { why }, Some(caveat)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::said;
    use super::*;
    use crate::advice::{MemoryLimit, scene};

    #[test]
    fn weights_that_fill_the_memory_are_split() {
        let run = scene::run();
        let mut facts = scene::facts(&run);
        let available = Bytes(350_000_000);
        facts.memory = Ok(MemoryLimit { available, whose: "a GPU".into() });
        let advice = said::advice(&Sharding, &facts);
        // 100 of 300 MB move to the other device.
        said::is_between(&advice, 1.0, 1.5);
        assert!((advice.evidence[0].value - 200.0 / 350.0).abs() < 1e-12);
    }

    #[test]
    fn small_weights_are_fine_even_where_memory_is_short() {
        let mut run = scene::run();
        assert!((said::fine(&Sharding, &scene::facts(&run)).value - 0.025).abs() < 1e-12);
        run.model.size.0 = 20_000_000;
        let mut facts = scene::facts(&run);
        let available = Bytes(350_000_000);
        facts.memory = Ok(MemoryLimit { available, whose: "a GPU".into() });
        said::fine(&Sharding, &facts);
    }

    #[test]
    fn unknown_memory_is_not_judged() {
        let run = scene::run();
        let mut facts = scene::facts(&run);
        facts.memory = Err(Missing::because("not told"));
        assert_eq!(said::missing(&Sharding, &facts).why, "not told");
    }
}
