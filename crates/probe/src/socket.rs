//! The socket: what a probe is, what it watches and what it gives.

use crate::IdlePower;
use std::time::Duration;
use types::{Device, Metric};

/// Time between readings unless a probe has a reason for another: twenty a second cost well under 1 % of one processor.
pub const PERIOD: Duration = Duration::from_millis(50);

/// What is watched.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// The worker's process id.
    pub pid: u32,
    /// What the work runs on.
    pub device: Device,
    /// What the machine draws when nothing runs, measured before the worker started.
    pub idle: IdlePower,
}

impl Target {
    /// A process and the device it works on, without an idle baseline.
    #[must_use]
    pub fn new(pid: u32, device: Device) -> Target {
        Target { pid, device, idle: IdlePower::default() }
    }

    /// The same with an idle baseline, so that energy above idle can be told.
    #[must_use]
    pub fn with_idle(self, idle: IdlePower) -> Target {
        Target { idle, ..self }
    }
}

/// An observer of the machine.
pub trait Probe: Sync {
    /// Its stable id: `cpu`.
    fn id(&self) -> &'static str;

    /// What it sees, in one sentence, and what that does not include.
    fn describe(&self) -> &'static str;

    /// Whether it can see anything of this target here.
    ///
    /// # Errors
    /// Why it cannot, and what would help.
    fn availability(&self, target: &Target) -> Result<(), String>;

    /// Begins to watch; the window opens when this returns.
    ///
    /// # Errors
    /// Why it cannot.
    fn start(&self, target: &Target) -> Result<Box<dyn Watch>, String>;
}

/// A probe at work.
pub trait Watch: Send {
    /// Time between readings; `None` for counters read only at both ends.
    fn period(&self) -> Option<Duration>;

    /// Takes one reading; must not block.
    fn read(&mut self);

    /// Takes the last reading and ends.
    fn stop(self: Box<Self>) -> Vec<Metric>;
}

/// The answer of every probe that reads `/proc` or `/sys` on systems that have neither.
pub(crate) fn require_linux() -> Result<(), String> {
    if cfg!(target_os = "linux") {
        Ok(())
    } else {
        Err(format!("available only on Linux; this is {}", std::env::consts::OS))
    }
}
