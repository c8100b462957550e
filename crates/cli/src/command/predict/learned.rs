//! Answers from the database: `predict MODEL`, `--train`, `--matrix`, `--catalogue`.

use super::matrix;
use crate::{
    Exit, Failure, Sinks,
    arguments::{Global, Predict, PredictedMode},
    command::{
        folders,
        measurement::{measurement, with},
        open_existing_store,
    },
    places::places,
    progress::Progress,
};
use modelmeter::{Experience, Fits, Profiler, Question, Session, Target, TrainingRequest};
use predict::{Case, Catalogue, Learned, Refused};
use report::{LearnedCells, LearnedKind, Prediction, ResultDocument, not_valid};
use types::{Generation, GenerationTest};

pub(super) fn run(
    arguments: &Predict,
    catalogue: &Catalogue,
    global: &Global,
) -> Result<Exit, Failure> {
    let store = open_existing_store(global)?;
    let fits = Fits::of(&store, catalogue, &folders(global)?, arguments.train)?;
    let experience = &fits.experience;
    if experience.processors.is_empty() && experience.gpus.is_empty() {
        let failure = Failure::new(Exit::Untold, "the database has no valid run to learn from")
            .hint("`modelmeter bench --model small-transformer,resnet50 --batch-sizes 1,4` measures some");
        return Err(match experience.not_valid.is_empty() {
            true => failure,
            false => failure.cause(not_valid(&experience.not_valid)),
        });
    }
    let mut sinks = Sinks::new(global);
    if arguments.model.name().is_none() {
        if let Some(path) = &arguments.matrix {
            sinks.file(path, || matrix::matrix(&fits));
        }
        let (document, exit) = trained(&fits);
        sinks.result(&document, &arguments.result, exit);
        return Ok(sinks.finish(exit));
    }
    let target = Target::named(&arguments.on, Some(&store), catalogue)?;
    let anchor = arguments
        .anchor
        .as_ref()
        .map(|prefix| modelmeter::anchor(&store, catalogue, prefix))
        .transpose()?;
    let mut session = Session::looking_into(store);
    let learned = fits.of_kind(target.is_gpu());
    let mut progress = Progress::new(global.quiet);
    let mut all = Vec::new();
    for profiler in profilers(arguments, global)? {
        let question =
            Question { profiler, target: target.clone(), engine: arguments.engine.clone() };
        let case = question.case(&mut session, catalogue, &mut |event| progress.hear(&event))?;
        let case = experience.met_by(case, arguments.model.name().unwrap_or_default());
        let (answer, next) = match learned {
            Ok(learned) => answered(learned, &case, anchor.as_ref()),
            Err(error) => (Err(too_little(experience, error, target.is_gpu())), None),
        };
        all.push(Prediction { case, answer, next });
    }
    progress.clear();
    let is_answered = all.iter().any(|one| one.answer.is_ok());
    let exit = if is_answered { Exit::Fine } else { Exit::Untold };
    let cells = learned_cells(experience);
    let document = report::predictions_document(&all, &cells, arguments.next, anchor.as_ref());
    sinks.result(&document, &arguments.result, exit);
    Ok(sinks.finish(exit))
}

type Answered = (Result<predict::Answer, Refused>, Option<predict::Next>);

fn answered(learned: &Learned, case: &Case, anchor: Option<&predict::Known>) -> Answered {
    let anchored = match anchor {
        Some(anchor) => match learned.with_anchor(anchor.clone(), case) {
            Ok(anchored) => Some(anchored),
            Err(refused) => return (Err(refused), None),
        },
        None => None,
    };
    let learned = anchored.as_ref().unwrap_or(learned);
    let next = learned.next(case, &candidates(learned, case));
    (learned.answer(case), next)
}

