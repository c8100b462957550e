//! Runs of a worker of ours: which part of the model each piece of a device's time belongs to, and how long the host was
//! in it.
//!
//! The worker says when a run begins and ends, and from when on work belongs to which part. A piece of work belongs to
//! the part that was current when it was launched. Pieces that ran at once are not counted twice: a moment belongs to the
//! piece that began first. So the parts and the idle time of a run add up to it exactly.

use crate::{analyse::Calls, read::Recording};
use gpu_inject::format::{Event, part};
use std::collections::HashMap;
use types::{GpuProblemKind, GpuProcess, GpuProfile};

/// One run. Times are nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PartedRun {
    /// The number of the turn that it belongs to, from 0.
    pub turn: usize,
    /// Whether its parts were told apart.
    pub is_in_parts: bool,
    /// From its beginning until the device had finished.
    pub length: u64,
    /// Time in which the device did something.
    pub busy: u64,
    /// Its parts, by the worker's number; what belongs to none has the number [`NOBODY`].
    pub parts: HashMap<u64, PartTime>,
}

/// The number of what belongs to no part.
pub const NOBODY: u64 = part::NOBODY;

/// What one part of a run took. Times are nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PartTime {
    /// Time of the device.
    pub device: u64,
    /// Time of the host, the launches included.
    pub host: u64,
    /// Kernels, copies and sets.
    pub pieces: u64,
}

impl PartedRun {
    /// Time in which the device did nothing.
    #[must_use]
    pub fn idle(&self) -> u64 {
        self.length.saturating_sub(self.busy)
    }
}

/// A piece of work: when it was launched, and when it ran.
struct Piece {
    launched: u64,
    start: u64,
    end: u64,
}

impl Recording {
    /// The runs of a worker of ours, in order.
    #[must_use]
    pub fn parted_runs(&self) -> Vec<PartedRun> {
        let mut marks: Vec<(u64, u64)> = self
            .events
            .iter()
            .filter(|event| event.event == Event::Part)
            .map(|event| (event.time, event.first))
            .collect();
        // Stable: of marks of one moment, the last one counts.
        marks.sort_by_key(|(time, _)| *time);
        let pieces = self.pieces();
        let mut runs = Vec::new();
        let (mut turn, mut at) = (0_usize, 0);
        while let Some((begin, number)) = marks.get(at).copied() {
            at += 1;
            match number {
                part::TURN => turn += 1,
                part::RUN | part::RUN_IN_PARTS => {
                    let inside = &marks[at..];
                    let Some(end) = inside.iter().position(|(_, number)| *number == part::END)
                    else {
                        break;
                    };
                    let run = Span { begin, end: inside[end].0, marks: &inside[..end] };
                    let mut run = run.count(&pieces);
                    run.turn = turn.saturating_sub(1);
                    run.is_in_parts = number == part::RUN_IN_PARTS;
                    runs.push(run);
                    at += end + 1;
                }
                _ => {}
            }
        }
        runs
    }

    /// Everything that a device did, by start, with the moment of its launch.
    fn pieces(&self) -> Vec<Piece> {
        let calls = Calls::of(self);
        let work = self.kernels.iter().map(|one| (one.start, one.end, one.correlation));
        let work = work.chain(self.copies.iter().map(|one| (one.start, one.end, one.correlation)));
        let work = work.chain(self.sets.iter().map(|one| (one.start, one.end, one.correlation)));
        let mut pieces: Vec<Piece> = work
            .map(|(start, end, correlation)| {
                let launched = calls.of_work(correlation).map_or(start, |call| call.start);
                Piece { launched, start, end }
            })
            .collect();
        pieces.sort_unstable_by_key(|piece| (piece.start, piece.end));
        pieces
    }

