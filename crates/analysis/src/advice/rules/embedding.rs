//! Embedding tables that are read more than anything is computed.

use super::{advise, attention::unplaced};
use crate::advice::{
    Facts, Judgement, Missing, Rule,
    judgement::{WORTH_IT, amdahl, change, evidence, gain},
};
use types::{Bound, Change, Goal, LayerKind, Precision, Proof, Unit};

/// A table in half the bits is read in half the time.
const HALF: f64 = 2.0;

pub(super) struct Embedding;

impl Rule for Embedding {
    fn id(&self) -> &'static str {
        "embedding"
    }

    fn about(&self) -> &'static str {
        "embedding tables that are read more than anything is computed"
    }

    fn judge(&self, facts: &Facts<'_>) -> Result<Judgement, Missing> {
        let Some(spent) = facts.kind(LayerKind::Embedding)? else {
            return Ok(Judgement::Beside("the model has no embedding".into()));
        };
        let share = spent.share.0;
        let number =
            evidence("share of the time in embeddings", "layers.embedding", share, Unit::Ratio);
        let high = amdahl(share, HALF);
        if high < WORTH_IT {
            return Ok(Judgement::Fine(number));
        }
        if spent.roofline.ok_or_else(unplaced)?.bound == Bound::Compute {
            return Ok(Judgement::Fine(number));
        }
        let mut numbers = vec![number];
        if let Some(bytes) = spent.bytes {
            let text = "bytes that embeddings move";
            numbers.push(evidence(text, "layers.embedding.bytes", bytes.0 as f64, Unit::Bytes));
        }
        let narrower = match facts.run.cell.precision {
            Precision::Fp32 => Precision::Bf16,
            _ => Precision::Int8,
        };
        let proof = match facts.engine_for(narrower)? {
            Some(engine) if engine.engine == facts.run.cell.engine => {
                change(Change { precision: Some(narrower), ..Change::default() })
            }
            _ => Proof::Elsewhere {
                why: format!("{} cannot store tables in fewer bits here", facts.run.cell.engine),
            },
        };
        let title = "store the embedding table in fewer bits, or cache the rows used most";
        let basis = "half the bits are read in half the time (Amdahl over its share)";
        let caveat = "a table that fits the last-level cache gains nothing";
        let gain = gain(Goal::Latency, 1.0, high, basis);
        Ok(advise(title, numbers, gain, proof, Some(caveat)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::said;
    use super::*;
    use crate::advice::scene;

    #[test]
    fn a_table_that_takes_two_fifths_is_worth_narrowing() {
        let mut run = scene::run();
        run.layers = scene::layers(&[("embedding", 0.4, Some(Bound::Memory))], &[]);
        let mut facts = scene::facts(&run);
        facts.alternatives = Ok(vec![scene::engine("rten", &[Precision::Bf16])]);
        let advice = said::advice(&Embedding, &facts);
        said::is_between(&advice, 1.0, 1.0 / 0.8);
        assert!(matches!(advice.proof, Proof::Change { .. }));
    }

    #[test]
    fn small_tables_and_those_that_compute_are_fine() {
        let mut run = scene::run();
        run.layers = scene::layers(&[("embedding", 0.05, Some(Bound::Memory))], &[]);
        assert_eq!(said::fine(&Embedding, &scene::facts(&run)).value, 0.05);
        run.layers = scene::layers(&[("embedding", 0.4, Some(Bound::Compute))], &[]);
        assert_eq!(said::fine(&Embedding, &scene::facts(&run)).value, 0.4);
    }

    #[test]
    fn without_layers_or_roofline_it_is_not_judged() {
        let mut run = scene::run();
        said::missing(&Embedding, &scene::facts(&run));
        run.layers = scene::layers(&[("embedding", 0.4, None)], &[]);
        assert!(said::missing(&Embedding, &scene::facts(&run)).why.contains("roofline"));
        run.layers = scene::layers(&[("conv", 1.0, None)], &[]);
        said::beside(&Embedding, &scene::facts(&run));
    }
}
