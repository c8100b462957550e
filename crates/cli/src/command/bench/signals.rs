//! Ctrl-C: once ends after the running cell, twice at once.

use crate::{Exit, Failure, output};
use modelmeter::Control;
use models::discard_unfinished;
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    iterator::Signals,
};
use std::thread;

/// Watches for signals until the process ends.
pub(crate) fn watch(control: &Control) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        Failure::new(Exit::Cannot, "could not watch for Ctrl-C").cause(error.to_string())
    };
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(failed)?;
    let control = control.clone();
    let work = move || {
        for signal in signals.forever() {
            // Who sends SIGTERM, a batch system or a container, kills soon after.
            if signal == SIGTERM || control.is_stopping() {
                control.abandon();
                discard_unfinished();
                output::complain(
                    "\nstopped: what was measured is stored, the running cell is not\nhint: run the same command to \
                     continue\n",
                );
                #[expect(clippy::exit, reason = "the worker dies with this process")]
                std::process::exit(Exit::Stopped as i32);
            }
            control.stop();
            output::complain("\nstopping after the running cell; Ctrl-C once more stops at once\n");
        }
    };
    thread::Builder::new().name("signals".into()).spawn(work).map_err(failed)?;
    Ok(())
}