    /// What the device did in the last turn: its time, gaps and kernels from runs whose parts were not told apart, because
    /// telling them apart costs the host time; its modules from the others. `path` names a part.
    #[must_use]
    pub fn last_turn(&self, path: impl Fn(u64) -> Option<String>) -> Option<GpuProfile> {
        let marks = || self.events.iter().filter(|event| event.event == Event::Part);
        let turn = marks().filter(|mark| mark.first == part::TURN).map(|mark| mark.time).max()?;
        let span = |kind: u64| {
            let of_turn = || marks().filter(|mark| mark.time >= turn);
            let begin = of_turn().filter(|mark| mark.first == kind).map(|mark| mark.time).min()?;
            let other = if kind == part::RUN { part::RUN_IN_PARTS } else { part::RUN };
            let limit = of_turn().filter(|mark| mark.first == other && mark.time > begin);
            let limit = limit.map(|mark| mark.time).min().unwrap_or(u64::MAX);
            let ends = of_turn().filter(|mark| mark.first == part::END && mark.time < limit);
            Some((begin, ends.map(|mark| mark.time).max()?))
        };
        let whole = span(part::RUN)?;
        let mut process = self.within(whole, &|_| None);
        if let Some(parted) = span(part::RUN_IN_PARTS) {
            let with_modules = self.within(parted, &path);
            for device in &mut process.devices {
                let same = with_modules.devices.iter().find(|one| one.device == device.device);
                if let Some(same) = same {
                    device.modules.clone_from(&same.modules);
                }
            }
        }
        Some(GpuProfile { processes: vec![process], unread: Vec::new() })
    }

    /// A stretch of the recording, with its parts as modules.
    fn within(
        &self,
        (begin, end): (u64, u64),
        path: &impl Fn(u64) -> Option<String>,
    ) -> GpuProcess {
        let is_inside = |time: u64| (begin..=end).contains(&time);
        let mut part = Recording {
            process: self.process,
            parent: self.parent,
            command: self.command.clone(),
            cupti: self.cupti,
            anchor: self.anchor,
            texts: self.texts.clone(),
            shapes: self.shapes.clone(),
            places: self.places.clone(),
            kernels: self.kernels.iter().filter(|one| is_inside(one.start)).copied().collect(),
            copies: self.copies.iter().filter(|one| is_inside(one.start)).copied().collect(),
            sets: self.sets.iter().filter(|one| is_inside(one.start)).copied().collect(),
            calls: self.calls.iter().filter(|one| is_inside(one.start)).copied().collect(),
            clones: self.clones.clone(),
            memory: self.memory.clone(),
            counts: self.counts,
            ..Recording::default()
        };
        part.problems = self.lasting_problems();
        part.modules_of_parts(self, (begin, end), path);
        crate::analyse(&[part], Vec::new()).processes.pop().unwrap_or_default()
    }

    /// Marks of parts as ranges of modules.
    fn modules_of_parts(
        &mut self,
        from: &Recording,
        (begin, end): (u64, u64),
        path: &impl Fn(u64) -> Option<String>,
    ) {
        use crate::read::EventRecord;
        use gpu_inject::format::MODULE_MARK;
        let mut marks: Vec<EventRecord> = from
            .events
            .iter()
            .filter(|one| one.event == Event::Part && (begin..=end).contains(&one.time))
            .copied()
            .collect();
        marks.sort_by_key(|mark| mark.time);
        let mut texts: HashMap<u64, Option<u32>> = HashMap::new();
        let mut threads: Vec<u32> = from.calls.iter().map(|call| call.thread).collect();
        threads.sort_unstable();
        threads.dedup();
        let mut is_open = false;
        for mark in marks {
            let text = *texts.entry(mark.first).or_insert_with(|| {
                let path = path(mark.first)?;
                self.texts.push(format!("{}{path}", char::from(MODULE_MARK)));
                Some(self.texts.len() as u32 - 1)
            });
            // A part is that of the whole process: the backward pass launches from a thread of its own.
            for thread in &threads {
                let event =
                    |event, text| EventRecord { thread: *thread, event, text, first: 0, ..mark };
                if is_open {
                    self.events.push(event(Event::Pop, 0));
                }
                if let Some(text) = text {
                    self.events.push(event(Event::Push, text));
                }
            }
            is_open = text.is_some();
        }
    }

    /// What is wrong with the recording of a worker that was asked to write everything, and left afterwards.
    #[must_use]
    pub fn lasting_problems(&self) -> Vec<types::GpuProblem> {
        let lasting = |one: &&types::GpuProblem| one.kind != GpuProblemKind::Killed;
        self.problems.iter().filter(lasting).cloned().collect()
    }
}

