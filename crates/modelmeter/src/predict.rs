//! Predictions from the database: its cells as cases, and a question as one that was not measured.
//!
//! A prediction is never stored and never becomes a run.

use crate::{Error, Folders, Profiler, Session, VERSION, prepare};
use predict::{Case, Catalogue, Hardware, Kept, Known, Learned};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fs, path::Path};
use store::{Scope, Store, StoreError};
use types::{Device, Event, Machine, Measured, Mode, Precision, Run, RunId, Variant};

/// Of one cell, so many of the newest valid runs are put together.
const RUNS: usize = 5;
/// Raised whenever the same runs lead to another fit, so that kept ones are made again.
const FITS: u32 = 2;
/// Cells that are read, at most: what a person's database holds many times over.
const CELLS: usize = 20_000;
/// Runs of one cell that differ by more than this factor contradict each other.
const CONTRADICTING: f64 = 1.5;
/// Names that are told where one is not known.
const NEAR: usize = 3;

/// What a database knows, by kind of hardware, and what of it was left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Experience {
    /// Cells on processors.
    pub processors: Vec<Known>,
    /// Cells on GPUs.
    pub gpus: Vec<Known>,
    /// Cells that were left out or are doubtful: why, and how many.
    pub left_out: BTreeMap<String, usize>,
}

/// The hardware of a question.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// This machine: its processors, or the GPU of this index.
    Here(Device),
    /// A machine of the database, by its key; and its name for people.
    Stored(String, String, Device),
    /// A processor or GPU of the catalogue.
    Stated(Box<Hardware>),
}

impl Target {
    /// The hardware that a person names: `here`, a machine of the database, or a name of the catalogue.
    ///
    /// # Errors
    /// If nothing is called so; names that resemble it are the hint.
    pub fn named(
        name: &str,
        store: Option<&Store>,
        catalogue: &Catalogue,
    ) -> Result<Target, Error> {
        let lower = name.to_lowercase();
        if let Ok(device) = lower.parse::<Device>()
            && matches!(device, Device::Cpu | Device::Cuda(_))
        {
            return Ok(Target::Here(device));
        }
        if matches!(lower.as_str(), "here" | "this" | "this machine" | "this-machine" | "localhost")
        {
            return Ok(Target::Here(Device::Cpu));
        }
        let machines = store.map(Store::machines).transpose()?.unwrap_or_default();
        let own = hardware::machine();
        let is_it = |key: &str, host: &str| {
            host.to_lowercase() == lower
                || (lower.len() >= 4 && key.to_lowercase().starts_with(&lower))
        };
        if is_it(&own.key, &own.hostname) {
            return Ok(Target::Here(Device::Cpu));
        }
        if let Some((key, host)) = machines.iter().find(|(key, host)| is_it(key, host)) {
            let words = if host.is_empty() { key.clone() } else { host.clone() };
            // What was measured there last is what is meant.
            let newest = store.map(|store| newest_run(store, key)).transpose()?.flatten();
            let is_gpu = newest.as_ref().is_some_and(|run| is_gpu(run.cell.device));
            if !is_gpu {
                return Ok(Target::Stored(key.clone(), words, Device::Cpu));
            }
            let gpu = newest.and_then(|run| run.environment.machine.gpus.into_iter().next());
            let words = if host.is_empty() { gpu.map_or(words, |gpu| gpu.name) } else { words };
            return Ok(Target::Stored(key.clone(), words, Device::Cuda(0)));
        }
        if let Some(found) = catalogue.find(name) {
            if found.is_gpu
                && let Some(store) = store
                && let Some(target) = with_gpu(store, found, catalogue, &own.key)?
            {
                return Ok(target);
            }
            return Ok(Target::Stated(Box::new(found.clone())));
        }
        let hosts = machines.values().map(String::as_str).filter(|host| !host.is_empty());
        let mut near: Vec<String> = catalogue.near(name).into_iter().map(str::to_owned).collect();
        near.extend(types::near(name, hosts).into_iter().map(str::to_owned));
        near.truncate(NEAR);
        Err(Error::UnknownHardware { name: name.to_owned(), near })
    }

