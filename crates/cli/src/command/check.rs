//! `modelmeter check`: the gate. `modelmeter noise`: what this machine does to measurements.

use crate::{
    Exit, Failure, Sinks,
    arguments::{Check, CheckThreshold, Global, Noise, Origin},
    command::{
        folders, load,
        measurement::{Settings, measurement, with},
        open_existing_store, path_of,
        runs::find,
        watched_session,
    },
    output::{self, Out},
    places::places,
    progress::Progress,
    sinks::FileWriter,
};
use exchange::bounds::{BY_HAND, RESULTS, read_file, read_text};
use modelmeter::{
    FORMATS, Folders, Gate, GateBaseline, NoiseTest, PlanFile, Profiler, Run, engine_id,
};
use report::clean;
use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};
use store::Filter;
use types::{GateReport, Ruling};

/// The most processes of a long gate, and its alert.
const LONG: (u32, f64) = (80, 0.01);

pub(crate) fn run(arguments: &Check, global: &Global) -> Result<Exit, Failure> {
    let others = [&arguments.junit, &arguments.save_baseline].into_iter().flatten();
    arguments.result.check(others)?;
    if let (None, Some(given)) =
        (arguments.against.as_ref().or(arguments.baseline.as_ref()), compares(arguments))
    {
        let text = format!("`{given}` needs something to compare the model with");
        return Err(Failure::new(Exit::Wrong, text).hint("give `--against` or `--baseline`"));
    }
    if let Some(target) = load::gated(arguments) {
        return load::check(target, arguments, global);
    }
    load::refuse_server_options(&arguments.server)?;
    let folders = folders(global)?;
    let mut gate = Gate::new(cells(arguments, global, &folders)?)
        .against(against(arguments, global)?)
        .sampling(arguments.sampling);
    if let Some(turns) = arguments.turns.turns {
        gate = gate.turns(turns);
    }
    if let Some(turn) = arguments.turns.time.turn {
        gate = gate.turn(turn);
    }
    if let Some(timeout) = arguments.timeout.timeout {
        gate = gate.timeout(timeout);
    }
    let thresholds = arguments.threshold.iter().filter_map(CheckThreshold::of_model);
    gate = thresholds.fold(gate, Gate::threshold);
    if !arguments.metric.is_empty() {
        gate = gate.gauges(arguments.metric.iter().copied());
    }
    if arguments.long {
        gate = gate.processes(LONG.0).usual_alert(LONG.1);
    }
    if let Some(processes) = arguments.processes.processes {
        gate = gate.processes(processes);
    }
    if let Some(share) = arguments.regression_alert {
        gate = gate.alert(share);
    }
    if arguments.save_baseline.is_some() {
        gate = gate.may_ask_nothing();
    }
    let mut session =
        watched_session(&folders, arguments.store.skip.no_store, global, "the check")?;
    let mut progress = Progress::new(global.quiet);
    let outcome = gate.run(&mut session, &mut |event| progress.hear(&event));
    progress.clear();
    let mut sinks = Sinks::new(global);
    sinks.hear(&mut session);
    let (found, runs) = outcome?;
    // A baseline that was measured and written is all that was asked for.
    let only_saved =
        arguments.save_baseline.is_some() && found.checks.is_empty() && found.missing.is_empty();
    let exit = if only_saved { Exit::Fine } else { exit_of(&found, arguments.strict) };
    write(&found, &runs, exit, arguments, &mut sinks);
    Ok(sinks.finish(exit))
}

/// How a gate ends; a strict one takes "cannot tell" for a failure.
pub(crate) fn exit_of(found: &GateReport, strict: bool) -> Exit {
    match found.ruling() {
        Ruling::Held => Exit::Fine,
        Ruling::CannotTell if !strict => Exit::Untold,
        _ => Exit::Failed,
    }
}

/// Writes everything about a gate into a folder: every format, JUnit XML, and the runs as a baseline.
pub(crate) fn write_folder(folder: &Path, found: &GateReport, runs: &[Run], sinks: &mut Sinks) {
    let document = report::gate_document(found);
    let text = |text: String| -> FileWriter<'_> {
        Box::new(move |out: Out<'_>| out.write_all(text.as_bytes()))
    };
    let mut files: Vec<(PathBuf, FileWriter<'_>)> = FORMATS
        .iter()
        .map(|format| {
            (format!("check.{}", format.endings[0]).into(), text((format.render)(&document)))
        })
        .collect();
    files.push(("check.xml".into(), text(report::gate_junit(found))));
    files.push(("check.jsonl".into(), Box::new(|out| write_runs(runs, out))));
    sinks.folder(folder, files);
}

fn write_runs(runs: &[Run], out: Out<'_>) -> io::Result<()> {
    exchange::write(exchange::Format::JsonLines, runs.iter(), out)
        .map(|_| ())
        .map_err(io::Error::other)
}

/// An option that means nothing without a baseline.
fn compares(arguments: &Check) -> Option<&'static str> {
    if arguments.regression_alert.is_some() {
        Some("--regression-alert")
    } else if !arguments.metric.is_empty() {
        Some("--metric")
    } else {
        None
    }
}

