//! Answers from the database: `predict MODEL`, `--train`, `--matrix`, `--catalogue`.

use super::{
    answer::{self, Asked},
    matrix,
    show::{percent, times_and_divided},
    view,
};
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
use predict::{Calibrated, Case, Catalogue, Learned, Refused, Situation};
use report::{Block, Column, DataTable, Grid, Note, ResultDocument, Tone, clean, not_valid};
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
        all.push(Asked { case, answer, next });
    }
    progress.clear();
    let is_answered = all.iter().any(|one| one.answer.is_ok());
    let exit = if is_answered { Exit::Fine } else { Exit::Untold };
    let document = view::document(&all, experience, arguments.next, anchor.as_ref());
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
    let mut grid = Grid::of([
        Column::left("hardware"),
        Column::left("held out"),
        Column::right("cells").leaves(2),
        Column::right("groups").leaves(3),
        Column::right("median error"),
        Column::right("mean error").leaves(4),
        Column::right("coverage"),
        Column::right("interval"),
        Column::right("physics alone").leaves(1),
    ]);
    let mut notes = Vec::new();
    let mut rows = Vec::new();
    let mut found = Vec::new();
    for (words, is_gpu, cells) in
        [("processors", false, &experience.processors), ("GPUs", true, &experience.gpus)]
    {
        if cells.is_empty() {
            continue;
        }
        match fits.of_kind(is_gpu) {
            Ok(learned) => {
                for (situation, one) in learned.calibrated() {
                    grid.row(told(words, *situation, one));
                    rows.push(plain(words, *situation, one));
                    found.push((words, *situation, one.clone()));
                }
                if learned.calibrated().is_empty() {
                    notes.push(Note::warning(format!(
                        "{words}: {} cells, but too few groups to hold any out",
                        cells.len()
                    )));
                }
            }
            Err(error) => notes.push(Note::warning(format!("{words}: {error}"))),
        }
    }
    notes.push(Note::new(
        "held out: what is new about a question. A setting is one cell, a pair all cells of one model on one engine, a \
         family all models of one architecture, a machine all of its cells. Coverage: share of cells within their 90 % interval",
    ));
    notes.extend(left_out(experience));
    let exit = if found.is_empty() { Exit::Untold } else { Exit::Fine };
    let cells = experience.processors.len() + experience.gpus.len();
    let columns = [
        "hardware",
        "held_out",
        "cells",
        "groups",
        "median_error",
        "mean_error",
        "coverage",
        "width",
        "physics_median_error",
    ];
    let document = ResultDocument {
        title: vec!["What predictions rest on".into()],
        facts: vec![format!("{cells} cells of the database")],
        verdict: Some(match exit {
            Exit::Fine => {
                Note::of(Tone::Good, "cells were predicted while their group was held out")
            }
            _ => Note::of(Tone::Warning, "too little is measured to know how good a prediction is"),
        }),
        blocks: vec![Block::table("backtest", grid), Block::Notes(notes)],
        json: answer::trained(experience, &found),
        data: Some(DataTable::new(columns, rows)),
        ..ResultDocument::default()
    };
    (document, exit)
}

fn told(words: &str, situation: Situation, one: &Calibrated) -> Vec<String> {
    vec![
        words.to_owned(),
        situation.words().to_owned(),
        one.cells.to_string(),
        one.groups.to_string(),
        percent(one.median_error),
        percent(one.mean_error),
        percent(one.coverage),
        times_and_divided(one.width),
        one.physics_error.map(percent).unwrap_or_default(),
    ]
}

/// The same for programs.
fn plain(words: &str, situation: Situation, one: &Calibrated) -> Vec<Option<String>> {
    let number = |number: f64| number.is_finite().then(|| number.to_string());
    vec![
        Some(words.to_owned()),
        Some(situation.words().to_owned()),
        Some(one.cells.to_string()),
        Some(one.groups.to_string()),
        number(one.median_error),
        number(one.mean_error),
        number(one.coverage),
        number(one.width),
        one.physics_error.and_then(number),
    ]
}

pub(super) fn left_out(experience: &Experience) -> Vec<Note> {
    let cells = |cells| if cells == 1 { "1 cell".into() } else { format!("{cells} cells") };
    let all = experience.left_out.iter();
    let mut notes: Vec<Note> =
        all.map(|(why, count)| Note::new(format!("{}: {}", cells(*count), clean(why)))).collect();
    if !experience.not_valid.is_empty() {
        let runs = not_valid(&experience.not_valid);
        notes.push(Note::new(format!("runs that nothing is learned from: {runs}")));
    }
    notes
}
