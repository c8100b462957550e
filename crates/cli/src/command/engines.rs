//! `modelmeter engines`: which engines are here, and how to get one.

use crate::{
    Exit, Failure,
    arguments::{Engines, EnginesAction, Global},
    command::{devices, folders, style, table_width},
    output,
    places::places,
    progress::Progress,
};
use modelmeter::{ENGINES, Event, Stage};

pub(crate) fn run(arguments: &Engines, global: &Global) -> Result<Exit, Failure> {
    match &arguments.action {
        EnginesAction::List { json } => list(*json, global)?,
        EnginesAction::Install { engine, version } => install(engine, version.as_deref(), global)?,
    }
    Ok(Exit::Fine)
}

fn list(json: bool, global: &Global) -> Result<(), Failure> {
    let places = places(global);
    let document = devices::engines_document(&places);
    output::data(&match json {
        true => document.json_text(),
        false => {
            let width = table_width().unwrap_or(devices::PIPE_WIDTH);
            document.terminal(&style(global), Some(width))
        }
    })
}

fn install(engine: &str, version: Option<&str>, global: &Global) -> Result<(), Failure> {
    if !ENGINES.iter().any(|known| known.id() == engine) {
        let known: Vec<&str> = ENGINES.iter().map(|engine| engine.id()).collect();
        let text = format!("no engine is called `{engine}`; known are {}", known.join(", "));
        return Err(Failure::new(Exit::Wrong, text));
    }
    let places = places(global);
    let folder = folders(global)?.engines;
    let mut progress = Progress::new(global.quiet);
    let outcome =
        modelmeter::install_engine(engine, version, &places, &folder, &mut |done, total, note| {
            let note = note.to_owned();
            progress.hear(&Event::Progress { stage: Stage::Prepare, done, total, note });
        });
    progress.clear();
    let library = outcome?;
    output::complain(&format!("installed {engine} as {}\n", library.display()));
    Ok(())
}
