//! `modelmeter gpu`: what any program does on NVIDIA GPUs.

use crate::{
    Exit, Failure, Sinks,
    arguments::{Global, Gpu as Arguments, ResultOutput, is_stdout},
    command::{folders, open_existing_store, style},
    output,
    terminal::{self, Stream},
};
use engine::private::TemporaryFolder;
use gpu::{ForeignError, GpuError, Injection, Recording, Wish};
use modelmeter::Device;
use report::{Block, GpuView, ResultDocument, ResultPicture, clean};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};
use std::{
    ffi::OsString,
    fs, io,
    os::{fd::AsFd, unix::process::ExitStatusExt},
    path::Path,
    process::{self, Child, ExitStatus, Stdio},
    thread,
    time::Duration,
};
use types::{Ceilings, GpuProblemKind, GpuProcess, GpuProfile};

/// Children of the program may end after it; their files are looked at again so often.
const SETTLE: Duration = Duration::from_millis(20);

pub(crate) fn run(arguments: &Arguments, global: &Global) -> Result<Exit, Failure> {
    let asked = arguments.result.with_file(arguments.file.output.as_deref(), &[])?;
    let files = arguments.trace.iter().chain(&arguments.flamegraph);
    asked.check(files.filter(|path| !is_stdout(path)))?;
    check_endings(arguments)?;
    if let Some(folder) = &arguments.from {
        let (recordings, profile) = match folder.is_dir() {
            true => read_kept(folder)?,
            false => read_foreign(folder)?,
        };
        if recordings.is_empty() && profile.unread.is_empty() {
            let text = format!("there is no recording in `{}`", folder.display());
            return Err(Failure::new(Exit::Wrong, text)
                .hint("`modelmeter gpu --keep DIR -- PROGRAM` writes one"));
        }
        let mut sinks = Sinks::new(global);
        let exit = exit_of(&profile);
        // Nothing of this machine is known of the one that recorded: no name of a device, no ceiling.
        let document = report::gpu_document(&view(arguments, &[], None, &profile));
        let document = with_picture(document, &profile, &asked);
        write_files(arguments, &recordings, &profile, &mut sinks);
        sinks.result(&document, &asked, exit);
        return Ok(sinks.finish(exit));
    }
    let (status, written) = record(arguments, &asked, global)?;
    // The program's own: whoever called this command called the program.
    let code = match status.code() {
        Some(0) => written as i32,
        Some(code) => code,
        None => 128 + status.signal().unwrap_or(0),
    };
    #[expect(clippy::exit, reason = "any exit code of any program, not one of ours")]
    process::exit(code);
}

/// Refuses names that promise another format than the one that would be written.
fn check_endings(arguments: &Arguments) -> Result<(), Failure> {
    let ending = |path: &Path| path.extension().map(|ending| ending.to_string_lossy().into_owned());
    let refuse = |option: &str, path: &Path, hint: &str| {
        let text = format!("`{option} {}` has an unknown ending", path.display());
        Err(Failure::new(Exit::Wrong, clean(&text)).hint(hint))
    };
    if let Some(path) = &arguments.trace
        && !trace::is_perfetto_trace(path)
        && ending(path).is_some_and(|ending| ending != "json")
    {
        return refuse("--trace", path, "`--trace FILE.pftrace` or `--trace FILE.json`");
    }
    if let Some(path) = &arguments.flamegraph
        && ending(path).is_some_and(|ending| ending != "svg")
    {
        return refuse("--flamegraph", path, "`--flamegraph FILE.svg`");
    }
    Ok(())
}

