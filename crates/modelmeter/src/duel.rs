//! Lets measurements compete side by side: parity first, then turns, then what may be said of it.

use crate::{
    Error, Profiler, Session, first_divergence,
    interim::{DuelWatch, Opened},
    layers,
    parity::{self, has_same_rows, hold_against, join_gradients},
    prepare,
    prepare::Prepared,
    scratch::{Scratch, output_bytes},
    sides::{assemble, labels},
};
use analysis::Baseline;
use meter::{Bench, Contender, Depth, DuelRule, Record};
use stats::Looks;
use std::{
    cell::RefCell,
    time::{Duration, Instant},
};
use types::{
    Agreement, Cell, ComparisonReport, Device, DuelLooks, Event, HostTensor, LayerJoin, Mode,
    ModelInfo, Parity, Precision, Remark, RemarkCode, Run, StoppingRule, Turn, Warmup,
};

/// The most processes a side where nobody says how many: it ends as soon as its questions are answered.
const AT_MOST: u32 = 8;
/// Turns of each side in a process of such a duel: processes differ by more than turns do, so that more processes tell
/// more than more turns.
pub(crate) const FEW_TURNS: u32 = 2;
/// Processes a side where samples were asked for and nobody says how many processes share them.
const ROUNDS: u32 = 5;
/// Turns of each side in a process where the number of processes is fixed.
pub(crate) const TURNS: u32 = 4;
/// How long a turn lasts at least.
const TURN: Duration = Duration::from_millis(500);
/// Samples in a turn at least: a median needs three.
const LEAST: u64 = 3;
/// Of so many sweeps one may be taken again because other work disturbed it: a busy machine costs half as much time again.
const REPEATED: u32 = 2;

/// Measurements that compete side by side.
///
/// Each side is a [`Profiler`]; the first comparison anybody wants is one model on several engines.
#[derive(Debug, Clone)]
pub struct Duel {
    sides: Vec<Profiler>,
    baseline: Option<String>,
    rule: DuelRule,
    /// How many processes, or how many at most if it ends when it is answered.
    processes: Processes,
    turns: Option<u32>,
    by_layer: bool,
    leave_out_unfit: bool,
    per_sample: bool,
    against_first: bool,
    outputs_may_differ: bool,
    every_process: bool,
    /// Where each side's rows begin in the baseline's.
    rows: Vec<usize>,
    /// So many samples of each side in all.
    samples: Option<u64>,
    /// Rounds of an earlier part of the same comparison, side by side, and how many may follow in a later one.
    parts: (Vec<Vec<Vec<Turn>>>, u32),
}

/// How many fresh processes each side has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Processes {
    /// So many, whatever they say.
    Exactly(u32),
    /// As many as the answers need, and no more than this.
    AtMost(u32),
}

/// A duel as it was outcome, before anything is said of it.
pub(crate) struct DuelOutcome {
    pub(crate) duel: types::Duel,
    pub(crate) baseline: String,
    pub(crate) layers: Option<LayerJoin>,
    /// The largest memory of every process, side by side.
    pub(crate) peaks: Vec<Vec<f64>>,
    /// Every process as a run, side by side.
    pub(crate) runs: Vec<Vec<Run>>,
}

impl Duel {
    /// A duel between these.
    #[must_use]
    pub fn new(sides: impl IntoIterator<Item = Profiler>) -> Duel {
        let rule = DuelRule {
            rounds: ROUNDS,
            first: 0,
            turns: TURNS,
            turn: TURN,
            least: LEAST,
            most: u64::MAX,
            samples: None,
            repeats: None,
            joins_turns: false,
            stopping: StoppingRule::default(),
            show: Depth::Outputs,
        };
        Duel {
            sides: sides.into_iter().collect(),
            baseline: None,
            rule,
            processes: Processes::AtMost(AT_MOST),
            turns: None,
            by_layer: false,
            leave_out_unfit: false,
            per_sample: false,
            against_first: false,
            outputs_may_differ: false,
            every_process: false,
            rows: Vec::new(),
            samples: None,
            parts: (Vec::new(), 0),
        }
    }

