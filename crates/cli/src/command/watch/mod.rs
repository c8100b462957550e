//! `modelmeter watch`: measures a plan on a schedule and tells when a level changes for the worse.

mod alert;
mod channel;
mod schedule;

#[cfg(feature = "serve")]
pub(super) use channel::post;

use crate::{
    Exit, Failure, Sinks,
    arguments::{Global, Watch},
    command::{
        bench::{interruption, live::Live, signals},
        folders, measurement, session, style,
        trend::standings,
    },
    output,
    places::places,
};
use alert::{Alert, Blind, Message, is_told, remember};
use analysis::TrendQuestion;
use modelmeter::{
    CellMeasurer, CellStanding, Control, Event, Folders, PlanFile, PlanReport, PlanRunner,
    Profiler, Resume, Session, Survey, engine_id,
};
use report::clean;
use schedule::{Schedule, moment_in, wait};
use std::{cell::Cell, collections::HashSet, time::Duration};
use types::{RunId, TrendSeries, TrendStanding};

/// A turn is judged over and over: at one false alarm in a thousand looks a watch of months hardly cries wolf (docs/TREND.md).
const LEVEL: f64 = 0.001;

/// Runs of a turn are one point; of two turns never.
const LONGEST_SESSION: Duration = Duration::from_secs(30 * 60);

pub(crate) fn run(arguments: &Watch, global: &Global) -> Result<Exit, Failure> {
    let folders = folders(global)?;
    if !arguments.has_good_webhook() {
        let text = "`--webhook` is not an address: it must begin with `http://` or `https://`";
        return Err(Failure::new(Exit::Wrong, text)
            .hint("`--webhook https://hooks.example.org/services/…`, in quotes"));
    }
    if let Some(path) = &arguments.prometheus {
        output::check_folder(path)?;
    }
    let (runner, base, plan) = planned(arguments, global, &folders)?;
    let watcher =
        Watcher { runner, base, plan, arguments, global, folders, is_blind: Cell::new(false) };
    let control = Control::default();
    signals::watch(&control)?;
    let mut schedule = Schedule::new(arguments.every);
    let mut exit = Exit::Fine;
    for turn in 1.. {
        exit = match watcher.turn(turn, &control) {
            Ok(exit) => exit,
            // What is wrong from the beginning stays wrong; later the database may be back in an hour.
            Err(failure) if turn == 1 => return Err(failure),
            Err(failure) => {
                output::complain(&failure.render(false));
                failure.exit
            }
        };
        if exit == Exit::Failed || exit == Exit::Stopped {
            return Ok(exit);
        }
        if arguments.turns() == Some(turn) {
            break;
        }
        let next = schedule.next();
        if next.skipped > 0 {
            output::complain(&format!(
                "the cycle took {}, longer than the {} between cycles: the next one starts at the next slot\n",
                report::duration(next.took),
                report::duration(arguments.every)
            ));
        }
        watcher
            .talk(&format!("the next cycle starts at {}\n", report::minute(moment_in(next.wait))));
        if !wait(next.wait, &control) {
            return Ok(Exit::Stopped);
        }
    }
    Ok(exit)
}

/// What all turns share.
struct Watcher<'a> {
    runner: PlanRunner,
    base: Profiler,
    plan: String,
    arguments: &'a Watch,
    global: &'a Global,
    folders: Folders,
    /// Whether the turn before could not be judged, so that this is told once.
    is_blind: Cell<bool>,
}

/// What came of holding a turn against the history.
#[derive(Debug, Default)]
struct Judged {
    /// Changes for the worse that are new.
    alerts: usize,
    /// Cells whose newest runs were compared with a history that can tell.
    judged: usize,
    /// Cells that were measured in this turn without a valid run.
    lacking: usize,
    /// Cells whose history is too short, or cannot tell for another reason.
    unsure: usize,
    /// Whether there is no database to judge by.
    is_away: bool,
}

/// What measures the plan, what all its cells have in common, and its name.
fn planned(
    arguments: &Watch,
    global: &Global,
    folders: &Folders,
) -> Result<(PlanRunner, Profiler, String), Failure> {
    let file = PlanFile::read(&arguments.plan)?;
    let mut spec = file.spec(engine_id)?;
    if spec.name.is_empty() {
        spec.name = spec.name_by_content();
    }
    let base = measurement::hub(Profiler::new(""), false).places(places(global));
    let base = base.folders(folders.clone()).as_in(&file);
    let name = spec.name.clone();
    // Cells that failed an hour ago are tried again: the machine may have memory now.
    let runner = PlanRunner::new(spec, &folders.database).resume(Resume::Again).retry_failed(true);
    let runner = match file.repeats {
        Some(repeats) => runner.repeats(repeats),
        None => runner,
    };
    Ok((runner, base, name))
}

