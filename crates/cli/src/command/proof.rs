//! What `prune`, `quantize` and `optimize` do alike: the model as it is, and the proof of a change.

use crate::{
    Exit, Failure, Sinks,
    arguments::{Global, ProofArguments},
    command::{
        folders,
        measurement::{measurement, with},
        watched_session,
    },
    places::places,
    progress::Progress,
};
use exchange::bounds::{BY_HAND, read_text};
use modelmeter::{Changed, Error, Event, Profiler, Prover};
use std::{fs, path::Path};

/// A command that changes a model and proves it.
pub(crate) struct Proving<'a> {
    pub(crate) model: &'a str,
    pub(crate) proof: &'a ProofArguments,
    pub(crate) timed: bool,
}

impl Proving<'_> {
    /// The measurement of the model as it is.
    pub(crate) fn profiler(&self, global: &Global) -> Result<Profiler, Failure> {
        profiler(self.model, self.proof, global)
    }

    /// Changes the model, proves it and says what came of it.
    pub(crate) fn run(
        &self,
        global: &Global,
        change: impl FnOnce(&Profiler, &mut dyn FnMut(Event)) -> Result<Changed, Error>,
    ) -> Result<Exit, Failure> {
        self.proof.result.check([])?;
        let prover = prover(self.proof).timed(self.timed);
        // Nothing is written for a proof that could never be made.
        prover.check(modelmeter::Engines::default())?;
        let profiler = self.profiler(global)?;
        let folders = folders(global)?;
        let mut session = watched_session(
            &folders,
            self.proof.store.no_store || !self.timed,
            global,
            "the proof",
        )?;
        let mut progress = Progress::new(global.quiet);
        let proof = change(&profiler, &mut |event| progress.hear(&event)).and_then(|changed| {
            prover.prove(&profiler, &changed, &mut session, &mut |event| progress.hear(&event))
        });
        progress.clear();
        let mut sinks = Sinks::new(global);
        sinks.hear(&mut session);
        let proof = proof.map_err(|error| own_flags(error.into()))?;
        let exit = if proof.is_told() { Exit::Fine } else { Exit::Untold };
        sinks.result(&report::proof_document(&proof), &self.proof.result, exit);
        Ok(sinks.finish(exit))
    }
}

/// The same without a hint at `--precision`, which these commands do not have.
fn own_flags(failure: Failure) -> Failure {
    match failure.hints_at("--precision") {
        true => failure.hint(
            "models are converted from fp32: int8 needs matrix products (MatMul, Gemm); `--to fp16` takes convolutions (Conv) too",
        ),
        false => failure,
    }
}

/// The measurement of the model as it is.
pub(crate) fn profiler(
    model: &str,
    proof: &ProofArguments,
    global: &Global,
) -> Result<Profiler, Failure> {
    let ProofArguments { workload, origin, device, threads, tuning, timeout, .. } = proof;
    let base = measurement(model, workload, origin, places(global))?.folders(folders(global)?);
    Ok(with(base, &[device, threads, tuning, timeout]))
}

/// How a change is proved.
pub(crate) fn prover(proof: &ProofArguments) -> Prover {
    let engines = match proof.engines.engines.as_slice() {
        [only] if only == "all" || only == "auto" => Vec::new(),
        named => named.iter().map(|engine| engine.to_ascii_lowercase()).collect(),
    };
    let mut prover = Prover::new().engines(engines);
    if let Some(processes) = proof.processes.processes {
        prover = prover.processes(processes);
    }
    match proof.turn.turn {
        Some(turn) => prover.turn(turn),
        None => prover,
    }
}

/// The lines of a file of texts.
pub(crate) fn texts(path: Option<&Path>) -> Result<Vec<String>, Failure> {
    let Some(path) = path else { return Ok(Vec::new()) };
    let unreadable = |cause: String| {
        Failure::new(Exit::Wrong, format!("could not read the texts in `{}`", path.display()))
            .cause(cause)
    };
    let kind = fs::metadata(path).map_err(|error| unreadable(error.to_string()))?;
    if !kind.is_file() {
        return Err(unreadable("it is not a file".into()));
    }
    let text = read_text(path, BY_HAND).map_err(|error| unreadable(error.to_string()))?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines: Vec<String> = lines.map(str::to_owned).collect();
    if lines.is_empty() {
        return Err(Failure::new(Exit::Wrong, format!("`{}` has no text", path.display())));
    }
    Ok(lines)
}
