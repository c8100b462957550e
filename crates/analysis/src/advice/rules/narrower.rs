//! What a narrower number format should gain, for the rules about precision and quantisation.

use super::advise;
use crate::advice::{
    Facts, Judgement, Known, Missing,
    judgement::{WORTH_IT, amdahl, change, evidence, gain},
    measured::Standing,
};
use types::{Bound, Bytes, Change, Evidence, ExpectedGain, Goal, Precision, Unit};

/// Memory is only spoken of where it shrinks by more than this: an engine keeps copies that nobody counts here.
const MEMORY_WORTH_IT: f64 = 1.2;

/// Bits of one number.
fn bits(precision: Precision) -> f64 {
    match precision {
        Precision::Fp32 => 32.0,
        Precision::Fp16 | Precision::Bf16 => 16.0,
        Precision::Int8 | Precision::Stored => 8.0,
    }
}

/// The judgement on computing in one of these instead; the one with the largest gain is advised.
pub(super) fn judge(facts: &Facts<'_>, targets: &[Precision], caveat: &str) -> Known<Judgement> {
    let now = facts.run.cell.precision;
    let mut able = Vec::new();
    for target in targets {
        if let Some(engine) = facts.engine_for(*target)? {
            able.push((*target, engine.engine.clone()));
        }
    }
    if able.is_empty() {
        let names: Vec<&str> = targets.iter().map(|target| target.name()).collect();
        let (names, device) = (names.join(" or "), facts.run.cell.device);
        return Ok(Judgement::Beside(format!("no engine here computes in {names} on {device}")));
    }
    let mut best: Option<(Candidate, String)> = None;
    let (mut missing, mut flat) = (None, None);
    for (target, engine) in able {
        let own = engine == facts.run.cell.engine;
        let change = Change {
            precision: Some(target),
            engine: (!own).then(|| engine.clone()),
            ..Change::default()
        };
        // What was measured is not predicted.
        let wanted = if facts.goal == Some(Goal::Memory) { Goal::Memory } else { Goal::Latency };
        let seen = facts.measured_gain(&change, wanted);
        if let Some(found) = seen.as_ref().filter(|found| found.standing() == Standing::NoGain) {
            flat = Some(found.citation());
            continue;
        }
        let seen = seen.filter(|found| found.standing() == Standing::Gain);
        let speed = match &seen {
            Some(found) if wanted == Goal::Latency => Ok(Candidate {
                target,
                gain: gain(
                    wanted,
                    found.interval.low,
                    found.interval.high,
                    "measured in stored runs of this machine",
                ),
                evidence: vec![found.citation()],
                ratio: found.citation(),
            }),
            _ => speed(facts, target),
        };
        // What another engine needs for itself is not known, so memory is spoken of for the run's own only.
        let memory = || memory(facts, target).filter(|_| engine == facts.run.cell.engine);
        let candidate = match (facts.goal, speed) {
            (Some(Goal::Memory), _) => memory(),
            (_, Ok(speed)) if speed.gain.middle() >= WORTH_IT => Some(speed),
            (_, Ok(speed)) => {
                flat = Some(speed.ratio);
                None
            }
            (_, Err(why)) => {
                missing = Some(why);
                memory()
            }
        };
        let better = |one: &Candidate| {
            best.as_ref().is_none_or(|(known, _)| one.gain.middle() > known.gain.middle())
        };
        if let Some(candidate) = candidate.filter(|one| better(one)) {
            best = Some((candidate, engine));
        }
    }
    match (best, flat, missing) {
        (Some((candidate, engine)), ..) => Ok(put(facts, now, candidate, engine, caveat)),
        (None, Some(ratio), _) => Ok(Judgement::Fine(ratio)),
        (None, None, Some(missing)) => Err(missing),
        (None, None, None) => {
            let share =
                facts.weights()? / facts.metric(types::key::MEMORY_PEAK).unwrap_or(f64::INFINITY);
            let text = "share of the weights in the memory";
            Ok(Judgement::Fine(evidence(text, "memory.weights.share", share, Unit::Ratio)))
        }
    }
}

/// What one format would gain.
struct Candidate {
    target: Precision,
    gain: ExpectedGain,
    evidence: Vec<Evidence>,
    /// The number that says how little there is, if there is little.
    ratio: Evidence,
}

fn put(
    facts: &Facts<'_>,
    now: Precision,
    candidate: Candidate,
    engine: String,
    caveat: &str,
) -> Judgement {
    let Candidate { target, gain, evidence, .. } = candidate;
    let own = engine == facts.run.cell.engine;
    let title = if own {
        format!("compute in {target} instead of {now}")
    } else {
        format!("compute in {target} on {engine} instead of {now} on {}", facts.run.cell.engine)
    };
    let proof = change(Change {
        precision: Some(target),
        engine: (!own).then_some(engine),
        ..Change::default()
    });
    advise(title, evidence, gain, proof, Some(caveat))
}

