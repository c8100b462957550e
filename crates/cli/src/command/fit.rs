//! `modelmeter fit`: the best throughput under a limit of memory, found by trying.

use crate::{
    Exit, Failure, Sinks,
    arguments::{Fit, Global, Workload},
    command::{
        folders,
        measurement::{measurement, with},
        watched_session,
    },
    places::places,
    progress::Progress,
};
use modelmeter::{Fitter, Folders};
use types::FitReport;

pub(crate) fn run(arguments: &Fit, global: &Global) -> Result<Exit, Failure> {
    let folders = folders(global)?;
    // Everything that can be found wrong is found before minutes are spent.
    let asked = arguments.result.with_file(arguments.file.output.as_deref(), &[])?;
    asked.check([])?;
    let fitter = fitter(arguments, global, &folders)?;
    let mut session = watched_session(&folders, arguments.store.no_store, global, "the search")?;
    let mut progress = Progress::new(global.quiet);
    let outcome = fitter.fit(&mut session, &mut |event| progress.hear(&event));
    progress.clear();
    let mut sinks = Sinks::new(global);
    sinks.hear(&mut session);
    let found = outcome?;
    let exit = match found.best() {
        Some(_) if found.is_valid() => Exit::Fine,
        Some(_) => Exit::Untold,
        None => Exit::Cannot,
    };
    sinks.result(&report::fit_document(&found), &asked, exit);
    match found.best() {
        Some(_) => Ok(sinks.finish(exit)),
        None => Err(nothing_fits(&found)),
    }
}

fn fitter(arguments: &Fit, global: &Global, folders: &Folders) -> Result<Fitter, Failure> {
    let model = arguments.model.name().unwrap_or_default();
    let Fit { origin, device, threads, tuning, limit, sampling, timeout, .. } = arguments;
    // The batch size is what is looked for.
    let workload = Workload { inputs: arguments.inputs.clone(), ..Workload::default() };
    let base = measurement(model, &workload, origin, places(global))?.folders(folders.clone());
    let mut profiler = with(base, &[device, threads, tuning, limit, sampling, timeout]);
    // Writing is what fills the cache; a prompt is looked at where nothing is written.
    let tests = arguments.mode.tests()?;
    match (tests.last(), arguments.max_context) {
        (Some(test), _) => profiler = profiler.generation(*test),
        (None, Some(_)) => {
            return Err(Failure::new(Exit::Wrong, "`--max-context` needs `--modes generate`"));
        }
        (None, None) => {}
    }
    let engines = match arguments.engines.engines.as_slice() {
        [only] if only == "auto" => Vec::new(),
        named => named.to_vec(),
    };
    let fitter = Fitter::new(profiler, arguments.memory_constrained)
        .engines(engines)
        .precisions(arguments.precisions.precisions.iter().copied())
        .most_batch(arguments.max_batch);
    Ok(match arguments.max_context {
        Some(most) => fitter.most_context(most),
        None => fitter,
    })
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
        None if found.generation.is_some() => {
            "a larger `--memory-constrained`, a smaller `--depth` or another engine may help".into()
        }
        None => "a larger `--memory-constrained`, a shorter `--sequence-length` or another engine \
                 may help"
            .into(),
    })
}
