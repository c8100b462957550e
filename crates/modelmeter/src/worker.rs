//! The worker: this program again, speaking the protocol.

use crate::{Engines, Error, Isolation, Profiler, tokeniser};
use engine::{
    DEVICE_MEMORY, Engine, Host, Places, Starter, WorkerCommand, become_expendable,
    claim_standard_streams, inherited_beside, serve_tracked,
};
use meter::{Launch, Limit, ServeThread, Tracker};
use number::mebibytes;
use std::{
    io::{self, BufReader},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use types::{Bytes, Device, LimitedBy};

/// The one argument that makes a program a worker.
pub const WORKER_ARGUMENT: &str = "__modelmeter-worker";

/// Where glibc looks for the settings of its allocator; other systems have no use for it.
const ALLOCATOR: &str = "GLIBC_TUNABLES";
/// One heap that is never given back and grows in large steps and pages.
const KEEPING: &str = "glibc.malloc.arena_max=1:glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=9223372036854775807\
                       :glibc.malloc.top_pad=268435456:glibc.malloc.hugetlb=1";

/// The most memory that reading a tokenizer, pictures or recordings may take where nobody says otherwise; the largest
/// tokenizers take 1 GiB.
const READING: Bytes = Bytes(4 << 30);

/// The longest that it may take; the largest tokenizers take a few seconds.
const TIME_TO_READ: Duration = Duration::from_secs(60);

/// Whether this program's `main` turns into a worker when asked; only then may it start itself as one.
static CAN_SERVE: AtomicBool = AtomicBool::new(false);

/// Turns this process into a worker when it was started as one; otherwise returns at once.
///
/// Call it first in `main`. It makes this program its own worker, so that nothing else need be installed.
pub fn serve_if_worker() {
    Engines::default().serve_if_worker();
}

/// Serves the protocol on the standard streams until the parent says `bye`.
///
/// # Errors
/// When the stream to the parent breaks.
pub fn serve_standard_streams() -> io::Result<()> {
    Engines::default().serve_standard_streams()
}

impl Engines {
    /// As [`serve_if_worker`], for a program that measures with these engines.
    pub fn serve_if_worker(self) {
        CAN_SERVE.store(true, Ordering::Relaxed);
        if let Some(status) = crate::load_test::serve_generator() {
            std::process::exit(status);
        }
        if std::env::args_os().nth(1).is_some_and(|argument| argument == WORKER_ARGUMENT) {
            let status = i32::from(self.serve_standard_streams().is_err());
            // A worker must not go on into the program's own main.
            std::process::exit(status);
        }
    }

    fn serve_standard_streams(self) -> io::Result<()> {
        become_expendable();
        let channel = claim_standard_streams()?;
        serve_tracked(self.list(), &tokeniser::open, &Tracker, channel.reader, channel.writer)
    }

    /// A worker in a thread of this process.
    fn serve_thread(self) -> ServeThread {
        Arc::new(move |stream: UnixStream| {
            let Ok(reader) = stream.try_clone() else { return };
            let reader = BufReader::new(reader);
            // A broken stream means that the other half of this process gave up; there is nobody to tell.
            let _ = serve_tracked(self.list(), &tokeniser::open, &Tracker, reader, stream);
        })
    }
}

/// How the workers of a measurement are started: our own, or those of the program it names.
pub(crate) fn launch_for(profiler: &Profiler, engine: &dyn Engine) -> Result<Launch, Error> {
    let Some(program) = &profiler.program else {
        let launch = launch(profiler.isolation, profiler.engines, engine, &profiler.places)?;
        let is_ours = matches!(engine.host(), Host::Worker(_));
        // Under a limit nothing is kept that might be needed.
        let has_room = profiler.memory_limit.is_none();
        return Ok(match profiler.training.is_some() && is_ours && has_room {
            true => keeping_memory(launch),
            false => launch,
        });
    };
    if let Host::Program(_) = engine.host() {
        return Err(Error::Rule(format!(
            "`{}` runs in its own program, not in `{}`: both sides would be the same",
            engine.id(),
            program.display()
        )));
    }
    Ok(process_of(program.clone(), engine))
}

/// A worker of a program that serves our engines.
fn process_of(program: PathBuf, engine: &dyn Engine) -> Launch {
    let environment = inherited_beside(engine.variables());
    Launch::Process { program, arguments: vec![WORKER_ARGUMENT.into()], environment }
}

/// Lets a worker of ours that trains keep the memory it frees, in large pages: what a step frees the next one needs.
///
/// Given back and asked for again, activations and gradients cost rten 68,000 page faults a step of DistilBERT. Kept, its
/// steps take 8 % less time, and those of ONNX Runtime, whose arena keeps memory anyway, 5 % for the large pages.
fn keeping_memory(launch: Launch) -> Launch {
    let Launch::Process { program, arguments, mut environment } = launch else { return launch };
    // A user who tunes the allocator knows why.
    if std::env::var_os(ALLOCATOR).is_none() {
        environment.push((ALLOCATOR.into(), KEEPING.into()));
    }
    Launch::Process { program, arguments, environment }
}

/// How workers are started.
pub(crate) fn launch(
    isolation: Isolation,
    engines: Engines,
    engine: &dyn Engine,
    places: &Places,
) -> Result<Launch, Error> {
    if let Host::Program(starter) = engine.host() {
        return launch_program(starter, engine, places);
    }
    match isolation {
        Isolation::None => Ok(Launch::Thread(engines.serve_thread())),
        Isolation::Process => Ok(process_of(worker_program().ok_or(Error::NoWorker)?, engine)),
    }
}

/// How a worker of a program of the engine's own is started.
fn launch_program(
    starter: &dyn Starter,
    engine: &dyn Engine,
    places: &Places,
) -> Result<Launch, Error> {
    let command = starter.command(places).map_err(meter::MeterError::from)?;
    let WorkerCommand { program, arguments, environment: own } = command;
    let mut environment = inherited_beside(engine.variables());
    environment.extend(own);
    Ok(Launch::Process { program, arguments, environment })
}

/// How a worker is started that only reads what lies beside a model: one of our own, whatever the engine, held to the
/// measurement's limit of memory or to [`READING`].
pub(crate) fn launch_to_read(profiler: &Profiler) -> Launch {
    let thread = || Launch::Thread(profiler.engines.serve_thread());
    let program = match profiler.isolation {
        Isolation::Process => worker_program(),
        Isolation::None => None,
    };
    let Some(program) = program else { return thread() };
    let launch = Launch::Process {
        program,
        arguments: vec![WORKER_ARGUMENT.into()],
        environment: Vec::new(),
    };
    let limit = limit_of_machine(profiler).unwrap_or(Limit { bytes: READING, by: None });
    Launch::Limited { launch: Box::new(launch), limit }
}

/// How a worker is started that reads pickled weights, under the measurement's own limit of memory; without one it limits
/// itself by the size of the files.
pub(crate) fn launch_to_unpickle(
    profiler: &Profiler,
    engine: &dyn Engine,
    reader: &dyn Starter,
) -> Result<Launch, Error> {
    let launch = launch_program(reader, engine, &profiler.places)?;
    Ok(match limit_of_machine(profiler) {
        Some(limit) => Launch::Limited { launch: Box::new(launch), limit },
        None => launch,
    })
}

/// What the measurement may take of the machine's memory; a limit on a GPU's memory says nothing of it.
fn limit_of_machine(profiler: &Profiler) -> Option<Limit> {
    let on_processors = profiler.device.bounded_by().is_none_or(|device| device == Device::Cpu);
    let bytes = profiler.memory_limit.filter(|_| on_processors)?;
    Some(Limit { bytes, by: profiler.limit_by })
}

/// How long reading what lies beside a model may take.
pub(crate) fn time_to_read(profiler: &Profiler) -> Duration {
    profiler.rule.timeout.min(TIME_TO_READ)
}

/// How a worker of another engine is started beside a measurement: under the measurement's own limit, or with half of the
/// memory that is free, because what it finds out is only a hint.
pub(crate) fn launch_beside(
    profiler: &Profiler,
    engine: &dyn Engine,
    device: Device,
) -> Result<Launch, Error> {
    let launch = launch(profiler.isolation, profiler.engines, engine, &profiler.places)?;
    let on_processors = device.bounded_by() == Some(Device::Cpu);
    let free = hardware::available_memory().filter(|_| on_processors);
    match (&launch, profiler.memory_limit, free) {
        (Launch::Process { .. }, None, Some(Bytes(free))) => {
            let limit = Limit { bytes: Bytes(free / 2), by: None };
            Ok(Launch::Limited { launch: Box::new(launch), limit })
        }
        _ => limited(launch, profiler, engine, device),
    }
}

/// The same launch, held to the memory that the measurement may use.
///
/// Processors share the machine's memory, so the worker is limited as a process. A GPU has memory of its own, which only
/// the engine's allocator can limit.
pub(crate) fn limited(
    launch: Launch,
    profiler: &Profiler,
    engine: &dyn Engine,
    device: Device,
) -> Result<Launch, Error> {
    let Some(bytes) = profiler.memory_limit else { return Ok(launch) };
    check_limit(bytes, device)?;
    let on_processors = device.bounded_by() == Some(Device::Cpu);
    let Launch::Process { program, arguments, mut environment } = launch else {
        let text = "a memory limit needs a worker process: omit `--isolation none`";
        return Err(Error::Rule(text.into()));
    };
    let mut by = profiler.limit_by;
    if !on_processors {
        let able = engine.limits_memory_on(device);
        by = Some(if able { LimitedBy::DeviceAllocator } else { LimitedBy::Nobody });
        if able {
            environment.push((DEVICE_MEMORY.into(), bytes.0.to_string().into()));
        }
    }
    let launch = Box::new(Launch::Process { program, arguments, environment });
    Ok(Launch::Limited { launch, limit: Limit { bytes, by } })
}

/// A limit that holds nobody, or that nobody can keep, was meant otherwise.
fn check_limit(limit: Bytes, device: Device) -> Result<(), Error> {
    if limit.0 == 0 {
        return Err(Error::Rule("the memory limit must be more than 0".into()));
    }
    match present_memory(device) {
        Some(present) if limit > present => {
            let whose = owner_of_memory(device);
            Err(Error::Rule(format!(
                "the memory limit of {} is more than {whose} has ({})",
                mebibytes(limit.0),
                mebibytes(present.0)
            )))
        }
        _ => Ok(()),
    }
}

/// Whose memory a limit on this device is about.
pub(crate) fn owner_of_memory(device: Device) -> String {
    match device {
        Device::Cuda(_) | Device::Rocm(_) | Device::Xpu(_) => format!("`{device}`"),
        _ => "this machine".to_owned(),
    }
}

/// What there is of the memory that a limit on this device is about, where the system tells.
pub(crate) fn present_memory(device: Device) -> Option<Bytes> {
    let machine = hardware::machine();
    match device {
        Device::Cuda(index) | Device::Rocm(index) | Device::Xpu(index) => {
            machine.gpus.get(index as usize).map(|gpu| gpu.memory)
        }
        _ => {
            let group = hardware::cgroup::limits(std::process::id()).memory;
            Some(group.map_or(machine.memory, |group| group.min(machine.memory)))
        }
    }
}

/// This program where it can serve, else an installed `modelmeter`: never a program that would not know the argument.
pub(crate) fn worker_program() -> Option<PathBuf> {
    let current = std::env::current_exe().ok()?;
    if CAN_SERVE.load(Ordering::Relaxed) {
        return Some(current);
    }
    let on_path = std::env::var_os("PATH");
    let folders = on_path.iter().flat_map(std::env::split_paths);
    // An empty or relative entry means the folder somebody stands in.
    let folders: Vec<PathBuf> = folders.filter(|folder| folder.is_absolute()).collect();
    installed_worker(&current, &folders)
}

/// A `modelmeter` beside this program or in these folders that is not this program itself.
fn installed_worker(current: &Path, folders: &[PathBuf]) -> Option<PathBuf> {
    let name = format!("modelmeter{}", std::env::consts::EXE_SUFFIX);
    let beside = current.parent().map(|folder| folder.join(&name));
    let on_path = folders.iter().map(|folder| folder.join(&name));
    beside.into_iter().chain(on_path).find(|program| program.is_file() && program != current)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn workers_beside_a_measurement_are_held_to_its_limit() {
        // Nothing is started here: only how it would be.
        CAN_SERVE.store(true, Ordering::Relaxed);
        let limit = |launch: &Launch| match launch {
            Launch::Limited { limit, .. } => Some((limit.bytes, limit.by)),
            _ => None,
        };
        let free = Profiler::new("m");
        let held = free.clone().memory_limit(Bytes(64 << 20)).limit_by(LimitedBy::Rlimit);
        let asked = Some((Bytes(64 << 20), Some(LimitedBy::Rlimit)));
        assert_eq!(limit(&launch_to_read(&free)), Some((READING, None)));
        assert_eq!(limit(&launch_to_read(&held)), asked);
        let on_gpu = held.clone().device(Device::Cuda(0));
        assert_eq!(limit(&launch_to_read(&on_gpu)), Some((READING, None)));
        let torch = Engines::default().iter().find(|one| one.pickle_reader().is_some()).unwrap();
        let python = Places { python: Some("python3".into()), ..Places::default() };
        let unpickled = |mut profiler: Profiler| {
            profiler.places = python.clone();
            let reader = torch.pickle_reader().unwrap();
            limit(&launch_to_unpickle(&profiler, torch, reader).unwrap())
        };
        assert_eq!(unpickled(held.clone()), asked);
        // It follows from the size of the files.
        assert_eq!(unpickled(free.clone()), None);
        let in_worker = |engine: &&dyn Engine| matches!(engine.host(), Host::Worker(_));
        for engine in Engines::default().iter().filter(in_worker) {
            let beside = |profiler| launch_beside(profiler, engine, Device::Cpu).unwrap();
            assert_eq!(limit(&beside(&held)), asked);
            assert!(limit(&beside(&free)).is_some(), "a hint is not worth all memory");
        }
        let hasty = free.timeout(Duration::from_secs(1));
        assert_eq!(time_to_read(&hasty), Duration::from_secs(1));
        CAN_SERVE.store(false, Ordering::Relaxed);
    }

    #[test]
    fn a_program_that_is_no_worker_never_starts_itself() {
        let home = tempfile::tempdir().unwrap();
        let name = format!("modelmeter{}", std::env::consts::EXE_SUFFIX);
        let (here, there) = (home.path().join("here"), home.path().join("there"));
        for folder in [&here, &there] {
            fs::create_dir(folder).unwrap();
        }
        let own = here.join(&name);
        fs::write(&own, "").unwrap();
        assert_eq!(installed_worker(&own, &[here.clone(), there.clone()]), None);
        let other = here.join("my-program");
        assert_eq!(installed_worker(&other, &[]), Some(own.clone()), "an installed one serves");
        fs::write(there.join(&name), "").unwrap();
        assert_eq!(installed_worker(&own, &[here, there.clone()]), Some(there.join(&name)));
    }
}