/// A run and the marks inside it.
struct Span<'a> {
    begin: u64,
    end: u64,
    marks: &'a [(u64, u64)],
}

impl Span<'_> {
    fn count(&self, pieces: &[Piece]) -> PartedRun {
        let Span { begin, end, marks } = *self;
        let mut run = PartedRun { length: end - begin, ..PartedRun::default() };
        let after = marks.iter().map(|(time, _)| *time).skip(1).chain([end]);
        for ((time, number), until) in marks.iter().zip(after) {
            let host = &mut run.parts.entry(*number).or_default().host;
            *host = host.saturating_add(until - time);
        }
        let owner = |launched: u64| {
            let after = marks.partition_point(|(time, _)| *time <= launched);
            after.checked_sub(1).map_or(NOBODY, |at| marks[at].1)
        };
        // The device has finished before a run ends, so what runs in it was launched in it.
        let first = pieces.partition_point(|piece| piece.start < begin);
        let mut covered = begin;
        for piece in pieces[first..].iter().take_while(|piece| piece.start < end) {
            let time = piece.end.min(end).saturating_sub(piece.start.max(covered));
            covered = covered.max(piece.end.min(end));
            run.busy += time;
            let part = run.parts.entry(owner(piece.launched)).or_default();
            part.device += time;
            part.pieces += 1;
        }
        run
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::{Call, EventRecord, Kernel};

    fn recording() -> Recording {
        let mark = |time, first| EventRecord {
            thread: 7,
            time,
            event: Event::Part,
            first,
            text: 0,
            number: 0,
        };
        let kernel =
            |start, end, correlation| Kernel { start, end, correlation, ..Kernel::default() };
        let call =
            |start, correlation| Call { start, end: start + 1, thread: 7, correlation, text: 1 };
        Recording {
            texts: vec!["(other)".into(), "cudaLaunchKernel_v7000".into()],
            places: vec![[0; 3]],
            shapes: vec![crate::read::Shape::default()],
            events: vec![
                mark(5, part::TURN),
                mark(10, part::RUN),
                mark(100, part::END),
                mark(200, part::RUN_IN_PARTS),
                // The order of the file is not that of time.
                mark(230, 4),
                mark(210, 0),
                mark(250, 0),
                mark(260, NOBODY),
                mark(300, part::END),
            ],
            calls: vec![call(20, 1), call(215, 2), call(235, 3), call(255, 4)],
            kernels: vec![
                kernel(30, 80, 1),
                kernel(240, 260, 2),
                kernel(250, 270, 3),
                kernel(290, 310, 4),
            ],
            ..Recording::default()
        }
    }

    #[test]
    fn parts_and_idle_time_add_up_to_the_run() {
        let runs = recording().parted_runs();
        assert_eq!(runs.len(), 2);
        assert_eq!((runs[0].length, runs[0].busy, runs[0].idle()), (90, 50, 40));
        assert!(!runs[0].is_in_parts && runs[1].is_in_parts);
        let run = &runs[1];
        let of = |number: u64| {
            let part = run.parts[&number];
            (part.device, part.host, part.pieces)
        };
        // The second kernel began behind the first; the last one is cut at the end of the run.
        assert_eq!((of(0), of(4)), ((20 + 10, 20 + 10, 2), (10, 20, 1)));
        assert_eq!(of(NOBODY), (0, 40, 0));
        let device: u64 = run.parts.values().map(|part| part.device).sum();
        assert_eq!((device, device + run.idle()), (run.busy, run.length));
    }

    #[test]
    fn what_the_device_did_is_told_without_the_cost_of_telling_modules_apart() {
        let profile = recording().last_turn(|number| (number == 4).then(|| "layer".to_owned()));
        let process = &profile.unwrap().processes[0];
        let device = &process.devices[0];
        assert_eq!(device.launches.kernels, 1, "the run whose parts are not told apart");
        let modules: Vec<(&str, u64)> =
            device.modules.iter().map(|part| (part.path.as_str(), part.kernels)).collect();
        assert_eq!(modules, [("", 2), ("layer", 1)]);
    }

    #[test]
    fn a_run_that_never_ended_is_none() {
        let mut cut = recording();
        cut.events.pop();
        assert_eq!(cut.parted_runs().len(), 1);
    }
}
