//! Several contenders side by side: fresh workers for every round, alive at once, taking turns.
//!
//! Machines drift by tens of percent between minutes, so that only turns next to each other in time can be compared.
//! In a round every contender has one fresh worker; they run one at a time, forward and then backward (A B B A), and
//! the next round starts new ones, because two processes of one program differ too. Contenders that compute on processors
//! run on the same ones in a round: on a shared machine processors differ by more than most changes do.
//!
//! Other work does not strike all alike: an engine whose threads wait for each other loses more than one that shares out
//! what is left. So every turn carries the conditions it ran under, and a sweep with a disturbed turn is repeated, as often
//! as the rule allows; disturbed turns are kept apart from those that count.
//!
//! The file stays whole: the ring (whose turn it is, when a sweep is repeated) and a corner (one worker, its turns and what
//! counts of them) share every state of a round, and apart each would show all of it to the other.

use crate::{
    Bench, Job, Launch, Link, MeterError, disturbance, generation,
    look::{self, Depth},
    measure::{self, Findings},
    pooled::{self, Part},
    sampling,
};
use probe::{Contention, DeviceConditions, DeviceState, Moment, Snapshot, Target, Watcher};
use std::{
    path::Path,
    time::{Duration, Instant},
};
use types::{
    Device, Event, HostTensor, Machine, ProbeReport, Run, Samples, Stage, StopReason, StoppingRule,
    Turn, TurnConditions, WarmupReport,
};

/// How long the threads of one that had its turn are waited for, where turns are long.
const LONGEST_REST: Duration = Duration::from_millis(100);

/// One who takes part.
pub struct Contender<'a> {
    /// What it is called in messages.
    pub label: String,
    /// Makes the job for one round; every run has a name of its own.
    pub job: &'a dyn Fn() -> Job<'a>,
    /// How its workers are started.
    pub launch: Launch,
    /// The machine and the device it runs on.
    pub bench: Bench,
}

/// How an interleaved comparison is carried out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DuelRule {
    /// Fresh workers for each contender, one after the other.
    pub rounds: u32,
    /// How many rounds there were before: each has its own processors.
    pub first: u32,
    /// Turns of each contender in a round; even, so that forward and backward balance.
    pub turns: u32,
    /// How long a turn lasts at least.
    pub turn: Duration,
    /// How many samples per turn has at least.
    pub least: u64,
    /// How many samples per turn has at most.
    pub most: u64,
    /// How many samples each contender takes over all its turns, where that was asked: turns then share them out.
    pub samples: Option<u64>,
    /// How many sweeps may be taken again because something else disturbed them; `None` looks at nothing and keeps all.
    pub repeats: Option<u32>,
    /// Whether a turn that follows a turn of the same contender counts its first inference: nobody has emptied the caches.
    pub joins_turns: bool,
    /// How workers warm up and how long they may stay silent.
    pub stopping: StoppingRule,
    /// What contenders show before anything is timed.
    pub show: Depth,
}

impl DuelRule {
    /// The same with so many samples in all; fewer turns where there are not enough for each.
    #[must_use]
    pub fn with_samples(self, samples: u64) -> DuelRule {
        let each = samples / u64::from(self.rounds.max(1));
        let turns = u64::from(self.turns).min(each).max(1) as u32;
        DuelRule { samples: Some(samples), turns, turn: Duration::ZERO, ..self }
    }

    /// The rule of one turn, counted over all rounds.
    fn of_turn(&self, turn: u32) -> DuelRule {
        let Some(samples) = self.samples else { return *self };
        let turns = u64::from(self.rounds.max(1)) * u64::from(self.turns.max(1));
        let until = |turn: u64| samples * turn / turns;
        let share = (until(u64::from(turn) + 1) - until(u64::from(turn))).max(1);
        DuelRule { least: share, most: share, ..*self }
    }
}