/// The cells: one model, or everything in a plan that can be here.
fn cells(arguments: &Check, global: &Global, folders: &Folders) -> Result<Vec<Profiler>, Failure> {
    let subject = arguments.model.name().unwrap_or_default();
    let Check { workload, origin, engine, store, .. } = arguments;
    let measure = |model| -> Result<Profiler, Failure> {
        Ok(measurement(model, workload, origin, places(global))?.folders(folders.clone()))
    };
    if let Some(file) = plan(Path::new(subject))? {
        if !arguments.mode.tests()?.is_empty() {
            let text = "`--modes` is for one model; a plan says its modes itself";
            return Err(Failure::new(Exit::Wrong, text)
                .hint("write `modes = [\"generate\"]` into the plan"));
        }
        // The plan says engines, devices and precisions.
        let base = with(measure("")?, &[&engine.threads, &engine.tuning, &store.tags]);
        let expansion = file.spec(engine_id)?.expand(&base.engines_here())?;
        for left in &expansion.left_out {
            if !global.quiet && left.cells > 0 {
                output::complain(&format!(
                    "left out: {} ({} cells): {}\n",
                    clean(&left.what),
                    left.cells,
                    clean(&left.why)
                ));
            }
        }
        if expansion.cells.is_empty() {
            return Err(Failure::new(Exit::Cannot, "nothing of the plan can be measured here"));
        }
        return Ok(expansion.cells.iter().map(|task| base.of_cell(task)).collect());
    }
    let base = with(measure(subject)?, &[engine, &store.tags]);
    Ok(match arguments.mode.tests()? {
        tests if tests.is_empty() => vec![base],
        tests => tests.into_iter().map(|test| base.clone().generation(test)).collect(),
    })
}

/// A file that lists models is a plan; other TOML describes one network.
fn plan(path: &Path) -> Result<Option<PlanFile>, Failure> {
    let is_toml = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml"));
    if !is_toml || !path.is_file() {
        return Ok(None);
    }
    let text = match read_text(path, BY_HAND) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
            return Ok(Some(PlanFile::read(path)?));
        }
        Err(_) => String::new(),
    };
    let lists = |line: &str| {
        let key = line.split('=').next().unwrap_or_default().trim();
        line.contains('=') && ["models", "categories", "all"].contains(&key)
    };
    if text.lines().any(lists) { Ok(Some(PlanFile::read(path)?)) } else { Ok(None) }
}

fn against(arguments: &Check, global: &Global) -> Result<GateBaseline, Failure> {
    if let Some(other) = &arguments.against {
        let path = Path::new(other);
        return Ok(match is_program(path) {
            true => GateBaseline::Program(fs::canonicalize(path).unwrap_or_else(|_| path.into())),
            false => GateBaseline::Model(other.clone()),
        });
    }
    match &arguments.baseline {
        None => Ok(GateBaseline::Nothing),
        Some(name) => {
            let runs = baseline(name, global)?;
            Ok(GateBaseline::Stored { name: name.clone(), runs })
        }
    }
}

/// A file that can be executed and is no model.
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let is_model = ["onnx", "toml", "pt", "pt2", "safetensors"].contains(&ending);
    let executable = |file: fs::Metadata| file.is_file() && file.permissions().mode() & 0o111 != 0;
    !is_model && fs::metadata(path).is_ok_and(executable)
}