    /// Compares the others with the side that has this word in its label; by default the engine that is the
    /// [reference](crate::Engines::reference), else the first side.
    #[must_use]
    pub fn baseline(mut self, word: impl Into<String>) -> Duel {
        self.baseline = Some(word.into());
        self
    }

    /// Exactly so many fresh processes for each side; without, it ends as soon as every question is answered.
    #[must_use]
    pub fn processes(mut self, processes: u32) -> Duel {
        self.processes = Processes::Exactly(processes);
        self
    }

    /// As many fresh processes for each side as the answers need, and no more than this; 8 unless said.
    #[must_use]
    pub fn at_most(mut self, processes: u32) -> Duel {
        self.processes = Processes::AtMost(processes);
        self
    }

    /// So many turns of each side in a process; 2, or 4 if the number of processes is fixed.
    #[must_use]
    pub fn turns(mut self, turns: u32) -> Duel {
        self.turns = Some(turns);
        self
    }

    /// A turn lasts at least so long.
    #[must_use]
    pub fn turn(mut self, turn: Duration) -> Duel {
        self.rule.turn = turn;
        self
    }

    /// Takes exactly so many samples of each side in all, spread evenly over its turns; at least one in each process.
    #[must_use]
    pub fn runs(mut self, runs: u64) -> Duel {
        self.samples = Some(runs);
        self
    }

    /// Warms up for exactly so many runs instead of until it settles.
    #[must_use]
    pub fn warmup(mut self, runs: u64) -> Duel {
        self.rule.stopping.warmup = Warmup::Runs { count: runs };
        self
    }