/// What one contender did in one round.
#[derive(Debug, Clone)]
pub struct Bout {
    /// The round as a run like any other.
    pub run: Run,
    /// Its turns, with the samples of the phase a user waits for. Where some were disturbed, the run has the others'
    /// samples alone; where all were, it has everything and is not valid.
    pub turns: Vec<Turn>,
}

/// What became of one contender.
#[derive(Debug, Default)]
pub struct Record {
    /// Its rounds; empty if it was never timed.
    pub bouts: Vec<Bout>,
    /// What is to be kept of it: a run for each process, and one for all processes that have too few samples alone.
    pub runs: Vec<Run>,
    parts: Vec<Part>,
    /// What the engine said of itself when it was loaded first.
    pub loaded: Option<engine::LoadReport>,
    /// Why it dropped out.
    pub failed: Option<MeterError>,
}

/// Sees the outputs of all contenders, in their order, before anything is timed, and says who may be.
///
/// A contender that dropped out before has none.
pub type Gate<'a> = &'a mut dyn FnMut(&[Option<Vec<HostTensor>>]) -> Vec<bool>;

/// What is known while a duel goes on.
#[derive(Debug)]
pub struct SoFar {
    /// The turns of every contender, round by round; those of a round that is not finished are the last.
    pub rounds: Vec<Vec<Vec<Turn>>>,
    /// Contenders that dropped out because of an error.
    pub failed: Vec<bool>,
    /// Rounds that are finished.
    pub finished: u32,
    /// Sweeps of the round that is not finished; `None` between two rounds.
    pub sweeps: Option<u32>,
}

/// Sees what is known after every sweep and every round, and says who is measured further; an answer within a round has no
/// effect. With fewer than two left the duel ends.
pub type Watch<'a> = &'a mut dyn FnMut(&SoFar, &mut dyn FnMut(Event)) -> Vec<bool>;

/// Fights a duel; one record for each contender, in their order.
///
/// One that fails drops out and the others go on; with fewer than two left there is nothing to compare and it ends.
/// `folder` is for files that pass between processes.
pub fn duel(
    contenders: &[Contender<'_>],
    rule: &DuelRule,
    folder: &Path,
    gate: Gate<'_>,
    watch: Watch<'_>,
    sink: &mut dyn FnMut(Event),
) -> Vec<Record> {
    let mut records: Vec<Record> = contenders.iter().map(|_| Record::default()).collect();
    let mut allowed = vec![true; contenders.len()];
    let mut repeats = rule.repeats.unwrap_or(0);
    for round in 0..rule.rounds.max(1) {
        let mut ring = Ring { contenders, records: &mut records, corners: Vec::new() };
        ring.enter(&allowed, rule, (round == 0).then_some(folder), rule.first + round, sink);
        if round == 0 {
            allowed = gate(&ring.shown());
            ring.keep(&allowed);
        }
        if ring.standing() < 2 {
            break;
        }
        ring.each(|corner| corner.warm_up(rule, sink));
        watch(&ring.so_far(round, Some(0)), sink);
        let (mut turn, mut before) = (0, None);
        while turn < rule.turns.max(1) {
            let own = rule.of_turn(round * rule.turns.max(1) + turn);
            for place in order(contenders.len(), turn) {
                if !ring.stands(place) {
                    continue;
                }
                report(sink, rule, round, turn, &contenders[place].label);
                let is_cold = !rule.joins_turns || before != Some(place);
                let ours = ring.pids();
                let machine = &contenders[place].bench.machine;
                ring.one(place, |corner| corner.take_turn(&own, is_cold, machine, &ours));
                before = Some(place);
                ring.rest(place, rule);
            }
            // A sweep is repeated whole: only turns next to each other in time can be compared.
            if repeats > 0 && ring.was_disturbed() {
                repeats -= 1;
            } else {
                turn += 1;
            }
            if turn < rule.turns.max(1) {
                watch(&ring.so_far(round, Some(turn)), sink);
            }
        }
        ring.leave(rule);
        let so_far = Ring { contenders, records: &mut records, corners: Vec::new() };
        let goes_on = watch(&so_far.so_far(round + 1, None), sink);
        for (place, (allowed, record)) in allowed.iter_mut().zip(&records).enumerate() {
            *allowed &= record.failed.is_none() && goes_on.get(place).copied().unwrap_or(true);
        }
        if allowed.iter().filter(|allowed| **allowed).count() < 2 {
            break;
        }
    }
    for (contender, record) in contenders.iter().zip(&mut records) {
        let own = record.bouts.iter().map(|bout| &bout.run).zip(std::mem::take(&mut record.parts));
        record.runs = pooled::runs(contender, &rule.stopping, own);
    }
    records
}

/// The contenders of one round.
struct Ring<'r, 'a> {
    contenders: &'r [Contender<'a>],
    records: &'r mut [Record],
    corners: Vec<Option<Corner<'a>>>,
}