/// Runs the program and tells what it did: how it ended, and whether everything that was asked for could be written.
fn record(
    arguments: &Arguments,
    asked: &ResultOutput,
    global: &Global,
) -> Result<(ExitStatus, Exit), Failure> {
    let temporary;
    let folder: &Path = match &arguments.keep {
        Some(folder) => {
            output::make_folder(folder)?;
            let has_recording = read_kept(folder).is_ok_and(|(found, _)| !found.is_empty());
            if has_recording {
                let text = format!("`{}` has a recording already", folder.display());
                return Err(Failure::new(Exit::Wrong, text).hint("give a new folder"));
            }
            folder
        }
        None => {
            temporary = TemporaryFolder::make().map_err(|error| {
                Failure::new(Exit::Cannot, "could not make a temporary folder")
                    .cause(error.to_string())
                    .hint("`--keep DIR` names another folder")
            })?;
            temporary.path()
        }
    };
    // Children may change their folder.
    let folder = &fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let (variables, refused) = match variables(arguments, folder, global) {
        Ok(variables) => (variables, None),
        Err(failure) => {
            output::complain("warning: the program runs without a recording\n");
            let colour = terminal::wants_colour(global.color, Stream::Error);
            output::complain(&failure.render(colour));
            (Vec::new(), Some(failure.message().to_owned()))
        }
    };
    let talks_data = asked.is_data() || arguments.trace.as_deref().is_some_and(is_stdout);
    let mut child = start(&arguments.command, variables, talks_data)?;
    let status = wait(&mut child)?;
    let command: Vec<String> =
        arguments.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let told = tell(arguments, asked, global, (folder, &command, status, refused.as_deref()));
    let written = told.unwrap_or_else(|failure| {
        let colour = terminal::wants_colour(global.color, Stream::Error);
        output::complain(&failure.render(colour));
        failure.exit
    });
    Ok((status, written))
}

/// The variables that make the program record, or why that is not possible.
fn variables(
    arguments: &Arguments,
    folder: &Path,
    global: &Global,
) -> Result<Vec<(OsString, OsString)>, Failure> {
    let wish = Wish {
        after: arguments.after,
        steps: arguments.steps,
        step: arguments.step.clone(),
        length: arguments.length,
        modules: arguments.modules,
        graphs: !arguments.no_graphs,
        limit: Some(arguments.limit << 20),
    };
    Ok(injection(global)?.variables(folder, &wish, |name| std::env::var_os(name)))
}

/// What programs load, unless another tool is in its place.
pub(super) fn injection(global: &Global) -> Result<Injection, Failure> {
    for name in ["CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"] {
        if let Some(other) = std::env::var_os(name).filter(|other| !other.is_empty()) {
            let text = format!("another tool is attached: {name}={}", other.to_string_lossy());
            return Err(Failure::new(Exit::Cannot, clean(&text))
                .hint(format!("`unset {name}`, or use that tool alone")));
        }
    }
    Injection::unpack(&folders(global)?.cache).map_err(|error| failure(&error))
}

pub(super) fn start(
    command: &[OsString],
    variables: Vec<(OsString, OsString)>,
    talks_data: bool,
) -> Result<Child, Failure> {
    let Some((program, rest)) = command.split_first() else {
        return Err(Failure::new(Exit::Wrong, "there is no program to run"));
    };
    let mut started = process::Command::new(program);
    started.args(rest).envs(variables);
    if talks_data {
        // Standard output is the result's; what the program prints is talk.
        let error = io::stderr().as_fd().try_clone_to_owned();
        started.stdout(error.map_or_else(|_| Stdio::null(), Stdio::from));
    }
    started.spawn().map_err(|error| {
        let name = program.to_string_lossy();
        let text = format!("could not start `{}`", clean(&name));
        Failure::new(Exit::Wrong, text)
            .cause(error.to_string())
            .hint("give a program and its arguments: `modelmeter gpu -- python train.py`")
    })
}

/// Waits for the program. A signal to end is handed on; Ctrl-C reaches it by itself, and ends this command with it.
pub(super) fn wait(child: &mut Child) -> Result<ExitStatus, Failure> {
    let process = libc::pid_t::try_from(child.id()).unwrap_or(0);
    if let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) {
        let hand_on = move || {
            for signal in signals.forever() {
                if signal != SIGINT && process > 0 {
                    // SAFETY: it takes numbers; the process is our child, which nobody else can wait for.
                    unsafe { libc::kill(process, signal) };
                }
            }
        };
        // Without it a signal ends this command alone, which loses the result and nothing of the program.
        let _ = thread::Builder::new().name("signals".into()).spawn(hand_on);
    }
    child.wait().map_err(|error| {
        Failure::new(Exit::Cannot, "could not wait for the program").cause(error.to_string())
    })
}

