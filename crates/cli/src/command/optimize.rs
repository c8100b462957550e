//! `modelmeter optimize`: tries what can be measured and keeps the best.

use crate::{
    Exit, Failure, Sinks,
    arguments::{Global, Optimize, TargetArgument},
    command::{
        folders,
        proof::{profiler, prover, texts},
        watched_session,
    },
    progress::Progress,
};
use modelmeter::Optimizer;
use types::Target;

pub(crate) fn run(arguments: &Optimize, global: &Global) -> Result<Exit, Failure> {
    let target = match arguments.target {
        TargetArgument::Latency => Target::Latency,
        TargetArgument::Memory => Target::Memory,
        TargetArgument::Size => Target::Size,
    };
    arguments.proof.result.check([])?;
    let model = profiler(arguments.model.name().unwrap_or_default(), &arguments.proof, global)?;
    let mut optimizer = Optimizer::new(target, arguments.max_drift)
        .calibrate(texts(arguments.calibrate.as_deref())?)
        .prover(prover(&arguments.proof));
    match arguments.proof.engines.engines.as_slice() {
        [] => {}
        [engine] => optimizer = optimizer.engine(engine),
        [first, ..] => {
            let text = "a search measures on one engine";
            return Err(Failure::new(Exit::Wrong, text).hint(format!("`--engine {first}`")));
        }
    }
    let mut session =
        watched_session(&folders(global)?, arguments.proof.store.no_store, global, "the search")?;
    let mut progress = Progress::new(global.quiet);
    let folder = arguments.output.as_deref();
    let found = optimizer.optimize(&model, folder, arguments.force, &mut session, &mut |event| {
        progress.hear(&event);
    });
    progress.clear();
    let mut sinks = Sinks::new(global);
    sinks.hear(&mut session);
    let found = found?;
    let exit = if found.is_told() { Exit::Fine } else { Exit::Untold };
    sinks.result(&report::optimize_document(&found), &arguments.proof.result, exit);
    Ok(sinks.finish(exit))
}
