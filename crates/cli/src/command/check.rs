//! `modelmeter check`: the gate. `modelmeter noise`: what this machine does to measurements.

use crate::{
    Exit, Failure, Sinks,
    arguments::{Check, Global, Noise, Origin},
    command::{
        folders,
        measurement::{Settings, measurement, with},
        open_existing_store, path_of,
        runs::find,
        table_width, watched_session,
    },
    output,
    places::places,
    progress::Progress,
};
use modelmeter::{
    Folders, Gate, HeldAgainst, NoiseTest, PlanFile, Profiler, Run,
    exchange::{
        self,
        bounds::{BY_HAND, RESULTS, read_file, read_text},
    },
    report::{self, clean},
    store::Filter,
    types::{GateReport, Ruling},
};
use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

/// The most processes of a long gate, and its alert.
const LONG: (u32, f64) = (80, 0.01);

pub(crate) fn run(arguments: &Check, global: &Global) -> Result<Exit, Failure> {
    for path in
        [&arguments.output_ci, &arguments.junit, &arguments.markdown, &arguments.save_baseline]
            .into_iter()
            .flatten()
            .filter(|path| *path != Path::new("-"))
    {
        output::check_folder(path)?;
    }
    if let (None, Some(given)) =
        (arguments.against.as_ref().or(arguments.baseline.as_ref()), compares(arguments))
    {
        let text = format!("`{given}` needs something to hold the model against");
        return Err(Failure::new(Exit::Wrong, text).hint("give `--against` or `--baseline`"));
    }
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
    gate = arguments.threshold.iter().fold(gate, |gate, limit| gate.threshold(*limit));
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

/// Writes everything about a gate into a folder: JSON, Markdown, JUnit XML, and the runs as a baseline.
pub(crate) fn write_folder(folder: &Path, found: &GateReport, runs: &[Run], sinks: &mut Sinks) {
    sinks.attempt(output::make_folder(folder));
    let mut count = 0;
    for (name, text) in [
        ("check.json", report::gate_document(found).json_text()),
        ("check.md", report::gate_document(found).markdown()),
        ("check.xml", report::gate_junit(found)),
    ] {
        count += usize::from(sinks.file(&folder.join(name), || text));
    }
    let written = write_runs(&folder.join("check.jsonl"), runs);
    count += usize::from(written.is_ok());
    sinks.attempt(written);
    if count > 0 {
        sinks.talk(&format!("wrote {count} files into {}\n", folder.display()));
    }
}

fn write_runs(path: &Path, runs: &[Run]) -> Result<(), Failure> {
    output::to_file_with(path, |out| {
        let jsonl = exchange::Format::JsonLines;
        exchange::write(jsonl, runs.iter(), out).map(|_| ()).map_err(std::io::Error::other)
    })
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
    let subject = arguments.model.named().unwrap_or_default();
    let Check { workload, origin, engine, store, .. } = arguments;
    let measure = |model| -> Result<Profiler, Failure> {
        Ok(measurement(model, workload, origin, places(global))?.folders(folders.clone()))
    };
    if let Some(file) = plan(Path::new(subject))? {
        // The plan says engines, devices and precisions.
        let base = with(measure("")?, &[&engine.threads, &engine.tuning, &store.tags]);
        let expansion = file.spec()?.expand(&places(global))?;
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
        return Ok(expansion.cells.iter().map(|task| task.profiler(&base)).collect());
    }
    Ok(vec![with(measure(subject)?, &[engine, &store.tags])])
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

fn against(arguments: &Check, global: &Global) -> Result<HeldAgainst, Failure> {
    if let Some(other) = &arguments.against {
        let path = Path::new(other);
        return Ok(match is_program(path) {
            true => HeldAgainst::Program(fs::canonicalize(path).unwrap_or_else(|_| path.into())),
            false => HeldAgainst::Model(other.clone()),
        });
    }
    match &arguments.baseline {
        None => Ok(HeldAgainst::Nothing),
        Some(name) => {
            let runs = baseline(name, global)?;
            Ok(HeldAgainst::Stored { name: name.clone(), runs })
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
    let machine = Some(modelmeter::hardware::machine().key);
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
    Err(Failure::new(Exit::Wrong, format!("no file, run, tag or branch is called `{name}` here"))
        .hint("`modelmeter runs list` shows what is stored; only runs of this machine count"))
}

fn write(found: &GateReport, runs: &[Run], exit: Exit, arguments: &Check, sinks: &mut Sinks) {
    let texts: [(&Option<PathBuf>, &dyn Fn() -> String); 3] = [
        (&arguments.output_ci, &|| report::gate_document(found).json_text()),
        (&arguments.markdown, &|| report::gate_document(found).markdown()),
        (&arguments.junit, &|| report::gate_junit(found)),
    ];
    for (path, text) in texts {
        let Some(path) = path else { continue };
        sinks.file(path, text);
    }
    if let Some(path) = &arguments.save_baseline {
        let is_file = path != Path::new("-");
        if !is_file {
            sinks.leave_to_data();
        }
        let written = write_runs(path, runs);
        if written.is_ok() && is_file {
            let (count, path) = (runs.len(), path.display());
            sinks.talk(&format!(
                "wrote {count} runs to {path}; `--baseline {path}` holds later ones against them\n"
            ));
        }
        sinks.attempt(written);
    }
    if let Some(folder) = &arguments.output_dir {
        write_folder(folder, found, runs, sinks);
    }
    if !found.checks.is_empty() || !found.missing.is_empty() {
        sinks.page_of(exit, |style| report::gate_document(found).terminal(style, table_width()));
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

/// `modelmeter noise`.
pub(crate) fn noise(arguments: &Noise, global: &Global) -> Result<Exit, Failure> {
    let folders = folders(global)?;
    let own = folders.clone();
    let mut test = match arguments.model.named() {
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
    if let Some(path) = &arguments.json {
        sinks.file(path, || document.json_text());
    }
    sinks.page(|style| document.terminal(style, table_width()));
    Ok(sinks.finish(Exit::Fine))
}
