//! Which questions a cell is asked, and how their answers are told.

use super::{
    Gate, GateBaseline,
    baseline::{here_of, is_alike, is_of_time, no_valid_run, without_unfit},
    gather::Gathered,
};
use analysis::gate::{
    Finding, HISTORY_SESSIONS, NoValue, STORED_DRIFT, Trial, over_limit, paired_changes,
    stored_change, stored_drift, value_of,
};
use analysis::{disturbed_pairs, too_busy};
use types::{
    Check, GateDesign, Gauge, Interim, InterimRow, InterimState, Interval, InvalidRuns, Noise,
    Question, Reason, ReasonCode, Ruling, Run, Seconds, Threshold,
};

/// A question to a cell, with what was measured for it.
pub(super) struct Asked {
    /// The cell's place.
    pub(super) cell: usize,
    pub(super) trial: Trial,
    value: Option<f64>,
    baseline: Option<f64>,
    processes: u64,
    rounds: Vec<f64>,
    /// Why it cannot be answered, whatever is measured.
    pub(super) refused: Option<Refused>,
    /// Why it cannot be answered while the machine does what it does.
    pub(super) busy: Option<String>,
}

/// The questions as they stand after a look.
pub(super) fn interim(
    asked: &[Asked],
    findings: &[Finding],
    gathered: &[Gathered],
    gate: &Gate,
) -> Interim {
    let row = |(asked, finding): (&Asked, &Finding)| {
        let gauge = asked.trial.gauge;
        let is_time = matches!(gauge, Gauge::Latency(_) | Gauge::Load | Gauge::First);
        let cell = gathered[asked.cell].cell().filter(|_| gathered.len() > 1);
        // A question asks how much worse it is; the table says how much faster.
        let change = finding
            .evidence
            .filter(|_| is_time && matches!(asked.trial.question, Question::Change { .. }));
        InterimRow {
            label: match cell {
                Some(cell) => format!("{gauge} of {}", cell.words()),
                None => gauge.to_string(),
            },
            processes: asked.processes as u32,
            median: asked.value.filter(|_| is_time).map(Seconds),
            ratio: change.map(|found| 1.0 / found.estimate),
            interval: change.map(|found| Interval {
                low: 1.0 / found.interval.high,
                high: 1.0 / found.interval.low,
            }),
            state: match finding.ruling {
                Ruling::CannotTell => InterimState::Open,
                ruling => InterimState::Settled { words: ruling.name().into() },
            },
        }
    };
    Interim {
        baseline: gate.baseline_name().unwrap_or_default(),
        rows: asked.iter().zip(findings).map(row).collect(),
        processes: gathered.iter().map(|cell| cell.side.len() as u32).max().unwrap_or(0),
        at_most: gate.processes,
        is_round: true,
        left: None,
        left_at_most: None,
    }
}

impl Gathered {
    /// What is said where other work disturbed most of the turns.
    fn too_busy(&self) -> Option<String> {
        let (base, side) = self.sides.as_ref()?;
        let found = disturbed_pairs(&base.rounds, &side.rounds)?;
        found.is_too_much().then(|| too_busy(&found))
    }
}

impl Gate {
    /// Every question to one cell.
    pub(super) fn questions(&self, place: usize, cell: &Gathered, noise: &[Noise]) -> Vec<Asked> {
        let mut asked: Vec<Asked> = Vec::new();
        asked.extend(self.thresholds.iter().map(|limit| ask_limit(place, cell, *limit)));
        for &gauge in &self.gauges {
            match &self.against {
                GateBaseline::Nothing => {}
                GateBaseline::Stored { runs, .. } => {
                    asked.push(self.ask_stored(place, cell, gauge, runs, noise));
                }
                _ => asked.push(self.ask_change(place, cell, gauge, noise)),
            }
        }
        asked
    }

    fn ask_change(&self, place: usize, cell: &Gathered, gauge: Gauge, noise: &[Noise]) -> Asked {
        let changes = cell.sides.as_ref().map_or_else(Vec::new, |(base, side)| {
            paired_changes(gauge, (base, side), (&cell.base, &cell.side))
        });
        // What interleaving could not tell apart where nothing had changed is no change; memory does not jitter so.
        let floor = noise.first().map_or(0.0, |noise| noise.itself.floor);
        let floor = if gauge == Gauge::MemoryPeak { 0.0 } else { floor };
        let alert = self.alert.unwrap_or(self.usual_alert);
        let question = Question::Change {
            alert,
            effective: alert.max(floor),
            design: GateDesign::Interleaved,
            drift: 0.0,
        };
        let refused = match changes.is_empty() {
            true => refusal(&cell.side, gauge).or_else(|| refusal(&cell.base, gauge)),
            false => None,
        };
        let busy = cell.too_busy().filter(|_| gauge != Gauge::MemoryPeak);
        let evidence = if busy.is_none() { stats::Evidence::of(&changes) } else { None };
        Asked {
            cell: place,
            processes: changes.len() as u64,
            rounds: changes.iter().map(|change| change.exp()).collect(),
            trial: Trial { gauge, question, evidence },
            value: middle(&cell.side, gauge),
            baseline: middle(&cell.base, gauge),
            refused,
            busy,
        }
    }

