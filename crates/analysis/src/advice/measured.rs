//! What the database knows of a change: runs with it and runs without it. What was measured counts more than any
//! prediction.

use super::{
    facts::{Facts, Missing},
    judgement::{Judgement, WORTH_IT, evidence},
};
use crate::{
    outcome::Unseen,
    scatter::{Scatter, drift_between},
    survey::{alternate, key_of},
};
use number::fixed;
use stats::{quotient, run_deviation};
use types::{
    Advice, Change, Evidence, Goal, Interval, Measured, Pooled, PooledCell, Proof, Run, RunId, Unit,
};

/// More runs of a side are counted, not named.
const NAMED: usize = 2;
/// So many characters of an id tell it from others.
const SHORT: usize = 8;

/// How much better a change made it, in stored runs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MeasuredGain {
    /// Above 1 is better.
    pub(crate) factor: f64,
    /// Where the truth lies, with what stored runs cannot show.
    pub(crate) interval: Interval,
    before: Vec<RunId>,
    after: Vec<RunId>,
    what: Goal,
}

/// What a measured gain says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Surely better.
    Gain,
    /// Surely not better by anything that is worth a change.
    NoGain,
    /// The stored runs do not decide.
    Open,
}

impl MeasuredGain {
    pub(crate) fn standing(&self) -> Standing {
        match self.interval {
            Interval { high, .. } if high < WORTH_IT => Standing::NoGain,
            Interval { low, .. } if low > 1.0 => Standing::Gain,
            _ => Standing::Open,
        }
    }

    /// The number with the runs it comes from.
    pub(crate) fn citation(&self) -> Evidence {
        let what = match self.what {
            Goal::Memory => "memory before ÷ memory with the change",
            _ => "speed with the change ÷ speed before",
        };
        let text = format!(
            "{what}, measured in {} against {}",
            run_ids(&self.after),
            run_ids(&self.before)
        );
        evidence(text, "measured.factor", self.factor, Unit::Ratio)
    }

    /// The same in a sentence.
    fn words(&self) -> String {
        let Interval { low, high } = self.interval;
        format!(
            "it was measured: {} × as good [{}, {}] in {} against {}",
            fixed(self.factor, 2),
            fixed(low, 2),
            fixed(high, 2),
            run_ids(&self.after),
            run_ids(&self.before)
        )
    }
}

fn run_ids(runs: &[RunId]) -> String {
    let short = |run: &RunId| run.0.chars().take(SHORT).collect::<String>();
    let names: Vec<String> = runs.iter().take(NAMED).map(short).collect();
    let more = runs.len().saturating_sub(NAMED);
    match (runs.len(), more) {
        (1, _) => format!("run {}", names.join("")),
        (_, 0) => format!("runs {}", names.join(", ")),
        _ => format!("runs {} and {more} more", names.join(", ")),
    }
}

impl Facts<'_> {
    /// What stored runs of this model on this machine say of a change; `None` if no pair of them tells it.
    pub(crate) fn measured_gain(&self, change: &Change, what: Goal) -> Option<MeasuredGain> {
        let own = Measured::from(self.run);
        let before = self.stored(&own);
        let new = changed(self.run, change);
        let after = self.stored(&Measured::from(&new))?;
        let alone;
        let before = match before {
            Some(before) => before,
            None => {
                alone = one_run(after, &own)?;
                &alone
            }
        };
        if before.key == after.key {
            return None;
        }
        gain_between(before, after, what, samples(&new) / samples(self.run))
    }

    fn stored(&self, row: &Measured) -> Option<&PooledCell> {
        let key = key_of(row);
        self.measured.iter().find(|cell| cell.key == key)
    }
}

/// The run itself where it is not among what is stored: as a cell of one.
fn one_run(like: &PooledCell, own: &Measured) -> Option<PooledCell> {
    let latency = Pooled { value: own.median.filter(|_| own.valid)?, interval: own.interval };
    let memory = own.memory_peak.map(|peak| Pooled { value: peak.0 as f64, interval: None });
    Some(PooledCell {
        key: key_of(own),
        runs: vec![own.id.clone()],
        began: (own.started_at, own.started_at),
        latency,
        memory_spread: types::Reading::or_missing(
            memory,
            types::MissingCode::NotMeasured,
            "the memory was not measured",
        ),
        ..like.clone()
    })
}

