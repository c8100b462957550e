//! Tokens that only fill up rows.

use super::advise;
use crate::advice::{
    Facts, Judgement, Missing, Rests, Rule,
    judgement::{WORTH_IT, change, evidence, gain},
};
use types::{Change, Goal, Proof, Unit};

/// Two batches by length need two rows each to be batches at all.
const FEWEST_ROWS: usize = 4;

pub(super) struct PaddingWaste;

impl Rule for PaddingWaste {
    fn id(&self) -> &'static str {
        "padding"
    }

    fn about(&self) -> &'static str {
        "tokens that are only padding"
    }

    fn rests(&self) -> Rests {
        Rests::OnSizes
    }

    fn beside_training(&self) -> Option<&'static str> {
        Some("a training step takes token ids, not text")
    }

    fn beside_generating(&self) -> Option<&'static str> {
        Some("all texts of a batch have one length")
    }

    fn judge(&self, facts: &Facts<'_>) -> Result<Judgement, Missing> {
        let cell = &facts.run.cell;
        let Some(length) = cell.sequence_length else {
            return Ok(Judgement::Beside("the model has no rows of tokens".into()));
        };
        if cell.text.is_none() {
            return Err(no_text());
        }
        let padding = facts.padding.as_ref().map_err(Clone::clone)?;
        let all = (padding.real + padding.padding) as f64;
        let waste = padding.padding as f64 / all.max(1.0);
        let number = evidence("share of the tokens that is padding", "padding", waste, Unit::Ratio);
        let cut = (cell.batch_size * padding.longest) as f64;
        let (title, tokens, proof) = if padding.longest < length {
            let title =
                format!("pad to {} tokens, the longest row, not to {length}", padding.longest);
            let sequence_length = Some(padding.longest);
            (title, cut, change(Change { sequence_length, ..Change::default() }))
        } else if cell.batch_size >= FEWEST_ROWS {
            let title = "group texts of similar length into one batch".to_owned();
            (title, padding.bucketed as f64, Proof::Buckets)
        } else {
            return Ok(Judgement::Fine(number));
        };
        let factor = all / tokens.max(1.0);
        if factor < WORTH_IT {
            return Ok(Judgement::Fine(number));
        }
        let numbers = vec![
            number,
            evidence("tokens computed for a batch", "padding.tokens", all, Unit::Count),
            evidence("tokens that would be", "padding.tokens.then", tokens, Unit::Count),
        ];
        let basis = "time in proportion to tokens; smaller batches may be less efficient";
        let caveat = match proof {
            Proof::Buckets => {
                "results come in another order, and requests wait for others of similar length"
            }
            _ => {
                "lengths then differ between batches: an engine that compiles for shapes compiles again"
            }
        };
        let gain = gain(Goal::Throughput, 1.0, factor, basis);
        Ok(advise(title, numbers, gain, proof, Some(caveat)))
    }
}

/// Why nothing is known of texts.
pub(super) fn no_text() -> Missing {
    Missing::because("token ids were generated, so no row has padding")
        .with_hint("give real texts: `--text-file FILE`")
}

#[cfg(test)]
mod tests {
    use super::super::said;
    use super::*;
    use crate::advice::scene;
    use types::{Run, Text};

    fn with_text() -> Run {
        let mut run = scene::run();
        run.cell.text = Some(Text { lines: vec!["a".into()] });
        run
    }

    #[test]
    fn rows_longer_than_any_text_are_cut() {
        let run = with_text();
        let mut facts = scene::facts(&run);
        facts.padding = Ok(scene::padding(120, 392, 32, 512));
        let advice = said::advice(&PaddingWaste, &facts);
        assert_eq!(advice.title, "pad to 32 tokens, the longest row, not to 128");
        // 4 × 128 tokens become 4 × 32.
        said::is_between(&advice, 1.0, 4.0);
    }

    #[test]
    fn texts_of_unlike_length_are_sorted() {
        let run = with_text();
        let mut facts = scene::facts(&run);
        // Rows of 16, 16, 128, 128 in one batch, then 2 × 16 and 2 × 128.
        facts.padding = Ok(scene::padding(288, 224, 128, 288));
        let advice = said::advice(&PaddingWaste, &facts);
        assert_eq!(advice.proof, Proof::Buckets);
        said::is_between(&advice, 1.0, 512.0 / 288.0);
        assert!((advice.evidence[0].value - 224.0 / 512.0).abs() < 1e-12);
    }

    #[test]
    fn full_rows_are_fine_and_drawn_ones_not_judged() {
        let mut run = with_text();
        let mut facts = scene::facts(&run);
        facts.padding = Ok(scene::padding(510, 2, 128, 511));
        assert!(said::fine(&PaddingWaste, &facts).value < 0.01);
        run.cell.text = None;
        assert!(said::missing(&PaddingWaste, &scene::facts(&run)).why.contains("generated"));
        run.cell.sequence_length = None;
        said::beside(&PaddingWaste, &scene::facts(&run));
    }
}