/// Writes and shows what was recorded.
fn tell(
    arguments: &Arguments,
    asked: &ResultOutput,
    global: &Global,
    (folder, command, status, refused): (&Path, &[String], ExitStatus, Option<&str>),
) -> Result<Exit, Failure> {
    thread::sleep(SETTLE);
    let (recordings, profile) = read(folder)?;
    let known = ceilings(&profile, global);
    let view = GpuView {
        refused,
        ceilings: known.as_ref(),
        ..view(arguments, command, Some(status), &profile)
    };
    let document = with_picture(report::gpu_document(&view), &profile, asked);
    let mut sinks = Sinks::new(global);
    let ranges = || profile.processes.iter().flat_map(|process| &process.ranges);
    if arguments.modules && !profile.processes.is_empty() && !ranges().any(|range| range.is_module)
    {
        sinks.talk(
            "`--modules` saw no module: the program calls none of PyTorch in Python, or only inside compiled regions\n",
        );
    }
    sinks.formats(&document, asked);
    write_files(arguments, &recordings, &profile, &mut sinks);
    let exit = exit_of(&profile);
    if !global.quiet || exit != Exit::Fine {
        // The program has standard output.
        let colour = terminal::wants_colour(global.color, Stream::Error);
        let style = report::Style { colour, ..style(global) };
        let width = terminal::is_terminal(Stream::Error).then(terminal::width);
        output::complain(&format!("\n{}", document.terminal(&style, width)));
    }
    // What was not recorded is no failure of the program.
    Ok(sinks.finish(Exit::Fine))
}

/// The document with a picture of the use of the device, if a page was asked for and there is anything to draw.
fn with_picture(
    mut document: ResultDocument,
    profile: &GpuProfile,
    asked: &ResultOutput,
) -> ResultDocument {
    if asked.path("html").is_some()
        && let Ok([svg, narrow]) = draw::gpu_busy_for_page(profile)
    {
        let title = "Share of time in which a kernel ran".to_owned();
        let picture = ResultPicture { title, svg, narrow: Some(narrow) };
        document.blocks.insert(0, Block::Picture(picture));
    }
    document
}

/// Traces and pictures beside the result.
fn write_files(
    arguments: &Arguments,
    recordings: &[Recording],
    profile: &GpuProfile,
    sinks: &mut Sinks,
) {
    write_trace(arguments, recordings, sinks);
    let Some(path) = &arguments.flamegraph else { return };
    let layers = profile
        .processes
        .iter()
        .find_map(|process| Some((analysis::gpu_layers(process)?, clean(&process.command))));
    match layers {
        Some((layers, command)) => {
            sinks.file(path, || draw::flamegraph(&layers, &command, "kernel time by range"));
        }
        None => sinks.attempt(Err(Failure::new(
            Exit::Untold,
            format!("`{}` was not written: no kernel was launched inside a range", path.display()),
        )
        .hint("`--modules` opens a range for every module of PyTorch"))),
    }
}

fn write_trace(arguments: &Arguments, recordings: &[Recording], sinks: &mut Sinks) {
    let Some(path) = &arguments.trace else { return };
    let (timeline, left_out) = gpu::timeline(recordings);
    if left_out > 0 {
        sinks.talk(&format!("the trace ends early: {left_out} later spans were left out\n"));
    }
    let info = trace::TraceInfo::default();
    sinks.file_with(path, |out| trace::write_trace(path, &timeline, &info, out));
}

fn view<'a>(
    arguments: &Arguments,
    command: &'a [String],
    status: Option<ExitStatus>,
    profile: &'a GpuProfile,
) -> GpuView<'a> {
    GpuView {
        command,
        exit_code: status.and_then(|status| status.code()),
        signal: status.and_then(|status| status.signal()),
        refused: None,
        profile,
        top: usize::from(arguments.top),
        ceilings: None,
    }
}

