//! A step of writing reads every weight and the whole cache: how near it comes to what the memory can deliver.

use super::advise;
use crate::advice::{
    Facts, Judgement, Missing, Rule,
    judgement::{change, evidence, gain},
    measured::Standing,
};
use number::percent;
use types::{Change, Evidence, Goal, Unit};

/// Above this share of what the machine allows, no engine does much better.
const NEAR: f64 = 0.7;

pub(super) struct DecodeBandwidth;

impl Rule for DecodeBandwidth {
    fn id(&self) -> &'static str {
        "decode-bandwidth"
    }

    fn about(&self) -> &'static str {
        "a step of writing against the bandwidth of the memory"
    }

    fn judge(&self, facts: &Facts<'_>) -> Result<Judgement, Missing> {
        if !facts.is_decoding() {
            return Ok(Judgement::Beside("the run does not write token by token".into()));
        }
        let (share, ceiling) = facts.bandwidth_share()?;
        let traffic = facts.step_traffic()?;
        // Many texts together are bound by arithmetic.
        let arithmetic = arithmetic(facts, traffic.step);
        let reached = share.max(arithmetic.unwrap_or(0.0));
        let mut numbers = vec![
            evidence(
                "share of the memory's bandwidth that a step reaches",
                "generate.bandwidth.share",
                share,
                Unit::Ratio,
            ),
            evidence("weights read in a step", "generate.weights", traffic.weights, Unit::Bytes),
            evidence("cache read in a step", "generate.cache", traffic.cache, Unit::Bytes),
            evidence("bandwidth of the memory", "ceiling.bandwidth", ceiling, Unit::BytesPerSecond),
        ];
        numbers.extend(arithmetic.map(|share| {
            let text = "share of the arithmetic's ceiling that a step reaches";
            evidence(text, "compute.ceiling_share", share, Unit::Ratio)
        }));
        if reached >= NEAR {
            return Ok(Judgement::Fine(numbers.swap_remove(0)));
        }
        match other_engine(facts)? {
            Other::Engine(engine) => Ok(put(engine, reached, numbers)),
            Other::NoBetter(citation) => Ok(Judgement::Fine(citation)),
            Other::None => Err(Missing::because(format!(
                "a step reaches {} of the memory's bandwidth, and no other engine here runs this model",
                percent(share)
            ))
            .with_hint("`modelmeter engines list` shows how to get others")),
        }
    }
}

/// The share of its time that a step would need at the ceiling of the arithmetic.
fn arithmetic(facts: &Facts<'_>, step: f64) -> Option<f64> {
    let ceilings = facts.ceilings.as_ref().ok()?;
    let ceiling = ceilings.flops_at(facts.run.cell.precision)?.value;
    let share = facts.run.work.flops.0 as f64 / ceiling / step;
    (share.is_finite() && share > 0.0).then_some(share)
}

enum Other {
    /// Worth a try.
    Engine(String),
    /// All that are here were measured, and none is faster.
    NoBetter(Evidence),
    None,
}

/// The engine that was measured as the fastest, otherwise the first that was not measured.
fn other_engine(facts: &Facts<'_>) -> Result<Other, Missing> {
    let cell = &facts.run.cell;
    let all = facts.alternatives.as_ref().map_err(Clone::clone)?;
    let able = all
        .iter()
        .filter(|one| one.engine != cell.engine && one.precisions.contains(&cell.precision));
    let (mut best, mut unknown, mut no_better) = (None::<(f64, String)>, None, None);
    for one in able {
        let change = Change { engine: Some(one.engine.clone()), ..Change::default() };
        match facts.measured_gain(&change, Goal::Latency) {
            Some(found) if found.standing() == Standing::NoGain => {
                no_better.get_or_insert_with(|| found.citation());
            }
            Some(found) if found.standing() == Standing::Gain => {
                if best.as_ref().is_none_or(|(factor, _)| found.factor > *factor) {
                    best = Some((found.factor, one.engine.clone()));
                }
            }
            _ => {
                unknown.get_or_insert_with(|| one.engine.clone());
            }
        }
    }
    Ok(match (best, unknown, no_better) {
        (Some((_, engine)), ..) | (None, Some(engine), _) => Other::Engine(engine),
        (None, None, Some(citation)) => Other::NoBetter(citation),
        (None, None, None) => Other::None,
    })
}

fn put(engine: String, reached: f64, numbers: Vec<Evidence>) -> Judgement {
    let title = format!("write on {engine}: a step is far from what the memory can deliver");
    let basis = "at most until the memory's bandwidth, or the arithmetic's ceiling, is reached";
    let gain = gain(Goal::Latency, 1.0, 1.0 / reached, basis);
    let proof = change(Change { engine: Some(engine), ..Change::default() });
    let caveat = "only a trial shows how near another engine comes";
    advise(title, numbers, gain, proof, Some(caveat))
}

#[cfg(test)]
mod tests {
    use super::super::said;
    use super::*;
    use crate::advice::scene;
    use types::Precision;

    #[test]
    fn a_step_far_from_the_bandwidth_is_sent_to_another_engine() {
        // 200 MB of weights and 6 MB of cache in 50 ms are 4.12 GB/s of 20.
        let run = scene::decoding_run(0.050);
        let mut facts = scene::facts(&run);
        assert!(said::missing(&DecodeBandwidth, &facts).why.contains("no other engine"));
        facts.alternatives = Ok(vec![
            scene::engine("rten", &[Precision::Fp32]),
            scene::engine("openvino", &[Precision::Fp32]),
        ]);
        let advice = said::advice(&DecodeBandwidth, &facts);
        said::is_between(&advice, 1.0, 20.0 / 4.12);
        let change = Change { engine: Some("openvino".into()), ..Change::default() };
        assert_eq!(advice.proof, types::Proof::Change { change });
    }

    #[test]
    fn a_step_near_the_bandwidth_is_fine_and_so_is_one_near_the_arithmetic() {
        // 206 MB in 12 ms are 17.2 of 20 GB/s.
        let run = scene::decoding_run(0.012);
        assert!(
            (said::fine(&DecodeBandwidth, &scene::facts(&run)).value - 0.206 / 0.012 / 20.0).abs()
                < 1e-9
        );
        // 8 GFLOP in 50 ms are 160 of 200 GFLOP/s.
        let mut run = scene::decoding_run(0.050);
        run.work.flops = types::Flops(8_000_000_000);
        said::fine(&DecodeBandwidth, &scene::facts(&run));
    }

    #[test]
    fn prompts_and_plain_inferences_are_beside_it() {
        let run = scene::run();
        assert!(said::beside(&DecodeBandwidth, &scene::facts(&run)).contains("token by token"));
    }

    #[test]
    fn without_the_bandwidth_it_is_not_judged() {
        let run = scene::decoding_run(0.050);
        let mut facts = scene::facts(&run);
        if let Ok(ceilings) = &mut facts.ceilings {
            ceilings.bandwidth = None;
        }
        assert!(said::missing(&DecodeBandwidth, &facts).hint.unwrap().contains("calibrate"));
    }
}