/// The runs that a name stands for: a file, a run, a label or a branch, in this order.
fn baseline(name: &str, global: &Global) -> Result<Vec<Run>, Failure> {
    let path = Path::new(name);
    if path.is_file() {
        let bytes = read_file(path, RESULTS).map_err(|error| {
            Failure::new(Exit::Wrong, format!("could not read `{name}`")).cause(error.to_string())
        })?;
        let imported = exchange::import(name, &bytes, None).map_err(|error| {
            Failure::new(Exit::Wrong, error.to_string()).hint(
                "a baseline is a file of `check --save-baseline` or of `db export --format jsonl`",
            )
        })?;
        return Ok(imported.runs);
    }
    let store = open_existing_store(global)?;
    let (kind, rest) = name.split_once(':').unwrap_or(("", name));
    let wants = |wanted: &str| kind.is_empty() || kind == wanted;
    let looks_like_a_run =
        |id: &str| id == "latest" || (id.len() >= 2 && id.chars().all(|c| c.is_ascii_hexdigit()));
    if wants("run") && rest.split(',').all(looks_like_a_run) {
        let run = |id| Ok::<Run, Failure>(store.run(&find(&store, id)?.0)?);
        let runs: Result<Vec<Run>, _> = rest.split(',').map(run).collect();
        match runs {
            Ok(runs) => return Ok(runs),
            Err(error) if kind == "run" => return Err(error),
            // Branches and tags may look like runs.
            Err(_) => {}
        }
    }
    let machine = Some(hardware::machine().key);
    let filter = Filter { machine, ..Filter::default() };
    if wants("tag") {
        let rows = store.runs(&Filter { tag: Some(rest.to_owned()), ..filter.clone() })?;
        if !rows.is_empty() {
            return rows.iter().map(|row| Ok(store.run(&row.id.0)?)).collect();
        }
    }
    if wants("branch") {
        let rows = store.runs(&Filter { branch: Some(rest.to_owned()), ..filter })?;
        if !rows.is_empty() {
            return rows.iter().map(|row| Ok(store.run(&row.id.0)?)).collect();
        }
    }
    Err(Failure::new(Exit::Wrong, format!("no file, run, tag or branch is called `{name}`"))
        .hint("`modelmeter runs list` shows what is stored; only runs of this machine count"))
}

fn write(found: &GateReport, runs: &[Run], exit: Exit, arguments: &Check, sinks: &mut Sinks) {
    if let Some(path) = &arguments.junit {
        sinks.file(path, || report::gate_junit(found));
    }
    if let Some(path) = &arguments.save_baseline {
        let is_file = path != Path::new("-");
        if !is_file {
            sinks.leave_to_data();
        }
        let written = output::to_file_with(path, |out| write_runs(runs, out));
        if written.is_ok() && is_file {
            let (count, path) = (runs.len(), path.display());
            sinks.talk(&format!(
                "wrote {count} runs to {path}; `--baseline {path}` compares later runs with them\n"
            ));
        }
        if written.is_ok()
            && let Some(words) = unfit(runs)
        {
            sinks.talk(&words);
        }
        sinks.attempt(written);
    }
    if let Some(folder) = &arguments.output_dir {
        write_folder(folder, found, runs, sinks);
    }
    let document = report::gate_document(found);
    match found.checks.is_empty() && found.missing.is_empty() {
        true => sinks.formats(&document, &arguments.result),
        false => sinks.result(&document, &arguments.result, exit),
    }
    if arguments.github {
        if let Some(summary) = path_of("GITHUB_STEP_SUMMARY") {
            let add = fs::OpenOptions::new().create(true).append(true).open(&summary);
            let added = add.and_then(|mut file| {
                file.write_all(report::gate_document(found).markdown().as_bytes())
            });
            sinks.attempt(added.map_err(|error| {
                let text = format!("could not add to `{}`", summary.display());
                Failure::new(Exit::Cannot, text).cause(error.to_string())
            }));
        }
        output::complain(&report::gate_annotations(found));
    }
}

/// What is said of a baseline with runs whose times no gate compares with.
fn unfit(runs: &[Run]) -> Option<String> {
    let unfit = GateBaseline::unfit(runs);
    let causes: Vec<&str> = unfit.by_count().iter().map(|(reason, _)| reason.words()).collect();
    (!unfit.is_empty()).then(|| {
        format!(
            "warning: {} of {} runs are not valid ({}): `--baseline` does not compare times with them; measure again on a \
             quiet machine\n",
            unfit.total(),
            runs.len(),
            causes.join(", ")
        )
    })
}

/// `modelmeter noise`.
pub(crate) fn noise(arguments: &Noise, global: &Global) -> Result<Exit, Failure> {
    let folders = folders(global)?;
    let own = folders.clone();
    let mut test = match arguments.model.name() {
        Some(model) => {
            let origin = Origin::default();
            let base = measurement(model, &arguments.workload, &origin, places(global))?;
            NoiseTest::new(arguments.engine.apply(base))
        }
        None => NoiseTest::default(),
    };
    if let Some(processes) = arguments.processes.processes {
        test = test.processes(processes);
    }
    let test = test.map(|profiler| profiler.folders(own).places(places(global)));
    let mut session = watched_session(&folders, arguments.store.no_store, global, "the test")?;
    let earlier = session.noise()?;
    let mut progress = Progress::new(global.quiet);
    let outcome = test.run(&mut session, &mut |event| progress.hear(&event));
    progress.clear();
    let mut sinks = Sinks::new(global);
    sinks.hear(&mut session);
    let found = outcome?;
    let document = report::noise_document(&found, &earlier);
    sinks.result(&document, &arguments.result, Exit::Fine);
    Ok(sinks.finish(Exit::Fine))
}
