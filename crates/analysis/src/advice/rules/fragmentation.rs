//! Memory that an allocator holds and nobody uses.

use super::advise;
use crate::advice::{
    Facts, Judgement, Missing, Rests, Rule,
    judgement::{evidence, gain},
};
use types::{Bytes, ExpectedGain, Goal, Proof, Unit};

/// Below this share holes are what every allocator has.
const LOST_SHARE: f64 = 0.2;
/// Below this nobody misses it.
const LOST_BYTES: u64 = 64 << 20;

pub(super) struct Fragmented;

impl Rule for Fragmented {
    fn id(&self) -> &'static str {
        "fragmentation"
    }

    fn about(&self) -> &'static str {
        "memory that the allocator reserves but does not use"
    }

    fn rests(&self) -> Rests {
        Rests::OnSizes
    }

    fn judge(&self, facts: &Facts<'_>) -> Result<Judgement, Missing> {
        let seen = facts.fragmentation.as_ref().map_err(Clone::clone)?;
        let (in_use, reserved) = (seen.in_use.0, seen.reserved.0);
        if in_use == 0 || reserved < in_use {
            return Err(Missing::because("the allocator's numbers contradict each other"));
        }
        let lost = reserved - in_use;
        let share = lost as f64 / reserved as f64;
        let number = evidence("fragmentation", "memory.fragmentation", share, Unit::Ratio);
        if share < LOST_SHARE || lost < LOST_BYTES {
            return Ok(Judgement::Fine(number));
        }
        let bytes =
            |text: &str, key: &str, value: u64| evidence(text, key, value as f64, Unit::Bytes);
        let numbers = vec![
            number,
            bytes("memory the allocator reserves", "memory.reserved", reserved),
            bytes("of which in use", "memory.in_use", in_use),
        ];
        let basis = "at most what is reserved and not used";
        let high = reserved as f64 / in_use as f64;
        let gain =
            ExpectedGain { saved: Some(Bytes(lost)), ..gain(Goal::Memory, 1.0, high, basis) };
        let why = "Modelmeter does not set the allocator's options: see the engine's own settings";
        let proof = Proof::Elsewhere { why: why.into() };
        let title = "let the allocator grow in smaller steps, or use fewer different shapes";
        Ok(advise(title, numbers, gain, proof, Some("freeing memory costs time")))
    }
}

#[cfg(test)]
mod tests {
    use super::super::said;
    use super::*;
    use crate::advice::{Fragmentation, scene};

    #[test]
    fn a_third_held_for_nothing_is_told() {
        let run = scene::run();
        let mut facts = scene::facts(&run);
        let (in_use, reserved) = (Bytes(200_000_000), Bytes(300_000_000));
        facts.fragmentation = Ok(Fragmentation { in_use, reserved });
        let advice = said::advice(&Fragmented, &facts);
        said::is_between(&advice, 1.0, 1.5);
        assert_eq!(advice.gain.saved, Some(Bytes(100_000_000)));
    }

    #[test]
    fn small_holes_are_fine_and_no_report_is_not_judged() {
        let run = scene::run();
        let mut facts = scene::facts(&run);
        assert!((said::fine(&Fragmented, &facts).value - 1.0 / 30.0).abs() < 1e-12);
        facts.fragmentation = Err(Missing::because("no allocator report"));
        assert_eq!(said::missing(&Fragmented, &facts).why, "no allocator report");
    }
}