    fn ask_stored(
        &self,
        place: usize,
        cell: &Gathered,
        gauge: Gauge,
        runs: &[Run],
        noise: &[Noise],
    ) -> Asked {
        let base: Vec<Run> = match cell.side.first() {
            Some(now) => runs.iter().filter(|run| is_alike(run, now)).cloned().collect(),
            None => Vec::new(),
        };
        let of_here = here_of(&base, cell.side.first());
        let (here, unfit) = match is_of_time(gauge) {
            true => without_unfit(&of_here),
            false => (of_here.clone(), InvalidRuns::default()),
        };
        let found = stored_change(gauge, &here, &cell.side);
        let design = found.map_or(GateDesign::Stored, |(_, design)| design);
        let drift = match (design, gauge) {
            (GateDesign::History, _) | (_, Gauge::MemoryPeak) => 0.0,
            _ => seen_drift(noise)
                .or_else(|| stored_drift(gauge, &here, &cell.side))
                .unwrap_or(STORED_DRIFT),
        };
        let refused = if base.is_empty() {
            Some(Refused::Baseline("the baseline has no run of it"))
        } else if of_here.is_empty() {
            Some(Refused::Baseline("the baseline was measured on another machine"))
        } else if here.is_empty() {
            Some(Refused::NotValid(no_valid_run(&unfit)))
        } else if found.is_none() {
            refusal(&cell.side, gauge).or_else(|| refusal(&here, gauge))
        } else {
            None
        };
        // An alert that was asked for is kept, and drift may leave it open; the usual one begins where drift ends.
        let (alert, effective) = match self.alert {
            Some(asked) => (asked, asked),
            // The product below would be off by a rounding, and called a raised alert.
            None if drift == 0.0 => (self.usual_alert, self.usual_alert),
            None => (self.usual_alert, (1.0 + self.usual_alert) * (1.0 + drift) - 1.0),
        };
        let question = Question::Change { alert, effective, design, drift };
        Asked {
            cell: place,
            processes: here.len().min(cell.side.len()) as u64,
            rounds: Vec::new(),
            trial: Trial { gauge, question, evidence: found.map(|(evidence, _)| evidence) },
            value: middle(&cell.side, gauge),
            baseline: middle(&here, gauge),
            refused,
            busy: None,
        }
    }
}

fn ask_limit(place: usize, cell: &Gathered, Threshold { gauge, limit }: Threshold) -> Asked {
    let values: Vec<f64> = cell.side.iter().filter_map(|run| value_of(run, gauge).ok()).collect();
    // A percentile that one process cannot claim is not claimed by the others.
    let refused = refusal(&cell.side, gauge);
    let evidence = if refused.is_none() { over_limit(gauge, &values, limit) } else { None };
    Asked {
        cell: place,
        processes: values.len() as u64,
        rounds: Vec::new(),
        trial: Trial { gauge, question: Question::Limit { limit }, evidence },
        value: middle(&cell.side, gauge),
        baseline: None,
        refused,
        busy: None,
    }
}

/// Why some run has no such value.
fn refusal(runs: &[Run], gauge: Gauge) -> Option<Refused> {
    runs.iter().find_map(|run| value_of(run, gauge).err()).map(Refused::NoValue)
}

