//! `modelmeter profile`: measures one model, shows it, stores it.

use crate::{
    Exit, Failure, Sinks,
    arguments::{Global, IsolationArgument, MemoryArgument, Profile},
    command::{
        check, folders,
        measurement::{default_model, measurement, training, with},
        style, table_width, watched_session,
    },
    output,
    places::places,
    progress::Progress,
};
use modelmeter::{
    Gate, Inside, Isolation, Profiler, RUN_FORMATS, Run, Session,
    report::{self, JsonOptions, LayerView, MemoryPart, MemoryView, TraceInfo, View},
};
use std::path::{Path, PathBuf};

pub(crate) fn run(arguments: &Profile, global: &Global) -> Result<Exit, Failure> {
    let folders = folders(global)?;
    // Everything that can be found wrong is found before minutes are spent.
    let profiler = profiler(arguments, global)?.folders(folders.clone());
    check_outputs(arguments)?;
    let mut session =
        watched_session(&folders, arguments.store.skip.no_store, global, "the measurement")?;
    let mut progress = Progress::new(global.quiet);
    let outcome = profiler.profile_in(&mut session, &mut |event| progress.hear(&event));
    progress.clear();
    let mut sinks = Sinks::new(global);
    sinks.hear(&mut session);
    let profile = outcome?;
    let run = &profile.run;
    let Profile { json, csv, flamegraph, speedscope, trace, .. } = arguments;
    let mut files = [json, csv, flamegraph, speedscope].into_iter().flatten().chain(trace);
    if files.any(|path| is_stdout(path)) {
        sinks.leave_to_data();
    }
    write_files(arguments, run, &mut sinks);
    write_inside(arguments, &profile, &mut sinks);
    let stored = session.stored_as(&run.id);
    let footer = stored.as_deref().map_or(report::Footer::None, report::Footer::Stored);
    sinks.page(|style| report::page(run, &view(arguments), style, footer));
    if let Some(store) = session.store().filter(|store| store.is_created() && !sinks.talks_data()) {
        sinks.talk(&format!("the database is {}\n", store.path().display()));
    }
    let exit = match arguments.threshold.is_empty() {
        true => Exit::Fine,
        false => hold(arguments, &profiler, &mut session, &mut sinks, global)?,
    };
    Ok(sinks.finish(exit))
}

/// Holds the model to the limits, in fresh processes, as `check` does: one process says nothing of how they differ.
fn hold(
    arguments: &Profile,
    profiler: &Profiler,
    session: &mut Session,
    sinks: &mut Sinks,
    global: &Global,
) -> Result<Exit, Failure> {
    let mut gate = Gate::new([profiler.clone().inside(Inside::default())]);
    if let Some(timeout) = arguments.timeout.timeout {
        gate = gate.timeout(timeout);
    }
    let gate = arguments.threshold.iter().fold(gate, |gate, limit| gate.threshold(*limit));
    let mut progress = Progress::new(global.quiet);
    let outcome = gate.run(session, &mut |event| progress.hear(&event));
    progress.clear();
    sinks.hear(session);
    let (found, runs) = outcome?;
    if let Some(folder) = &arguments.output_dir {
        check::write_folder(folder, &found, &runs, sinks);
    }
    let exit = check::exit_of(&found, false);
    if sinks.talks_data() && !global.quiet {
        output::complain(&report::gate_document(&found).terminal(&style(global), table_width()));
    } else {
        sinks.page_of(exit, |style| {
            format!("\n{}", report::gate_document(&found).terminal(style, table_width()))
        });
    }
    Ok(exit)
}

fn profiler(arguments: &Profile, global: &Global) -> Result<Profiler, Failure> {
    let Profile { workload, origin, engine, limit, sampling, timeout, store, .. } = arguments;
    let model = arguments.model.named().unwrap_or_else(|| default_model(origin, global));
    let base = measurement(model, workload, origin, places(global))?;
    let mut profiler = with(base, &[engine, limit, sampling, timeout, &store.tags]).isolation(
        match arguments.isolation {
            IsolationArgument::Process => Isolation::Process,
            IsolationArgument::None => Isolation::None,
        },
    );
    profiler = profiler.inside(inside(arguments));
    if arguments.train {
        profiler = profiler.training(training(&arguments.training));
    } else if let Some(flag) = arguments.training.given() {
        return Err(Failure::new(Exit::Wrong, format!("`{flag}` needs `--train`")));
    }
    Ok(profiler)
}

/// What the outputs asked for need to be known of the inside.
fn inside(arguments: &Profile) -> Inside {
    let Profile { layers, memory, trace, flamegraph, speedscope, .. } = arguments;
    Inside {
        layers: layers.is_some() || flamegraph.is_some() || speedscope.is_some(),
        names: named_layers(layers.as_deref().unwrap_or_default()),
        timeline: !trace.is_empty() || speedscope.is_some(),
        memory: memory.is_some(),
    }
}

/// What of it is shown.
fn view(arguments: &Profile) -> View {
    let parts = arguments.memory.as_deref().unwrap_or_default();
    let part = |part: &MemoryArgument| match part {
        MemoryArgument::Allocations => MemoryPart::Allocations,
        MemoryArgument::Snapshots => MemoryPart::Snapshots,
    };
    let layers = named_layers(arguments.layers.as_deref().unwrap_or_default());
    View {
        layers: LayerView { only: layers },
        memory: MemoryView { only: parts.iter().map(part).collect() },
    }
}

