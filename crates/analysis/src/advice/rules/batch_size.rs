//! Batch size: throughput against latency, from a sweep.

use super::advise;
use crate::advice::{
    Facts, Judgement, Missing, Rule,
    judgement::{WORTH_IT, change, evidence, gain},
};
use types::{Change, Goal, SweepPoint, Unit};

/// A batch within this share of the best throughput is as good and answers sooner.
const NEARLY_BEST: f64 = 0.97;

pub(super) struct BatchSize;

impl Rule for BatchSize {
    fn id(&self) -> &'static str {
        "batch-size"
    }

    fn about(&self) -> &'static str {
        "throughput against latency over a sweep of batch sizes"
    }

    fn has_measured(&self) -> bool {
        true
    }

    fn judge(&self, facts: &Facts<'_>) -> Result<Judgement, Missing> {
        let points = facts.sweep.as_ref().map_err(Clone::clone)?;
        let valid: Vec<&SweepPoint> = points.iter().filter(|point| point.valid).collect();
        let now = facts.run.cell.batch_size;
        let current = valid.iter().find(|point| point.batch_size == now).copied();
        let (Some(current), true) = (current, valid.len() > 1) else {
            return Err(Missing::because(format!(
                "of {} batch sizes only {} gave valid times, and batch {now} is needed",
                points.len(),
                valid.len()
            ))
            .with_hint("measure on a quieter machine, or with a longer `--budget`"));
        };
        Ok(match facts.goal {
            Some(Goal::Latency) => sooner(current, &valid, facts),
            _ => more(current, &valid, facts),
        })
    }
}

/// Time of one sample at either end of the interval.
fn per_sample(point: &SweepPoint) -> (f64, f64) {
    let batch = point.batch_size as f64;
    (point.interval.low / batch, point.interval.high / batch)
}

/// The smallest batch that is nearly the best.
fn more(current: &SweepPoint, valid: &[&SweepPoint], facts: &Facts<'_>) -> Judgement {
    let best = valid.iter().map(|point| point.samples_per_second).fold(0.0, f64::max);
    let target = valid.iter().find(|point| point.samples_per_second >= NEARLY_BEST * best);
    let target = target.copied().unwrap_or(current);
    let factor = target.samples_per_second / current.samples_per_second;
    if target.batch_size == current.batch_size || factor < WORTH_IT {
        let text = format!("{} per second that another batch size would add", facts.things());
        return fine(&text, best, current);
    }
    let (old, new) = (per_sample(current), per_sample(target));
    let (low, high) = (old.0 / new.1, old.1 / new.0);
    if low <= 1.0 {
        return undecided(current, target);
    }
    let basis = format!("time of one {} at both batch sizes, measured in the sweep", facts.thing());
    both(current, target, gain(Goal::Throughput, low, high, basis), facts)
}

/// The smallest batch.
fn sooner(current: &SweepPoint, valid: &[&SweepPoint], facts: &Facts<'_>) -> Judgement {
    let target = valid.iter().min_by(|a, b| a.latency.0.total_cmp(&b.latency.0));
    let target = target.copied().unwrap_or(current);
    if target.batch_size == current.batch_size || current.latency.0 / target.latency.0 < WORTH_IT {
        let faster = current.latency.0 / target.latency.0 - 1.0;
        let text = "time that another batch size would save";
        return Judgement::Fine(evidence(text, "sweep.latency.gain", faster, Unit::Ratio));
    }
    let low = current.interval.low / target.interval.high;
    let high = current.interval.high / target.interval.low;
    if low <= 1.0 {
        return undecided(current, target);
    }
    let basis = format!("time of one {} at both batch sizes, measured in the sweep", facts.unit());
    both(current, target, gain(Goal::Latency, low, high, basis), facts)
}

