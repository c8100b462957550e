//! `modelmeter compare`: lets sides compete, or compares what is stored.

use crate::{
    Exit, Failure,
    arguments::{By, Compare, Global},
    command::{folders, measurement::measurement, open_existing_store, style},
    output,
    places::places,
    progress::Progress,
};
use modelmeter::{
    Duel, ENGINES, Profiler, Run, Session, Store,
    analysis::{self, StoredSide},
    engine::{Availability, Places},
    report,
    types::{ComparisonReport, Outcome},
};
use std::{
    fs,
    path::{Path, PathBuf},
};

pub(crate) fn run(arguments: &Compare, global: &Global) -> Result<Exit, Failure> {
    let comparison = match stored(arguments, global)? {
        Some(groups) => compare_stored(&groups, arguments.baseline.as_deref())?,
        None => fight(arguments, global)?,
    };
    show(&comparison, arguments, global)?;
    let refused = |outcome: &Outcome| matches!(outcome, Outcome::Refused { .. });
    let refused = comparison.comparisons.iter().any(|c| refused(&c.outcome));
    Ok(if refused { Exit::Failed } else { Exit::Fine })
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
    analysis::compare_runs(&sides, baseline).map_err(|error| modelmeter::Error::from(error).into())
}

fn runs(store: &Store, list: &str) -> Result<Vec<Run>, Failure> {
    let each = list.split(',').filter(|id| !id.is_empty());
    each.map(|id| store.run(id).map_err(Failure::from)).collect()
}

fn fight(arguments: &Compare, global: &Global) -> Result<ComparisonReport, Failure> {
    let folders = folders(global)?;
    let places = places(global);
    let sides = sides(arguments, &places)?;
    let sides = sides.into_iter().map(|side| side.folders(folders.clone()));
    let mut duel = Duel::new(sides)
        .processes(arguments.processes)
        .turns(arguments.turns)
        .turn(arguments.turn)
        .timeout(arguments.timeout)
        .leave_out_unfit(is_all(arguments))
        .per_sample(arguments.batch_sizes.len() > 1)
        .by_layer(arguments.by == Some(By::Layer));
    if let Some(runs) = arguments.runs {
        duel = duel.runs(runs);
    }
    if let Some(warmup) = arguments.warmup {
        duel = duel.warmup(warmup);
    }
    if let Some(baseline) = &arguments.baseline {
        duel = duel.baseline(baseline);
    }
    let mut session = if arguments.no_store {
        Session::without_store()
    } else {
        Session::with_store(&folders.database)?
    };
    let mut progress = Progress::new(global.quiet);
    let outcome = duel.fight(&mut session, &mut |event| progress.hear(&event));
    progress.clear();
    Ok(outcome?)
}

fn is_all(arguments: &Compare) -> bool {
    arguments.engines.iter().any(|engine| engine == "all")
}

/// Every combination of models, engines, devices and precisions that was asked for.
fn sides(arguments: &Compare, places: &Places) -> Result<Vec<Profiler>, Failure> {
    let mut models: Vec<&str> =
        arguments.subjects.iter().chain(&arguments.model_flag).map(String::as_str).collect();
    if models.is_empty() {
        // A module of the user's own has no other name.
        models.push("");
    }
    let engines: Vec<&str> = match is_all(arguments) {
        true => available(places),
        false => arguments.engines.iter().map(String::as_str).collect(),
    };
    let mut precisions: Vec<_> = arguments.precisions.iter().copied().map(Some).collect();
    if precisions.is_empty() {
        precisions.push(None);
    }
    let mut sides = Vec::new();
    for model in &models {
        let Compare { workload, origin, tuning, .. } = arguments;
        let base = measurement(model, workload, origin, tuning, places.clone())?;
        let base = arguments.tag.iter().fold(base, |side, tag| side.tag(tag));
        for engine in &engines {
            for device in &arguments.devices {
                for precision in &precisions {
                    let side = base.clone().engine(*engine).device(*device);
                    let side = match precision {
                        Some(precision) => side.precision(*precision),
                        None => side,
                    };
                    sides.extend(sizes(side, arguments));
                }
            }
        }
    }
    if sides.len() < 2 {
        let which = engines.first().copied().unwrap_or("no engine");
        return Err(Failure::new(
            Exit::Wrong,
            format!("a comparison needs at least two sides; there is only `{which}`"),
        )
        .hint("name more `--engines`, `--precisions`, `--devices` or models; `modelmeter engines list` shows what is here"));
    }
    Ok(sides)
}

/// The side with every batch size and number of threads that was asked for.
fn sizes(side: Profiler, arguments: &Compare) -> Vec<Profiler> {
    let mut sides = vec![side];
    if !arguments.batch_sizes.is_empty() {
        let each = |side: Profiler| {
            arguments.batch_sizes.iter().map(move |size| side.clone().batch_size(*size))
        };
        sides = sides.into_iter().flat_map(each).collect();
    }
    if !arguments.thread_counts.is_empty() {
        let each = |side: Profiler| {
            arguments.thread_counts.iter().map(move |count| side.clone().threads(*count))
        };
        sides = sides.into_iter().flat_map(each).collect();
    }
    sides
}

fn available(places: &Places) -> Vec<&'static str> {
    let works = |engine: &&&dyn modelmeter::engine::Engine| {
        matches!(engine.availability(places), Availability::Available { .. })
    };
    ENGINES.iter().filter(works).map(|engine| engine.id()).collect()
}

fn show(
    comparison: &ComparisonReport,
    arguments: &Compare,
    global: &Global,
) -> Result<(), Failure> {
    let mut talks_data = false;
    let texts: [(&Option<PathBuf>, &dyn Fn() -> String); 2] = [
        (&arguments.json, &|| format!("{:#}\n", report::comparison_json(comparison))),
        (&arguments.csv, &|| report::comparison_csv(comparison)),
    ];
    for (path, text) in texts {
        let Some(path) = path else { continue };
        if path == Path::new("-") {
            talks_data = true;
            output::data(&text())?;
        } else {
            let failed = |error: std::io::Error| {
                Failure::new(Exit::Cannot, format!("could not write `{}`", path.display()))
                    .cause(error.to_string())
            };
            fs::write(path, text()).map_err(failed)?;
        }
    }
    if !talks_data && !global.quiet {
        output::data(&report::comparison(comparison, &style(global)))?;
    }
    Ok(())
}