impl Watcher<'_> {
    fn turn(&self, turn: u64, control: &Control) -> Result<Exit, Failure> {
        // A new one each time: the checkout may have moved on.
        let mut session = session(&self.folders, false, self.global)?;
        let mut live = Live::new(self.global.quiet, &style(self.global), control);
        let mut hear = |event: Event| live.hear(&event);
        let mut measurer = CellMeasurer::new(&self.base, &mut session);
        let outcome = self.runner.run(&mut measurer, control, &mut hear);
        live.clear();
        let mut sinks = Sinks::new(self.global);
        sinks.hear(&mut session);
        let report = outcome?;
        sinks.attempt(interruption(&report));
        // Where nothing could be measured there is nothing to judge, and perhaps no history at all.
        let judged = match report.count(CellStanding::Measured) {
            0 => Judged::default(),
            _ => self.judge(&session, &report, &mut sinks)?,
        };
        self.talk(&line(turn, &report, &judged));
        self.tell_blind(&report, &judged);
        let failed = report.count(CellStanding::Failed);
        for cell in report.cells.iter().filter(|cell| cell.standing == CellStanding::Failed) {
            let why = clean(cell.why.as_deref().unwrap_or_default());
            output::complain(&format!("warning: {} failed: {why}\n", clean(&cell.task.name())));
        }
        Ok(sinks.finish(if report.stopped {
            Exit::Stopped
        } else if judged.alerts > 0 && self.arguments.exit_on_alert {
            Exit::Failed
        } else if failed > 0 {
            Exit::Cannot
        } else if judged.judged == 0 && !judged.is_away {
            Exit::Untold
        } else {
            Exit::Fine
        }))
    }

    /// Tells once that nothing can be judged because nothing is valid, until something is again.
    fn tell_blind(&self, report: &PlanReport, judged: &Judged) {
        let reasons = report.not_valid();
        let is_blind = judged.judged == 0 && judged.lacking > 0 && judged.unsure == 0;
        if is_blind && !self.is_blind.get() {
            let plan = &self.plan;
            let metric = self.arguments.metric;
            let blind = Blind { plan, metric, cells: judged.lacking, reasons: &reasons };
            let message = Message::from(&blind);
            output::complain(&format!("alert: {}\n", message.text));
            // Whoever did not hear it is told after the next turn.
            self.is_blind.set(channel::tell(&message, self.arguments));
        } else if !is_blind {
            self.is_blind.set(false);
        }
    }

    /// Holds the newest runs against the history, and tells what is new.
    fn judge(
        &self,
        session: &Session,
        report: &PlanReport,
        sinks: &mut Sinks,
    ) -> Result<Judged, Failure> {
        let lacking = report.cells.iter().filter(|cell| cell.lacks_valid_run()).count();
        let Some(store) = session.store() else {
            output::complain(
                "warning: the database is unavailable; the cycle is judged when it is back\n",
            );
            return Ok(Judged { lacking, is_away: true, ..Judged::default() });
        };
        let plan = &self.plan;
        let question = TrendQuestion {
            metric: self.arguments.metric,
            session: LONGEST_SESSION.min(self.arguments.every / 2),
            level: LEVEL,
            ..TrendQuestion::default()
        };
        let survey = Survey {
            tag: Some(plan.clone()),
            machines: vec![session.machine().key.clone()],
            ..Survey::default()
        };
        let found = survey.trend(store, &question)?;
        let standings = standings(&found, self.arguments.alert_ratio);
        if let Some(path) = &self.arguments.prometheus {
            let analysis = survey.analyse(store)?;
            sinks.file(path, || report::prometheus(&analysis, Some((&found, &standings))));
        }
        // What this turn measured and can be believed; a level that stands since last week was judged last week.
        let fresh: HashSet<&RunId> = report.cells.iter().flat_map(|cell| &cell.runs).collect();
        let is_fresh = |series: &TrendSeries| {
            let newest = series.points.last().into_iter().flat_map(|point| &point.runs);
            newest.into_iter().any(|id| fresh.contains(id))
        };
        let mut judged = Judged { lacking, ..Judged::default() };
        for (series, standing) in found.series.iter().zip(&standings) {
            if is_fresh(series) {
                match standing {
                    TrendStanding::CannotTell { .. } => judged.unsure += 1,
                    TrendStanding::Held | TrendStanding::Worse => judged.judged += 1,
                }
            }
            let Some(change) = series.changes.last() else { continue };
            if *standing != TrendStanding::Worse || is_told(store, series, change, found.metric)? {
                continue;
            }
            let alert = Alert { plan, trend: &found, series, change };
            output::complain(&format!("alert: {}\n", alert.text()));
            judged.alerts += 1;
            if channel::tell(&Message::from(&alert), self.arguments) {
                remember(store, series, change, found.metric)?;
            }
        }
        Ok(judged)
    }

    fn talk(&self, text: &str) {
        if !self.global.quiet {
            output::complain(text);
        }
    }
}

/// What came of a turn.
fn line(turn: u64, report: &PlanReport, judged: &Judged) -> String {
    let measured = report.count(CellStanding::Measured);
    let failed = match report.count(CellStanding::Failed) {
        0 => String::new(),
        failed => format!(", {failed} failed"),
    };
    let reasons = report.not_valid();
    let why = match (reasons.is_empty(), judged.unsure) {
        (true, 0) => String::new(),
        (true, _) => ": the history is too short or cannot tell".to_owned(),
        (false, 0) => format!(": {}", report::not_valid(&reasons)),
        (false, _) => format!(": history too short, {}", report::not_valid(&reasons)),
    };
    let changed = match (judged.alerts, judged.judged, judged.lacking + judged.unsure) {
        (0, 0, _) if measured == 0 => "nothing could be judged".to_owned(),
        (0, 0, _) => format!("nothing could be judged{why}"),
        (0, _, 0) => "nothing new is worse".to_owned(),
        (0, some, rest) => format!("nothing new is worse in {some}, {rest} not judged{why}"),
        (1, ..) => "1 alert".to_owned(),
        (many, ..) => format!("{many} alerts"),
    };
    let cells = if measured == 1 { "cell" } else { "cells" };
    let at = report::minute(clock::now());
    format!("{at}  cycle {turn}: {measured} {cells} measured{failed}; {changed}\n")
}