    /// What people call it.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Target::Here(Device::Cpu) => "this machine".into(),
            Target::Here(device) => format!("{device} of this machine"),
            Target::Stored(_, words, _) => words.clone(),
            Target::Stated(hardware) => hardware.name.clone(),
        }
    }

    /// Whether it is a GPU.
    #[must_use]
    pub fn is_gpu(&self) -> bool {
        match self {
            Target::Here(device) | Target::Stored(_, _, device) => *device != Device::Cpu,
            Target::Stated(hardware) => hardware.is_gpu,
        }
    }
}

/// The newest run of a machine, whose key it is.
fn newest_run(store: &Store, key: &str) -> Result<Option<Run>, Error> {
    let filter =
        store::Filter { machine: Some(key.to_owned()), limit: Some(1), ..Default::default() };
    let rows = store.runs(&filter)?;
    Ok(rows.first().map(|row| store.run_without_samples(&row.id)).transpose()?)
}

/// A machine of the database with this GPU and runs on it: what was measured says more than what is stated. Of several the
/// one with the newest run.
fn with_gpu(
    store: &Store,
    asked: &Hardware,
    catalogue: &Catalogue,
    own: &str,
) -> Result<Option<Target>, Error> {
    let mut found: Option<(i64, Target)> = None;
    for machine in store.all_machines()? {
        let Some(gpu) = machine.gpus.first() else { continue };
        if catalogue.find(&gpu.name).is_none_or(|known| known.name != asked.name) {
            continue;
        }
        let filter = store::Filter {
            machine: Some(machine.key.clone()),
            device: Some(Device::Cuda(0)),
            valid: Some(true),
            limit: Some(1),
            ..Default::default()
        };
        let rows = store.runs(&filter)?;
        let Some(newest) = rows.first() else { continue };
        if found.as_ref().is_none_or(|(time, _)| *time < newest.started_at) {
            let target = match machine.key == own {
                true => Target::Here(Device::Cuda(0)),
                false => Target::Stored(machine.key, gpu.name.clone(), Device::Cuda(0)),
            };
            found = Some((newest.started_at, target));
        }
    }
    Ok(found.map(|(_, target)| target))
}

impl Experience {
    /// The question as its cells are named: a name that stands for another model here may be a model's own name in imported
    /// runs. Then the cells with the name that was typed are meant, if the other name has none.
    #[must_use]
    pub fn met_by(&self, case: Case, typed: &str) -> Case {
        let all = if case.is_gpu { &self.gpus } else { &self.processors };
        if all.iter().any(|known| known.case.model == case.model) {
            return case;
        }
        let alike = |known: &Case| {
            let same = [
                known.machine == case.machine,
                known.mode == case.mode,
                known.engine == case.engine,
                known.precision == case.precision,
                known.batch == case.batch,
            ];
            same.into_iter().fold(0, |score, same| score * 2 + u8::from(same))
        };
        let typed = all.iter().map(|known| &known.case).filter(|known| known.model == typed);
        match typed.max_by_key(|known| alike(known)) {
            Some(known) => {
                let scaled = |amount: Option<f64>| amount.map(|one| one * case.batch / known.batch);
                Case {
                    model: known.model.clone(),
                    family: known.family.clone(),
                    variant: known.variant.clone(),
                    length: known.length,
                    flops: scaled(known.flops),
                    bytes: scaled(known.bytes),
                    weights: known.weights,
                    ..case
                }
            }
            None => case,
        }
    }

    /// Everything valid of a database; invalid runs are left out and counted.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn of(store: &Store, catalogue: &Catalogue) -> Result<Experience, Error> {
        let mut cells: Vec<Vec<Measured>> = Vec::new();
        let mut left_out: BTreeMap<String, usize> = BTreeMap::new();
        let mut more = 0;
        store.newest(&Scope::default(), RUNS, |newest| {
            let valid: Vec<Measured> =
                newest.runs.into_iter().filter(|run| run.valid && run.median.is_some()).collect();
            if valid.is_empty() {
                *left_out.entry("no run of the cell is valid".into()).or_default() += 1;
            } else if cells.len() < CELLS {
                cells.push(valid);
            } else {
                more += 1;
            }
        })?;
        if more > 0 {
            left_out.insert(format!("more than {CELLS} cells"), more);
        }
        let mut found = Experience { processors: Vec::new(), gpus: Vec::new(), left_out };
        let mut machines = Machines { store, catalogue, seen: BTreeMap::new() };
        for mut runs in cells {
            runs.sort_by_key(|run| run.started_at);
            match machines.known(&runs) {
                Ok(known) => {
                    if is_contradicting(&runs) {
                        *found
                            .left_out
                            .entry("runs contradict each other; their median is used".into())
                            .or_default() += 1;
                    }
                    if known.case.is_gpu {
                        found.gpus.push(known)
                    } else {
                        found.processors.push(known)
                    }
                }
                Err(Unusable::Because(why)) => *found.left_out.entry(why).or_default() += 1,
                Err(Unusable::Error(error)) => return Err(*error),
            }
        }
        Ok(found)
    }

    /// What was learned of one kind of hardware.
    ///
    /// # Errors
    /// If it is too little.
    pub fn learn(&self, is_gpu: bool) -> Result<Learned, predict::Error> {
        Learned::fit(if is_gpu { self.gpus.clone() } else { self.processors.clone() })
    }
}

