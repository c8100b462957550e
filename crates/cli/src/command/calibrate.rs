//! `modelmeter calibrate`: measures what a device can do at best, and keeps it with the machine.

use crate::{
    Exit, Failure, Sinks,
    arguments::{Calibrate, Global},
    command::{folders, open_existing_store, session},
    places::places,
    progress::Progress,
};
use modelmeter::{Calibrator, Keep, Session};
use report::CeilingsView;

pub(crate) fn run(arguments: &Calibrate, global: &Global) -> Result<Exit, Failure> {
    // A mistyped path must not become a new database, and one that can only be read can be looked at.
    arguments.result.check([])?;
    let mut session = match arguments.show {
        true => Session::looking_into(open_existing_store(global)?),
        false => session(&folders(global)?, false, global)?,
    };
    let mut sinks = Sinks::new(global);
    let calibrator = calibrator(arguments, global);
    let (standing, measured) = if arguments.show {
        let known = calibrator.known_in(&mut session)?;
        (known.ok_or_else(|| nothing_known(arguments))?, None)
    } else {
        let mut progress = Progress::new(global.quiet);
        let outcome = calibrator.calibrate_in(&mut session, &mut |event| progress.hear(&event));
        progress.clear();
        sinks.hear(&mut session);
        let found = outcome?;
        (found.standing, Some(found.measured))
    };
    let stored = session.store().map(|store| store.path());
    let machine = session.machine();
    let measured = measured.as_ref();
    let view = CeilingsView { machine, standing: &standing, measured, stored };
    sinks.result(&report::ceilings_document(&view), &arguments.result, Exit::Fine);
    Ok(sinks.finish(Exit::Fine))
}

fn calibrator(arguments: &Calibrate, global: &Global) -> Calibrator {
    let calibrator = Calibrator::new()
        .device(arguments.device.device)
        .places(places(global))
        .keep(if arguments.fresh { Keep::Newer } else { Keep::Higher });
    match arguments.threads.threads {
        Some(threads) => calibrator.threads(threads),
        None => calibrator,
    }
}

fn nothing_known(arguments: &Calibrate) -> Failure {
    let device = arguments.device.device;
    let text = format!("the ceilings of `{device}` have not been measured on this machine");
    let threads =
        arguments.threads.threads.map_or(String::new(), |threads| format!(" --threads {threads}"));
    Failure::new(Exit::Wrong, text)
        .hint(format!("`modelmeter calibrate --device {device}{threads}` measures them"))
}
