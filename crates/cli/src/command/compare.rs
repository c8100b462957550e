//! `modelmeter compare`: lets sides compete, or compares what is stored.

use crate::{
    Exit, Failure, Sinks,
    arguments::{By, Compare, Global, ModeArgument, ResultOutput, Workload, load_is_apart},
    command::{
        folders, load,
        measurement::{default_model, measurement, training, with},
        open_existing_store,
        runs::find,
        watched_session,
    },
    output,
    places::places,
    progress::Progress,
};
use analysis::{Baseline, StoredSide};
use engine::Places;
use modelmeter::{Duel, ENGINES, Engines, Profiler, Run, Session, Store, has_usual_device};
use std::path::{Path, PathBuf};
use types::{Agreement, ComparisonReport, Device, Outcome};

pub(crate) fn run(arguments: &Compare, global: &Global) -> Result<Exit, Failure> {
    if let Some(subjects) = load::addresses(arguments) {
        return load::compare(subjects, arguments, global);
    }
    load::refuse_server_options(&arguments.server)?;
    check_modes(arguments)?;
    let mut asked = asked(arguments)?;
    let mut sinks = Sinks::new(global);
    let (comparisons, both) = match stored(arguments, global)? {
        Some(groups) => (vec![compare_stored(&groups, arguments.baseline.as_deref())?], false),
        None => measure(arguments, global, &mut sinks)?,
    };
    let exits = comparisons.iter().map(exit_of);
    let exit = exits.max_by_key(|exit| severity(*exit)).unwrap_or(Exit::Fine);
    if arguments.output.as_deref().is_some_and(is_auto) {
        asked = asked.with_file(comparisons.first().map(auto_name).as_deref(), &[])?;
    }
    let document = match comparisons.as_slice() {
        [comparison] if !both => report::comparison_document(comparison),
        tests if generates(arguments) => report::generation_comparisons_document(tests),
        pairs => report::modes_document(pairs),
    };
    sinks.result(&document, &asked, exit);
    Ok(sinks.finish(exit))
}

/// What a comparison says to scripts: a side that is refused because its outputs cannot be compared did not fail.
fn exit_of(report: &ComparisonReport) -> Exit {
    let undecided = |label: &str| {
        let entry = report.parity.iter().find(|entry| entry.side == label);
        entry.is_some_and(|entry| entry.agreement() == Agreement::CannotTell)
    };
    let exit = |outcome: &Outcome, label: &str| match outcome {
        Outcome::Refused { .. } if undecided(label) => Exit::Untold,
        Outcome::Refused { .. } => Exit::Failed,
        _ => Exit::Fine,
    };
    let each = report.comparisons.iter().map(|one| exit(&one.outcome, &one.side));
    each.max_by_key(|exit| severity(*exit)).unwrap_or(Exit::Fine)
}

fn severity(exit: Exit) -> u8 {
    match exit {
        Exit::Fine => 0,
        Exit::Untold => 1,
        _ => 2,
    }
}

fn trains(arguments: &Compare) -> bool {
    arguments.modes.contains(&ModeArgument::Training)
}

fn infers(arguments: &Compare) -> bool {
    arguments.modes.contains(&ModeArgument::Inference)
}

fn generates(arguments: &Compare) -> bool {
    arguments.modes.contains(&ModeArgument::Generate)
}

/// What cannot go together is said before anything runs.
fn check_modes(arguments: &Compare) -> Result<(), Failure> {
    let wrong = |text: String| Err(Failure::new(Exit::Wrong, text));
    if arguments.modes.contains(&ModeArgument::Load) {
        return Err(load_is_apart());
    }
    if generates(arguments) {
        if arguments.modes.len() > 1 {
            return wrong("generating is compared alone; omit the other `--modes`".into());
        }
        if arguments.by.is_some() {
            return wrong("`--by layer` joins inferences or steps of a training".into());
        }
    } else if let Some(flag) = arguments.generation.given() {
        return wrong(format!("`{flag}` needs `--modes generate`"));
    }
    if !trains(arguments) {
        return match arguments.training.given() {
            Some(flag) => wrong(format!("`{flag}` needs `--modes training`")),
            None => Ok(()),
        };
    }
    if arguments.by.is_some() && infers(arguments) {
        return wrong(
            "`--by layer` joins inferences or steps, not both; give one of `--modes`".into(),
        );
    }
    if arguments.by.is_some() && arguments.training.world_size.is_some_and(|size| size > 1) {
        return wrong("`--by layer` profiles steps of one process; omit `--world-size`".into());
    }
    let Workload { text, text_file, .. } = &arguments.workload;
    if !text.is_empty() || text_file.is_some() {
        return wrong("text has no labels to train with; omit it".into());
    }
    if infers(arguments) && arguments.baseline.is_some() {
        return wrong("training is compared with inference; omit `--baseline`".into());
    }
    Ok(())
}