/// What was learned from a database, kept between commands.
pub struct Fits {
    /// What it was learned from.
    pub experience: Experience,
    /// What was learned of processors, or why nothing was.
    pub processors: Result<Learned, String>,
    /// What was learned of GPUs, or why nothing was.
    pub gpus: Result<Learned, String>,
}

#[derive(Serialize, Deserialize)]
struct KeptFits {
    stamp: String,
    experience: Experience,
    processors: Result<Kept, String>,
    gpus: Result<Kept, String>,
}

impl Fits {
    /// What was kept, if the database has no newer run; otherwise learned now, and kept. `again` learns in any case.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn of(
        store: &Store,
        catalogue: &Catalogue,
        folders: &Folders,
        again: bool,
    ) -> Result<Fits, Error> {
        let stamp = stamp(store)?;
        let place = folders.database.to_string_lossy();
        let file = folders
            .engines
            .with_file_name("predictions")
            .join(format!("{:016x}.json", types::stable_hash(place.bytes())));
        if !again && let Some(kept) = Fits::kept(&file, &stamp) {
            return Ok(kept);
        }
        let experience = Experience::of(store, catalogue)?;
        let learn = |is_gpu| experience.learn(is_gpu).map_err(|error| error.to_string());
        let (processors, gpus) = (learn(false), learn(true));
        let keep = |learned: &Result<Learned, String>| {
            learned.as_ref().map(Kept::from).map_err(Clone::clone)
        };
        let kept = KeptFits {
            stamp,
            processors: keep(&processors),
            gpus: keep(&gpus),
            experience: experience.clone(),
        };
        // A fit that cannot be kept is made again.
        let _ = write_whole(&file, &kept);
        Ok(Fits { experience, processors, gpus })
    }

    fn kept(file: &Path, stamp: &str) -> Option<Fits> {
        let kept: KeptFits = serde_json::from_slice(&fs::read(file).ok()?).ok()?;
        if kept.stamp != stamp {
            return None;
        }
        let learned = |fit: Result<Kept, String>, cells: &[Known]| match fit {
            Ok(fit) => fit.learned().map(|learned| Ok(learned.knowing(cells))),
            Err(why) => Some(Err(why)),
        };
        Some(Fits {
            processors: learned(kept.processors, &kept.experience.processors)?,
            gpus: learned(kept.gpus, &kept.experience.gpus)?,
            experience: kept.experience,
        })
    }

    /// What was learned of one kind of hardware.
    pub fn of_kind(&self, is_gpu: bool) -> &Result<Learned, String> {
        if is_gpu { &self.gpus } else { &self.processors }
    }
}

/// What changes with every import, deletion and measurement: how many runs there are, the newest, middle and oldest of them, and
/// the ceilings of all machines.
fn stamp(store: &Store) -> Result<String, Error> {
    let count = store.count(&store::Filter::default())?;
    let valid = store.count(&store::Filter { valid: Some(true), ..Default::default() })?;
    let mut stamp = format!("{VERSION} {FITS} {count} {valid}");
    for offset in [0, count / 2, count.saturating_sub(1)] {
        let filter = store::Filter { limit: Some(1), offset, ..Default::default() };
        let rows = store.runs(&filter)?;
        stamp.push(' ');
        stamp.extend(rows.first().map(|row| row.id.0.as_str()));
    }
    let mut ceilings = String::new();
    for machine in store.all_machines()? {
        ceilings += &machine.key;
        ceilings += &format!("{:?}", store.all_ceilings(&machine.key)?);
    }
    Ok(format!("{stamp} {:016x}", types::stable_hash(ceilings.bytes())))
}

