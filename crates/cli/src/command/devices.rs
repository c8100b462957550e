//! `modelmeter devices`: every device and engine, or why it is not available and what would make it so.

use crate::{
    Exit, Failure,
    arguments::{Devices, Global},
    command::{open_existing_store, style, table_width},
    output,
    places::places,
};
use modelmeter::{
    Choice, Device, ENGINES, EngineChoice, PROBES, Precision, choose,
    engine::{Availability, Places},
    hardware::{self, DeviceInfo},
    probe::Target,
    report::{self, Block, Column, Grid, Note, ResultDocument, clean},
    types::{Ceilings, Machine},
};
use serde_json::{Value, json};

/// Where sentences are wrapped when nobody looks.
pub(crate) const PIPE_WIDTH: usize = 100;

pub(crate) fn run(arguments: &Devices, global: &Global) -> Result<Exit, Failure> {
    let devices = hardware::devices();
    let places = places(global);
    let machine = hardware::machine();
    let ceilings = known_ceilings(global, &machine);
    let document = document(&devices, &places, &machine, &ceilings);
    output::data(&match arguments.json {
        true => document.json_text(),
        false => document.terminal(&style(global), Some(table_width().unwrap_or(PIPE_WIDTH))),
    })?;
    Ok(Exit::Fine)
}

/// What was measured earlier; a list of devices needs no database, so whatever is wrong with it is said elsewhere.
fn known_ceilings(global: &Global, machine: &Machine) -> Vec<Ceilings> {
    let store = open_existing_store(global).ok();
    store.and_then(|store| store.all_ceilings(&machine.key).ok()).unwrap_or_default()
}

/// Devices, ceilings, engines and probes, each as a table.
fn document(
    devices: &[DeviceInfo],
    places: &Places,
    machine: &Machine,
    ceilings: &[Ceilings],
) -> ResultDocument {
    let mut tables = vec![
        ("devices", devices_grid(devices)),
        ("engines", engines_grid(places)),
        ("probes", probes_grid()),
    ];
    if !ceilings.is_empty() {
        tables.insert(1, ("ceilings", ceilings_grid(ceilings)));
    }
    let table = |(name, grid): (&str, Grid)| Block::Table { name: name.into(), grid };
    let mut blocks: Vec<Block> = tables.into_iter().map(table).collect();
    blocks.push(Block::Notes(vec![Note::new(auto_choice(places))]));
    ResultDocument {
        title: vec!["Devices and engines".into(), machine.hostname.clone()],
        is_list: true,
        blocks,
        json: json(devices, places, machine, ceilings),
        ..ResultDocument::default()
    }
}

/// The engines alone.
pub(crate) fn engines_document(places: &Places) -> ResultDocument {
    ResultDocument {
        title: vec!["Engines".into()],
        is_list: true,
        blocks: vec![Block::Table { name: "engines".into(), grid: engines_grid(places) }],
        json: json!({ "schema": "modelmeter.engines/1", "engines": engines_of(places) }),
        ..ResultDocument::default()
    }
}

/// What `auto` would take here, and why.
fn auto_choice(places: &Places) -> String {
    let (engine, device) = (EngineChoice::Auto, Device::Auto);
    match choose(&engine, device, Precision::Fp32, places, &|_| true) {
        Ok(Choice { engine, device }) => format!(
            "`auto` takes `{}` on `{device}`: the first of cuda, rocm, mps and cpu that an engine here can use, and of \
             the engines that can the first in the list above",
            engine.id()
        ),
        Err(error) => format!("`auto` finds nothing: {error}"),
    }
}

fn devices_grid(devices: &[DeviceInfo]) -> Grid {
    let mut grid = Grid::of([
        Column::left("device"),
        Column::left("state"),
        Column::right("memory").leaves(1),
        Column::left("what").wraps(),
    ]);
    for device in devices {
        let state = if device.available { "available" } else { "–" };
        let what = match &device.name {
            Some(name) => format!("{name}, {}", device.note),
            None => device.note.clone(),
        };
        let memory = device.memory.map(|memory| report::bytes(memory.0)).unwrap_or_default();
        grid.row([device.device.to_string().as_str(), state, &memory, &what]);
    }
    grid
}

fn ceilings_grid(ceilings: &[Ceilings]) -> Grid {
    let mut grid = Grid::of([
        Column::left("ceilings"),
        Column::right("threads"),
        Column::left("at best").wraps(),
    ]);
    for known in ceilings {
        let threads = if known.threads == 0 { String::new() } else { known.threads.to_string() };
        grid.row([&known.device.to_string(), &threads, &report::ceilings_line(known)]);
    }
    grid
}

fn engines_grid(places: &Places) -> Grid {
    let mut grid = Grid::of([
        Column::left("engine"),
        Column::left("state"),
        Column::left("devices"),
        Column::left("precisions"),
        Column::left("what").wraps(),
    ]);
    for engine in ENGINES {
        let (state, what) = match engine.availability(places) {
            Availability::Available { version } => {
                let from = engine.origin(places).map(|path| format!(": `{}`", path.display()));
                (version, format!("{}{}", engine.describe(), clean(&from.unwrap_or_default())))
            }
            Availability::Unavailable { why, hint } => ("–".to_owned(), format!("{why}; {hint}")),
        };
        let devices: Vec<String> = engine.devices(places).iter().map(ToString::to_string).collect();
        let precisions = precisions_of(*engine, places).join(", ");
        grid.row([engine.id(), &state, &devices.join(", "), &precisions, &what]);
    }
    grid
}

fn precisions_of(engine: &dyn modelmeter::engine::Engine, places: &Places) -> Vec<&'static str> {
    let mut names: Vec<&'static str> = Vec::new();
    for device in engine.devices(places) {
        for precision in engine.precisions(places, device) {
            if !names.contains(&precision.name()) {
                names.push(precision.name());
            }
        }
    }
    names
}

/// This process stands for any worker: what can be seen of it can be seen of them.
fn probe_states() -> Vec<(&'static str, &'static str, Result<(), String>)> {
    let target = Target::new(std::process::id(), modelmeter::Device::Cpu);
    let state = |probe: &&dyn modelmeter::probe::Probe| {
        (probe.id(), probe.describe(), probe.availability(&target))
    };
    PROBES.iter().map(state).collect()
}

fn probes_grid() -> Grid {
    let mut grid =
        Grid::of([Column::left("probe"), Column::left("state"), Column::left("what").wraps()]);
    for (id, describe, state) in probe_states() {
        match state {
            Ok(()) => grid.row([id, "available", describe]),
            Err(why) => grid.row([id, "–", &why]),
        }
    }
    grid
}

fn engines_of(places: &Places) -> Vec<Value> {
    ENGINES
        .iter()
        .map(|engine| {
            json!({
                "id": engine.id(),
                "describe": engine.describe(),
                "availability": engine.availability(places),
                "path": engine.origin(places),
                "devices": engine.devices(places),
                "precisions": precisions_of(*engine, places),
            })
        })
        .collect()
}

fn json(
    devices: &[DeviceInfo],
    places: &Places,
    machine: &Machine,
    ceilings: &[Ceilings],
) -> Value {
    let engines = engines_of(places);
    let probes: Vec<Value> = probe_states()
        .into_iter()
        .map(|(id, describe, state)| {
            json!({ "id": id, "describe": describe, "available": state.is_ok(), "why": state.err() })
        })
        .collect();
    json!({
        "schema": "modelmeter.devices/1",
        "machine": machine,
        "devices": devices,
        "ceilings": ceilings,
        "engines": engines,
        "auto": auto_choice(places),
        "probes": probes,
    })
}
