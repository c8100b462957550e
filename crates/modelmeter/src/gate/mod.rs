//! A gate: measures, asks every question, and looks again while one is not settled.
//!
//! How often it looks is fixed before it begins and paid for: each look has an equal part of the accepted chance of a
//! false alarm. Whatever is not settled is measured further, red or green; nothing is measured again because it failed.

mod baseline;
mod gather;
mod noise;
mod questions;

pub use noise::NoiseTest;

use crate::{Error, Profiler, Session};
use analysis::gate::{Finding, Trial, rule};
use gather::Gathered;
use questions::Asked;
use std::{
    path::PathBuf,
    time::{Duration, Instant},
};
use types::{
    Check, Event, GatePlan, GateReport, Gauge, Missing, Question, Remark, Ruling, Run, Seconds,
    Statistic, Threshold,
};

/// The most processes per side where nobody says otherwise.
const PROCESSES: u32 = 24;
/// Turns of each side in a process: forward and backward, ten times.
const TURNS: u32 = 20;
/// How long a turn lasts at least.
const TURN: Duration = Duration::from_millis(20);
/// How long a process is sampled at least, where nobody takes turns.
const SAMPLING: Duration = Duration::from_secs(1);
/// The chance of a false alarm that is accepted, over all questions and looks.
const CHANCE: f64 = 0.01;
/// Worse by so much is worth an alarm, where nobody says otherwise.
const ALERT: f64 = 0.03;
/// The fewest processes that are looked at: two have no scatter to speak of.
const FEWEST: u32 = 3;

/// What a gate compares its measurements with.
#[derive(Debug, Clone, Default)]
pub enum GateBaseline {
    /// No baseline: only thresholds are checked.
    #[default]
    Nothing,
    /// Another model, or another version of it, measured interleaved with this one.
    Model(String),
    /// Another build of Modelmeter, measured interleaved with this one.
    Program(PathBuf),
    /// Runs that were stored before.
    Stored {
        /// How the user names it: a file, a label, a branch.
        name: String,
        /// The runs.
        runs: Vec<Run>,
    },
}

/// A gate over one cell or many.
#[derive(Debug, Clone)]
pub struct Gate {
    cells: Vec<Profiler>,
    thresholds: Vec<Threshold>,
    gauges: Vec<Gauge>,
    against: GateBaseline,
    alert: Option<f64>,
    usual_alert: f64,
    may_ask_nothing: bool,
    processes: u32,
    turns: u32,
    turn: Duration,
    sampling: Duration,
    timeout: Option<Duration>,
}

impl Gate {
    /// A gate over these measurements.
    #[must_use]
    pub fn new(cells: impl IntoIterator<Item = Profiler>) -> Gate {
        Gate {
            cells: cells.into_iter().collect(),
            thresholds: Vec::new(),
            gauges: vec![Gauge::Latency(Statistic::P50), Gauge::MemoryPeak],
            against: GateBaseline::Nothing,
            alert: None,
            usual_alert: ALERT,
            may_ask_nothing: false,
            processes: PROCESSES,
            turns: TURNS,
            turn: TURN,
            sampling: SAMPLING,
            timeout: None,
        }
    }

    /// Everything must keep this limit.
    #[must_use]
    pub fn threshold(mut self, threshold: Threshold) -> Gate {
        self.thresholds.push(threshold);
        self
    }

    /// Nothing may have got worse than this.
    #[must_use]
    pub fn against(mut self, against: GateBaseline) -> Gate {
        self.against = against;
        self
    }

    /// These numbers are compared with the baseline; the median latency and the peak of memory unless said.
    #[must_use]
    pub fn gauges(mut self, gauges: impl IntoIterator<Item = Gauge>) -> Gate {
        self.gauges = gauges.into_iter().collect();
        self
    }

    /// Worse by less than this share is no alarm; by default 0.03, and on top of it what drift may make where the baseline
    /// was stored before.
    #[must_use]
    pub fn alert(mut self, share: f64) -> Gate {
        self.alert = Some(share);
        self
    }

    /// The alert where none is asked for, 0.03 by default; drift between stored runs comes on top of it.
    #[must_use]
    pub fn usual_alert(mut self, share: f64) -> Gate {
        self.usual_alert = share;
        self
    }

    /// Measures even where there is no question: the runs are the baseline of later gates.
    #[must_use]
    pub fn may_ask_nothing(mut self) -> Gate {
        self.may_ask_nothing = true;
        self
    }

    /// At most so many fresh processes per side, 24 unless said; it looks after a quarter, a half and all of them.
    #[must_use]
    pub fn processes(mut self, processes: u32) -> Gate {
        self.processes = processes;
        self
    }

    /// So many turns of each side in a process.
    #[must_use]
    pub fn turns(mut self, turns: u32) -> Gate {
        self.turns = turns;
        self
    }

    /// A turn lasts at least so long.
    #[must_use]
    pub fn turn(mut self, turn: Duration) -> Gate {
        self.turn = turn;
        self
    }

    /// A process is sampled at least so long, where nobody takes turns.
    #[must_use]
    pub fn sampling(mut self, sampling: Duration) -> Gate {
        self.sampling = sampling;
        self
    }