fn both(
    current: &SweepPoint,
    target: &SweepPoint,
    gain: types::ExpectedGain,
    facts: &Facts<'_>,
) -> Judgement {
    let mut numbers = Vec::new();
    for point in [current, target] {
        let batch = point.batch_size;
        numbers.push(evidence(
            format!("{} per second at batch {batch}", facts.things()),
            format!("sweep.{batch}.throughput"),
            point.samples_per_second,
            Unit::PerSecond,
        ));
    }
    for point in [current, target] {
        let batch = point.batch_size;
        numbers.push(evidence(
            format!("time of one {} at batch {batch}", facts.unit()),
            format!("sweep.{batch}.latency"),
            point.latency.0,
            Unit::Seconds,
        ));
    }
    let caveat = match gain.what {
        _ if facts.is_training() => {
            "another batch size trains differently: check learning rate and loss again"
        }
        Goal::Latency if facts.is_decoding() => "fewer tokens per second of all texts together",
        Goal::Latency => "fewer samples per second",
        _ if facts.is_generating() => {
            "every text waits for the others, and the cache grows with the batch"
        }
        _ => "every sample waits for its whole batch, and for the batch to fill",
    };
    let title = format!("use batch {} instead of {}", target.batch_size, current.batch_size);
    let batch_size = Some(target.batch_size);
    let proof = change(Change { batch_size, ..Change::default() });
    advise(title, numbers, gain, proof, Some(caveat))
}

fn fine(text: &str, best: f64, current: &SweepPoint) -> Judgement {
    let gain = best / current.samples_per_second - 1.0;
    Judgement::Fine(evidence(text, "sweep.throughput.gain", gain, Unit::Ratio))
}

fn undecided(current: &SweepPoint, target: &SweepPoint) -> Judgement {
    let (now, then) = (current.batch_size, target.batch_size);
    Missing::because(format!("the sweep is too noisy to tell batch {then} from batch {now}"))
        .with_hint("measure on a quieter machine, or with a longer `--budget`")
        .into()
}

#[cfg(test)]
mod tests {
    use super::super::said;
    use super::*;
    use crate::advice::scene;
    use types::Proof;

    #[test]
    fn the_smallest_batch_that_is_nearly_the_best_is_advised() {
        let run = scene::run();
        let mut facts = scene::facts(&run);
        // 333, 400, 800, 810 samples per second: 8 is within 3 % of 16.
        facts.sweep = Ok(vec![
            scene::point(1, 3.0),
            scene::point(4, 10.0),
            scene::point(8, 10.0),
            scene::point(16, 16.0 / 0.810),
        ]);
        let advice = said::advice(&BatchSize, &facts);
        assert_eq!(advice.title, "use batch 8 instead of 4");
        // 2.5 ms against 1.25 ms a sample, each known to ± 1 %: 2 × 0.99 / 1.01 and its inverse.
        said::is_between(&advice, 2.0 * 0.99 / 1.01, 2.0 * 1.01 / 0.99);
        assert_eq!(advice.gain.what, Goal::Throughput);
        let change = Change { batch_size: Some(8), ..Change::default() };
        assert_eq!(advice.proof, Proof::Change { change });
    }

    #[test]
    fn whoever_wants_latency_gets_a_smaller_batch() {
        let run = scene::run();
        let mut facts = scene::facts(&run);
        facts.goal = Some(Goal::Latency);
        let advice = said::advice(&BatchSize, &facts);
        assert_eq!(advice.title, "use batch 1 instead of 4");
        said::is_between(&advice, 9.9 / 3.03, 10.1 / 2.97);
    }

    #[test]
    fn a_flat_sweep_is_fine() {
        let run = scene::run();
        // 333, 385, 400, 400 samples per second.
        assert_eq!(said::fine(&BatchSize, &scene::facts(&run)).value, 0.0);
    }

    #[test]
    fn points_that_cannot_be_believed_or_told_apart_decide_nothing() {
        let run = scene::run();
        let mut facts = scene::facts(&run);
        let mut wide = scene::point(8, 10.0);
        wide.interval = types::Interval { low: 0.004, high: 0.030 };
        facts.sweep = Ok(vec![scene::point(4, 10.0), wide]);
        assert!(said::missing(&BatchSize, &facts).why.contains("too noisy"));
        let mut invalid = scene::point(4, 10.0);
        invalid.valid = false;
        facts.sweep = Ok(vec![invalid, scene::point(8, 10.0)]);
        assert!(said::missing(&BatchSize, &facts).why.contains("only 1"));
        facts.sweep = Err(Missing::because("no sweep"));
        assert_eq!(said::missing(&BatchSize, &facts).why, "no sweep");
    }
}