impl<'a> Ring<'_, 'a> {
    /// Starts a worker for everyone who may take part.
    fn enter(
        &mut self,
        allowed: &[bool],
        rule: &DuelRule,
        show: Option<&Path>,
        round: u32,
        sink: &mut dyn FnMut(Event),
    ) {
        for (place, contender) in self.contenders.iter().enumerate() {
            let opened = allowed[place].then(|| Corner::open(contender, rule, show, round, sink));
            let corner = match opened {
                Some(Ok(corner)) => {
                    let record = &mut self.records[place];
                    record.loaded.get_or_insert_with(|| corner.loaded.clone());
                    Some(corner)
                }
                Some(Err(error)) => {
                    self.records[place].failed = Some(error);
                    None
                }
                None => None,
            };
            self.corners.push(corner);
        }
    }

    fn shown(&mut self) -> Vec<Option<Vec<HostTensor>>> {
        let shown = |corner: &mut Option<Corner<'a>>| corner.as_mut()?.shown.take();
        self.corners.iter_mut().map(shown).collect()
    }

    /// Lets go of those who may not be timed.
    fn keep(&mut self, allowed: &[bool]) {
        for (corner, allowed) in self.corners.iter_mut().zip(allowed) {
            if !allowed && let Some(corner) = corner.take() {
                corner.link.close();
            }
        }
    }

    /// What is known of everyone.
    fn so_far(&self, finished: u32, sweeps: Option<u32>) -> SoFar {
        let rounds = self.records.iter().enumerate().map(|(place, record)| {
            let running = self.corners.get(place).and_then(Option::as_ref);
            let running = running.map(|corner| {
                corner.turns.iter().map(|taken| taken.turn.clone()).collect::<Vec<Turn>>()
            });
            record.bouts.iter().map(|bout| bout.turns.clone()).chain(running).collect()
        });
        SoFar {
            rounds: rounds.collect(),
            failed: self.records.iter().map(|record| record.failed.is_some()).collect(),
            finished,
            sweeps,
        }
    }

    fn stands(&self, place: usize) -> bool {
        self.corners[place].is_some()
    }

    fn standing(&self) -> usize {
        self.corners.iter().flatten().count()
    }

    fn each(&mut self, mut act: impl FnMut(&mut Corner<'a>) -> Result<(), MeterError>) {
        for place in 0..self.corners.len() {
            self.one(place, &mut act);
        }
    }

    /// Lets one act; an error takes it out.
    fn one<T>(
        &mut self,
        place: usize,
        act: impl FnOnce(&mut Corner<'a>) -> Result<T, MeterError>,
    ) -> Option<T> {
        match act(self.corners[place].as_mut()?) {
            Ok(value) => Some(value),
            Err(error) => {
                self.records[place].failed = Some(error);
                self.corners[place] = None;
                None
            }
        }
    }

    /// Whether something disturbed the latest turn of anyone.
    fn was_disturbed(&self) -> bool {
        let latest = self.corners.iter().flatten().filter_map(|corner| corner.turns.last());
        latest.into_iter().any(|taken| taken.turn.disturbed.is_some())
    }

    /// The processes of this duel.
    fn pids(&self) -> Vec<u32> {
        let workers = self.corners.iter().flatten().map(|corner| corner.link.pid());
        workers.chain([std::process::id()]).collect()
    }

    /// The next one's turn begins when this one's threads have gone to sleep.
    fn rest(&self, place: usize, rule: &DuelRule) {
        if let Some(corner) = &self.corners[place] {
            // Whoever never rests is not waited for longer than it had its turn.
            let _ = probe::rest(corner.link.pid(), rule.turn.min(LONGEST_REST));
        }
    }

    fn leave(self, rule: &DuelRule) {
        let ours = self.pids();
        for (place, corner) in self.corners.into_iter().enumerate() {
            let Some(corner) = corner else { continue };
            let Contender { bench, launch, .. } = &self.contenders[place];
            match corner.close(bench, launch, rule, &ours) {
                Ok((bout, part)) => {
                    self.records[place].bouts.push(bout);
                    self.records[place].parts.push(part);
                }
                Err(error) => self.records[place].failed = Some(error),
            }
        }
    }
}

/// Forward in even turns, backward in odd ones: A B, B A.
fn order(count: usize, turn: u32) -> Vec<usize> {
    let forward = 0..count;
    if turn.is_multiple_of(2) { forward.collect() } else { forward.rev().collect() }
}

fn report(sink: &mut dyn FnMut(Event), rule: &DuelRule, round: u32, turn: u32, label: &str) {
    let turns = rule.turns.max(1);
    let done = u64::from(round * turns + turn);
    let total = Some(u64::from(rule.rounds.max(1) * turns));
    let note = format!("round {} of {}: {label}", round + 1, rule.rounds.max(1));
    sink(Event::progress(Stage::Sample, done, total, note));
}

/// One contender's worker in one round.
struct Corner<'a> {
    job: Job<'a>,
    link: Link,
    begin: Instant,
    started_at: i64,
    before: Snapshot,
    watcher: Option<Watcher>,
    memory: Vec<ProbeReport>,
    loaded: engine::LoadReport,
    /// What it showed, until somebody has seen it.
    shown: Option<Vec<HostTensor>>,
    first: engine::FirstReport,
    warmup: WarmupReport,
    turns: Vec<Taken>,
}