/// Samples that one inference or one training step takes in.
fn samples(run: &Run) -> f64 {
    let added = run.cell.training.as_ref().map_or(1, |training| training.accumulation);
    run.cell.batch_size.max(1) as f64 * f64::from(added.max(1))
}

/// How much better it got; `samples` is how many times as many samples an inference or a step has after the change.
fn gain_between(
    before: &PooledCell,
    after: &PooledCell,
    what: Goal,
    samples: f64,
) -> Option<MeasuredGain> {
    let (found, scale) = match what {
        Goal::Latency => (quotient(&before.latency, &after.latency), 1.0),
        Goal::Throughput => (quotient(&before.latency, &after.latency), samples),
        Goal::Memory => {
            let (old, new) = (before.memory_spread.value?, after.memory_spread.value?);
            (quotient(&old, &new), 1.0)
        }
        Goal::Start => return None,
    };
    let factor = found.value * scale;
    let allowed = 1.0 + allowance(before, after, what);
    let ends = found.interval.unwrap_or(Interval { low: found.value, high: found.value });
    let interval = Interval { low: ends.low * scale / allowed, high: ends.high * scale * allowed };
    (factor.is_finite() && factor > 0.0 && interval.low.is_finite() && interval.high.is_finite())
        .then(|| MeasuredGain {
            factor,
            interval,
            before: before.runs.clone(),
            after: after.runs.clone(),
            what,
        })
}

/// What two cells that did not take turns may differ by, whatever was changed.
fn allowance(before: &PooledCell, after: &PooledCell, what: Goal) -> f64 {
    let repeated = before.runs.len() > 1 && after.runs.len() > 1;
    if what == Goal::Memory {
        let unseen = if repeated { Unseen::Nothing } else { Unseen::OtherProcesses };
        return unseen.allowance();
    }
    if repeated && alternate(before, after) {
        return Unseen::Nothing.allowance();
    }
    let scatter = |cell: &PooledCell| {
        let deviation = run_deviation(&cell.latency, cell.runs.len() as u64)?;
        Some(Scatter { runs: cell.runs.len(), deviation })
    };
    let both = scatter(before).zip(scatter(after));
    both.and_then(|(before, after)| drift_between(before, after))
        .unwrap_or_else(|| Unseen::Drift.allowance())
}

/// The run as it would be with the change: only what tells its cell counts.
fn changed(run: &Run, change: &Change) -> Run {
    let mut run =
        Run { samples: Vec::new(), layers: None, memory: None, critical_path: None, ..run.clone() };
    let cell = &mut run.cell;
    cell.batch_size = change.batch_size.unwrap_or(cell.batch_size);
    cell.sequence_length = change.sequence_length.or(cell.sequence_length);
    cell.precision = change.precision.unwrap_or(cell.precision);
    cell.threads = change.threads.unwrap_or(cell.threads);
    if let Some(options) = &change.options {
        cell.options = options.clone();
    }
    if let Some(engine) = &change.engine {
        cell.engine.clone_from(engine);
        run.engine.id.clone_from(engine);
    }
    if let Some(training) = &mut cell.training {
        training.accumulation = change.accumulation.unwrap_or(training.accumulation);
        training.checkpointing = change.checkpointing.unwrap_or(training.checkpointing);
    }
    run
}

/// A prediction beside what was measured: the measurement decides where it can, and narrows the prediction where not.
pub(crate) fn against_measured(facts: &Facts<'_>, said: Judgement) -> Judgement {
    let Judgement::Advice(mut advice) = said else { return said };
    let Proof::Change { change } = &advice.proof else { return Judgement::Advice(advice) };
    let Some(found) = facts.measured_gain(change, advice.gain.what) else {
        return Judgement::Advice(advice);
    };
    match found.standing() {
        Standing::NoGain => Judgement::Fine(found.citation()),
        Standing::Gain => {
            advice.gain.factor = found.interval;
            advice.gain.basis = "measured in stored runs of this machine".into();
            advice.evidence = vec![found.citation()];
            Judgement::Advice(advice)
        }
        Standing::Open if found.factor < WORTH_IT => {
            let command = super::command::comparing(facts, change);
            Judgement::CannotTell(Missing {
                why: format!(
                    "{}; stored runs that were not interleaved do not decide it",
                    found.words()
                ),
                hint: command.map(|command| format!("`{command}` decides")),
            })
        }
        Standing::Open => {
            narrow(&mut advice, &found);
            Judgement::Advice(advice)
        }
    }
}

