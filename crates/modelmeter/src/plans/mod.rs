//! Plans, measured by a [`Profiler`](crate::Profiler): how one cell is, and how another machine is asked for one. What a plan
//! is and how it goes on is the crate `plan`.

mod failure;
mod host;
mod measurer;

pub(crate) use failure::{cell_failure, measurement_failure};
pub use host::{Host, HostExecutor, HostOptions, serve_host};
pub use measurer::{CellMeasurer, EngineHere};