    /// The longest a worker may stay silent.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Gate {
        self.timeout = Some(timeout);
        self
    }

    /// After how many processes it looks.
    #[must_use]
    pub fn looks(&self) -> Vec<u32> {
        let most = self.processes.max(FEWEST);
        let mut looks: Vec<u32> =
            [most.div_ceil(4), most.div_ceil(2), most].map(|look| look.max(FEWEST)).to_vec();
        looks.dedup();
        looks
    }

    /// Measures and rules, and hands over the runs of what was checked; all runs are remembered where the session has a
    /// database.
    ///
    /// # Errors
    /// When nothing is asked, something is asked wrongly, or the database fails. A cell that cannot be measured is no
    /// error where there are others: it is among what is missing.
    pub fn run(
        &self,
        session: &mut Session,
        sink: &mut dyn FnMut(Event),
    ) -> Result<(GateReport, Vec<Run>), Error> {
        self.check()?;
        let (begin, started_at) = (Instant::now(), clock::now());
        let noise = session.noise()?;
        let looks = self.looks();
        let chance = CHANCE / looks.len() as f64;
        let mut gathered: Vec<Gathered> = self.cells.iter().map(Gathered::of).collect();
        let mut looked = 0;
        let mut asked: Vec<Asked> = Vec::new();
        let mut findings: Vec<Finding> = Vec::new();
        for &processes in &looks {
            for cell in gathered.iter_mut().filter(|cell| cell.is_open()) {
                cell.grow(self, processes, session, sink)?;
            }
            looked += 1;
            asked = gathered
                .iter()
                .enumerate()
                .flat_map(|(place, cell)| self.questions(place, cell, &noise))
                .collect();
            let trials: Vec<Trial> = asked.iter().map(|asked| asked.trial.clone()).collect();
            findings = rule(&trials, chance);
            let table = questions::interim(&asked, &findings, &gathered, self);
            sink(Event::Interim { table: Box::new(table), label: None });
            for (place, cell) in gathered.iter_mut().enumerate() {
                let own = asked.iter().zip(&findings).filter(|(asked, _)| asked.cell == place);
                let open = own.into_iter().any(|(asked, finding)| asked.may_settle(finding));
                cell.close_unless(open);
            }
            if gathered.iter().all(|cell| !cell.is_open()) {
                break;
            }
        }
        let checks = asked
            .into_iter()
            .zip(findings)
            .filter_map(|(asked, finding)| questions::check(asked, finding, &gathered, &looks))
            .collect();
        let runs = gathered.iter().flat_map(|cell| cell.side.clone()).collect();
        let time = (started_at, begin.elapsed());
        Ok((self.report(session, gathered, checks, &looks, looked, time), runs))
    }

    fn report(
        &self,
        session: &Session,
        gathered: Vec<Gathered>,
        checks: Vec<Check>,
        looks: &[u32],
        looked: u32,
        (started_at, elapsed): (i64, Duration),
    ) -> GateReport {
        let first = gathered.iter().find_map(|cell| cell.side.first());
        let environment =
            first.map_or_else(|| session.environment(1), |run| run.environment.clone());
        let baseline_revision = match &self.against {
            GateBaseline::Stored { runs, .. } => {
                runs.first().and_then(|run| run.environment.revision.clone())
            }
            _ => None,
        };
        let interleaved = matches!(self.against, GateBaseline::Model(_) | GateBaseline::Program(_));
        let mut remarks: Vec<Remark> = Vec::new();
        let mut missing: Vec<Missing> = Vec::new();
        for cell in gathered {
            let left_out = self.left_out(&cell);
            for remark in cell.remarks.into_iter().chain(left_out) {
                if !remarks.contains(&remark) {
                    remarks.push(remark);
                }
            }
            missing.extend(cell.missing);
        }
        GateReport {
            started_at,
            elapsed,
            environment,
            plan: GatePlan {
                looks: looks.to_vec(),
                looked,
                turns: if interleaved { self.turns } else { 0 },
                turn: Seconds::from(if interleaved { self.turn } else { self.sampling }),
                chance: CHANCE,
            },
            baseline: self.baseline_name(),
            baseline_revision,
            checks,
            missing,
            remarks,
        }
    }

    fn baseline_name(&self) -> Option<String> {
        match &self.against {
            GateBaseline::Nothing => None,
            GateBaseline::Model(name) => Some(name.clone()),
            GateBaseline::Program(path) => Some(path.display().to_string()),
            GateBaseline::Stored { name, .. } => Some(name.clone()),
        }
    }

    fn check(&self) -> Result<(), Error> {
        let wrong = |text: &str| Err(Error::Rule(text.into()));
        let held = !matches!(self.against, GateBaseline::Nothing);
        if self.cells.is_empty() {
            return wrong("there is nothing to check");
        }
        if self.thresholds.is_empty() && !held && !self.may_ask_nothing {
            let why = "a gate needs a threshold or a baseline";
            let hint = "add `--threshold latency.p95:100ms`, or `--against MODEL`";
            return Err(plan::PlanError::wrong(why, Some(hint.into())).into());
        }
        if held && self.gauges.is_empty() {
            return wrong("no metric is compared with the baseline");
        }
        let is_wrong = |alert: f64| !(alert > 0.0 && alert < 100.0);
        if is_wrong(self.alert.unwrap_or(self.usual_alert)) {
            return wrong("the alert is a share above 0, such as 0.05 for 5 %");
        }
        if self.processes < FEWEST {
            return Err(Error::Rule(format!(
                "a gate needs at least {FEWEST} processes: fewer do not show how processes differ"
            )));
        }
        if self.turns == 0 {
            return wrong("the number of turns must be at least 1");
        }
        Ok(())
    }
}

impl Asked {
    /// Whether measuring further could settle it.
    fn may_settle(&self, finding: &Finding) -> bool {
        let by_more = !matches!(
            self.trial.question,
            Question::Change { design: types::GateDesign::History, .. }
        );
        // While other work goes on, more of the same would tell no more.
        let quiet = self.refused.is_none() && self.busy.is_none();
        finding.ruling == Ruling::CannotTell && by_more && quiet
    }
}
