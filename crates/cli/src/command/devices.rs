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
    report::{self, Column, Style, Table, clean},
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
    let text = match arguments.json {
        true => as_json(&devices, &places, &machine, &ceilings),
        false => as_text(&devices, &places, &ceilings, &style(global)),
    };
    output::data(&text)?;
    Ok(Exit::Fine)
}

/// What was measured earlier; a list of devices needs no database, so whatever is wrong with it is said elsewhere.
fn known_ceilings(global: &Global, machine: &Machine) -> Vec<Ceilings> {
    let store = open_existing_store(global).ok();
    store.and_then(|store| store.all_ceilings(&machine.key).ok()).unwrap_or_default()
}

fn as_text(
    devices: &[DeviceInfo],
    places: &Places,
    ceilings: &[Ceilings],
    style: &Style,
) -> String {
    let mut tables = vec![devices_table(devices), engines_table(places), probes_table()];
    if !ceilings.is_empty() {
        tables.insert(1, ceilings_table(ceilings));
    }
    let width = table_width().unwrap_or(PIPE_WIDTH);
    let render = |table: Table| table.painted(style).render(Some(width));
    let tables = tables.into_iter().map(render).collect::<Vec<_>>().join("\n");
    format!("{tables}\n{}\n", report::wrap(&auto_choice(places), width).join("\n"))
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

fn devices_table(devices: &[DeviceInfo]) -> Table {
    let mut table = Table::new([
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
        table.push([device.device.to_string().as_str(), state, &memory, &what]);
    }
    table
}

fn ceilings_table(ceilings: &[Ceilings]) -> Table {
    let mut table = Table::new([
        Column::left("ceilings"),
        Column::right("threads"),
        Column::left("at best").wraps(),
    ]);
    for known in ceilings {
        let threads = if known.threads == 0 { String::new() } else { known.threads.to_string() };
        table.push([&known.device.to_string(), &threads, &report::ceilings_line(known)]);
    }
    table
}

pub(crate) fn engines_table(places: &Places) -> Table {
    let mut table = Table::new([
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
        table.push([engine.id(), &state, &devices.join(", "), &precisions, &what]);
    }
    table
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

fn probes_table() -> Table {
    let mut table =
        Table::new([Column::left("probe"), Column::left("state"), Column::left("what").wraps()]);
    for (id, describe, state) in probe_states() {
        match state {
            Ok(()) => table.push([id, "available", describe]),
            Err(why) => table.push([id, "–", &why]),
        }
    }
    table
}

/// The engines alone, as JSON.
pub(crate) fn engines_json(places: &Places) -> String {
    let document = json!({ "schema": "modelmeter.engines/1", "engines": engines_of(places) });
    format!("{document:#}\n")
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

fn as_json(
    devices: &[DeviceInfo],
    places: &Places,
    machine: &Machine,
    ceilings: &[Ceilings],
) -> String {
    let engines = engines_of(places);
    let probes: Vec<Value> = probe_states()
        .into_iter()
        .map(|(id, describe, state)| {
            json!({ "id": id, "describe": describe, "available": state.is_ok(), "why": state.err() })
        })
        .collect();
    let document = json!({
        "schema": "modelmeter.devices/1",
        "machine": machine,
        "devices": devices,
        "ceilings": ceilings,
        "engines": engines,
        "auto": auto_choice(places),
        "probes": probes,
    });
    format!("{document:#}\n")
}
