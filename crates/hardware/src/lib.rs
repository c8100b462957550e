//! Which machine this is, and its measured ceilings.
//!
//! What lives here does not change while a model runs: the processor, the memory, the GPUs, the limits that a
//! control group sets, and the best rates the machine can reach. What changes while work runs belongs in `probe`.

pub mod ceilings;
pub mod cgroup;
mod cpu_list;
mod devices;
mod identity;
pub mod nvidia;
mod processor;
mod system;
mod threads;

pub use ceilings::{Scope, ceilings};
pub use cpu_list::parse_cpu_list;
pub use devices::{DeviceInfo, devices};
pub use identity::machine;
pub use system::{available_memory, hostname, kernel, os};
pub use threads::{default_threads, shared_processors};
