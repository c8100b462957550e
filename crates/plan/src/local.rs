//! Measures on this machine: when it is cool, one at a time on a device, and with the largest batch that fits where memory
//! runs out.

use crate::{
    Control, Executor, Expansion, Measured, MeasuringError, PlanSpec, cooling,
    turn::{self, Asked, Turn},
};
use std::{thread, time::Duration};
use types::{CellFailure, Device, Event, FailureKind, Machine, Run, Task, WaitReason};

/// How often a device that others use is asked for again.
const ASK: Duration = Duration::from_millis(200);

/// How one cell is measured on this machine.
pub trait Measurer {
    /// What ends the whole plan.
    type Error: MeasuringError;

    /// This machine.
    fn machine(&self) -> &Machine;

    /// Finds what contradicts itself in how cells are measured.
    ///
    /// # Errors
    /// What contradicts itself.
    fn check(&self) -> Result<(), Self::Error>;

    /// The cells that can exist here.
    ///
    /// # Errors
    /// Where the plan contradicts itself.
    fn expand(&self, spec: &PlanSpec) -> Result<Expansion, Self::Error>;

    /// Measures one process of a cell of a plan and keeps the run, which is labelled with the plan.
    ///
    /// # Errors
    /// What concerns the plan and not the cell.
    fn measure(
        &mut self,
        plan: &str,
        task: &Task,
        hear: &mut dyn FnMut(Event),
    ) -> Result<Result<Box<Run>, CellFailure>, Self::Error>;

    /// The largest batch below `refused` that fits, 0 where not even one sample does; `None` if that cannot be found out.
    fn largest_batch(
        &mut self,
        plan: &str,
        task: &Task,
        refused: usize,
        hear: &mut dyn FnMut(Event),
    ) -> Option<usize>;
}

/// This machine.
#[derive(Debug)]
pub struct LocalExecutor<'a, M>(&'a mut M);

