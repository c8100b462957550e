//! `modelmeter devices`: every device and engine, or why it is not available and what would make it so.

use crate::{
    Exit, Failure, Sinks,
    arguments::{Devices, Global},
    command::{open_existing_store, table_width},
    places::places,
};
use engine::{Availability, Engine, Places};
use hardware::DeviceInfo;
use modelmeter::{Choice, Device, ENGINES, EngineChoice, Engines, PROBES, Precision};
use probe::Target;
use report::{Block, Column, Grid, Note, ResultDocument, clean};
use schemars::JsonSchema;
use serde::Serialize;
use types::{Ceilings, Machine};

/// The name and version of the document of `devices`.
pub(crate) const DEVICES_SCHEMA: &str = "modelmeter.devices/1";

/// The name and version of the document of `engines list`.
pub(crate) const ENGINES_SCHEMA: &str = "modelmeter.engines/1";

/// Where sentences are wrapped when nobody looks.
pub(crate) const PIPE_WIDTH: usize = 100;

pub(crate) fn run(arguments: &Devices, global: &Global) -> Result<Exit, Failure> {
    arguments.result.check([])?;
    let places = places(global);
    let mut devices = hardware::devices();
    devices.extend(devices_of_pages(&places));
    let machine = hardware::machine();
    let ceilings = known_ceilings(global, &machine);
    let document = document(&devices, &places, &machine, &ceilings);
    let mut sinks = Sinks::new(global);
    sinks.list(&document, &arguments.result, Some(table_width().unwrap_or(PIPE_WIDTH)));
    Ok(sinks.finish(Exit::Fine))
}

/// What a browser here runs models on.
fn devices_of_pages(places: &Places) -> Vec<DeviceInfo> {
    let info = |engine: &&'static dyn Engine, device: Device| {
        let available = engine.devices(places).contains(&device);
        let note = match (engine.availability(places), engine.origin(places)) {
            (Availability::Unavailable { why, hint }, _) => format!("{why}; {hint}"),
            (_, Some(path)) => format!("in a browser, `{}`", path.display()),
            (_, None) => "in a browser".to_owned(),
        };
        DeviceInfo { device, available, name: None, memory: None, driver: None, note }
    };
    let pages = ENGINES.iter().filter(|engine| engine.serves_pages());
    pages
        .flat_map(|engine| {
            [Device::Wasm, Device::Webgpu, Device::Webnn].map(|device| info(engine, device))
        })
        .collect()
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
    let table = |(name, grid): (&str, Grid)| Block::table(name, grid);
    let mut blocks: Vec<Block> = tables.into_iter().map(table).collect();
    blocks.push(Block::Notes(vec![Note::new(auto_choice(places))]));
    ResultDocument {
        title: vec!["Devices and engines".into(), machine.hostname.clone()],
        is_list: true,
        blocks,
        json: report::to_json(&DevicesDocument {
            schema: DEVICES_SCHEMA,
            machine,
            devices,
            ceilings,
            engines: engines_of(places),
            auto: auto_choice(places),
            probes: probe_states().into_iter().map(ProbeDocument::from).collect(),
        }),
        ..ResultDocument::default()
    }
}

/// The engines alone.
pub(crate) fn engines_document(places: &Places) -> ResultDocument {
    ResultDocument {
        title: vec!["Engines".into()],
        is_list: true,
        blocks: vec![Block::table("engines", engines_grid(places))],
        json: report::to_json(&EnginesDocument {
            schema: ENGINES_SCHEMA,
            engines: engines_of(places),
        }),
        ..ResultDocument::default()
    }
}

/// What `auto` would take here, and why.
fn auto_choice(places: &Places) -> String {
    let (engine, device) = (EngineChoice::Auto, Device::Auto);
    match Engines::default().choose(&engine, device, Precision::Fp32, places, &|_| true) {
        Ok(Choice { engine, device }) => format!(
            "`auto` selects `{}` on `{device}`: the first of cuda, rocm, mps and cpu that an engine here supports, \
             and the first such engine in the list above",
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
        let precisions: Vec<&str> =
            precisions_of(*engine, places).into_iter().map(Precision::name).collect();
        grid.row([engine.id(), &state, &devices.join(", "), &precisions.join(", "), &what]);
    }
    grid
}

fn precisions_of(engine: &dyn Engine, places: &Places) -> Vec<Precision> {
    let mut known: Vec<Precision> = Vec::new();
    for device in engine.devices(places) {
        for precision in engine.precisions(places, device) {
            if !known.contains(&precision) {
                known.push(precision);
            }
        }
    }
    known
}

/// A probe's id, what it watches, and whether it can.
type ProbeState = (&'static str, &'static str, Result<(), String>);

/// This process stands for any worker: what can be seen of it can be seen of them.
fn probe_states() -> Vec<ProbeState> {
    let target = Target::new(std::process::id(), modelmeter::Device::Cpu);
    let state =
        |probe: &&dyn probe::Probe| (probe.id(), probe.describe(), probe.availability(&target));
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

fn engines_of(places: &Places) -> Vec<EngineDocument> {
    let one = |engine: &&'static dyn Engine| EngineDocument {
        id: engine.id(),
        describe: engine.describe(),
        availability: engine.availability(places),
        path: engine.origin(places).map(|path| path.to_string_lossy().into_owned()),
        devices: engine.devices(places),
        precisions: precisions_of(*engine, places),
    };
    ENGINES.iter().map(one).collect()
}

/// This machine, its devices, engines and probes.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DevicesDocument<'a> {
    #[schemars(extend("const" = DEVICES_SCHEMA))]
    schema: &'static str,
    machine: &'a Machine,
    devices: &'a [DeviceInfo],
    /// Measured ceilings of devices from earlier calibrations.
    ceilings: &'a [Ceilings],
    engines: Vec<EngineDocument>,
    /// What `auto` would choose here, and why.
    auto: String,
    probes: Vec<ProbeDocument>,
}

/// The engines alone.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EnginesDocument {
    #[schemars(extend("const" = ENGINES_SCHEMA))]
    schema: &'static str,
    engines: Vec<EngineDocument>,
}

/// An engine, and whether it works here.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Engine")]
struct EngineDocument {
    id: &'static str,
    /// A description of it.
    describe: &'static str,
    availability: Availability,
    /// Its location; null if it is built in or missing.
    path: Option<String>,
    devices: Vec<Device>,
    /// The number formats that any of its devices supports.
    precisions: Vec<Precision>,
}

/// A probe, and whether it works on this machine.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Probe")]
struct ProbeDocument {
    id: &'static str,
    /// What it observes.
    describe: &'static str,
    available: bool,
    /// Why it does not work here.
    why: Option<String>,
}

impl From<ProbeState> for ProbeDocument {
    fn from((id, describe, state): ProbeState) -> ProbeDocument {
        ProbeDocument { id, describe, available: state.is_ok(), why: state.err() }
    }
}
