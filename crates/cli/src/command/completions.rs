//! `modelmeter completions`: a script that lets a shell ask this program what could come next.
//!
//! The script hands over the words that were typed, in a run of this program with a variable set. So models, engines,
//! devices and runs are those of today, not of the day when the script was made.

use crate::{
    Exit, Failure,
    arguments::{Arguments, Completions},
    output,
};
use clap::CommandFactory;
use clap_complete::{CompleteEnv, env::Shells};
use std::{env, path::Path};

/// The variable that asks for completions; its value is the shell.
const VARIABLE: &str = "MODELMETER_COMPLETE";

/// Answers a shell that asks what could come next; whether one did.
pub(crate) fn answer() -> bool {
    let folder = env::current_dir().ok();
    let asked = CompleteEnv::with_factory(Arguments::command).var(VARIABLE);
    // A shell that cannot be answered shows nothing, and is told nothing that it would print into the line.
    env::var_os(VARIABLE).is_some_and(|shell| !shell.is_empty())
        && asked.try_complete(env::args_os(), folder.as_deref()).unwrap_or(true)
}

pub(crate) fn run(arguments: &Completions) -> Result<Exit, Failure> {
    let shell = arguments.shell.to_string();
    let shells = Shells::builtins();
    let Some(completer) = shells.completer(&shell) else {
        return Err(Failure::new(Exit::Wrong, format!("there are no completions for `{shell}`")));
    };
    let mut script = Vec::new();
    let written =
        completer.write_registration(VARIABLE, "modelmeter", "modelmeter", &program(), &mut script);
    written.map_err(|error| {
        Failure::new(Exit::Cannot, "could not generate the completions").cause(error.to_string())
    })?;
    output::data(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Fine)
}

/// What the shell runs: the bare name where it was found on the path, so that the script survives an update.
fn program() -> String {
    let named = env::args_os().next().unwrap_or_default();
    let is_bare = Path::new(&named).components().count() == 1;
    match env::current_exe() {
        Ok(path) if !is_bare => path.to_string_lossy().into_owned(),
        _ => "modelmeter".to_owned(),
    }
}
