//! `modelmeter advise`: what to do about a model or a stored run, and whether it is true.

use crate::{
    Exit, Failure, Sinks,
    arguments::{Advise, Global},
    command::{
        folders,
        measurement::{Settings, measurement, with},
        open_existing_store, runs, watched_session,
    },
    places::places,
    progress::Progress,
};
use modelmeter::{Advisor, Folders, Profiler, Proofs, Run};
use std::path::Path;

pub(crate) fn run(arguments: &Advise, global: &Global) -> Result<Exit, Failure> {
    if !arguments.program.is_empty() {
        return super::advise_program::run(arguments, global);
    }
    let folders = folders(global)?;
    arguments.result.check([])?;
    let advisor = advisor(arguments, global, &folders)?;
    let mut session = watched_session(&folders, arguments.store.no_store, global, "the advice")?;
    let mut progress = Progress::new(global.quiet);
    let outcome = advisor.advise(&mut session, &mut |event| progress.hear(&event));
    progress.clear();
    let mut sinks = Sinks::new(global);
    sinks.hear(&mut session);
    let advice = outcome?;
    let exit = if advice.says_something() { Exit::Fine } else { Exit::Untold };
    sinks.result(&report::advice_document(&advice), &arguments.result, exit);
    Ok(sinks.finish(exit))
}

fn advisor(arguments: &Advise, global: &Global, folders: &Folders) -> Result<Advisor, Failure> {
    let Advise { model, workload, origin, engine, .. } = arguments;
    let measure = |model: &str| -> Result<Profiler, Failure> {
        Ok(measurement(model, workload, origin, places(global))?.folders(folders.clone()))
    };
    let stored = match &model.model {
        Some(subject) if is_run(subject) => Some(stored(subject, global)?),
        _ => None,
    };
    let mut advisor = match stored {
        // A stored run says itself on what it ran.
        Some(run) => Advisor::of_run(run, with(measure("")?, &[&engine.threads, &engine.tuning])),
        None => {
            let base = engine.apply(measure(model.name().unwrap_or_default())?);
            // Writing is what takes the time; a prompt is looked at where nothing is written.
            match arguments.mode.tests()?.last() {
                Some(test) => Advisor::new(base.generation(*test)),
                None => Advisor::new(base),
            }
        }
    };
    advisor = advisor.budget(arguments.budget).proofs(proofs(&arguments.attempt));
    Ok(match arguments.goal {
        Some(goal) => advisor.goal(goal),
        None => advisor,
    })
}

fn proofs(attempt: &[String]) -> Proofs {
    if attempt.is_empty() {
        Proofs::None
    } else if attempt.iter().any(|rule| rule == "all") {
        Proofs::All
    } else {
        Proofs::Rules(attempt.to_vec())
    }
}

/// Digits of a run's id, or `latest`; a file or a folder of that name is a model.
fn is_run(text: &str) -> bool {
    let digits = text.len() >= 2 && text.chars().all(|c| c.is_ascii_hexdigit());
    (text == "latest" || digits) && !Path::new(text).exists()
}

fn stored(subject: &str, global: &Global) -> Result<Run, Failure> {
    let store = open_existing_store(global)?;
    let run = store.run(&runs::find(&store, subject)?.0)?;
    match &run.imported {
        None => Ok(run),
        Some(import) => {
            let text = format!("run `{subject}` was imported from {}", import.tool);
            Err(Failure::new(Exit::Wrong, text).hint(
                "advice needs a measurement by Modelmeter; give the name of the model to make one",
            ))
        }
    }
}
