//! How somebody outside stops a plan.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};
use store::{Lease, Store};

/// Stops a plan from another thread, after the running cell or at once.
#[derive(Debug, Clone, Default)]
pub struct Control(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    stop: AtomicBool,
    held: Mutex<Option<(PathBuf, Lease)>>,
}

impl Control {
    /// Lets the running cell finish and starts no other.
    pub fn stop(&self) {
        self.0.stop.store(true, Ordering::SeqCst);
    }

    /// Whether no other cell is to be started.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.0.stop.load(Ordering::SeqCst)
    }

    /// Gives the running cell back, for a process that is about to end: the next that asks may have it at once.
    pub fn abandon(&self) {
        self.stop();
        let held = self.0.held.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((location, lease)) = held {
            // Where this fails the lease runs out by itself.
            let _ = Store::open(&location).and_then(|store| store.release(&lease));
        }
    }

    pub(crate) fn hold(&self, held: Option<(PathBuf, Lease)>) {
        *self.0.held.lock().unwrap_or_else(PoisonError::into_inner) = held;
    }
}
