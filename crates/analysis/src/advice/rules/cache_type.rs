//! The number format of the cache.

use super::advise;
use crate::advice::{
    Facts, Judgement, Missing, Rule,
    judgement::{WORTH_IT, change, evidence, gain},
};
use types::{Change, Goal, Unit};

pub(super) struct CacheType;

impl Rule for CacheType {
    fn id(&self) -> &'static str {
        "cache-type"
    }

    fn about(&self) -> &'static str {
        "the cache of a language model in fewer bits"
    }

    fn judge(&self, facts: &Facts<'_>) -> Result<Judgement, Missing> {
        if !facts.is_decoding() {
            return Ok(Judgement::Beside("the run does not write token by token".into()));
        }
        let traffic = facts.step_traffic()?;
        let of_step = evidence(
            "share of the cache in what a step reads",
            "generate.cache.share",
            traffic.cache / traffic.bytes().max(1.0),
            Unit::Ratio,
        );
        // Without its cache a step would read the weights alone.
        if traffic.bytes() / traffic.weights.max(1.0) < WORTH_IT {
            return Ok(Judgement::Fine(of_step));
        }
        let report = facts.run.generation.as_ref();
        let report =
            report.ok_or_else(|| Missing::because("the run does not say what its cache holds"))?;
        let now = report.cache_per_token.0 as f64 / report.shape.cache_per_token(1).0.max(1) as f64;
        let choices = facts.cache_choices.as_ref().map_err(Clone::clone)?;
        let narrower = choices.iter().filter(|choice| choice.bytes < 0.99 * now);
        let Some(best) = narrower.min_by(|a, b| a.bytes.total_cmp(&b.bytes)) else {
            let (engine, kind) = (&facts.run.cell.engine, &report.cache_type);
            return Err(Missing::because(format!(
                "engine `{engine}` keeps the cache as {kind} and offers nothing narrower"
            )));
        };
        let share = facts.bandwidth_share().map_or(0.0, |(share, _)| share);
        let left = traffic.weights + traffic.cache * best.bytes / now;
        let (low, high) = traffic.gain_to(left, share);
        if high < WORTH_IT {
            return Ok(Judgement::Fine(of_step));
        }
        let numbers = vec![
            of_step,
            evidence("cache read in a step", "generate.cache", traffic.cache, Unit::Bytes),
            evidence(
                format!("the same as {}", best.name),
                "generate.cache.narrow",
                traffic.cache * best.bytes / now,
                Unit::Bytes,
            ),
        ];
        let title = format!("keep the cache as {} instead of {}", best.name, report.cache_type);
        let basis = "bytes that a step reads, over the share of its time that reading them takes";
        let proof = change(Change { options: Some(best.options.clone()), ..Change::default() });
        let caveat = "scores differ a little; the proof compares them";
        Ok(advise(title, numbers, gain(Goal::Latency, low, high, basis), proof, Some(caveat)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::said;
    use super::*;
    use crate::advice::{CacheChoice, scene};
    use types::EngineOptions;

    #[test]
    fn a_large_cache_is_kept_in_fewer_bits() {
        // 1,000 tokens in the middle of the run hold 6 MB; of 100,000 it is 600 MB against 200 MB of weights.
        let mut run = scene::decoding_run(0.050);
        if let Some(generation) = &mut run.cell.generation {
            generation.depth = 99_500;
        }
        scene::set_traffic(&mut run, 800e6, 0.050);
        let mut facts = scene::facts(&run);
        facts.cache_choices = Ok(Vec::new());
        assert!(said::missing(&CacheType, &facts).why.contains("nothing narrower"));
        let mut options = EngineOptions::default();
        options.settings.insert("cache".into(), "f16".into());
        facts.cache_choices =
            Ok(vec![CacheChoice { name: "f16".into(), bytes: 2.0, options: options.clone() }]);
        let advice = said::advice(&CacheType, &facts);
        // 800 MB become 500 MB; 16 of 20 GB/s are reached.
        said::is_between(&advice, 1.0 / (0.2 + 0.8 / 1.6), 1.6);
        let change = Change { options: Some(options), ..Change::default() };
        assert_eq!(advice.proof, types::Proof::Change { change });
    }

    #[test]
    fn a_small_cache_is_fine() {
        let run = scene::decoding_run(0.050);
        let fine = said::fine(&CacheType, &scene::facts(&run));
        assert!((fine.value - 6.0 / 206.0).abs() < 1e-9);
        let run = scene::run();
        assert!(said::beside(&CacheType, &scene::facts(&run)).contains("token by token"));
    }
}
