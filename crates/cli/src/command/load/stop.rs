//! Ctrl-C: once keeps what was measured, twice ends at once.

use crate::{Exit, Failure, output};
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    iterator::Signals,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

/// Watches for signals until the process ends; the flag says that somebody wants it to stop.
pub(crate) fn watch() -> Result<Arc<AtomicBool>, Failure> {
    let failed = |error: std::io::Error| {
        Failure::new(Exit::Cannot, "could not watch for Ctrl-C").cause(error.to_string())
    };
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(failed)?;
    let stop = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&stop);
    let work = move || {
        for _ in signals.forever() {
            if raised.swap(true, Ordering::Relaxed) {
                output::complain("\nstopped: the load in progress is lost\n");
                #[expect(clippy::exit, reason = "the generator dies with this process")]
                std::process::exit(Exit::Stopped as i32);
            }
            output::complain("\nstopping: no more requests; Ctrl-C once more ends at once\n");
        }
    };
    thread::Builder::new().name("signals".into()).spawn(work).map_err(failed)?;
    Ok(stop)
}
