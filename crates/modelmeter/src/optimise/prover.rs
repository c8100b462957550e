//! Before and after in one duel on each engine, and what may be said of it.

use super::{
    Changed,
    compress::{compressed, files},
    drift,
};
use crate::{
    Duel, Engines, Error, Profiler, Session, duel, forecast::Seen, has_usual_device, prepare,
};
use analysis::proof::{Circumstances, judge_speed};
use engine::Takes;
use graph::Model;
use models::ModelError;
use std::time::{Duration, Instant};
use types::{
    Bytes, ComparisonReport, Event, ModelFacts, Outcome, ProofReport, Remark, RemarkCode, Seconds,
    SpeedProof, Work,
};

/// The most fresh processes per side where nobody says how many: it ends as soon as it is answered.
const AT_MOST: u32 = 6;
/// How long a turn lasts at least.
const TURN: Duration = Duration::from_millis(400);
/// Runs before the turns that are thrown away.
const WARMUP: u64 = 3;

/// How a remark begins where nothing is known of the answers.
pub(super) const UNCOMPARED: &str = "the outputs could not be compared";

/// Lets a model compete with the one it was made from.
#[derive(Debug, Clone)]
pub struct Prover {
    engines: Vec<String>,
    timed: bool,
    processes: Option<u32>,
    turn: Duration,
}

impl Default for Prover {
    fn default() -> Prover {
        Prover { engines: Vec::new(), timed: true, processes: None, turn: TURN }
    }
}

impl Prover {
    /// A proof on every engine that runs graphs here.
    #[must_use]
    pub fn new() -> Prover {
        Prover::default()
    }

    /// On these engines only.
    #[must_use]
    pub fn engines(mut self, engines: impl IntoIterator<Item = String>) -> Prover {
        self.engines = engines.into_iter().collect();
        self
    }

    /// Whether times are taken and answers compared; without, only sizes are told.
    #[must_use]
    pub fn timed(mut self, wanted: bool) -> Prover {
        self.timed = wanted;
        self
    }

    /// Exactly so many fresh processes for each side; without, as many as the answer needs, and no more than 6.
    #[must_use]
    pub fn processes(mut self, processes: u32) -> Prover {
        self.processes = Some(processes);
        self
    }

    /// A turn lasts at least so long.
    #[must_use]
    pub fn turn(mut self, turn: Duration) -> Prover {
        self.turn = turn;
        self
    }

    /// How long a proof on one engine takes at least and at most, as far as one process showed.
    pub(super) fn time(&self, seen: &Seen) -> (Duration, Duration) {
        let ((fewest, most), turns) = match self.processes {
            Some(processes) => ((processes, processes), duel::TURNS),
            None => ((2, AT_MOST), duel::FEW_TURNS),
        };
        let round = seen.process(WARMUP, turns, self.turn) * 2;
        // How far the answers moved is seen in two processes of its own.
        let answers = seen.once() * 2;
        (answers + round * fewest, answers + round * most)
    }

    /// Whether every engine that was asked for is one; worth asking before a model is changed.
    ///
    /// # Errors
    /// Where an engine is unknown.
    pub fn check(&self, among: Engines) -> Result<(), Error> {
        self.engines.iter().try_for_each(|id| among.require(id).map(|_| ()))
    }

    /// Holds the changed model against the one before.
    ///
    /// # Errors
    /// When no engine can run the model before. An engine that cannot run the changed one says so in its place.
    pub fn prove(
        &self,
        model: &Profiler,
        changed: &Changed,
        session: &mut Session,
        sink: &mut dyn FnMut(Event),
    ) -> Result<ProofReport, Error> {
        let (started_at, begin) = (clock::now(), Instant::now());
        let engines = self.engines_of(model)?;
        let mut remarks = changed.remarks.clone();
        remarks.extend(changed.transformers_remark.clone());
        let first = match engines.first() {
            Some(engine) => model.clone().engine(engine.as_str()),
            None => model.clone(),
        };
        let ready = prepare::prepare(&first, sink)?;
        // Not every engine that runs the model before runs the changed one: its sizes are told all the same.
        let graph = Model::read(&changed.onnx).map_err(|source| ModelError::Onnx {
            path: changed.onnx.clone(),
            source: source.into(),
        })?;
        let [packed_before, packed_after] = match self.timed {
            true => compressed([
                files(&ready.resolved().onnx, ready.graph()),
                files(&changed.onnx, &graph),
            ]),
            false => [None, None],
        };
        let facts = |[parameters, nonzeros]: [u64; 2], size, packed, model: &Model, work: Work| {
            ModelFacts {
                parameters,
                nonzeros,
                size,
                compressed: packed,
                flops: work.flops,
                precision: graph::native_precision(model),
            }
        };
        let before =
            facts(changed.before, changed.sizes[0], packed_before, ready.graph(), ready.work());
        let done =
            facts(changed.after, changed.sizes[1], packed_after, &graph, ready.work_of(&graph));
        let work = (before.flops.0 > 0).then(|| done.flops.0 as f64 / before.flops.0 as f64);
        let (mut drifted, mut uncompared, mut speed) = (None, None, Vec::new());
        if self.timed {
            let mut why = None;
            drifted = engines.iter().find_map(|engine| {
                let before = model.clone().engine(engine.as_str());
                let found = drift::drift(&before, &after(&before, changed), sink);
                found.map_err(|error| why.get_or_insert(error.to_string()).clone()).ok()
            });
            if let (None, Some(why)) = (&drifted, why) {
                uncompared = Some(format!("{UNCOMPARED}: {why}"));
            }
            for engine in &engines {
                speed.push(self.duel(model, changed, engine, work, session, sink));
            }
        }
        let unknown = uncompared.clone();
        remarks.extend(unknown.map(|why| Remark::new(RemarkCode::OutputsNotCompared, why)));
        remarks.extend(ready.remarks());
        remarks.dedup();
        Ok(ProofReport {
            started_at,
            elapsed: begin.elapsed(),
            model: changed.model.clone(),
            optimisation: changed.optimisation.clone(),
            folder: Some(changed.folder.clone()),
            changed_in: Seconds(changed.took.as_secs_f64()),
            batch_size: ready.cell.batch_size,
            sequence_length: ready.cell.sequence_length,
            before,
            after: done,
            weights: changed.weights.clone(),
            blocks: changed.blocks.clone(),
            drift: drifted,
            speed,
            uncompared,
            remarks,
        })
    }

