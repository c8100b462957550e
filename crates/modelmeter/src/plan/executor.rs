//! Where cells are measured: this machine, or another one.

use crate::{
    Error, Profiler, Session,
    plan::{
        CellFailure, Control, Expansion, FailureKind, PlanSpec, cooling,
        turn::{self, Asked, Turn},
    },
};
use probe::Heat;
use std::{thread, time::Duration};
use types::{Device, Event, Machine, Run};

/// How often a device that others use is asked for again.
const ASK: Duration = Duration::from_millis(200);

/// What is said while a cell is measured.
pub(crate) enum Said<'a> {
    /// The machine is too hot; it is waited for.
    Hot(&'a Heat),
    /// Somebody else measures on the device; they are waited for.
    Busy {
        /// The device.
        device: Device,
        /// Who, where they said so.
        who: &'a str,
    },
    /// Nobody can be kept away from the device meanwhile.
    Unguarded {
        /// The device.
        device: Device,
        /// Why not.
        why: &'a str,
    },
    /// What the measurement says.
    Measuring(&'a Event),
    /// Memory ran out, and this is the largest batch that fits.
    Fits(Option<usize>),
}

/// What came of a cell.
pub(crate) struct Measured {
    /// Its run, or why there is none.
    pub(crate) result: Result<Box<Run>, CellFailure>,
    /// The run of the largest batch that fits, where memory ran out.
    pub(crate) fitting: Option<Box<Run>>,
}

/// Where cells are measured.
pub(crate) trait Executor {
    fn machine(&self) -> &Machine;

    /// The cells that can exist there.
    fn expand(&mut self, spec: &PlanSpec, base: &Profiler) -> Result<Expansion, Error>;

    /// Measures one and keeps its run; `None` where somebody stopped the plan before the device was free.
    fn measure(
        &mut self,
        profiler: &Profiler,
        control: &Control,
        say: &mut dyn FnMut(Said<'_>),
    ) -> Result<Option<Measured>, Error>;
}

/// This machine.
pub(crate) struct LocalExecutor<'a> {
    pub(crate) session: &'a mut Session,
    /// The plan's name, for others who want the device.
    pub(crate) plan: &'a str,
}

impl Executor for LocalExecutor<'_> {
    fn machine(&self) -> &Machine {
        self.session.machine()
    }

    fn expand(&mut self, spec: &PlanSpec, base: &Profiler) -> Result<Expansion, Error> {
        spec.expand(&base.places)
    }

    fn measure(
        &mut self,
        profiler: &Profiler,
        control: &Control,
        say: &mut dyn FnMut(Said<'_>),
    ) -> Result<Option<Measured>, Error> {
        let is_stopping = || control.is_stopping();
        cooling::cool_down(probe::heat, is_stopping, |heat| say(Said::Hot(heat)));
        let Some(_turn) = turn(profiler.device, self.plan, control, say) else { return Ok(None) };
        let profile = profiler.profile_in(self.session, &mut |e| say(Said::Measuring(&e)));
        let mut failure = match profile {
            Ok(profile) => {
                let result = Ok(Box::new(profile.run));
                return Ok(Some(Measured { result, fitting: None }));
            }
            Err(error) => CellFailure::from_error(error)?,
        };
        let mut fitting = None;
        if failure.kind == FailureKind::Memory {
            fitting = self.look_for_room(profiler, &mut failure, say)?;
        }
        Ok(Some(Measured { result: Err(failure), fitting }))
    }
}

impl LocalExecutor<'_> {
    /// Looks for the largest batch that fits, measures it, and adds both to the reason.
    fn look_for_room(
        &mut self,
        profiler: &Profiler,
        failure: &mut CellFailure,
        say: &mut dyn FnMut(Said<'_>),
    ) -> Result<Option<Box<Run>>, Error> {
        let Some(refused) = profiler.batch_size.filter(|&size| size > 1) else { return Ok(None) };
        let mut hear = |event: Event| say(Said::Measuring(&event));
        // What stops the search is a reason not to know it, not to stop the plan.
        let Ok(found) = crate::largest_batch(profiler, refused, &mut hear) else { return Ok(None) };
        say(Said::Fits(found.batch));
        let Some(batch) = found.batch else {
            failure.why += "; not even one sample fits";
            return Ok(None);
        };
        // A whole measurement takes a little more than the short runs of the search.
        for share in [100, 95, 85] {
            let batch = (batch * share / 100).max(1);
            let fitting = profiler.clone().batch_size(batch);
            match fitting.profile_in(self.session, &mut |event| say(Said::Measuring(&event))) {
                Ok(profile) => {
                    let id = &profile.run.id.0;
                    let word = if share == 100 { "fits" } else { "fits a whole measurement" };
                    failure.why +=
                        &format!("; the largest batch that {word} is {batch} (run {id})");
                    return Ok(Some(Box::new(profile.run)));
                }
                Err(error) => match CellFailure::from_error(error)? {
                    CellFailure { kind: FailureKind::Memory, .. } => {}
                    other => {
                        let why = other.text();
                        failure.why += &format!("; batch {batch} fits but was not measured: {why}");
                        return Ok(None);
                    }
                },
            }
        }
        failure.why += &format!("; batch {batch} fits only for a moment");
        Ok(None)
    }
}

/// The device for ourselves; `None` where somebody stopped the plan meanwhile.
fn turn(
    device: Device,
    plan: &str,
    control: &Control,
    say: &mut dyn FnMut(Said<'_>),
) -> Option<Option<Turn>> {
    let who = format!("plan `{plan}`, process {}", std::process::id());
    loop {
        match turn::ask(device, &who) {
            Asked::Ours(turn) => return Some(Some(turn)),
            Asked::Unguarded(why) => {
                say(Said::Unguarded { device, why: &why });
                return Some(None);
            }
            Asked::Taken(who) => say(Said::Busy { device, who: &who }),
        }
        if control.is_stopping() {
            return None;
        }
        thread::sleep(ASK);
    }
}