/// Another command may read meanwhile: it sees the old file or the new one.
fn write_whole(file: &Path, kept: &KeptFits) -> std::io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let new = tempfile::NamedTempFile::new_in(folder)?;
    serde_json::to_writer(std::io::BufWriter::new(&new), kept)?;
    new.persist(file)?;
    Ok(())
}

fn is_contradicting(runs: &[Measured]) -> bool {
    let times = || runs.iter().filter_map(|run| run.median);
    let (low, high) =
        times().fold((f64::INFINITY, 0.0f64), |(low, high), one| (low.min(one), high.max(one)));
    high / low > CONTRADICTING
}

enum Unusable {
    Because(String),
    Error(Box<Error>),
}

impl From<Error> for Unusable {
    fn from(error: Error) -> Unusable {
        Unusable::Error(Box::new(error))
    }
}

impl From<StoreError> for Unusable {
    fn from(error: StoreError) -> Unusable {
        Unusable::Error(Box::new(error.into()))
    }
}

/// The peaks of the machines of a database.
struct Machines<'a> {
    store: &'a Store,
    catalogue: &'a Catalogue,
    seen: BTreeMap<(String, Device, u32), Peaks>,
}

/// Measured or stated peaks; of each precision its own where it was measured.
#[derive(Debug, Clone, Default)]
struct Peaks {
    operations: BTreeMap<Precision, f64>,
    bandwidth: Option<f64>,
    cache: Option<f64>,
}

impl Peaks {
    fn stated(hardware: &Hardware) -> Peaks {
        let half = |precision| (precision, hardware.half);
        Peaks {
            operations: BTreeMap::from([
                (Precision::Fp32, hardware.single),
                half(Precision::Fp16),
                half(Precision::Bf16),
            ]),
            bandwidth: Some(hardware.bandwidth),
            cache: hardware.cache,
        }
    }

    /// What was not measured of a precision is that of 32 bits.
    fn of(&self, precision: Precision) -> Option<f64> {
        let own = self.operations.get(&precision);
        own.or_else(|| self.operations.get(&Precision::Fp32)).copied()
    }
}

impl Machines<'_> {
    fn peaks(&mut self, machine: &Machine, device: Device, threads: u32) -> Result<Peaks, Error> {
        let bounded = device.bounded_by().unwrap_or(Device::Cpu);
        let threads = if bounded == Device::Cpu { threads } else { 0 };
        let key = (machine.key.clone(), bounded, threads);
        if let Some(found) = self.seen.get(&key) {
            return Ok(found.clone());
        }
        let all = self.store.all_ceilings(&machine.key)?;
        let own = all.iter().filter(|one| one.device == bounded);
        let nearest = own.min_by_key(|one| one.threads.abs_diff(threads));
        let gpu = machine.gpus.first().map(|gpu| gpu.name.as_str());
        let name = if bounded == Device::Cpu {
            machine.cpu.model.as_str()
        } else {
            gpu.unwrap_or_default()
        };
        let stated = self.catalogue.find(name).map(Peaks::stated).unwrap_or_default();
        let own = machine.cpu.cache.map(|cache| cache.0 as f64);
        let cache = match bounded {
            Device::Cpu => own.or(stated.cache),
            // The processor's cache holds nothing of what a GPU computes.
            _ => stated.cache,
        };
        let peaks = match nearest {
            Some(measured) => Peaks {
                operations: measured
                    .flops
                    .iter()
                    .map(|(precision, own)| (*precision, own.value))
                    .collect(),
                bandwidth: measured.bandwidth.map(|own| own.value).or(stated.bandwidth),
                cache,
            },
            None => Peaks { cache, ..stated },
        };
        self.seen.insert(key, peaks.clone());
        Ok(peaks)
    }

    fn known(&mut self, runs: &[Measured]) -> Result<Known, Unusable> {
        let newest = runs.last().ok_or_else(|| Unusable::Because("the cell has no run".into()))?;
        if newest.mode == Mode::Load {
            return Err(Unusable::Because("a load on a server is no time of one inference".into()));
        }
        let run = self.store.run_without_samples(&newest.id)?;
        let peaks = self.peaks(&run.environment.machine, run.cell.device, run.cell.threads)?;
        let case = case_of(&run, &peaks);
        let mut times: Vec<f64> = runs.iter().filter_map(|run| run.median).collect();
        times.sort_by(f64::total_cmp);
        let memory = runs.iter().rev().find_map(|run| run.memory_peak);
        Ok(Known {
            case,
            seconds: times[times.len() / 2],
            memory: memory.map(|bytes| bytes.0 as f64).filter(|bytes| *bytes > 0.0),
            runs: runs.iter().rev().map(|run| run.id.0.clone()).collect(),
        })
    }
}

