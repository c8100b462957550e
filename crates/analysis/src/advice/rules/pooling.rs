//! Memory beyond what weights and activations need, where memory is the limit.

use super::advise;
use crate::advice::{
    Facts, Judgement, Missing, Rests, Rule,
    footprint::Footprint,
    judgement::{change, evidence, gain},
};
use types::{Bytes, Change, ExpectedGain, Goal, Proof, Unit};

/// Below this share of the peak the rest is the process itself.
const REST_SHARE: f64 = 0.2;

pub(super) struct Pooling;

impl Rule for Pooling {
    fn id(&self) -> &'static str {
        "pooling"
    }

    fn about(&self) -> &'static str {
        "memory beyond weights and live activations, where memory is the limit"
    }

    fn rests(&self) -> Rests {
        Rests::OnSizes
    }

    fn judge(&self, facts: &Facts<'_>) -> Result<Judgement, Missing> {
        let footprint = Footprint::of(facts)?;
        let now = facts.run.cell.batch_size;
        let peak = footprint.at(now);
        // Gradients and what the optimiser remembers stay as long as the weights do.
        let weights = match facts.run.training.as_ref().map(|training| training.memory) {
            Some(held) => (held.weights.0 + held.gradients.0 + held.optimizer.0) as f64,
            None => facts.weights()?,
        };
        let activations = footprint.per_sample * now as f64;
        let rest = (peak - weights - activations).max(0.0);
        let share = rest / peak.max(1.0);
        if !footprint.is_limit(now) {
            let share = peak / footprint.available;
            let text = "share of the available memory that it needs";
            return Ok(Judgement::Fine(evidence(text, "memory.share", share, Unit::Ratio)));
        }
        let text = "share of its memory that is neither weights nor live activations";
        let number = evidence(text, "memory.rest.share", share, Unit::Ratio);
        if share < REST_SHARE {
            return Ok(Judgement::Fine(number));
        }
        let numbers = vec![
            number,
            evidence("largest memory", "memory.peak", peak, Unit::Bytes),
            evidence("bytes of the weights", "model.size", weights, Unit::Bytes),
            evidence(
                "live activations at their peak",
                "memory.activation",
                activations,
                Unit::Bytes,
            ),
        ];
        let other = facts.other_engine().ok().flatten();
        let (way, proof) = match other {
            Some(other) => {
                let engine = Some(other.engine.clone());
                let way = format!("try {}, which keeps its own pool", other.engine);
                (way, change(Change { engine, ..Change::default() }))
            }
            None => {
                let why = "no other engine here runs this model".to_owned();
                ("use an engine that pools".to_owned(), Proof::Elsewhere { why })
            }
        };
        let basis = "at most all that is neither weights nor live activations";
        let gain = ExpectedGain {
            saved: Some(Bytes(rest as u64)),
            ..gain(Goal::Memory, 1.0, peak / (peak - rest).max(1.0), basis)
        };
        let title = format!("reuse buffers between inferences (pooling): {way}");
        Ok(advise(title, numbers, gain, proof, Some("a process needs memory of its own as well")))
    }
}

#[cfg(test)]
mod tests {
    use super::super::said;
    use super::*;
    use crate::advice::{MemoryLimit, scene};
    use types::Precision;

    #[test]
    fn memory_that_is_neither_weights_nor_activations_is_told_where_it_is_short() {
        let run = scene::run();
        let mut facts = scene::facts(&run);
        let available = Bytes(350_000_000);
        facts.memory = Ok(MemoryLimit { available, whose: "this machine".into() });
        // 300 − 200 − 40 = 60 MB: a fifth.
        let advice = said::advice(&Pooling, &facts);
        said::is_between(&advice, 1.0, 300.0 / 240.0);
        assert!(matches!(advice.proof, Proof::Elsewhere { .. }));
        facts.alternatives = Ok(vec![
            scene::engine("rten", &[Precision::Fp32]),
            scene::engine("openvino", &[Precision::Fp32]),
        ]);
        assert!(said::advice(&Pooling, &facts).title.contains("openvino"));
    }

    #[test]
    fn where_there_is_room_it_is_fine() {
        let run = scene::run();
        assert!((said::fine(&Pooling, &scene::facts(&run)).value - 300.0 / 8000.0).abs() < 1e-9);
    }

    #[test]
    fn unknown_memory_is_not_judged() {
        let run = scene::run();
        let mut facts = scene::facts(&run);
        facts.memory = Err(Missing::because("not told"));
        assert_eq!(said::missing(&Pooling, &facts).why, "not told");
    }
}