/// Why nothing can be said.
#[derive(Debug, Clone)]
pub(super) enum Refused {
    /// The baseline is not fit for it.
    Baseline(&'static str),
    /// No run of the baseline is valid; why.
    NotValid(String),
    /// A run has no value.
    NoValue(NoValue),
}

impl Refused {
    fn words(&self) -> String {
        match self {
            Refused::Baseline(why) => (*why).to_owned(),
            Refused::NotValid(why) => why.clone(),
            Refused::NoValue(why) => why.to_string(),
        }
    }
}

/// The geometric mean of the processes' values.
fn middle(runs: &[Run], gauge: Gauge) -> Option<f64> {
    let logs: Vec<f64> =
        runs.iter().filter_map(|run| Some(value_of(run, gauge).ok()?.ln())).collect();
    (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
}

/// How far this machine was seen to drift between tests on different occasions; `None` if there are too few.
fn seen_drift(noise: &[Noise]) -> Option<f64> {
    let first = noise.first()?;
    let middles: Vec<f64> = noise
        .iter()
        .filter(|test| test.cell == first.cell)
        .filter_map(|test| {
            let logs: Vec<f64> = test.medians.iter().map(|median| median.ln()).collect();
            (!logs.is_empty()).then(|| logs.iter().sum::<f64>() / logs.len() as f64)
        })
        .collect();
    if middles.len() < HISTORY_SESSIONS {
        return None;
    }
    let most = middles.iter().copied().reduce(f64::max)?;
    let least = middles.iter().copied().reduce(f64::min)?;
    Some((most - least).exp_m1())
}

/// The answer as it is told.
pub(super) fn check(
    asked: Asked,
    finding: Finding,
    gathered: &[Gathered],
    looks: &[u32],
) -> Option<Check> {
    let cell = gathered.get(asked.cell)?;
    let reasons = cell.reasons();
    let Finding { mut ruling, evidence, settle } = finding;
    let mut why = asked.refused.as_ref().map(Refused::words).or_else(|| asked.busy.clone());
    if let Some(reason) = reasons.iter().find(|reason| overrules(reason, &asked, ruling)) {
        ruling = Ruling::CannotTell;
        why = Some(reason.text.clone());
    }
    if why.is_none() && ruling == Ruling::CannotTell && evidence.is_none() {
        why = Some("fewer than two processes have a value".into());
    }
    let settle = match (ruling, &why) {
        (Ruling::CannotTell, None) => Some(words_to_settle(&asked, settle, looks)),
        (Ruling::CannotTell, Some(_)) => hint(&asked, &reasons),
        _ => None,
    };
    Some(Check {
        cell: cell.cell()?,
        gauge: asked.trial.gauge,
        question: asked.trial.question,
        value: asked.value,
        baseline: asked.baseline,
        evidence,
        processes: asked.processes,
        rounds: asked.rounds,
        ruling,
        why,
        settle,
        reasons,
        runs: cell.side.iter().map(|run| run.id.clone()).collect(),
    })
}

/// Whether what speaks against the measurements takes a ruling back.
///
/// Where sides take turns, disturbed turns were left out already. Elsewhere a busy machine makes times longer: what holds
/// all the same holds, what fails may be the machine's fault. Memory is not touched by it.
fn overrules(reason: &Reason, asked: &Asked, ruling: Ruling) -> bool {
    let of_the_machine = matches!(
        reason.code,
        ReasonCode::BusyMachine
            | ReasonCode::OtherWorkUnknown
            | ReasonCode::StolenTime
            | ReasonCode::Throttled
            | ReasonCode::DeviceShared
            | ReasonCode::NotWarm
            | ReasonCode::FrequencyScaling
    );
    if !reason.invalidates {
        return false;
    }
    let interleaved =
        matches!(asked.trial.question, Question::Change { design: GateDesign::Interleaved, .. });
    match of_the_machine {
        false => true,
        true => ruling == Ruling::Failed && !interleaved && asked.trial.gauge != Gauge::MemoryPeak,
    }
}

fn words_to_settle(asked: &Asked, settle: Option<u64>, looks: &[u32]) -> String {
    let most = looks.last().copied().unwrap_or(0);
    match (&asked.trial.question, settle) {
        (Question::Change { design: GateDesign::History, .. }, _) => {
            "more sessions of the baseline, or `--against` for an interleaved comparison".into()
        }
        (Question::Change { design: GateDesign::Stored, .. }, _) => {
            "`--against` interleaves both sides; stored runs cannot separate so small a change from drift (docs/CI.md)".into()
        }
        (_, Some(units)) if units > u64::from(most) => {
            format!("about {units} processes would decide it: `--processes {units}`")
        }
        (Question::Limit { .. }, _) => {
            "the value is at the limit: more processes will hardly help".into()
        }
        _ => "the change is at the alert: more processes will hardly help".into(),
    }
}

/// What helps where no number would.
fn hint(asked: &Asked, reasons: &[Reason]) -> Option<String> {
    let of_reason = || reasons.iter().find_map(|reason| reason.hint.clone());
    match &asked.refused {
        Some(Refused::NoValue(NoValue::TooFewSamples(_))) => {
            Some("a longer `--sampling` takes more samples in each process".into())
        }
        Some(Refused::Baseline(_)) => Some("measure the baseline here, or give `--against`".into()),
        Some(Refused::NotValid(_)) => {
            Some("measure the baseline again on a quiet machine, or give `--against`".into())
        }
        _ => of_reason(),
    }
}
