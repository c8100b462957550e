//! `modelmeter profile`: measures one model, shows it, stores it.

use crate::{
    Exit, Failure, Sinks,
    arguments::{Global, IsolationArgument, MemoryArgument, Profile, ResultOutput, is_stdout},
    command::{
        check, folders,
        measurement::{default_model, measurement, training, with},
        style, table_width, watched_session,
    },
    output::{self, Out},
    places::places,
    progress::Progress,
    sinks::FileWriter,
};
use modelmeter::{
    Device, FORMATS, Gate, Inside, Isolation, Profiler, RUN_FORMATS, ResultFormat, Run, Session,
    Store, dossier_of, dossier_page,
};
use page::Pictures;
use report::{JsonOptions, LayerView, MemoryPart, MemoryView, ResultDocument, View};
use std::path::{Path, PathBuf};

pub(crate) fn run(arguments: &Profile, global: &Global) -> Result<Exit, Failure> {
    let folders = folders(global)?;
    // Everything that can be found wrong is found before minutes are spent.
    let profiler = profiler(arguments, global)?.folders(folders.clone());
    let asked = asked(arguments)?;
    let mut session =
        watched_session(&folders, arguments.store.skip.no_store, global, "the measurement")?;
    let mut progress = Progress::new(global.quiet).telling_first();
    let outcome = profiler.profile_in(&mut session, &mut |event| progress.hear(&event));
    progress.clear();
    let mut sinks = Sinks::new(global);
    sinks.hear(&mut session);
    let profile = outcome?;
    let run = &profile.run;
    let Profile { flamegraph, speedscope, trace, .. } = arguments;
    let mut files = [flamegraph, speedscope].into_iter().flatten().chain(trace);
    if files.any(|path| is_stdout(path)) {
        sinks.leave_to_data();
    }
    write_inside(arguments, &profile, &mut sinks);
    let stored = session.stored_as(&run.id);
    let footer = stored.as_deref().map_or(report::Footer::None, report::Footer::Stored);
    let mut document = report::run_document(run, &view(arguments), footer);
    if asked.path("html").is_some() || arguments.output_dir.is_some() {
        document.page = Some(page(run, stored.as_deref(), session.store())?);
    }
    let asked = match is_auto(arguments) {
        true => asked.and(&FORMATS[0], auto_name(run, &FORMATS[0])),
        false => asked,
    };
    if let Some(folder) = &arguments.output_dir {
        write_folder(folder, run, &document, &mut sinks);
    }
    sinks.result(&document, &asked, Exit::Fine);
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
        sinks.show(exit, |style| {
            format!("\n{}", report::gate_document(&found).terminal(style, table_width()))
        });
    }
    Ok(exit)
}

fn profiler(arguments: &Profile, global: &Global) -> Result<Profiler, Failure> {
    let Profile { workload, origin, engine, limit, sampling, timeout, store, .. } = arguments;
    let model = arguments.model.name().unwrap_or_else(|| default_model(origin, global));
    let base = measurement(model, workload, origin, places(global))?;
    let mut profiler = with(base, &[engine, limit, sampling, timeout, &store.tags]).isolation(
        match arguments.isolation {
            IsolationArgument::Process => Isolation::Process,
            IsolationArgument::None => Isolation::None,
        },
    );
    profiler = profiler.inside(inside(arguments));
    // Only a GPU keeps such records.
    if arguments.gpu && !matches!(engine.device.device, Device::Auto | Device::Cuda(_)) {
        let text = format!("`--gpu` records NVIDIA GPUs, not `--device {}`", engine.device.device);
        return Err(
            Failure::new(Exit::Wrong, text).hint("omit `--device`, or give `--device cuda`")
        );
    }
    if arguments.gpu && engine.device.device == Device::Auto {
        profiler = profiler.device(Device::Cuda(0));
    }
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
        gpu: arguments.gpu,
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
        is_brief: false,
        json: JsonOptions { samples: arguments.samples },
    }
}

/// The layers asked for; none where all are.
pub(crate) fn named_layers(names: &[String]) -> Vec<String> {
    names.iter().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

/// The formats with the file of `--output`; what could never be written is said before the measurement.
fn asked(arguments: &Profile) -> Result<ResultOutput, Failure> {
    let Profile { result, output, trace, flamegraph, speedscope, .. } = arguments;
    let file = output.as_deref().filter(|_| !is_auto(arguments));
    let asked = result.with_file(file, RUN_FORMATS)?;
    let inside = [flamegraph.as_ref(), speedscope.as_ref()].into_iter().flatten().chain(trace);
    asked.check(inside).map_err(|failure| {
        failure.or_hint("`--output-dir` writes every format into a folder, which it makes")
    })?;
    Ok(asked)
}

/// Whether the file is named after the run.
fn is_auto(arguments: &Profile) -> bool {
    arguments.output.as_deref() == Some(Path::new("auto"))
}

/// The run as `modelmeter report` draws it.
fn page(run: &Run, stored: Option<&str>, store: Option<&Store>) -> Result<String, Failure> {
    let name = stored.unwrap_or("not stored");
    let dossier = dossier_of(run.clone(), name, store)?;
    Ok(dossier_page(&dossier, Pictures::Drawn))
}

/// Writes the run into a folder, in every format.
fn write_folder(folder: &Path, run: &Run, document: &ResultDocument, sinks: &mut Sinks) {
    let file = |format: &'static ResultFormat| -> (PathBuf, FileWriter<'_>) {
        let text = move |out: Out<'_>| out.write_all((format.render)(document).as_bytes());
        (auto_name(run, format), Box::new(text))
    };
    sinks.folder(folder, FORMATS.iter().chain(RUN_FORMATS).map(file));
}

/// Traces and pictures of the inside; what an engine cannot tell is said, and the run is kept.
fn write_inside(arguments: &Profile, profile: &modelmeter::Profile, sinks: &mut Sinks) {
    let info = trace::TraceInfo::of(&profile.run);
    let absent = |path: &Path, what: &str| {
        let engine = &profile.run.engine.id;
        let path = path.display();
        output::complain(&format!(
            "did not write {path}: engine `{engine}` cannot record {what}\n"
        ));
    };
    for path in &arguments.trace {
        let Some(timeline) = &profile.timeline else {
            absent(path, "a timeline");
            continue;
        };
        sinks.file_with(path, |out| trace::write_trace(path, timeline, &info, out));
    }
    if let Some(path) = &arguments.flamegraph {
        match &profile.run.layers {
            Some(layers) => {
                sinks.file(path, || draw::flamegraph(layers, &info.title(), &info.setting));
            }
            None => absent(path, "the times of layers"),
        }
    }
    if let Some(path) = &arguments.speedscope {
        let (layers, timeline) = (profile.run.layers.as_deref(), profile.timeline.as_ref());
        if layers.is_none() && timeline.is_none() {
            absent(path, "the times of layers");
        } else {
            sinks.file_with(path, |out| trace::write_speedscope(layers, timeline, &info, out));
        }
    }
}

fn auto_name(run: &Run, format: &ResultFormat) -> PathBuf {
    let name = output::plain(&run.model.name);
    let ending = format.endings.first().unwrap_or(&format.id);
    PathBuf::from(format!("profiling_results_{name}_{}.{ending}", &run.id.0))
}