/// No more than was seen is promised.
fn narrow(advice: &mut Advice, found: &MeasuredGain) {
    let told = advice.gain.factor;
    let both = Interval {
        low: told.low.max(found.interval.low),
        high: told.high.min(found.interval.high),
    };
    advice.gain.factor = if both.low <= both.high { both } else { found.interval };
    advice.evidence.push(found.citation());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::{judge_all, scene};
    use types::Precision;

    /// The cell of the scene's run with a change, measured in this many runs one after the other.
    fn cell(change: &Change, milliseconds: f64, runs: usize) -> PooledCell {
        let row = Measured::from(&changed(&scene::run(), change));
        let value = milliseconds / 1e3;
        let interval = Some(Interval { low: 0.99 * value, high: 1.01 * value });
        scene::pooled(key_of(&row), Pooled { value, interval }, runs)
    }

    fn int8() -> Change {
        Change { precision: Some(Precision::Int8), ..Change::default() }
    }

    #[test]
    fn a_format_that_was_measured_as_slower_is_not_advised() {
        let run = scene::run();
        let mut facts = scene::with_ceiling(scene::facts(&run), Precision::Int8, 600e9);
        assert!(judge_all(&facts).advice.iter().any(|one| one.rule == "quantisation"));
        // 10 ms against 16 ms in the database.
        facts.measured = vec![cell(&Change::default(), 10.0, 1), cell(&int8(), 16.0, 1)];
        let judged = judge_all(&facts);
        assert!(judged.advice.iter().all(|one| one.rule != "quantisation"), "{judged:#?}");
        let fine = judged.fine.iter().find(|one| one.rule == "quantisation").unwrap();
        assert!((fine.evidence.value - 0.625).abs() < 1e-9, "{fine:?}");
        assert!(fine.evidence.text.contains("measured in run "), "{fine:?}");
    }

    #[test]
    fn a_measured_gain_replaces_the_predicted_one() {
        let run = scene::run();
        // The ceilings promise nothing; the runs show a third of the time.
        let mut facts = scene::with_ceiling(scene::facts(&run), Precision::Int8, 200e9);
        facts.measured = vec![cell(&Change::default(), 9.0, 1), cell(&int8(), 3.0, 2)];
        let judged = judge_all(&facts);
        let advice = judged.advice.iter().find(|one| one.rule == "quantisation").unwrap();
        let found = advice.gain.factor;
        assert!(found.low > 2.2 && found.high < 4.0, "3 × give or take 30 %: {found:?}");
        assert!(advice.gain.basis.contains("measured"), "{advice:?}");
        assert!(advice.evidence[0].text.contains("runs "), "{advice:?}");
    }

    #[test]
    fn runs_that_do_not_decide_are_said_with_what_would() {
        let run = scene::run();
        let mut facts = scene::with_ceiling(scene::facts(&run), Precision::Int8, 600e9);
        facts.measured = vec![cell(&Change::default(), 10.0, 1), cell(&int8(), 10.5, 1)];
        let judged = judge_all(&facts);
        let open = judged.not_judged.iter().find(|one| one.rule == "quantisation").unwrap();
        assert!(open.why.contains("0.95 ×") && open.why.contains("run "), "{open:?}");
        assert!(open.hint.as_ref().unwrap().contains("--precisions fp32,int8"), "{open:?}");
    }

    #[test]
    fn threads_are_held_against_what_was_measured_too() {
        let mut run = scene::run();
        run.cell.threads = 1;
        let mut facts = scene::facts(&run);
        facts.cores = Ok(4);
        let more = Change { threads: Some(4), ..Change::default() };
        let key = |change: &Change| key_of(&Measured::from(&changed(&run, change)));
        let exactly = |seconds: f64| Pooled {
            value: seconds,
            interval: Some(Interval { low: seconds, high: seconds }),
        };
        facts.measured = vec![
            scene::pooled(key(&Change::default()), exactly(0.010), 2),
            scene::pooled(key(&more), exactly(0.020), 2),
        ];
        let judged = judge_all(&facts);
        assert!(judged.fine.iter().any(|one| one.rule == "threads"), "{judged:#?}");
    }
}