/// A turn as it was taken.
struct Taken {
    turn: Turn,
    /// Every phase.
    samples: Vec<Samples>,
    contention: Contention,
    devices: DeviceConditions,
}

impl<'a> Corner<'a> {
    fn open(
        contender: &Contender<'a>,
        rule: &DuelRule,
        show: Option<&Path>,
        round: u32,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Corner<'a>, MeterError> {
        let job = (contender.job)();
        let computes_here = job.cell.device.bounded_by() == Some(Device::Cpu);
        let processors = match computes_here {
            true => hardware::shared_processors(job.cell.threads, round),
            false => None,
        };
        let (begin, started_at) = (Instant::now(), clock::now());
        let before = Snapshot::take();
        sink(Event::stage(Stage::Start));
        let mut link =
            Link::open_on(&contender.launch, rule.stopping.timeout, processors.as_deref())?;
        let target = Target::new(link.pid(), job.cell.device).with_idle(contender.bench.idle);
        let watcher = Watcher::start(&measure::memory_probes(job.cell.device), &target);
        sink(Event::stage(Stage::Load));
        let loaded = measure::load(&mut link, &job)?;
        // What trains shows what it has before its weights move; elsewhere the first inference comes first, while all
        // is cold.
        let trains = job.training.is_some();
        let mut shown = None;
        if let Some(folder) = show.filter(|_| trains) {
            shown = Some(look::show(&mut link, folder, rule.show)?);
        }
        sink(Event::stage(Stage::First));
        let first = measure::first_inference(&mut link)?;
        if let Some(folder) = show.filter(|_| !trains) {
            shown = Some(look::show(&mut link, folder, rule.show)?);
        }
        Ok(Corner {
            job,
            link,
            begin,
            started_at,
            before,
            watcher: Some(watcher),
            memory: Vec::new(),
            loaded,
            shown,
            first,
            warmup: WarmupReport { runs: 0, settled: false, nanos: Vec::new() },
            turns: Vec::new(),
        })
    }

