//! Keeps a lease while its cell is measured.

use std::{
    path::Path,
    sync::mpsc::{RecvTimeoutError, Sender, channel},
    thread::{self, JoinHandle},
};
use store::{Lease, Store};

/// How many signs of life fit into the duration of a lease: two may be lost.
const SIGNS: u32 = 4;

/// Gives signs of life until it is dropped.
pub(crate) struct LeaseHeartbeat {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl LeaseHeartbeat {
    /// Keeps a lease by a connection of its own, which is only made when a cell takes long.
    pub(crate) fn start(location: &Path, lease: &Lease) -> LeaseHeartbeat {
        let (stop, stopped) = channel();
        let (location, lease) = (location.to_owned(), lease.clone());
        let work = move || {
            let mut store = None;
            while stopped.recv_timeout(lease.duration / SIGNS) == Err(RecvTimeoutError::Timeout) {
                if store.is_none() {
                    store = Store::open(&location).ok();
                }
                // A lease that was lost is seen when the cell is finished; a database that is away may be back next time.
                if store.as_ref().is_some_and(|store: &Store| store.heartbeat(&lease).is_err()) {
                    store = None;
                }
            }
        };
        let thread = thread::Builder::new().name("lease".into()).spawn(work).ok();
        LeaseHeartbeat { stop: Some(stop), thread }
    }
}

impl Drop for LeaseHeartbeat {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It may be in the middle of a question; a sign of life after the end would be an error that nobody hears.
            let _ = thread.join();
        }
    }
}
