//! Weights of a `.gguf` file as they are stored, instead of widened.

use super::advise;
use crate::advice::{
    Facts, Judgement, Missing, Rule,
    judgement::{WORTH_IT, change, evidence, gain},
};
use types::{Bytes, Change, ExpectedGain, Goal, Precision, Unit, key};

pub(super) struct AsStored;

impl Rule for AsStored {
    fn id(&self) -> &'static str {
        "stored-weights"
    }

    fn about(&self) -> &'static str {
        "quantised weights of a `.gguf` file as they are, instead of widened"
    }

    fn judge(&self, facts: &Facts<'_>) -> Result<Judgement, Missing> {
        let Some(stored) = facts.stored_weights.as_ref().filter(|_| facts.is_generating()) else {
            return Ok(Judgement::Beside("no `.gguf` file generates here".into()));
        };
        if !facts.is_decoding() {
            let why = "reading a prompt is bound by arithmetic, not by the size of the weights";
            return Ok(Judgement::Beside(why.into()));
        }
        let now = facts.run.cell.precision;
        if now == Precision::Stored {
            return Ok(Judgement::Beside("the weights run as they are stored already".into()));
        }
        let traffic = facts.step_traffic()?;
        let file = stored.bytes.0 as f64;
        let ratio = evidence(
            "bytes of the file against the weights that a step reads",
            "stored.ratio",
            file / traffic.weights.max(1.0),
            Unit::Ratio,
        );
        let share = facts.bandwidth_share().map_or(0.0, |(share, _)| share);
        let (low, high) = traffic.gain_to(file + traffic.cache, share);
        if high < WORTH_IT {
            return Ok(Judgement::Fine(ratio));
        }
        let Some(engine) = stored.engines.first() else {
            let missing = Missing::because("no engine here runs the file as it is");
            return Err(match &stored.installable {
                Some(engine) => {
                    missing.with_hint(format!("`modelmeter engines install {engine}` fetches one"))
                }
                None => missing,
            });
        };
        let numbers = vec![
            evidence("bytes of the file", "stored.bytes", file, Unit::Bytes),
            evidence(
                "weights read in a step now",
                "generate.weights",
                traffic.weights,
                Unit::Bytes,
            ),
            evidence("cache read in a step", "generate.cache", traffic.cache, Unit::Bytes),
        ];
        let gain = match (facts.goal, facts.metric(key::MEMORY_PEAK)) {
            (Some(Goal::Memory), Some(peak)) => {
                let saved = (traffic.weights - file).clamp(0.0, 0.95 * peak);
                let basis =
                    "weights in fewer bits; what another engine needs for itself is not known";
                let gain = gain(Goal::Memory, 1.0, peak / (peak - saved), basis);
                ExpectedGain { saved: Some(Bytes(saved as u64)), ..gain }
            }
            _ => {
                let basis =
                    "bytes that a step reads, over the share of its time that reading them takes";
                gain(Goal::Latency, low, high, basis)
            }
        };
        let title = format!(
            "run the file as it is on {engine} instead of {now} on {}",
            facts.run.cell.engine
        );
        let own = *engine == facts.run.cell.engine;
        let proof = change(Change {
            precision: Some(Precision::Stored),
            engine: (!own).then(|| engine.clone()),
            ..Change::default()
        });
        let caveat = "another engine has another way of computing; the proof compares the scores";
        Ok(advise(title, numbers, gain, proof, Some(caveat)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::said;
    use super::*;
    use crate::advice::{StoredWeights, scene};

    fn stored(megabytes: u64, engines: &[&str]) -> Option<StoredWeights> {
        let engines = engines.iter().map(|engine| (*engine).to_owned()).collect();
        let installable = Some("llamacpp".to_owned());
        Some(StoredWeights { bytes: Bytes(megabytes * 1_000_000), engines, installable })
    }

    #[test]
    fn quantised_weights_are_run_as_they_are() {
        let run = scene::decoding_run(0.050);
        let mut facts = scene::facts(&run);
        facts.stored_weights = stored(30, &["llamacpp"]);
        let advice = said::advice(&AsStored, &facts);
        // 206 MB become 36 MB; 4.12 of 20 GB/s are reached.
        let (factor, share) = (206.0 / 36.0, 4.12 / 20.0);
        said::is_between(&advice, 1.0 / (1.0 - share + share / factor), factor);
        let change = Change {
            engine: Some("llamacpp".into()),
            precision: Some(Precision::Stored),
            ..Change::default()
        };
        assert_eq!(advice.proof, types::Proof::Change { change });
    }

    #[test]
    fn a_file_of_floats_gains_nothing_and_without_its_engine_the_way_to_it_is_told() {
        let run = scene::decoding_run(0.050);
        let mut facts = scene::facts(&run);
        facts.stored_weights = stored(200, &["llamacpp"]);
        assert_eq!(said::fine(&AsStored, &facts).value, 1.0);
        facts.stored_weights = stored(30, &[]);
        assert!(said::missing(&AsStored, &facts).hint.unwrap().contains("install llamacpp"));
        facts.stored_weights = None;
        assert!(said::beside(&AsStored, &facts).contains(".gguf"));
    }
}