    fn warm_up(&mut self, rule: &DuelRule, sink: &mut dyn FnMut(Event)) -> Result<(), MeterError> {
        self.warmup = sampling::warm_up(&mut self.link, &self.job.cell, &rule.stopping, sink)?;
        // Nothing watches while turns are timed; the high-water mark is reached by now.
        self.memory = self.watcher.take().map(Watcher::stop).unwrap_or_default();
        // What a GPU did while models were loaded says nothing of the turns; what it held does.
        for report in self.memory.iter_mut().filter(|report| report.probe == "gpu") {
            report.metrics.retain(|metric| metric.key == types::key::GPU_MEMORY_PROCESS);
        }
        Ok(())
    }

    /// One turn. Its first inference is not counted if the others have just emptied the caches.
    fn take_turn(
        &mut self,
        rule: &DuelRule,
        is_cold: bool,
        machine: &Machine,
        ours: &[u32],
    ) -> Result<(), MeterError> {
        let at_start = device_state(&self.job.cell);
        if is_cold {
            sampling::window(&mut self.link, &self.job.cell, 1, Duration::ZERO)?;
        }
        let phase = crate::derive::headline_phase(&self.job.cell);
        let (mut headline, mut samples): (Vec<u64>, Vec<Samples>) = (Vec::new(), Vec::new());
        let before = Moment::take(self.link.pid());
        let begin = Instant::now();
        loop {
            let left = rule.turn.saturating_sub(begin.elapsed());
            let most = rule.most.saturating_sub(headline.len() as u64).max(1);
            let window = sampling::window(&mut self.link, &self.job.cell, most, left)?;
            let of_phase = window.iter().find(|samples| samples.phase == phase);
            headline.extend(of_phase.map_or(&[][..], |samples| &samples.nanos));
            sampling::append(&mut samples, window);
            let count = headline.len() as u64;
            let enough = count >= rule.least && begin.elapsed() >= rule.turn;
            if enough || count >= rule.most {
                break;
            }
        }
        let contention = before.until(&Moment::take(self.link.pid()));
        let devices = at_start.until_among(&device_state(&self.job.cell), ours);
        let of_gpus = disturbance::gpus(&self.job.cell, &devices.gpus);
        let conditions = TurnConditions {
            throttled: devices.throttle.events,
            gpu: of_gpus.into_iter().find(|reason| reason.invalidates).map(|reason| reason.code),
            ..contention.conditions()
        };
        let disturbed = match rule.repeats {
            Some(_) => disturbance::of_turn(&conditions, self.job.threads(), machine),
            None => None,
        };
        let turn = Turn { samples: headline, conditions, disturbed };
        self.turns.push(Taken { turn, samples, contention, devices });
        Ok(())
    }