/// The mode as cases tell it: a test of generating is work of its own.
fn mode_of(run: &Run) -> String {
    match run.cell.generation {
        Some(test) => format!("generate {test}"),
        None => run.cell.mode.name().to_owned(),
    }
}

fn is_gpu(device: Device) -> bool {
    !matches!(
        device,
        Device::Cpu | Device::Xnnpack | Device::Openvino | Device::Auto | Device::Wasm
    )
}

fn case_of(run: &Run, peaks: &Peaks) -> Case {
    let cell = &run.cell;
    let told = |path: &str, amount: f64| (run.tells(path) && amount > 0.0).then_some(amount);
    let is_gpu = is_gpu(cell.device);
    let machine = &run.environment.machine;
    let mut variant = Variant::of(run);
    // What was drawn or imported is no other work.
    variant.generation = None;
    variant.untold.clear();
    let gpu = machine.gpus.first().map(|gpu| gpu.name.clone());
    Case {
        model: run.model.name.clone(),
        family: family(&run.model.architecture, &run.model.name),
        engine: run.engine.id.clone(),
        precision: cell.precision.name().to_owned(),
        mode: mode_of(run),
        variant: variant.canonical(),
        machine: machine.key.clone(),
        hardware: match (is_gpu, gpu) {
            (true, Some(name)) => name,
            _ if machine.hostname.is_empty() => machine.cpu.model.clone(),
            _ => machine.hostname.clone(),
        },
        is_gpu,
        batch: cell.batch_size as f64,
        length: cell.sequence_length.map(|length| length as f64),
        threads: if is_gpu { 0.0 } else { f64::from(cell.threads) },
        flops: told("work.flops", run.work.flops.0 as f64),
        bytes: told("work.bytes_read", (run.work.bytes_read.0 + run.work.bytes_written.0) as f64),
        weights: run.model.parameters as f64 * width(cell.precision),
        peak: peaks.of(cell.precision),
        bandwidth: peaks.bandwidth,
        cache: peaks.cache,
    }
}

/// Bytes of a parameter.
fn width(precision: Precision) -> f64 {
    match precision {
        Precision::Fp32 => 4.0,
        Precision::Fp16 | Precision::Bf16 => 2.0,
        Precision::Int8 => 1.0,
        Precision::Stored => 0.6,
    }
}

/// An architecture names its family; a file of ONNX does not.
fn family(architecture: &str, name: &str) -> String {
    match architecture {
        "" | "onnx" | "gguf" | "reference" => name.to_owned(),
        known => known.to_owned(),
    }
}

/// A question as a case: its work is counted on the graph, nothing is measured.
pub struct Question {
    /// The measurement that would answer it.
    pub profiler: Profiler,
    /// Where.
    pub target: Target,
    /// The engine, where one was named.
    pub engine: Option<String>,
}

