//! One thing compared with itself: what this machine does to measurements.

use crate::{Duel, Error, Profiler, Session};
use analysis::{disturbed_pairs, gate::paired_changes, too_busy};
use stats::Evidence;
use std::time::{Duration, Instant};
use types::{
    Disturbed, Drifted, Event, GateCell, Gauge, Interval, Itself, Noise, Phase, Run, Seconds,
    Stage, Statistic,
};

/// What is run where nobody says otherwise: small enough to start quickly, large enough to use every processor.
const MODEL: &str = "small-transformer";
/// Fresh processes per side where nobody says otherwise.
const PROCESSES: u32 = 12;
/// How long the processors are watched while nothing runs but counting.
const WATCH: Duration = Duration::from_secs(3);
/// The chance with which the interval misses, at both ends together.
const MISS: f64 = 0.01;
/// Medians that lie about so far apart in time are compared, in seconds.
const LAGS: [f64; 5] = [2.0, 10.0, 60.0, 300.0, 1800.0];
/// So many pairs make a percentile.
const PAIRS: usize = 10;

/// A test of this machine's noise.
#[derive(Debug, Clone)]
pub struct NoiseTest {
    profiler: Profiler,
    processes: u32,
    turns: u32,
    turn: Duration,
}

impl Default for NoiseTest {
    fn default() -> NoiseTest {
        let profiler = Profiler::new(MODEL).batch_size(1).sequence_length(64);
        NoiseTest::new(match profiler.engines.embedded() {
            Some(engine) => profiler.engine(engine.id()),
            None => profiler,
        })
    }
}

impl NoiseTest {
    /// A test with this measurement.
    #[must_use]
    pub fn new(profiler: Profiler) -> NoiseTest {
        NoiseTest { profiler, processes: PROCESSES, turns: super::TURNS, turn: super::TURN }
    }

    /// So many fresh processes per side, at least 3.
    #[must_use]
    pub fn processes(mut self, processes: u32) -> NoiseTest {
        self.processes = processes.max(super::FEWEST);
        self
    }

    /// The same test in these folders.
    #[must_use]
    pub fn map(mut self, change: impl FnOnce(Profiler) -> Profiler) -> NoiseTest {
        self.profiler = change(self.profiler);
        self
    }

    /// Measures, and keeps the result where the session has a database.
    ///
    /// # Errors
    /// When the model cannot be run or the database fails.
    pub fn run(&self, session: &mut Session, sink: &mut dyn FnMut(Event)) -> Result<Noise, Error> {
        let (begin, measured_at) = (Instant::now(), clock::now());
        let note = "the idle processors";
        sink(Event::progress(Stage::Calibrate, 0, None, note));
        let jitter = probe::jitter(WATCH);
        let sides = [self.profiler.clone(), self.profiler.clone()];
        let duel = Duel::new(sides)
            .against_first()
            .processes(self.processes)
            .turns(self.turns)
            .turn(self.turn);
        let outcome = duel.measure_sides(session, sink)?;
        let silent = || Error::Rule("the machine could not be compared with itself".into());
        let (Some(base), Some(side)) = (outcome.duel.sides.first(), outcome.duel.sides.get(1))
        else {
            return Err(silent());
        };
        let (base_runs, side_runs) =
            (outcome.runs.first().ok_or_else(silent)?, outcome.runs.get(1).ok_or_else(silent)?);
        if let Some(found) =
            disturbed_pairs(&base.rounds, &side.rounds).filter(Disturbed::is_too_much)
        {
            return Err(Error::TooBusy { why: too_busy(&found) });
        }
        let gauge = Gauge::Latency(Statistic::P50);
        let changes = paired_changes(gauge, (base, side), (base_runs, side_runs));
        let evidence = Evidence::of(&changes).ok_or_else(silent)?;
        let mut runs: Vec<&Run> = base_runs.iter().chain(side_runs).collect();
        runs.sort_by_key(|run| run.started_at);
        let noise = Noise {
            measured_at,
            elapsed: begin.elapsed(),
            cell: GateCell::of(runs.first().ok_or_else(silent)?),
            jitter,
            itself: itself(&evidence),
            medians: runs.iter().filter_map(|run| median(run)).collect(),
            drift: drift(&runs),
        };
        session.keep_noise(&noise);
        Ok(noise)
    }
}

fn itself(evidence: &Evidence) -> Itself {
    let interval = evidence.interval(MISS / 2.0);
    let Interval { low, high } = interval;
    Itself {
        rounds: evidence.units as u64,
        ratio: evidence.ratio(),
        interval,
        scatter: (evidence.error * (evidence.units as f64).sqrt()).exp_m1(),
        // The farther end, whichever side happened to look slower.
        floor: (high - 1.0).max(1.0 / low - 1.0),
    }
}

fn median(run: &Run) -> Option<f64> {
    run.summaries.get(&Phase::Inference).map(|summary| summary.median)
}

/// How far medians lie apart that were taken about so long after each other.
fn drift(runs: &[&Run]) -> Vec<Drifted> {
    let points: Vec<(f64, f64)> = runs
        .iter()
        .filter_map(|run| Some((run.started_at as f64 / 1e6, median(run)?.ln())))
        .collect();
    let at = |lag: f64| {
        let mut distances: Vec<f64> = Vec::new();
        for (place, (time, log)) in points.iter().enumerate() {
            for (later, other) in &points[place + 1..] {
                let apart = later - time;
                if apart >= lag / 1.5 && apart < lag * 1.5 {
                    distances.push((log - other).abs());
                }
            }
        }
        distances.sort_by(f64::total_cmp);
        let high = distances.get(distances.len() * 95 / 100)?;
        (distances.len() >= PAIRS).then(|| Drifted { apart: Seconds(lag), share: high.exp_m1() })
    };
    LAGS.into_iter().filter_map(at).collect()
}