/// What copies can reach here, if that was measured and anything was copied.
fn ceilings(profile: &GpuProfile, global: &Global) -> Option<Ceilings> {
    let mut devices = profile.processes.iter().flat_map(|process| &process.devices);
    let device = devices.find(|device| !device.copy_kinds.is_empty())?;
    // A database that is not there, or cannot be read, has no ceilings: that is no failure of the program.
    let store = open_existing_store(global).ok()?;
    store.ceilings(&hardware::machine().key, Device::Cuda(device.device), 0).ok()?
}

/// What a program that ran here did, from the folder of its recording.
pub(super) fn read(folder: &Path) -> Result<(Vec<Recording>, GpuProfile), Failure> {
    let (recordings, mut profile) = read_kept(folder)?;
    name_devices(&mut profile);
    Ok((recordings, profile))
}

/// What was recorded in a folder, here or elsewhere, and where its time went.
fn read_kept(folder: &Path) -> Result<(Vec<Recording>, GpuProfile), Failure> {
    let (recordings, unread) = gpu::recordings(folder).map_err(|error| failure(&error))?;
    let profile = gpu::analyse(&recordings, unread);
    Ok((recordings, profile))
}

/// What another tool recorded.
fn read_foreign(path: &Path) -> Result<(Vec<Recording>, GpuProfile), Failure> {
    let (_, recordings) = gpu::foreign(path).map_err(|error| {
        let failure = Failure::new(Exit::Wrong, clean(&error.to_string()));
        match &error {
            ForeignError::Unknown { why, .. } => failure.cause(clean(why)).hint(READABLE),
            ForeignError::Read { source, .. } => failure.cause(source.to_string()).hint(READABLE),
            ForeignError::Large(_) | ForeignError::Empty { .. } => failure.hint(READABLE),
        }
    })?;
    let profile = gpu::analyse(&recordings, Vec::new());
    Ok((recordings, profile))
}

/// What can be read.
const READABLE: &str = "a folder of `modelmeter gpu --keep`, a trace of PyTorch's profiler (JSON), an export of Nsight \
                        Systems (`nsys export --type sqlite`), or JSON of rocprofv3 can be read";

/// The names of devices, if every device of this machine has the same one: a process may have been given any of them.
fn name_devices(profile: &mut GpuProfile) {
    if profile.processes.iter().all(|process| process.devices.is_empty()) {
        return;
    }
    let here = hardware::devices().into_iter();
    let here = here.filter(|one| one.available && matches!(one.device, Device::Cuda(_)));
    let mut names: Vec<String> = here.filter_map(|one| one.name).collect();
    names.dedup();
    if let [name] = names.as_slice() {
        for device in profile.processes.iter_mut().flat_map(|process| &mut process.devices) {
            device.name = Some(name.clone());
        }
    }
}

fn has_begun(process: &GpuProcess) -> bool {
    process.problems.iter().all(|problem| problem.kind != GpuProblemKind::NeverBegan)
}

fn exit_of(profile: &GpuProfile) -> Exit {
    let is_valid = profile.unread.is_empty()
        && profile.processes.iter().any(has_begun)
        && profile.processes.iter().all(types::GpuProcess::is_valid);
    if is_valid { Exit::Fine } else { Exit::Untold }
}

fn failure(error: &GpuError) -> Failure {
    let exit = match error {
        GpuError::Read { .. } => Exit::Wrong,
        GpuError::NotHere | GpuError::Write { .. } => Exit::Cannot,
    };
    let failure = Failure::new(exit, error.to_string());
    let failure = match error {
        GpuError::Read { .. } => {
            failure.hint("`modelmeter gpu --keep DIR -- PROGRAM` writes a recording")
        }
        GpuError::Write { .. } => failure.hint("`--cache DIR` names another folder"),
        GpuError::NotHere => failure,
    };
    match std::error::Error::source(error) {
        Some(cause) => failure.cause(cause.to_string()),
        None => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_that_is_missing_records_cannot_be_told() {
        assert_eq!(exit_of(&GpuProfile::default()), Exit::Untold);
        let process = types::GpuProcess::default();
        let good = GpuProfile { processes: vec![process], unread: Vec::new() };
        assert_eq!(exit_of(&good), Exit::Fine);
        let unread = vec![("a".into(), "b".into())];
        assert_eq!(exit_of(&GpuProfile { unread, ..good }), Exit::Untold);
    }
}
