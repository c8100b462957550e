//! Attention that waits for memory.

use super::{advise, fusion::plan};
use crate::advice::{
    Facts, Judgement, Missing, Rule,
    judgement::{WORTH_IT, amdahl, evidence, gain},
};
use types::{Bound, Goal, LayerKind, Unit};

pub(super) struct Attention;

impl Rule for Attention {
    fn id(&self) -> &'static str {
        "attention"
    }

    fn about(&self) -> &'static str {
        "attention limited by memory instead of compute"
    }

    fn judge(&self, facts: &Facts<'_>) -> Result<Judgement, Missing> {
        let Some(spent) = facts.kind(LayerKind::Attention)? else {
            return Ok(Judgement::Beside("the model has no attention".into()));
        };
        let share = spent.share.0;
        let roofline = spent.roofline.ok_or_else(unplaced)?;
        let number =
            evidence("share of the time in attention", "layers.attention", share, Unit::Ratio);
        if roofline.bound == Bound::Compute {
            let text = "share of the compute ceiling that attention reaches";
            let attained = roofline.attained.0;
            let number = evidence(text, "layers.attention.attained", attained, Unit::Ratio);
            return Ok(Judgement::Fine(number));
        }
        let ceilings = facts.ceilings.as_ref().map_err(Clone::clone)?;
        let ceiling = ceilings.flops_at(facts.run.cell.precision).ok_or_else(unplaced)?;
        let flops = spent.flops.ok_or_else(|| Missing::because("attention was not counted"))?;
        let least = flops.0 as f64 / ceiling.value;
        let high = amdahl(share, (spent.total.0 / least.max(f64::MIN_POSITIVE)).max(1.0));
        if high < WORTH_IT {
            return Ok(Judgement::Fine(number));
        }
        let mut numbers = vec![number];
        let text = "share of the memory bandwidth that attention reaches";
        let attained = roofline.attained.0;
        numbers.push(evidence(text, "layers.attention.attained", attained, Unit::Ratio));
        let text = "time of attention if only arithmetic took time";
        numbers.push(evidence(text, "layers.attention.floor", least, Unit::Seconds));
        let (way, proof) = plan(facts)?;
        let title = format!("keep attention's scores out of memory (fused attention): {way}");
        let basis = "upper bound: attention takes only the time of its arithmetic (Amdahl)";
        let gain = gain(Goal::Latency, 1.0, high, basis);
        Ok(advise(title, numbers, gain, proof, Some("the gain grows with the sequence length")))
    }
}

/// Why a layer has no place on the roofline.
pub(super) fn unplaced() -> Missing {
    Missing::because("the layers have no roofline: the ceilings of this machine are unknown")
        .with_hint("`modelmeter calibrate`, then `modelmeter profile … --layers`")
}

#[cfg(test)]
mod tests {
    use super::super::said;
    use super::*;
    use crate::advice::scene;
    use types::Proof;

    #[test]
    fn attention_that_waits_for_memory_is_worth_fusing() {
        let mut run = scene::run();
        // 5 ms for 100 MFLOP, which 200 GFLOP/s do in 0.5 ms: ten times less of half the time.
        run.layers = scene::layers(&[("attention", 0.5, Some(Bound::Memory))], &[]);
        let advice = said::advice(&Attention, &scene::facts(&run));
        said::is_between(&advice, 1.0, 1.0 / (0.5 + 0.05));
        assert!(matches!(advice.proof, Proof::Elsewhere { .. }), "there is one engine only");
    }

    #[test]
    fn attention_that_computes_is_fine() {
        let mut run = scene::run();
        run.layers = scene::layers(&[("attention", 0.5, Some(Bound::Compute))], &[]);
        assert_eq!(said::fine(&Attention, &scene::facts(&run)).value, 0.5);
    }

    #[test]
    fn without_layers_or_roofline_it_is_not_judged() {
        let mut run = scene::run();
        said::missing(&Attention, &scene::facts(&run));
        run.layers = scene::layers(&[("attention", 0.5, None)], &[]);
        assert!(said::missing(&Attention, &scene::facts(&run)).why.contains("roofline"));
        run.layers = scene::layers(&[("conv", 1.0, None)], &[]);
        said::beside(&Attention, &scene::facts(&run));
    }
}
