//! `modelmeter fit`: the best throughput under a limit of memory, found by trying.

use crate::{
    Exit, Failure, Sinks,
    arguments::{Fit, Global},
    command::{
        folders,
        measurement::measurement,
        style, table_width,
        target::{Format, Target},
        watched_session,
    },
    places::places,
    progress::Progress,
};
use modelmeter::{Fitter, Folders, report, types::FitReport};

pub(crate) fn run(arguments: &Fit, global: &Global) -> Result<Exit, Failure> {
    let folders = folders(global)?;
    // Everything that can be found wrong is found before minutes are spent.
    let target = Target::of(&arguments.form)?;
    let fitter = fitter(arguments, global, &folders)?;
    let mut session = watched_session(&folders, arguments.no_store, global, "the search")?;
    let mut progress = Progress::new(global.quiet);
    let outcome = fitter.fit(&mut session, &mut |event| progress.hear(&event));
    progress.clear();
    let mut sinks = Sinks::new(global);
    sinks.hear(&mut session);
    let found = outcome?;
    if target.is_data() {
        sinks.leave_to_data();
    }
    let exit = match found.best() {
        Some(_) if found.is_valid() => Exit::Fine,
        Some(_) => Exit::Untold,
        None => Exit::Cannot,
    };
    let document = report::fit_document(&found);
    sinks.attempt(target.write(exit, global, || match target.format {
        Format::Page => document.terminal(&style(global), table_width()),
        Format::Json => document.json_text(),
        Format::Csv => document.csv(),
        Format::Markdown => document.markdown(),
    }));
    match found.best() {
        Some(_) => Ok(sinks.finish(exit)),
        None => Err(nothing_fits(&found)),
    }
}

fn fitter(arguments: &Fit, global: &Global, folders: &Folders) -> Result<Fitter, Failure> {
    let model = arguments.model.as_deref().or(arguments.model_flag.as_deref()).unwrap_or_default();
    let Fit { origin, tuning, .. } = arguments;
    let mut profiler = measurement(model, &arguments.workload(), origin, tuning, places(global))?
        .folders(folders.clone())
        .device(arguments.device)
        .timeout(arguments.timeout);
    if let Some(means) = arguments.limit_by {
        profiler = profiler.limit_by(means);
    }
    if let Some(runs) = arguments.runs {
        profiler = profiler.runs(runs);
    }
    if let Some(warmup) = arguments.warmup {
        profiler = profiler.warmup(warmup);
    }
    if let Some(duration) = arguments.duration {
        profiler = profiler.duration(duration);
    }
    if let Some(share) = arguments.target_error {
        profiler = profiler.target_error(share);
    }
    let engines = match arguments.engines.as_slice() {
        [only] if only == "auto" => Vec::new(),
        named => named.to_vec(),
    };
    Ok(Fitter::new(profiler, arguments.memory_constrained)
        .engines(engines)
        .precisions(arguments.precision.iter().copied())
        .most_batch(arguments.max_batch))
}

/// What would be enough, in the words of the argument.
fn nothing_fits(found: &FitReport) -> Failure {
    let limit = found.limit.0 >> 20;
    let failure = Failure::new(Exit::Cannot, format!("nothing fits under {limit} MiB"));
    let enough = found.smallest_need.as_ref().and_then(|need| Some((need, need.enough?)));
    failure.hint(match enough {
        Some((need, enough)) => format!(
            "`--memory-constrained {}` is enough for {} on {} at batch {}",
            enough.0 >> 20,
            need.precision,
            need.engine,
            need.batch
        ),
        None => "a larger `--memory-constrained`, a shorter `--sequence-length` or another engine \
                 may help"
            .into(),
    })
}