/// The formats with the file of `--output`; what could never be written is said before anything runs.
fn asked(arguments: &Compare) -> Result<ResultOutput, Failure> {
    let file = arguments.output.as_deref().filter(|path| !is_auto(path));
    let asked = arguments.result.with_file(file, &[])?;
    asked.check([])?;
    Ok(asked)
}

fn is_auto(path: &Path) -> bool {
    path == Path::new("auto")
}

/// A name for a comparison that nobody named: the model and when it began.
fn auto_name(comparison: &ComparisonReport) -> PathBuf {
    let name = output::plain(&comparison.model.name);
    PathBuf::from(format!("comparison_{name}_{}.json", comparison.started_at / 1_000_000))
}

/// Stored runs, or lists of them, where that is what was named.
fn stored(arguments: &Compare, global: &Global) -> Result<Option<Vec<Vec<Run>>>, Failure> {
    let subjects = &arguments.subjects;
    let is_run = |text: &str| {
        text == "latest"
            || (text.len() >= 2 && text.chars().all(|c| c.is_ascii_hexdigit() || c == ','))
    };
    if subjects.len() < 2 || !subjects.iter().all(|s| is_run(s) && !Path::new(s).exists()) {
        return Ok(None);
    }
    let store = open_existing_store(global)?;
    subjects.iter().map(|list| runs(&store, list)).collect::<Result<Vec<_>, _>>().map(Some)
}

fn compare_stored(
    groups: &[Vec<Run>],
    baseline: Option<&str>,
) -> Result<ComparisonReport, Failure> {
    let slices: Vec<&[Run]> = groups.iter().map(Vec::as_slice).collect();
    let labels = analysis::labels(&slices);
    let sides: Vec<StoredSide<'_>> =
        labels.iter().zip(&slices).map(|(label, runs)| StoredSide { label, runs }).collect();
    let baseline = match baseline {
        Some(label) => Baseline::Side(label),
        None => Baseline::usual(Engines::default().reference().map(|engine| engine.id())),
    };
    analysis::compare_runs(&sides, baseline).map_err(|error| modelmeter::Error::from(error).into())
}

fn runs(store: &Store, list: &str) -> Result<Vec<Run>, Failure> {
    let each = list.split(',').filter(|id| !id.is_empty());
    each.map(|id| Ok(store.run(&find(store, id)?.0)?)).collect()
}

/// One comparison of all sides; or one for each side, of its training with its inference, where both were asked for.
fn measure(
    arguments: &Compare,
    global: &Global,
    sinks: &mut Sinks,
) -> Result<(Vec<ComparisonReport>, bool), Failure> {
    let folders = folders(global)?;
    let places = places(global);
    let sides = sides(arguments, &places, global)?;
    let sides: Vec<Profiler> =
        sides.into_iter().map(|side| side.folders(folders.clone())).collect();
    let mut session =
        watched_session(&folders, arguments.store.skip.no_store, global, "the comparison")?;
    let outcome = measure_in(&mut session, sides, arguments, global);
    sinks.hear(&mut session);
    outcome
}

/// The comparisons, and whether each holds training against inference.
fn measure_in(
    session: &mut Session,
    sides: Vec<Profiler>,
    arguments: &Compare,
    global: &Global,
) -> Result<(Vec<ComparisonReport>, bool), Failure> {
    let mut progress = Progress::new(global.quiet);
    let mut measure = |duel: Duel| {
        let outcome = duel.measure(session, &mut |event| progress.hear(&event));
        progress.clear();
        outcome
    };
    let train = |side: &Profiler| side.clone().training(training(&arguments.training));
    if trains(arguments) && infers(arguments) {
        let pair = |side: &Profiler| measure(duel([side.clone(), train(side)], arguments));
        let comparisons = sides.iter().map(pair).collect::<Result<Vec<_>, _>>()?;
        return Ok((comparisons, true));
    }
    let several_sizes = arguments.batch.batch_sizes.len() > 1;
    if generates(arguments) {
        let tests = arguments.generation.tests();
        if tests.is_empty() {
            return Err(Failure::new(Exit::Wrong, "no prompt and no token to generate")
                .hint("ask for at least one: `--prompt-tokens 512 --new-tokens 128`"));
        }
        let comparisons = tests.into_iter().map(|test| {
            let generate = |side: &Profiler| match side.batch() {
                Some(_) => side.clone().generation(test),
                None => side.clone().generation(test).batch_size(1),
            };
            let mut duel = duel(sides.iter().map(generate), arguments)
                .leave_out_unfit(is_all(arguments))
                .per_sample(several_sizes);
            if let Some(baseline) = &arguments.baseline {
                duel = duel.baseline(baseline);
            }
            measure(duel)
        });
        return Ok((comparisons.collect::<Result<Vec<_>, modelmeter::Error>>()?, false));
    }
    let sides = match trains(arguments) {
        true => sides.iter().map(train).collect(),
        false => sides,
    };
    let mut duel = duel(sides, arguments)
        .leave_out_unfit(is_all(arguments))
        .per_sample(several_sizes)
        .by_layer(arguments.by == Some(By::Layer));
    if let Some(baseline) = &arguments.baseline {
        duel = duel.baseline(baseline);
    }
    Ok((vec![measure(duel)?], false))
}

