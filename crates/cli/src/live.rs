//! What this process says while it measures, for whoever looks at the live page.

use crate::arguments::{Command, Global, LoadTo};
use crate::command;
use live::Journal;
use modelmeter::Event;
use std::{path::Path, sync::OnceLock};

static JOURNAL: OnceLock<Journal> = OnceLock::new();

/// Begins to tell, if this command measures. That nobody can be told costs the live page and nothing else.
/// No folder of data is made for it: a first run that stores nothing here leaves nothing here.
pub(crate) fn begin(command: &Command, global: &Global) {
    let Some(name) = name(command) else { return };
    let Ok(folders) = command::folders(global) else { return };
    let folder = folders.live();
    if !folder.parent().is_some_and(Path::is_dir) {
        return;
    }
    if let Ok(journal) = Journal::begin(&folder, name, modelmeter::VERSION) {
        if let Command::Load(arguments) = command {
            // An address is written without its query, in which keys can stand.
            journal.say_target(match &arguments.target {
                LoadTo::Model(name) => name.clone(),
                LoadTo::Server(address) => address.to_string(),
            });
        }
        let _ = JOURNAL.set(journal);
    }
}

/// Tells an event.
pub(crate) fn say(event: &Event) {
    if let Some(journal) = JOURNAL.get() {
        journal.say(event);
    }
}

/// Tells that the process ends, and how.
pub(crate) fn end(exit: i32) {
    if let Some(journal) = JOURNAL.get() {
        journal.end(exit);
    }
}

/// The name of a command that measures.
fn name(command: &Command) -> Option<&'static str> {
    Some(match command {
        Command::Profile(_) => "profile",
        Command::Generate(_) => "generate",
        Command::Load(_) => "load",
        Command::Gpu(_) => "gpu",
        Command::Compare(_) => "compare",
        Command::Bench(_) => "bench",
        Command::ServeBench(_) => "serve-bench",
        Command::Watch(_) => "watch",
        Command::Fit(_) => "fit",
        Command::Prune(_) => "prune",
        Command::Quantize(_) => "quantize",
        Command::Optimize(_) => "optimize",
        Command::Advise(_) => "advise",
        Command::Check(_) => "check",
        Command::Noise(_) => "noise",
        Command::Calibrate(_) => "calibrate",
        _ => return None,
    })
}