    /// The longest a worker may stay silent.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Duel {
        self.rule.stopping.timeout = timeout;
        self
    }

    /// Also tells where the time goes, layer by layer, in a pass of its own after the timing.
    #[must_use]
    pub fn by_layer(mut self, wanted: bool) -> Duel {
        self.by_layer = wanted;
        self
    }

    /// Says that sides were not chosen by anyone: where too few can take part, all that cannot are named.
    ///
    /// A side whose engine cannot run the model is left out and named in a remark in any case, as long as two others can.
    #[must_use]
    pub fn leave_out_unfit(mut self, wanted: bool) -> Duel {
        self.leave_out_unfit = wanted;
        self
    }

    /// Compares times of one sample instead of one inference, so that sides may have different batch sizes.
    #[must_use]
    pub fn per_sample(mut self, wanted: bool) -> Duel {
        self.per_sample = wanted;
        self
    }

    /// Holds the others against the first side, whatever it is called.
    pub(crate) fn against_first(mut self) -> Duel {
        self.against_first = true;
        self
    }

    /// Times sides whose outputs differ as well: for two versions of a model, which are not meant to be the
    /// same. What differs is still found.
    pub(crate) fn outputs_may_differ(mut self) -> Duel {
        self.outputs_may_differ = true;
        self
    }

    /// Stores every process as a run of its own, because each is named; otherwise those that have too few samples alone are
    /// one run.
    pub(crate) fn every_process(mut self) -> Duel {
        self.every_process = true;
        self
    }

    /// Goes on after so many rounds that were outcome before.
    pub(crate) fn after(mut self, rounds: u32) -> Duel {
        self.rule.first = rounds;
        self
    }

    /// Says which rounds there were before, side by side; only for what is told meanwhile.
    pub(crate) fn part(mut self, earlier: Vec<Vec<Vec<Turn>>>) -> Duel {
        self.parts.0 = earlier;
        self
    }

    /// Says how many rounds may follow in a later part; only for what is told meanwhile.
    pub(crate) fn later(mut self, rounds: u32) -> Duel {
        self.parts.1 = rounds;
        self
    }

    /// A turn has at least so many samples.
    pub(crate) fn least(mut self, samples: u64) -> Duel {
        self.rule.least = self.rule.least.max(samples);
        self
    }

    /// Says where each side's rows begin in the first one's, where a side runs a part of its batch.
    pub(crate) fn rows(mut self, rows: Vec<usize>) -> Duel {
        self.rows = rows;
        self
    }

    /// Fights it and remembers the runs where the session has a database; `sink` hears what goes on.
    ///
    /// # Errors
    /// When fewer than two sides could be prepared, or the baseline dropped out.
    pub fn measure(
        &self,
        session: &mut Session,
        sink: &mut dyn FnMut(Event),
    ) -> Result<ComparisonReport, Error> {
        let outcome = self.measure_sides(session, sink)?;
        let mut report = analysis::compare_duel(&outcome.duel, Baseline::Side(&outcome.baseline))?;
        report.layers = outcome.layers;
        Ok(report)
    }

    /// Fights it; what it says is for the caller.
    pub(crate) fn measure_sides(
        &self,
        session: &mut Session,
        sink: &mut dyn FnMut(Event),
    ) -> Result<DuelOutcome, Error> {
        self.check()?;
        let begin = Instant::now();
        let started_at = clock::now();
        let (sides, prepared, left_out) = self.prepare(sink)?;
        // Outputs are compared first: weights that rotted on the disk would look like another engine's mistake.
        for ready in &prepared {
            models::verify_prepared(&ready.resolved().onnx)?;
        }
        let labels = labels(&prepared);
        let mut baseline = self.pick_baseline(&labels)?;
        let opened = RefCell::new(Opened { baseline, refused: Vec::new() });
        // Where nobody chose the baseline, one that drops out gives its place to the next.
        let may_move = self.baseline.is_none() && !self.against_first;
        let launches = sides
            .iter()
            .zip(&prepared)
            .map(|(side, ready)| side.launch(ready))
            .collect::<Result<Vec<_>, Error>>()?;
        let benches = benches(&prepared, session, sink)?;
        // Of one side after the other.
        let needed = prepared.iter().map(output_bytes).max().unwrap_or(0);
        let folder = Scratch::make("the outputs", needed)?;

        let refines: Vec<_> = prepared
            .iter()
            .map(|ready| move |seen: &[(String, Vec<usize>)]| ready.count_again(seen))
            .collect();
        let jobs: Vec<_> =
            prepared.iter().zip(&refines).map(|(ready, refine)| || ready.job(refine)).collect();
        let contenders: Vec<Contender<'_>> = labels
            .iter()
            .zip(&jobs)
            .zip(&launches)
            .zip(benches)
            .map(|(((label, job), launch), bench)| Contender {
                label: label.clone(),
                job,
                launch: launch.clone(),
                bench,
            })
            .collect();

        let seed = prepared[baseline].cell.seed;
        let mut parity = Vec::new();
        let mut gate = |outputs: &[Option<Vec<HostTensor>>]| {
            let joined: Vec<Option<Vec<HostTensor>>>;
            let outputs = match what_to_show(&prepared) {
                Depth::Gradients => {
                    joined = join_gradients(outputs);
                    &joined
                }
                _ => outputs,
            };
            if may_move && outputs[baseline].is_none() {
                baseline = outputs.iter().position(Option::is_some).unwrap_or(baseline);
            }
            let all = parity::Sides {
                profilers: &sides,
                prepared: &prepared,
                labels: &labels,
                launches: &launches,
                baseline,
                rows: &self.rows,
                timeout: self.rule.stopping.timeout,
                folder: folder.path(),
            };
            parity = hold_against(&all, outputs);
            let fails = |label: &String| parity.iter().any(|p| !p.holds && p.side == *label);
            let is_timed = |(label, ready): (&String, &Prepared)| {
                // Another model has other outputs and a time of its own; no speed-up is claimed of it.
                let is_other = is_other_model(ready.model_info(), prepared[baseline].model_info());
                self.outputs_may_differ || is_other || !fails(label)
            };
            let is_refused = |label: &String| fails(label) && !self.outputs_may_differ;
            let why = |label| is_refused(label).then(|| "its outputs differ".to_owned());
            let refused = labels.iter().map(why).collect();
            *opened.borrow_mut() = Opened { baseline, refused };
            labels.iter().zip(&prepared).map(is_timed).collect()
        };
        let looks = self.looks(session)?;
        let rule = DuelRule { show: what_to_show(&prepared), ..self.timed_rule() };
        let watching = DuelWatch {
            labels: &labels,
            opened: &opened,
            looks: looks.map(|looks| Looks::new(looks.at_most, looks.scatter)),
            rounds: rule.rounds,
            sweeps: rule.turns,
            earlier: &self.parts.0,
            later: self.parts.1,
            seed,
            begin: Instant::now(),
            told: std::cell::Cell::new(None),
        };
        let mut watch =
            |so_far: &meter::SoFar, sink: &mut dyn FnMut(Event)| watching.see(so_far, sink);
        let mut records =
            meter::duel(&contenders, &rule, folder.path(), &mut gate, &mut watch, sink);
        // Kept before anything else can fail: what is finished of one side is not lost with another.
        let mut runs: Vec<Vec<Run>> = Vec::new();
        for (side, record) in sides.iter().zip(&mut records) {
            if self.every_process {
                record.runs = record.bouts.iter().map(|bout| bout.run.clone()).collect();
            }
            for run in &mut record.runs {
                run.tags.clone_from(&side.tags);
                session.recheck_ceiling(run, sink);
                session.remember(run);
                sink(Event::CellFinished { run: Box::new(run.clone()) });
            }
            let mut own: Vec<Run> = record.bouts.iter().map(|bout| bout.run.clone()).collect();
            own.iter_mut().for_each(|run| run.tags.clone_from(&side.tags));
            runs.push(own);
        }
        if may_move && records[baseline].failed.is_some() {
            let stands = |record: &Record| record.failed.is_none() && !record.bouts.is_empty();
            baseline = records.iter().position(stands).unwrap_or(baseline);
        }
        if let Some(error) = records[baseline].failed.as_ref() {
            let others = labels.iter().zip(&records).enumerate().filter(|(at, _)| *at != baseline);
            let failed = others.filter_map(|(_, (label, record))| {
                Some((label.clone(), crate::error::spell(record.failed.as_ref()?)))
            });
            return Err(Error::Baseline {
                label: labels[baseline].clone(),
                why: crate::error::spell(error),
                other_failures: failed.collect(),
                hint: error.hint(),
            });
        }
        let broken = |entry: &&mut Parity| {
            entry.agreement() == Agreement::Different && !self.outputs_may_differ
        };
        for entry in parity.iter_mut().filter(broken) {
            let place = labels.iter().position(|label| *label == entry.side).unwrap_or(baseline);
            let pair = [baseline, place].map(|p| (&prepared[p], &launches[p]));
            let trains = pair.iter().any(|(ready, _)| ready.cell.mode == Mode::Training);
            if trains || !has_same_rows(&pair[0].0.cell, &pair[1].0.cell) {
                continue;
            }
            entry.first_difference =
                first_divergence::find(pair, self.rule.stopping.timeout, folder.path());
        }
        let mut remarks = left_out;
        let layers = match self.by_layer.then(|| self.layers(&contenders, &records, sink)) {
            Some(Ok(join)) => {
                Some(LayerJoin { pooling: crate::inside::pooling(&prepared[baseline]), ..join })
            }
            // The comparison stands: only where its time goes is not known.
            Some(Err(error)) => {
                remarks.push(Remark::new(
                    RemarkCode::NoLayerTimes,
                    format!("no times by layer: {error}"),
                ));
                None
            }
            None => None,
        };
        let timed = records[baseline].bouts.first().map(|bout| bout.run.environment.clone());
        let environment =
            timed.unwrap_or_else(|| session.environment(prepared[baseline].cell.threads));
        let time = (started_at, begin.elapsed());
        let peaks = records.iter().map(peaks).collect();
        let mut duel = assemble(&prepared, &labels, baseline, records, parity, environment, time);
        duel.remarks.extend(remarks);
        duel.looks = looks;
        if self.per_sample {
            share_out(&mut duel, &prepared);
        }
        Ok(DuelOutcome { duel, baseline: labels[baseline].clone(), layers, peaks, runs })
    }

    /// The sides that can take part, ready, and a remark for each that cannot.
    fn prepare(&self, sink: &mut dyn FnMut(Event)) -> Result<Ready<'_>, Error> {
        let (mut sides, mut prepared, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
        let mut first_error = None;
        for side in &self.sides {
            match prepare::prepare(side, sink) {
                Ok(ready) => {
                    sides.push(side);
                    prepared.push(ready);
                }
                Err(error) if is_unfit(&error) => {
                    let text = format!("left out: {error}");
                    left_out.push(Remark::new(RemarkCode::SideLeftOut, text));
                    first_error.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        if sides.len() < 2 {
            // Who named the sides wants to know what is wrong with one of them.
            if let Some(error) = first_error.filter(|_| !self.leave_out_unfit) {
                return Err(error);
            }
            let texts: Vec<&str> = left_out.iter().map(|one| one.text.as_str()).collect();
            let why = texts.join("; ");
            return Err(Error::Rule(format!("fewer than two sides can be measured; {why}")));
        }
        Ok((sides, prepared, left_out))
    }

    fn check(&self) -> Result<(), Error> {
        let wrong = |text: &str| Err(Error::Rule(text.into()));
        if self.sides.len() < 2 {
            return wrong("a comparison needs at least two sides");
        }
        let rule = self.timed_rule();
        if rule.rounds == 0 || rule.turns == 0 || self.samples == Some(0) {
            return wrong("processes, turns and runs must be at least 1");
        }
        if self.rule.stopping.timeout.is_zero() {
            return wrong("the timeout must be longer than 0");
        }
        self.sides.iter().try_for_each(Profiler::check_rule)
    }

    /// The rule with its rounds and turns.
    fn timed_rule(&self) -> DuelRule {
        // Samples that were asked for are shared out among a number of processes that is known.
        let rounds = match (self.processes, self.samples) {
            (Processes::Exactly(rounds), _) => rounds,
            (Processes::AtMost(_), Some(_)) => ROUNDS,
            (Processes::AtMost(most), None) => most,
        };
        let usual = if self.ends_early() { FEW_TURNS } else { TURNS };
        let turns = self.turns.unwrap_or(usual);
        let repeats = Some(rounds.saturating_mul(turns).div_ceil(REPEATED));
        let joins_turns = self.ends_early();
        let rule = DuelRule { rounds, turns, repeats, joins_turns, ..self.rule };
        self.samples.map_or(rule, |samples| rule.with_samples(samples))
    }

    fn ends_early(&self) -> bool {
        matches!((self.processes, self.samples), (Processes::AtMost(2..), None))
    }

    /// When it looks, where it ends as soon as it is answered; a machine that was seen to scatter more needs more.
    fn looks(&self, session: &Session) -> Result<Option<DuelLooks>, Error> {
        let (Processes::AtMost(at_most), true) = (self.processes, self.ends_early()) else {
            return Ok(None);
        };
        let tests = session.noise()?;
        let latest = tests.iter().max_by_key(|test| test.measured_at);
        let scatter = latest.map(|test| test.itself.scatter.ln_1p());
        let scatter = scatter.filter(|scatter| *scatter > stats::PROCESS_SCATTER);
        Ok(Some(DuelLooks { at_most, scatter }))
    }

    fn pick_baseline(&self, labels: &[String]) -> Result<usize, Error> {
        let has = |word: &str| {
            let exact = labels.iter().position(|label| label == word);
            exact.or_else(|| labels.iter().position(|l| l.split(' ').any(|part| part == word)))
        };
        match &self.baseline {
            _ if self.against_first => Ok(0),
            Some(word) => has(word).ok_or_else(|| Error::UnknownBaseline {
                word: word.clone(),
                known: labels.to_vec(),
            }),
            None => {
                let engines = self.sides.first().map(|side| side.engines).unwrap_or_default();
                Ok(engines.reference().and_then(|engine| has(engine.id())).unwrap_or(0))
            }
        }
    }

    /// Where the time goes on every side that finished.
    fn layers(
        &self,
        contenders: &[Contender<'_>],
        records: &[Record],
        sink: &mut dyn FnMut(Event),
    ) -> Result<LayerJoin, Error> {
        let mut profiles = Vec::new();
        for (contender, record) in contenders.iter().zip(records) {
            if record.bouts.is_empty() {
                continue;
            }
            let (job, launch) = ((contender.job)(), &contender.launch);
            let timeout = self.rule.stopping.timeout;
            profiles.push(layers::of(&contender.label, &job, launch, timeout, sink)?);
        }
        Ok(analysis::join_layers(&profiles))
    }
}

/// What is compared with each other: gradients where all take the same training step, outputs elsewhere.
fn what_to_show(prepared: &[Prepared]) -> Depth {
    let first = &prepared[0].cell;
    let alike =
        |ready: &Prepared| ready.cell.mode == Mode::Training && has_same_rows(&ready.cell, first);
    if prepared.iter().all(alike) { Depth::Gradients } else { Depth::Outputs }
}

/// The largest memory of each process.
fn peaks(record: &Record) -> Vec<f64> {
    record.bouts.iter().filter_map(|bout| bout.run.metric("memory.peak")?.value).collect()
}

/// Makes times of inferences into times of samples.
fn share_out(duel: &mut types::Duel, prepared: &[Prepared]) {
    for (side, ready) in duel.sides.iter_mut().zip(prepared) {
        let added = ready.cell.training.as_ref().map_or(1, |training| training.accumulation);
        let batch = ready.cell.batch_size.max(1) as u64 * u64::from(added.max(1));
        for turn in side.rounds.iter_mut().flatten() {
            turn.samples.iter_mut().for_each(|nanos| *nanos = (*nanos / batch).max(1));
        }
    }
    duel.remarks
        .push(Remark::new(RemarkCode::PerSample, "times are per sample: inference ÷ batch size"));
}

/// Whether two models are different ones, and not two states of one.
fn is_other_model(one: &ModelInfo, other: &ModelInfo) -> bool {
    one.architecture != other.architecture || one.parameters != other.parameters
}

type Ready<'s> = (Vec<&'s Profiler>, Vec<Prepared>, Vec<Remark>);

/// Whether a side's engine cannot run what was asked, as opposed to something being wrong with what was asked.
fn is_unfit(error: &Error) -> bool {
    matches!(error, Error::NotForEngine { .. } | Error::NoEngine { .. })
}

/// What is known of the machine for every side: a ceiling belongs to a device, a precision and a number of threads.
fn benches(
    prepared: &[Prepared],
    session: &mut Session,
    sink: &mut dyn FnMut(Event),
) -> Result<Vec<Bench>, Error> {
    let mut known: Vec<((Device, Precision, u32), Bench)> = Vec::new();
    let mut benches = Vec::new();
    for ready in prepared {
        let Cell { device, precision, threads, .. } = ready.cell;
        let key = (device, precision, threads);
        if !known.iter().any(|(known, _)| *known == key) {
            known.push((key, session.bench(&ready.cell, sink)?));
        }
        benches.extend(known.iter().find(|(known, _)| *known == key).map(|(_, b)| b.clone()));
    }
    Ok(benches)
}