/// The layers asked for; none where all are.
fn named_layers(names: &[String]) -> Vec<String> {
    names.iter().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// An output that could never be written is said before the measurement, not after it.
fn check_outputs(arguments: &Profile) -> Result<(), Failure> {
    let Profile { json, csv, output, trace, flamegraph, speedscope, .. } = arguments;
    let files = [json, csv, output, flamegraph, speedscope];
    let named: Vec<&PathBuf> = files.into_iter().flatten().chain(trace).collect();
    for (index, path) in named.iter().enumerate() {
        if named[..index].contains(path) {
            let text = format!("two outputs would go to `{}`", path.display());
            return Err(Failure::new(Exit::Wrong, text).hint("give each a file of its own"));
        }
    }
    for path in named.into_iter().filter(|path| !is_stdout(path)) {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            return Err(Failure::new(
                Exit::Wrong,
                format!("there is no folder `{}`", folder.display()),
            )
            .hint("make it first, or use `--output-dir`, which makes it"));
        }
        if path.is_dir() {
            return Err(Failure::new(Exit::Wrong, format!("`{}` is a folder", path.display()))
                .hint("`--output-dir` writes into a folder"));
        }
    }
    if let Some(output) = &arguments.output {
        format_of(output)?;
    }
    Ok(())
}

fn write_files(arguments: &Profile, run: &Run, sinks: &mut Sinks) {
    let options = JsonOptions { samples: arguments.samples };
    if let Some(path) = &arguments.json {
        sinks.file(path, || format!("{:#}\n", report::run_json(run, options)));
    }
    if let Some(path) = &arguments.csv {
        sinks.file(path, || report::runs_csv(std::slice::from_ref(run)));
    }
    if let Some(path) = &arguments.output {
        let written = write_as(path, run);
        if let Ok(path) = &written {
            output::complain(&format!("wrote {}\n", path.display()));
        }
        sinks.attempt(written.map(|_| ()));
    }
    if let Some(folder) = &arguments.output_dir {
        let mut count = 0;
        sinks.attempt(output::make_folder(folder));
        for format in RUN_FORMATS {
            let path = folder.join(auto_name(run, format.extension()));
            let outcome = written(*format, run).and_then(|text| output::to_file(&path, &text));
            count += usize::from(outcome.is_ok());
            sinks.attempt(outcome);
        }
        if count > 0 {
            output::complain(&format!("wrote {count} files into {}\n", folder.display()));
        }
    }
}

/// Writes the run in the format of the file's ending; which file that was.
fn write_as(path: &Path, run: &Run) -> Result<PathBuf, Failure> {
    let format = format_of(path)?;
    let path = if path == Path::new("auto") { auto_name(run, "json") } else { path.to_owned() };
    output::to_file(&path, &written(format, run)?)?;
    Ok(path)
}

/// Traces and pictures of the inside; what an engine cannot tell is said, and the run is kept.
fn write_inside(arguments: &Profile, profile: &modelmeter::Profile, sinks: &mut Sinks) {
    let info = TraceInfo::of(&profile.run);
    let absent = |path: &Path, what: &str| {
        let engine = &profile.run.engine.id;
        let path = path.display();
        output::complain(&format!("wrote no {path}: engine `{engine}` cannot tell {what}\n"));
    };
    for path in &arguments.trace {
        let Some(timeline) = &profile.timeline else {
            absent(path, "what happens when");
            continue;
        };
        sinks.attempt(output::to_file_with(path, |out| {
            if report::is_torch_trace(path) {
                report::write_torch_trace(timeline, &info, out)
            } else {
                report::write_chrome_trace(timeline, &info, out)
            }
        }));
    }
    if let Some(path) = &arguments.flamegraph {
        match &profile.run.layers {
            Some(layers) => {
                sinks.file(path, || report::flamegraph(layers, &info));
            }
            None => absent(path, "where the time goes"),
        }
    }
    if let Some(path) = &arguments.speedscope {
        let (layers, timeline) = (profile.run.layers.as_deref(), profile.timeline.as_ref());
        if layers.is_none() && timeline.is_none() {
            absent(path, "where the time goes");
        } else {
            sinks.attempt(output::to_file_with(path, |out| {
                report::write_speedscope(layers, timeline, &info, out)
            }));
        }
    }
}

fn format_of(path: &Path) -> Result<&'static dyn report::Format, Failure> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or("json");
    RUN_FORMATS.iter().copied().find(|format| format.extension() == ending).ok_or_else(|| {
        let known: Vec<&str> = RUN_FORMATS.iter().map(|format| format.extension()).collect();
        Failure::new(Exit::Wrong, format!("no format has files that end in `.{ending}`"))
            .hint(format!("known are .{}", known.join(", .")))
    })
}

fn written(format: &dyn report::Format, run: &Run) -> Result<String, Failure> {
    let mut text = Vec::new();
    format.write(std::slice::from_ref(run), &mut text).map_err(|error| {
        Failure::new(Exit::Cannot, "could not write the run").cause(error.to_string())
    })?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn auto_name(run: &Run, ending: &str) -> PathBuf {
    let name = output::plain(&run.model.name);
    PathBuf::from(format!("profiling_results_{name}_{}.{ending}", &run.id.0))
}