fn duel(sides: impl IntoIterator<Item = Profiler>, arguments: &Compare) -> Duel {
    let Compare { processes, turns, counts, timeout, .. } = arguments;
    let mut duel = Duel::new(sides);
    if let Some(processes) = processes.processes {
        duel = duel.processes(processes);
    }
    if let Some(turns) = turns.turns {
        duel = duel.turns(turns);
    }
    if let Some(turn) = turns.time.turn {
        duel = duel.turn(turn);
    }
    if let Some(timeout) = timeout.timeout {
        duel = duel.timeout(timeout);
    }
    if let Some(runs) = counts.runs {
        duel = duel.runs(runs);
    }
    if let Some(warmup) = counts.warmup {
        duel = duel.warmup(warmup);
    }
    duel
}

fn is_all(arguments: &Compare) -> bool {
    arguments.engines.engines.iter().any(|engine| engine == "all")
}

/// Every combination of models, engines, devices and precisions that was asked for.
fn sides(arguments: &Compare, places: &Places, global: &Global) -> Result<Vec<Profiler>, Failure> {
    let mut models: Vec<&str> =
        arguments.subjects.iter().chain(&arguments.model_flag).map(String::as_str).collect();
    if models.is_empty() {
        models.push(default_model(&arguments.origin, global));
    }
    let engines: Vec<&str> = match is_all(arguments) {
        true => available(places, arguments),
        false => arguments.engines.engines.iter().map(String::as_str).collect(),
    };
    let mut precisions: Vec<_> =
        arguments.precisions.precisions.iter().copied().map(Some).collect();
    if precisions.is_empty() {
        precisions.push(None);
    }
    let mut sides = Vec::new();
    for model in &models {
        let Compare { workload, origin, threads, tuning, store, .. } = arguments;
        let base = measurement(model, workload, origin, places.clone())?;
        let base = with(base, &[threads, tuning, &store.tags]);
        for engine in &engines {
            let (engine, devices) = match engine_on(engine) {
                Some((engine, device)) => (engine, vec![device]),
                None => (*engine, arguments.devices.devices.clone()),
            };
            for device in devices {
                for precision in &precisions {
                    let side = base.clone().engine(engine).device(device);
                    let side = match precision {
                        Some(precision) => side.precision(*precision),
                        None => side,
                    };
                    sides.extend(sizes(side, arguments));
                }
            }
        }
    }
    let both = trains(arguments) && infers(arguments);
    if sides.len() < 2 && !both {
        let which = engines.first().copied().unwrap_or("no engine");
        return Err(Failure::new(
            Exit::Wrong,
            format!("a comparison needs at least two sides; there is only `{which}`"),
        )
        .hint("give more `--engines`, `--precisions`, `--devices` or models; `modelmeter engines list` shows what is \
               here"));
    }
    Ok(sides)
}

/// An engine with a device of its own: `browser:webgpu`.
fn engine_on(word: &str) -> Option<(&str, Device)> {
    let (engine, device) = word.split_once(':')?;
    Some((engine, device.parse().ok()?))
}

/// The side with every batch size and number of threads that was asked for.
fn sizes(side: Profiler, arguments: &Compare) -> Vec<Profiler> {
    let mut sides = vec![side];
    if !arguments.batch.batch_sizes.is_empty() {
        let each = |side: Profiler| {
            arguments.batch.batch_sizes.iter().map(move |size| side.clone().batch_size(*size))
        };
        sides = sides.into_iter().flat_map(each).collect();
    }
    if !arguments.thread_counts.thread_counts.is_empty() {
        let each = |side: Profiler| {
            arguments
                .thread_counts
                .thread_counts
                .iter()
                .map(move |count| side.clone().threads(*count))
        };
        sides = sides.into_iter().flat_map(each).collect();
    }
    sides
}

fn available(places: &Places, arguments: &Compare) -> Vec<&'static str> {
    let (trains, generates) = (trains(arguments), generates(arguments));
    let works = |engine: &&&dyn engine::Engine| {
        let devices = &arguments.devices.devices;
        let runs_there = devices.iter().any(|device| engine.devices(places).contains(device));
        (runs_there || has_usual_device(**engine, places))
            && (!trains || engine.training().is_some())
            && (!generates || engine.generates())
    };
    ENGINES.iter().filter(works).map(|engine| engine.id()).collect()
}
