//! Ctrl-C while something is measured: ends at once, and says what was kept and how to go on.

use crate::{Exit, Failure, output};
use modelmeter::Session;
use models::discard_unfinished;
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    iterator::Signals,
};
use std::{sync::atomic::Ordering, thread};

/// Watches for signals until the process ends; `what` is lost where one comes, as people call it: `the comparison`.
pub(crate) fn watch(session: &Session, is_kept: bool, what: &'static str) -> Result<(), Failure> {
    let kept = session.kept();
    start(move || said(is_kept, kept.load(Ordering::SeqCst), what))
}

/// The same for a command that stores nothing.
pub(crate) fn watch_files(what: &'static str) -> Result<(), Failure> {
    start(move || {
        format!("\nstopped: {what} is not finished\nhint: run the same command to start again\n")
    })
}

fn start(said: impl FnOnce() -> String + Send + 'static) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        Failure::new(Exit::Cannot, "could not watch for Ctrl-C").cause(error.to_string())
    };
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(failed)?;
    let work = move || {
        if signals.forever().next().is_some() {
            // Nothing half-written stays.
            discard_unfinished();
            output::complain(&said());
            crate::live::end(Exit::Stopped as i32);
            #[expect(clippy::exit, reason = "the worker dies with this process")]
            std::process::exit(Exit::Stopped as i32);
        }
    };
    thread::Builder::new().name("signals".into()).spawn(work).map_err(failed)?;
    Ok(())
}

/// What is left of it, and what to do next.
fn said(is_kept: bool, runs: u64, what: &str) -> String {
    let kept = match (is_kept, runs) {
        (false, _) => "nothing was stored (`--no-store`)".to_owned(),
        (true, 0) => "nothing was stored".to_owned(),
        (true, 1) => "1 run was stored (`modelmeter runs list --limit 1`)".to_owned(),
        (true, runs) => format!("{runs} runs were stored (`modelmeter runs list --limit {runs}`)"),
    };
    format!(
        "\nstopped: {kept}; {what} in progress is lost\nhint: run the same command to start again\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_is_counted_and_what_was_not_is_named() {
        assert!(
            said(true, 0, "the run").contains("stopped: nothing was stored; the run in progress")
        );
        assert!(said(true, 1, "the check").contains("1 run was stored"));
        let several = said(true, 12, "the check");
        assert!(several.contains("12 runs were stored (`modelmeter runs list --limit 12`)"));
        assert!(several.contains("hint: run the same command to start again"), "{several}");
        assert!(said(false, 12, "the run").contains("--no-store"));
    }
}
