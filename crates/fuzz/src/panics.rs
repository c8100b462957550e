//! Remembers panics instead of printing them: their place tells one finding from another.

use std::{
    backtrace::Backtrace,
    panic,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The panics since they were last taken, those that somebody caught included.
static SEEN: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn seen() -> MutexGuard<'static, Vec<String>> {
    SEEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on panics are remembered.
pub(crate) fn remember() {
    panic::set_hook(Box::new(|info| {
        let place = info.location().map(|at| match at.file().starts_with("/rustc/") {
            // The standard library's place says little; what of ours called it says more.
            true => format!("{}:{}{}", at.file(), at.line(), caller()),
            false => format!("{}:{}", at.file(), at.line()),
        });
        let text = info
            .payload()
            .downcast_ref::<&str>()
            .map(ToString::to_string)
            .or_else(|| info.payload().downcast_ref::<String>().cloned())
            .unwrap_or_default();
        let first = text.lines().next().unwrap_or_default();
        let mut seen = seen();
        // A panic in a loop that is caught each time must not fill the memory.
        if seen.len() < 100 {
            seen.push(format!("{}: {first}", place.unwrap_or_default()));
        }
    }));
}

/// The innermost function of ours that is running.
fn caller() -> String {
    let frames = Backtrace::force_capture().to_string();
    let ours = |line: &&str| line.contains("modelmeter_") && !line.contains("modelmeter_fuzz");
    let line = frames.lines().find(ours).unwrap_or_default();
    line.split_once(": ")
        .map_or_else(String::new, |(_, name)| format!(" in {}", name.replace(": ", ":")))
}

/// What was remembered since the last time.
pub(crate) fn take() -> Vec<String> {
    std::mem::take(&mut seen())
}

/// The place of a panic: what is the same in all cases that end there.
pub(crate) fn place(what: &str) -> &str {
    what.split_once(": ").map_or(what, |(place, _)| place)
}