/// The ceilings' ratio, by Amdahl over the share of the time that arithmetic needs: at least what the ceiling itself
/// takes, at most what is compute-bound.
fn speed(facts: &Facts<'_>, target: Precision) -> Known<Candidate> {
    if facts.is_decoding() {
        return less_to_read(facts, target);
    }
    let now = facts.run.cell.precision;
    let ceilings = facts.ceilings.as_ref().map_err(Clone::clone)?;
    let ceiling = |precision: Precision| {
        ceilings.flops_at(precision).map(|ceiling| ceiling.value).ok_or_else(|| {
            Missing::because(format!("this machine's {precision} ceiling was not measured"))
                .with_hint("`modelmeter calibrate` measures it")
        })
    };
    let (old, new) = (ceiling(now)?, ceiling(target)?);
    let reached = facts.metric("compute.ceiling_share").ok_or_else(|| {
        Missing::because(format!("the run's share of the {now} ceiling is not known"))
    })?;
    let bound = compute_bound(facts);
    let factor = new / old;
    let low = amdahl(reached.min(1.0), factor);
    let high = amdahl(bound.unwrap_or(1.0), factor);
    let text = format!("{target} ceiling against the one of {now}");
    let ratio = evidence(text, format!("ceiling.{target}.ratio"), factor, Unit::Ratio);
    let rate = |precision: Precision, value: f64| {
        let text = format!("this machine's ceiling in {precision}");
        evidence(text, format!("ceiling.{precision}"), value, Unit::FlopsPerSecond)
    };
    let mut numbers = vec![rate(now, old), rate(target, new)];
    let text = format!("share of the {now} ceiling that is reached");
    numbers.push(evidence(text, "compute.ceiling_share", reached, Unit::Ratio));
    if let Some(bound) = bound {
        let text = "share of the time that is compute-bound";
        numbers.push(evidence(text, "layers.compute_bound", bound, Unit::Ratio));
    }
    let basis = "ratio of the measured ceilings, over the share of the time that arithmetic takes";
    let gain = gain(Goal::Latency, low, high, basis);
    Ok(Candidate { target, gain, evidence: numbers, ratio })
}

/// A step of writing reads every weight: with fewer bits it reads less. The arithmetic is not what it waits for.
fn less_to_read(facts: &Facts<'_>, target: Precision) -> Known<Candidate> {
    let traffic = facts.step_traffic()?;
    let narrow = traffic.weights * bits(target) / bits(facts.run.cell.precision);
    let (share, ceiling) = facts.bandwidth_share()?;
    let (low, high) = traffic.gain_to(narrow + traffic.cache, share);
    let text = format!("bytes that a step reads now against those in {target}");
    let ratio = evidence(text, format!("step.{target}.ratio"), high, Unit::Ratio);
    let numbers = vec![
        evidence("weights read in a step", "generate.weights", traffic.weights, Unit::Bytes),
        evidence(format!("the same in {target}"), "generate.weights.narrow", narrow, Unit::Bytes),
        evidence("cache read in a step", "generate.cache", traffic.cache, Unit::Bytes),
        evidence(
            "share of the memory's bandwidth that a step reaches",
            "generate.bandwidth.share",
            share,
            Unit::Ratio,
        ),
        evidence("bandwidth of the memory", "ceiling.bandwidth", ceiling, Unit::BytesPerSecond),
    ];
    let basis = "bytes that a step reads, over the share of its time that reading them takes";
    Ok(Candidate { target, gain: gain(Goal::Latency, low, high, basis), evidence: numbers, ratio })
}

/// The share of the time in kinds of layers that arithmetic bounds; `None` without a roofline.
fn compute_bound(facts: &Facts<'_>) -> Option<f64> {
    let kinds = &facts.layers().ok()?.kinds;
    kinds.iter().find(|kind| kind.spent.roofline.is_some())?;
    let bound = kinds
        .iter()
        .filter(|kind| kind.spent.roofline.is_some_and(|place| place.bound == Bound::Compute));
    Some(bound.map(|kind| kind.spent.share.0).sum::<f64>().min(1.0))
}

/// Weights in fewer bits; everything else stays.
fn memory(facts: &Facts<'_>, target: Precision) -> Option<Candidate> {
    let peak = facts.metric(types::key::MEMORY_PEAK)?;
    let weights = facts.weights().ok()?;
    let saved = weights * (1.0 - bits(target) / bits(facts.run.cell.precision));
    let factor = peak / (peak - saved).max(1.0);
    if saved >= peak || factor < MEMORY_WORTH_IT {
        return None;
    }
    let text = "bytes of the weights";
    let weights = evidence(text, "model.size", weights, Unit::Bytes);
    let numbers = vec![
        evidence("largest memory", types::key::MEMORY_PEAK, peak, Unit::Bytes),
        weights.clone(),
    ];
    let basis = "weights in fewer bits; no gain with an engine that keeps copies in full precision";
    let gain =
        ExpectedGain { saved: Some(Bytes(saved as u64)), ..gain(Goal::Memory, 1.0, factor, basis) };
    Some(Candidate { target, gain, evidence: numbers, ratio: weights })
}
