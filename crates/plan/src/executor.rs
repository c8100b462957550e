//! Where cells are measured: this machine, or another one.

use crate::{Control, Expansion, MeasuringError, PlanSpec};
use types::{CellFailure, Event, Machine, Run, Task};

/// What came of a cell.
#[derive(Debug)]
pub struct Measured {
    /// Its run, or why there is none.
    pub result: Result<Box<Run>, CellFailure>,
    /// The run of the largest batch that fits, where memory ran out.
    pub fitting: Option<Box<Run>>,
}

/// Where cells are measured.
pub trait Executor {
    /// What ends the whole plan.
    type Error: MeasuringError;

    /// The machine that measures.
    fn machine(&self) -> &Machine;

    /// Finds what contradicts itself in how cells are measured.
    ///
    /// # Errors
    /// What contradicts itself.
    fn check(&self) -> Result<(), Self::Error>;

    /// The cells that can exist there.
    ///
    /// # Errors
    /// Where the plan contradicts itself or the machine goes away.
    fn expand(&mut self, spec: &PlanSpec) -> Result<Expansion, Self::Error>;

    /// Measures one cell of a plan and keeps its run; `None` if somebody stopped the plan before the device was free.
    ///
    /// # Errors
    /// What concerns the plan and not the cell.
    fn measure(
        &mut self,
        plan: &str,
        task: &Task,
        control: &Control,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Option<Measured>, Self::Error>;
}