    /// The engines to prove it on: those asked for, else all that take graphs and are here.
    fn engines_of(&self, model: &Profiler) -> Result<Vec<String>, Error> {
        if !self.engines.is_empty() {
            let named =
                self.engines.iter().map(|id| Ok(model.engines.require(id)?.id().to_owned()));
            return named.collect();
        }
        let is_here = |engine: &&'static dyn engine::Engine| {
            engine.takes() == Takes::Onnx && has_usual_device(*engine, &model.places)
        };
        Ok(model.engines.iter().filter(is_here).map(|engine| engine.id().to_owned()).collect())
    }

    /// Before and after on one engine; what goes wrong is told in the place of numbers.
    fn duel(
        &self,
        model: &Profiler,
        changed: &Changed,
        engine: &str,
        work: Option<f64>,
        session: &mut Session,
        sink: &mut dyn FnMut(Event),
    ) -> SpeedProof {
        let before = model.clone().engine(engine);
        let after = after(&before, changed);
        let duel = Duel::new([before, after]);
        let duel = match self.processes {
            Some(processes) => duel.processes(processes),
            None => duel.at_most(AT_MOST),
        };
        let outcome = duel
            .turn(self.turn)
            .warmup(WARMUP)
            .timeout(model.rule.timeout)
            .against_first()
            .outputs_may_differ()
            .measure_sides(session, sink);
        let found = outcome.and_then(|mut outcome| {
            // How far the answers moved stands in the proof itself; here it is no reason to refuse the times.
            outcome.duel.parity.iter_mut().for_each(|entry| entry.holds = true);
            let report =
                analysis::compare_duel(&outcome.duel, analysis::Baseline::Side(&outcome.baseline))?;
            Ok((report, outcome.peaks))
        });
        match found {
            Ok((report, peaks)) => spoken(changed, engine, work, &report, &peaks),
            Err(error) => {
                let why = match &error {
                    Error::Baseline { why, .. } => why.clone(),
                    Error::Meter(error) => crate::error::spell(error),
                    other => other.to_string(),
                };
                unmeasured(changed, engine, why)
            }
        }
    }
}

/// The same measurement of the changed model.
pub(super) fn after(before: &Profiler, changed: &Changed) -> Profiler {
    let mut after = before.clone();
    after.changed = Some(changed.onnx.clone());
    after.precision = None;
    after
}

fn spoken(
    changed: &Changed,
    engine: &str,
    work: Option<f64>,
    report: &ComparisonReport,
    peaks: &[Vec<f64>],
) -> SpeedProof {
    let side = |place: usize| report.sides.get(place);
    let peak = |place: usize| {
        let most = peaks.get(place)?.iter().copied().reduce(f64::max)?;
        (most > 0.0).then_some(Bytes(most as u64))
    };
    let comparison = report.comparisons.first();
    let outcome = match (comparison, side(1).and_then(|side| side.info.failed.clone())) {
        (_, Some(why)) => Outcome::Refused { code: RemarkCode::NotMeasured, why },
        (Some(comparison), None) => comparison.outcome.clone(),
        (None, None) => {
            Outcome::Refused { code: RemarkCode::NotMeasured, why: "it was not measured".into() }
        }
    };
    let speed_up = comparison.and_then(|one| one.speed_up.clone());
    let invalid = report.sides.iter().find_map(|side| {
        let first = side.info.verdict.reasons.iter().find(|reason| reason.invalidates)?;
        Some(first.text.clone())
    });
    let seen = Circumstances { work, invalid };
    let judgement = judge_speed(&changed.optimisation, &outcome, speed_up.as_ref(), &seen);
    SpeedProof {
        engine: engine.to_owned(),
        version: side(0).map(|side| side.info.engine.version.clone()).unwrap_or_default(),
        before: side(0).and_then(|side| side.latency.clone()),
        after: side(1).and_then(|side| side.latency.clone()),
        memory_before: peak(0),
        memory_after: peak(1),
        speed_up,
        outcome,
        verdicts: report.sides.iter().map(|side| side.info.verdict.clone()).collect(),
        verdict: judgement.verdict,
        why: judgement.why,
        instead: judgement.instead,
    }
}

fn unmeasured(changed: &Changed, engine: &str, why: String) -> SpeedProof {
    let outcome = Outcome::Refused { code: RemarkCode::NotMeasured, why };
    let judgement = judge_speed(&changed.optimisation, &outcome, None, &Circumstances::default());
    SpeedProof {
        engine: engine.to_owned(),
        version: String::new(),
        before: None,
        after: None,
        memory_before: None,
        memory_after: None,
        speed_up: None,
        outcome,
        verdicts: Vec::new(),
        verdict: judgement.verdict,
        why: judgement.why,
        instead: judgement.instead,
    }
}