/// What could be measured next: this model in other batches and on other engines, and other models as this one is asked.
fn candidates(learned: &Learned, case: &Case) -> Vec<Case> {
    let mut all = Vec::new();
    let scaled = |of: &Case, batch: f64| {
        let factor = batch / of.batch;
        let times = |amount: Option<f64>| amount.map(|amount| amount * factor);
        Case { batch, flops: times(of.flops), bytes: times(of.bytes), ..of.clone() }
    };
    let mut engines: Vec<&str> =
        learned.known().iter().map(|one| one.case.engine.as_str()).collect();
    engines.sort_unstable();
    engines.dedup();
    for batch in [1.0, 2.0, 4.0, 8.0, 16.0, 32.0] {
        all.push(scaled(case, batch));
        for engine in &engines {
            all.push(Case { engine: (*engine).to_owned(), ..scaled(case, batch) });
        }
    }
    all.extend(learned.known().iter().filter(|one| one.case.mode == case.mode).map(|one| Case {
        machine: case.machine.clone(),
        hardware: case.hardware.clone(),
        peak: case.peak,
        bandwidth: case.bandwidth,
        cache: case.cache,
        threads: case.threads,
        ..one.case.clone()
    }));
    all
}

fn too_little(experience: &Experience, error: &str, is_gpu: bool) -> Refused {
    let (wanted, other) = if is_gpu { ("GPU", "processors") } else { ("processor", "GPUs") };
    let others = if is_gpu { experience.processors.len() } else { experience.gpus.len() };
    let why = match others {
        0 => error.to_owned(),
        _ => format!("{error}; {others} cells on {other} say nothing of a {wanted}"),
    };
    let nearest = match (is_gpu, others) {
        (true, 1..) => "the same with `--on here`".to_owned(),
        _ => "one of what was measured: `modelmeter runs list`".to_owned(),
    };
    Refused { why, nearest, rows: 1 }
}

fn profilers(arguments: &Predict, global: &Global) -> Result<Vec<Profiler>, Failure> {
    let model = arguments.model.name().unwrap_or_default();
    let workload = crate::arguments::Workload {
        batch: arguments.batch.clone(),
        inputs: arguments.inputs.clone(),
        ..Default::default()
    };
    let base =
        measurement(model, &workload, &arguments.origin, places(global))?.folders(folders(global)?);
    let base = with(base, &[&arguments.precision, &arguments.threads]);
    let test = |test, tokens| {
        base.clone().generation(Generation { test, tokens, depth: 0, sampling: Default::default() })
    };
    Ok(match arguments.mode {
        PredictedMode::Inference => vec![base],
        PredictedMode::Training => vec![base.training(TrainingRequest::default())],
        PredictedMode::Generation => {
            vec![test(GenerationTest::Prefill, 512), test(GenerationTest::Decode, 128)]
        }
    })
}

/// What was learned, and how good answers are.
fn trained(fits: &Fits) -> (ResultDocument, Exit) {
    let experience = &fits.experience;
    let kinds = [(false, &experience.processors), (true, &experience.gpus)];
    let kinds: Vec<LearnedKind<'_>> = kinds
        .into_iter()
        .filter(|(_, cells)| !cells.is_empty())
        .map(|(is_gpu, cells)| LearnedKind {
            is_gpu,
            cells: cells.len(),
            learned: fits.of_kind(is_gpu).as_ref().map_err(String::as_str),
        })
        .collect();
    let is_known = |kind: &LearnedKind<'_>| {
        kind.learned.as_ref().is_ok_and(|learned| !learned.calibrated().is_empty())
    };
    let exit = if kinds.iter().any(is_known) { Exit::Fine } else { Exit::Untold };
    (report::trained_document(&kinds, &learned_cells(experience)), exit)
}

/// The cells of a database, and what was left out of it.
pub(crate) fn learned_cells(experience: &Experience) -> LearnedCells<'_> {
    LearnedCells {
        cells: experience.processors.len() + experience.gpus.len(),
        left_out: &experience.left_out,
        not_valid: Some(&experience.not_valid),
    }
}
