//! `modelmeter engines`: which engines are here, and how to get one.

use crate::{
    Exit, Failure, Sinks,
    arguments::{Engines, EnginesAction, Global, ResultOutput},
    command::{devices, folders, table_width},
    output,
    places::places,
    progress::Progress,
};
use modelmeter::{Event, Stage};

pub(crate) fn run(arguments: &Engines, global: &Global) -> Result<Exit, Failure> {
    match &arguments.action {
        EnginesAction::List { result } => list(result, global),
        EnginesAction::Install { engine, version } => {
            install(engine, version.as_deref(), global).map(|()| Exit::Fine)
        }
    }
}

fn list(asked: &ResultOutput, global: &Global) -> Result<Exit, Failure> {
    asked.check([])?;
    let document = devices::engines_document(&places(global));
    let mut sinks = Sinks::new(global);
    sinks.list(&document, asked, Some(table_width().unwrap_or(devices::PIPE_WIDTH)));
    Ok(sinks.finish(Exit::Fine))
}

fn install(engine: &str, version: Option<&str>, global: &Global) -> Result<(), Failure> {
    let engines = modelmeter::Engines::default();
    if engines.find(engine).is_none() {
        let known = engines.ids();
        let text = format!("unknown engine `{engine}`; known engines: {}", known.join(", "));
        return Err(Failure::new(Exit::Wrong, text));
    }
    let places = places(global);
    let folder = folders(global)?.engines;
    let mut progress = Progress::new(global.quiet);
    let outcome =
        modelmeter::install_engine(engine, version, &places, &folder, &mut |done, total, note| {
            progress.hear(&Event::progress(Stage::Prepare, done, total, note));
        });
    progress.clear();
    let library = outcome?;
    output::complain(&format!("installed {engine} as {}\n", library.display()));
    Ok(())
}