impl<'a, M: Measurer> LocalExecutor<'a, M> {
    /// Measures here, so.
    pub fn new(measurer: &'a mut M) -> LocalExecutor<'a, M> {
        LocalExecutor(measurer)
    }

    /// Looks for the largest batch that fits, measures it, and adds both to the reason.
    fn look_for_room(
        &mut self,
        plan: &str,
        task: &Task,
        failure: &mut CellFailure,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Option<Box<Run>>, M::Error> {
        let Some(refused) = task.batch_size.filter(|&size| size > 1) else { return Ok(None) };
        // What stops the search is a reason not to know it, not to stop the plan.
        let Some(batch) = self.0.largest_batch(plan, task, refused, sink) else {
            return Ok(None);
        };
        let found = (batch > 0).then_some(batch);
        sink(Event::BatchFound { task: Box::new(task.clone()), batch: found });
        if batch == 0 {
            failure.why += "; not even one sample fits";
            return Ok(None);
        }
        // A whole measurement takes a little more than the short runs of the search.
        for share in [100, 95, 85, 70, 50] {
            let batch = (batch * share / 100).max(1);
            let fitting = Task { batch_size: Some(batch), ..task.clone() };
            match self.0.measure(plan, &fitting, sink)? {
                Ok(run) => {
                    let id = &run.id.0;
                    let word = if share == 100 { "fits" } else { "fits a whole measurement" };
                    failure.why +=
                        &format!("; the largest batch that {word} is {batch} (run {id})");
                    return Ok(Some(run));
                }
                Err(CellFailure { kind: FailureKind::Memory, .. }) => {}
                Err(other) => {
                    let why = other.text();
                    failure.why += &format!("; batch {batch} fits but was not measured: {why}");
                    return Ok(None);
                }
            }
        }
        failure.why += &format!("; batch {batch} fits only briefly");
        Ok(None)
    }
}

impl<M: Measurer> Executor for LocalExecutor<'_, M> {
    type Error = M::Error;

    fn machine(&self) -> &Machine {
        self.0.machine()
    }

    fn check(&self) -> Result<(), M::Error> {
        self.0.check()
    }

    fn expand(&mut self, spec: &PlanSpec) -> Result<Expansion, M::Error> {
        self.0.expand(spec)
    }

    fn measure(
        &mut self,
        plan: &str,
        task: &Task,
        control: &Control,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Option<Measured>, M::Error> {
        let is_stopping = || control.is_stopping();
        cooling::cool_down(probe::heat, is_stopping, |heat| {
            let (sensor, celsius, limit) = (heat.sensor.clone(), heat.celsius, heat.limit);
            sink(Event::Waiting { reason: WaitReason::Heat { sensor, celsius, limit } });
        });
        let Some(_turn) = turn(task.device, plan, control, sink) else { return Ok(None) };
        let mut failure = match self.0.measure(plan, task, sink)? {
            Ok(run) => return Ok(Some(Measured { result: Ok(run), fitting: None })),
            Err(failure) => failure,
        };
        let mut fitting = None;
        if failure.kind == FailureKind::Memory {
            fitting = self.look_for_room(plan, task, &mut failure, sink)?;
        }
        Ok(Some(Measured { result: Err(failure), fitting }))
    }
}

/// The device for ourselves; `None` if somebody stopped the plan meanwhile.
fn turn(
    device: Device,
    plan: &str,
    control: &Control,
    sink: &mut dyn FnMut(Event),
) -> Option<Option<Turn>> {
    let who = format!("plan `{plan}`, process {}", std::process::id());
    loop {
        match turn::ask(device, &who) {
            Asked::Ours(turn) => return Some(Some(turn)),
            Asked::Unguarded(why) => {
                sink(Event::Unguarded { device, why });
                return Some(None);
            }
            Asked::Taken(who) => {
                sink(Event::Waiting { reason: WaitReason::Device { device, who } });
            }
        }
        if control.is_stopping() {
            return None;
        }
        thread::sleep(ASK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PlanError, unit::tests::task};
    use std::path::Path;
    use store::{Filter, Store};

    /// A machine on which batches up to `room` run, and those up to `promised` seem to.
    struct Scripted {
        run: Run,
        promised: usize,
        room: usize,
        asked: Vec<usize>,
    }

    impl Measurer for Scripted {
        type Error = PlanError;

        fn machine(&self) -> &Machine {
            &self.run.environment.machine
        }

        fn check(&self) -> Result<(), PlanError> {
            Ok(())
        }

        fn expand(&self, _: &PlanSpec) -> Result<Expansion, PlanError> {
            Ok(Expansion::default())
        }

        fn measure(
            &mut self,
            _: &str,
            task: &Task,
            _: &mut dyn FnMut(Event),
        ) -> Result<Result<Box<Run>, CellFailure>, PlanError> {
            let batch = task.batch_size.unwrap();
            self.asked.push(batch);
            Ok(if batch <= self.room {
                Ok(Box::new(self.run.clone()))
            } else {
                Err(CellFailure::new(FailureKind::Memory, "it was killed"))
            })
        }

        fn largest_batch(
            &mut self,
            _: &str,
            _: &Task,
            _: usize,
            _: &mut dyn FnMut(Event),
        ) -> Option<usize> {
            Some(self.promised)
        }
    }

    fn measured(promised: usize, room: usize) -> (Measured, Vec<usize>) {
        let folder = tempfile::tempdir().unwrap();
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/tests/fixtures/v6.db");
        let database = folder.path().join("runs.db");
        std::fs::copy(fixture, &database).unwrap();
        let store = Store::open(&database).unwrap();
        let first = store.runs(&Filter::default()).unwrap().remove(0);
        let run = store.run(&first.id.0).unwrap();
        let mut measurer = Scripted { run, promised, room, asked: Vec::new() };
        let mut executor = LocalExecutor::new(&mut measurer);
        // Nobody measures there meanwhile.
        let task = Task { device: Device::Npu, ..task("gpt2", 200) };
        let measured = executor.measure("night", &task, &Control::default(), &mut |_| {});
        (measured.unwrap().unwrap(), measurer.asked)
    }

    #[test]
    fn where_memory_runs_out_the_largest_batch_that_fits_is_measured() {
        let (came, asked) = measured(100, 100);
        assert_eq!(asked, [200, 100]);
        let why = came.result.unwrap_err().why;
        assert!(why.contains("the largest batch that fits is 100"), "{why}");
        assert!(came.fitting.is_some());
    }

    #[test]
    fn a_whole_measurement_may_need_a_little_more_room_than_a_try() {
        let (came, asked) = measured(100, 90);
        assert_eq!(asked, [200, 100, 95, 85]);
        let why = came.result.unwrap_err().why;
        assert!(why.contains("fits a whole measurement is 85"), "{why}");
        let (came, _) = measured(0, 0);
        assert!(came.fitting.is_none());
        assert!(came.result.unwrap_err().why.contains("not even one sample fits"));
    }
}
