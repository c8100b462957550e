//! What was measured of one cell so far, and measuring more of it.

use super::{Gate, GateBaseline};
use crate::{Duel, Error, Profiler, Session, plans::cell_failure, sides::joint_verdict};
use number::scientific;
use std::time::{Duration, Instant};
use types::{
    Agreement, Event, GateCell, Interim, InterimRow, InterimState, Missing, PERCENTILE_FLOORS,
    Reason, Remark, RemarkCode, Run, Seconds, Side,
};

/// What was measured of one cell so far.
pub(super) struct Gathered {
    profiler: Profiler,
    /// The sides of the duel, if there was one: baseline, then this.
    pub(super) sides: Option<(Side, Side)>,
    /// The baseline's processes.
    pub(super) base: Vec<Run>,
    /// This one's processes.
    pub(super) side: Vec<Run>,
    pub(super) missing: Vec<Missing>,
    pub(super) remarks: Vec<Remark>,
    open: bool,
}

impl Gathered {
    pub(super) fn of(profiler: &Profiler) -> Gathered {
        Gathered {
            profiler: profiler.clone(),
            sides: None,
            base: Vec::new(),
            side: Vec::new(),
            missing: Vec::new(),
            remarks: Vec::new(),
            open: true,
        }
    }

    /// Whether more shall be measured.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    pub(super) fn close_unless(&mut self, open: bool) {
        self.open &= open;
    }

    /// What was measured, as it really ran.
    pub(super) fn cell(&self) -> Option<GateCell> {
        self.side.first().map(GateCell::of)
    }

    /// What speaks against the processes, each thing once.
    pub(super) fn reasons(&self) -> Vec<Reason> {
        let runs: Vec<&Run> = self.base.iter().chain(&self.side).collect();
        joint_verdict(&runs).reasons
    }

    /// Measures until there are so many processes per side.
    pub(super) fn grow(
        &mut self,
        gate: &Gate,
        processes: u32,
        session: &mut Session,
        sink: &mut dyn FnMut(Event),
    ) -> Result<(), Error> {
        let more = processes.saturating_sub(self.side.len() as u32);
        let done = match &gate.against {
            GateBaseline::Model(_) | GateBaseline::Program(_) => {
                self.measure_interleaved(gate, more, session, sink)
            }
            _ => self.measure_alone(gate, more, session, sink),
        };
        match done {
            Ok(()) => Ok(()),
            // One cell alone is what was asked for: its error is the answer.
            Err(error) if gate.cells.len() == 1 => Err(error),
            Err(error) => {
                let fails = !matches!(error, Error::Baseline { .. });
                let failure = cell_failure(error)?;
                let code = match fails {
                    true => RemarkCode::NotMeasured,
                    false => RemarkCode::NoValidRun,
                };
                self.give_up(code, failure.why, fails);
                Ok(())
            }
        }
    }

    /// Processes one after the other.
    fn measure_alone(
        &mut self,
        gate: &Gate,
        more: u32,
        session: &mut Session,
        sink: &mut dyn FnMut(Event),
    ) -> Result<(), Error> {
        let mut profiler = self.profiler.clone();
        let rule = &mut profiler.rule;
        rule.min_runs = rule.min_runs.max(needed(gate));
        rule.min_duration = gate.sampling;
        rule.max_duration = rule.max_duration.max(gate.sampling);
        // Scatter between processes decides, not how well one of them is known.
        rule.target_error = 0.05;
        if let Some(timeout) = gate.timeout {
            rule.timeout = timeout;
        }
        let begin = Instant::now();
        for done in 1..=more {
            self.side.push(profiler.profile_in(session, sink)?.run);
            let left = begin.elapsed() / done * (more - done);
            sink(Event::Interim { table: Box::new(self.alone(gate, left)), label: None });
        }
        Ok(())
    }

    /// What is known of processes that were measured one after the other.
    fn alone(&self, gate: &Gate, left: Duration) -> Interim {
        let medians = self.side.iter().filter_map(|run| Some(run.headline()?.median));
        let mut medians: Vec<f64> = medians.collect();
        medians.sort_by(f64::total_cmp);
        let processes = self.side.len() as u32;
        let row = InterimRow {
            label: self.cell().map_or_else(|| self.profiler.model.clone(), |cell| cell.words()),
            processes,
            median: medians.get(medians.len() / 2).map(|median| Seconds(*median)),
            ratio: None,
            interval: None,
            state: InterimState::Open,
        };
        Interim {
            baseline: gate.baseline_name().unwrap_or_default(),
            rows: vec![row],
            processes,
            at_most: gate.processes,
            is_round: true,
            left: Some(left),
            left_at_most: None,
        }
    }

    /// Rounds of a duel with the baseline.
    fn measure_interleaved(
        &mut self,
        gate: &Gate,
        more: u32,
        session: &mut Session,
        sink: &mut dyn FnMut(Event),
    ) -> Result<(), Error> {
        let mut base = self.profiler.clone();
        match &gate.against {
            GateBaseline::Model(model) => base.model.clone_from(model),
            GateBaseline::Program(program) => base = base.program(program),
            _ => {}
        }
        base.tags.clear();
        let mut duel = Duel::new([base, self.profiler.clone()])
            .against_first()
            .every_process()
            .outputs_may_differ()
            .processes(more)
            .after(self.side.len() as u32)
            .turns(gate.turns)
            .turn(gate.turn)
            .least(needed(gate).div_ceil(u64::from(gate.turns.max(1))));
        if let Some((base, side)) = &self.sides {
            duel = duel.part(vec![base.rounds.clone(), side.rounds.clone()]);
        }
        let done = self.side.len() as u32;
        duel = duel.later(gate.processes.saturating_sub(done + more));
        if let Some(timeout) = gate.timeout {
            duel = duel.timeout(timeout);
        }
        let outcome = duel.measure_sides(session, sink)?;
        let mut runs = outcome.runs.into_iter();
        self.base.extend(runs.next().unwrap_or_default());
        self.side.extend(runs.next().unwrap_or_default());
        for parity in outcome.duel.parity.iter().filter(|parity| !parity.holds) {
            let by = parity
                .max_abs()
                .map_or_else(String::new, |by| format!(" (by up to {})", scientific(by)));
            self.remarks.push(match parity.agreement() {
                Agreement::CannotTell => Remark::new(RemarkCode::OutputsNotCompared, format!(
                    "outputs of `{}` and the baseline's cannot be compared: {}",
                    parity.side,
                    parity.outputs.iter().find_map(|o| o.why.as_deref()).unwrap_or("no outputs")
                )),
                _ => Remark::new(RemarkCode::OutputsDiffer, format!(
                    "outputs of `{}` differ from the baseline's{by}: the two sides do not compute the same",
                    parity.side
                )),
            });
        }
        let mut sides = outcome.duel.sides.into_iter();
        if let (Some(base), Some(side)) = (sides.next(), sides.next()) {
            if let Some(why) = &side.info.failed {
                self.give_up(RemarkCode::NotMeasured, why.clone(), true);
            }
            match &mut self.sides {
                Some((known_base, known_side)) => {
                    known_base.rounds.extend(base.rounds);
                    known_side.rounds.extend(side.rounds);
                }
                None => self.sides = Some((base, side)),
            }
        }
        Ok(())
    }

    fn give_up(&mut self, code: RemarkCode, why: String, fails: bool) {
        let what = self.cell().map_or_else(|| self.profiler.model.clone(), |cell| cell.words());
        self.missing.push(Missing { what, code, why, fails });
        self.open = false;
    }
}

/// The samples that the highest percentile asked for needs in each process.
fn needed(gate: &Gate) -> u64 {
    let asked = gate.thresholds.iter().map(|threshold| &threshold.gauge);
    let held = matches!(gate.against, GateBaseline::Nothing);
    let gauges = asked.chain(gate.gauges.iter().filter(|_| !held));
    let names = gauges.filter_map(|gauge| gauge.percentile());
    let floor = |name: &str| PERCENTILE_FLOORS.iter().find(|floor| floor.name == name);
    names.filter_map(|name| Some(floor(name)?.samples)).max().unwrap_or(0)
}