    fn close(
        mut self,
        bench: &Bench,
        launch: &Launch,
        rule: &DuelRule,
        ours: &[u32],
    ) -> Result<(Bout, Part), MeterError> {
        let conditions = self.before.diff(&Snapshot::take(), ours);
        let work = measure::count_work(&mut self.link, &self.job)?;
        let training = measure::trained(&mut self.link, &self.job)?;
        let generation = generation::state(&mut self.link, &self.job)?;
        let cold = types::Cold {
            process_start: self.link.started_in(),
            load: self.loaded.load,
            first_inference: self.first.inference,
        };
        self.link.close();
        let environment = measure::environment(&self.job, bench, conditions, &self.loaded);
        let causes = self.turns.iter().map(|taken| taken.turn.disturbed).collect();
        let (samples, contention, devices) = counted(&mut self.turns);
        let findings = Findings {
            loaded: self.loaded,
            first: self.first,
            warmup: self.warmup,
            samples,
            stop: StopReason::RunsDone,
            loading: Vec::new(),
            training,
            generation,
            probes: self.memory,
            work,
            reasons: Vec::new(),
        };
        let part = Part {
            devices: devices.with_others_of(&environment.gpus),
            findings,
            environment,
            cold,
            started_at: self.started_at,
            elapsed: self.begin.elapsed(),
            contention,
            causes,
        };
        let run = part.clone().run(&self.job, bench, launch, &rule.stopping);
        let mut turns: Vec<Turn> = self.turns.into_iter().map(|taken| taken.turn).collect();
        // What is seen only at the ends of a round, such as other processes on a GPU in a container, is said of all its turns.
        let of_all = run.verdict.main_reason().filter(|code| code.is_disturbance());
        if let (Some(code), Some(_)) = (of_all, rule.repeats) {
            turns.iter_mut().for_each(|turn| turn.disturbed = turn.disturbed.or(Some(code)));
        }
        Ok((Bout { run, turns }, part))
    }
}

/// The samples of the turns that count, every phase joined, and the conditions they were taken under.
///
/// Where every turn was disturbed all of them stand: they were measured, and the conditions say what they are worth.
fn counted(turns: &mut [Taken]) -> (Vec<Samples>, Contention, DeviceConditions) {
    let all = turns.iter().all(|taken| taken.turn.disturbed.is_some());
    let (mut samples, mut contention) = (Vec::new(), Contention::default());
    let mut devices: Option<DeviceConditions> = None;
    for taken in turns.iter_mut().filter(|taken| all || taken.turn.disturbed.is_none()) {
        sampling::append(&mut samples, std::mem::take(&mut taken.samples));
        contention = contention.and(taken.contention);
        let here = taken.devices.clone();
        devices = Some(devices.take().map_or(here.clone(), |before| before.and(here)));
    }
    (samples, contention, devices.unwrap_or_default())
}

/// The state of what a cell runs on: the GPUs are asked only where it uses one.
fn device_state(cell: &types::Cell) -> DeviceState {
    match cell.device.nvidia_index() {
        Some(_) => DeviceState::take(),
        None => DeviceState::of_processors(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_as_many_samples_are_taken_as_were_asked_for() {
        let rule = |rounds, turns| DuelRule {
            rounds,
            first: 0,
            turns,
            turn: Duration::from_millis(500),
            least: 3,
            most: u64::MAX,
            samples: None,
            repeats: None,
            joins_turns: false,
            stopping: StoppingRule::default(),
            show: Depth::Outputs,
        };
        for (rounds, turns, samples) in [(3, 4, 40), (5, 4, 40), (2, 2, 12), (5, 4, 7), (4, 4, 4)] {
            let rule = rule(rounds, turns).with_samples(samples);
            let each = (0..rule.rounds * rule.turns).map(|turn| rule.of_turn(turn));
            let taken: Vec<u64> = each.map(|turn| turn.most).collect();
            assert_eq!(taken.iter().sum::<u64>(), samples, "{rounds} × {turns}: {taken:?}");
        }
        // Every process takes at least one.
        assert_eq!(rule(5, 4).with_samples(3).of_turn(0).most, 1);
    }

    #[test]
    fn turns_go_forward_and_backward() {
        let places: Vec<usize> = (0..4).flat_map(|turn| order(2, turn)).collect();
        assert_eq!(places, [0, 1, 1, 0, 0, 1, 1, 0]);
        assert_eq!(order(3, 1), [2, 1, 0]);
    }
}