impl Question {
    /// Counts the work of the question.
    ///
    /// # Errors
    /// When the model cannot be had.
    pub fn case(
        &self,
        session: &mut Session,
        catalogue: &Catalogue,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Case, Error> {
        let is_here = matches!(self.target, Target::Here(Device::Cpu));
        let mut profiler = self.profiler.clone();
        // Another machine may have engines and devices that this one has not; the work is the same.
        profiler = match (&self.engine, is_here) {
            (Some(engine), true) => profiler.engine(engine),
            _ => profiler,
        };
        profiler = profiler.device(Device::Cpu);
        let prepared = prepare::prepare_with(&profiler, None, sink)?;
        let info = prepared.model_info();
        let work = prepared.work();
        let cell = &prepared.cell;
        // Elsewhere nobody can look which engines are there: the one that others are compared with, or the one that is always
        // there.
        let listed = self.profiler.engines;
        let usual = match self.target.is_gpu() {
            true => listed.reference(),
            false if is_here => None,
            false => listed.embedded(),
        };
        let engine = match (&self.engine, usual) {
            (Some(engine), _) => engine.clone(),
            (None, Some(usual)) => usual.id().to_owned(),
            (None, None) => cell.engine.clone(),
        };
        let (machine, peaks) = self.peaks(session, catalogue, cell.threads)?;
        let is_gpu = self.target.is_gpu();
        let feed_length = cell.sequence_length;
        let variant = Variant {
            options: cell.options.clone(),
            inputs: cell.inputs.clone(),
            training: cell.training,
            length_unit: match feed_length {
                Some(_) => cell.feed.length_unit,
                None => types::LengthUnit::default(),
            },
            ..Variant::default()
        };
        Ok(Case {
            model: info.name.clone(),
            family: family(&info.architecture, &info.name),
            engine,
            precision: cell.precision.name().to_owned(),
            mode: match cell.generation {
                Some(test) => format!("generate {test}"),
                None => cell.mode.name().to_owned(),
            },
            variant: variant.canonical(),
            machine,
            hardware: self.target.words(),
            is_gpu,
            batch: cell.batch_size as f64,
            length: feed_length.map(|length| length as f64),
            threads: match (&self.target, is_gpu) {
                (_, true) => 0.0,
                (Target::Here(_), _) => f64::from(cell.threads),
                (Target::Stated(hardware), _) => {
                    hardware.cores.map_or(f64::from(cell.threads), f64::from)
                }
                (Target::Stored(..), _) => f64::from(cell.threads),
            },
            flops: Some(work.flops.0 as f64).filter(|flops| *flops > 0.0),
            bytes: Some((work.bytes_read.0 + work.bytes_written.0) as f64)
                .filter(|bytes| *bytes > 0.0),
            weights: info.parameters as f64 * width(cell.precision),
            peak: peaks.of(cell.precision),
            bandwidth: peaks.bandwidth,
            cache: peaks.cache,
        })
    }

    fn peaks(
        &self,
        session: &mut Session,
        catalogue: &Catalogue,
        threads: u32,
    ) -> Result<(String, Peaks), Error> {
        let found = match &self.target {
            Target::Stated(hardware) => (hardware.name.clone(), Peaks::stated(hardware)),
            Target::Here(device) => {
                let machine = session.machine().clone();
                let peaks = match session.store() {
                    Some(store) => {
                        let mut machines = Machines { store, catalogue, seen: BTreeMap::new() };
                        machines.peaks(&machine, *device, threads)?
                    }
                    None => Peaks::default(),
                };
                (machine.key, peaks)
            }
            Target::Stored(key, _, device) => {
                let Some(store) = session.store() else {
                    return Ok((key.clone(), Peaks::default()));
                };
                // Any of its runs knows the machine.
                let Some(run) = newest_run(store, key)? else {
                    return Ok((key.clone(), Peaks::default()));
                };
                let mut machines = Machines { store, catalogue, seen: BTreeMap::new() };
                let peaks = machines.peaks(&run.environment.machine, *device, run.cell.threads)?;
                (key.clone(), peaks)
            }
        };
        Ok(found)
    }
}

/// A stored run as a measurement to correct an answer by.
///
/// # Errors
/// When there is no such run, or it is not valid.
pub fn anchor(store: &Store, catalogue: &Catalogue, prefix: &str) -> Result<Known, Error> {
    let id: RunId = store.resolve(prefix)?;
    let run = store.run_without_samples(&id)?;
    if !run.verdict.valid {
        return Err(Error::Rule(format!("run `{id}` is not valid, so it is no anchor")));
    }
    let mut machines = Machines { store, catalogue, seen: BTreeMap::new() };
    match machines.known(&[Measured::from(&run)]) {
        Ok(known) => Ok(known),
        Err(Unusable::Error(error)) => Err(*error),
        Err(Unusable::Because(why)) => Err(Error::Rule(format!("run `{id}` is no anchor: {why}"))),
    }
}
