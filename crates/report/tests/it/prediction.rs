//! Predictions: what people see of answers, refusals, backtests and what was learned, and what programs get.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use crate::recommendations;
use modelmeter_report::{
    ExplorationView, LearnedCells, LearnedKind, Prediction, ResultDocument, Style, TableRows,
    backtest_document, exploration_document, hardware_document, predictions_document,
    recommendations_document, table_prediction_document, trained_document, with_gap_predictions,
};
use predict::{
    Answer, Backtest, Calibrated, Case, Catalogue, Domain, Effort, KindScore, Known, Learned,
    MachineScore, Next, PictureQuestion, Predictor, Reach, Refused, Score, Situation, Tables,
};
use serde_json::json;
use std::{collections::BTreeMap, fs};

fn case(model: &str, batch: f64) -> Case {
    Case {
        model: model.into(),
        family: "bert".into(),
        engine: "onnxruntime".into(),
        precision: "fp32".into(),
        mode: "inference".into(),
        variant: String::new(),
        machine: "a".into(),
        hardware: "Intel(R) Xeon(R) Processor @ 2.10GHz".into(),
        is_gpu: false,
        batch,
        length: Some(128.0),
        threads: 2.0,
        flops: Some(11.3e9 * batch),
        bytes: Some(0.9e9 * batch),
        weights: 2.65e8,
        peak: Some(2.4e11),
        bandwidth: Some(1.9e10),
        cache: Some(3.2e7),
    }
}

fn known(model: &str, batch: f64, seconds: f64) -> Known {
    let runs = vec!["7f3a91c25e".into()];
    Known { case: case(model, batch), seconds, memory: Some(6e8 + 2e7 * batch), runs }
}

/// As a fit that is kept has it.
fn calibrated() -> Calibrated {
    serde_json::from_value(json!({
        "cells": 42, "groups": 7, "median_error": 0.064, "mean_error": 0.083, "coverage": 0.905,
        "width": 1.31, "physics_error": 0.412, "factor": 1.8,
    }))
    .unwrap()
}

fn answered() -> Prediction {
    let reach = |middle: f64| Reach { middle, low: middle / 1.31, high: middle * 1.31 };
    Prediction {
        case: case("distilbert-base-uncased", 8.0),
        answer: Ok(Answer {
            situation: Situation::NewPair,
            is_measured: false,
            seconds: reach(0.482),
            memory: Some(reach(7.4e8)),
            physics: Some(0.377),
            rests_on: vec![
                known("distilbert-base-uncased", 4.0, 0.245),
                known("bert-base-uncased", 8.0, 0.951),
                known("google/mobilebert-uncased", 8.0, 0.702),
            ],
            calibrated: Some(calibrated()),
            cells: 42,
        }),
        next: Some(Next { case: case("distilbert-base-uncased", 1.0), left: 0.61 }),
    }
}

fn measured() -> Prediction {
    let exactly = |value: f64| Reach { middle: value, low: value, high: value };
    let known = known("distilbert-base-uncased", 4.0, 0.245);
    Prediction {
        case: known.case.clone(),
        answer: Ok(Answer {
            situation: Situation::Known,
            is_measured: true,
            seconds: exactly(0.245),
            memory: None,
            physics: None,
            rests_on: vec![known],
            calibrated: None,
            cells: 1,
        }),
        next: None,
    }
}

fn refused() -> Prediction {
    let why = "its work is more than four times beyond all that was measured".into();
    let nearest = case("bert-base-uncased", 8.0).words();
    Prediction {
        case: case("bert-large-uncased", 512.0),
        answer: Err(Refused { why, nearest, rows: 1 }),
        next: None,
    }
}

fn left_out() -> BTreeMap<String, usize> {
    BTreeMap::from([("no run of the cell is valid".to_owned(), 3)])
}

fn answers() -> ResultDocument {
    let left_out = left_out();
    let from = LearnedCells { cells: 42, left_out: &left_out, not_valid: None };
    predictions_document(&[answered()], &from, true, Some(&known("bert-tiny", 1.0, 0.004)))
}

fn refusal() -> ResultDocument {
    let none = BTreeMap::new();
    predictions_document(
        &[refused()],
        &LearnedCells { cells: 42, left_out: &none, not_valid: None },
        false,
        None,
    )
}

fn exploration() -> ResultDocument {
    let none = BTreeMap::new();
    exploration_document(&ExplorationView {
        cells: &[measured(), answered(), refused()],
        before: 1,
        measured: 1,
        failed: &[(case("bert-large-uncased", 64.0).words(), "it ran out of memory".into())],
        width_before: Some(1.92),
        width_after: Some(1.31),
        width_by_chance: Some(1.54),
        learned: LearnedCells { cells: 2, left_out: &none, not_valid: None },
    })
}

fn learned() -> Learned {
    let times = [("a", 0.9), ("b", 1.7), ("c", 0.4), ("d", 3.1), ("e", 1.2)];
    let cells = times.into_iter().flat_map(|(model, seconds)| {
        let of = move |batch: f64| Known {
            case: Case { family: model.into(), ..case(model, batch) },
            ..known(model, batch, seconds * batch.powf(0.95))
        };
        [1.0, 2.0, 4.0, 8.0].map(of)
    });
    Learned::fit(cells.collect()).unwrap()
}

fn trained() -> ResultDocument {
    let (learned, left_out) = (learned(), left_out());
    let kinds = [
        LearnedKind { is_gpu: false, cells: 20, learned: Ok(&learned) },
        LearnedKind { is_gpu: true, cells: 2, learned: Err("2 cells: too few to learn from") },
    ];
    trained_document(&kinds, &LearnedCells { cells: 22, left_out: &left_out, not_valid: None })
}

fn backtest() -> ResultDocument {
    let score = |rows, median_error: f64, width| Score {
        rows,
        machines: 12,
        median_error,
        mean_error: median_error * 1.3,
        coverage: 0.912,
        width,
    };
    let kind = |test: &str, situation, width| KindScore {
        domain: Domain::GenerationOnProcessors,
        test: test.into(),
        situation,
        score: score(1_240, 0.113, width),
        physics: score(1_240, 0.384, f64::INFINITY),
        anchored: (situation == Situation::NewMachine).then(|| score(310, 0.068, 1.2)),
    };
    let machine = |machine: &str| MachineScore {
        domain: Domain::GenerationOnProcessors,
        machine: machine.into(),
        situation: Situation::NewMachine,
        score: score(96, 0.137, 1.6),
        physics: score(96, 0.352, f64::INFINITY),
    };
    backtest_document(&Backtest {
        learned: vec![(Domain::GenerationOnProcessors, 21_000)],
        is_cross_validation: true,
        kinds: vec![
            kind("pp512", Situation::NewMachine, 1.52),
            kind("tg128", Situation::NewFamily, f64::INFINITY),
        ],
        machines: vec![
            machine("AMD EPYC 9654 96-Core Processor"),
            machine("Intel(R) Core(TM) i9-14900K"),
        ],
        refused: vec![Refused {
            why: "its hardware is unknown".into(),
            nearest: "the same on an Apple M2".into(),
            rows: 12,
        }],
        left_out: BTreeMap::from([("the time is missing".to_owned(), 7)]),
    })
}

/// Pictures on a GPU that the table has not.
fn from_tables() -> ResultDocument {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("benchmark-infer-amp-nchw-pt240-cu124-rtx4090.csv");
    let mut rows = String::from(
        "model,infer_samples_per_sec,infer_step_time,infer_batch_size,infer_img_size,infer_gmacs,infer_macts,param_count\n",
    );
    for at in 1..40 {
        let size = f64::from(at);
        let rate = 20_000.0 / size;
        rows.push_str(&format!(
            "net{at},{rate:.2},{:.3},256,224,{:.2},{:.2},{:.2}\n",
            256e3 / rate,
            0.4 * size,
            2.0 * size,
            3.0 * size
        ));
    }
    fs::write(&path, rows).unwrap();
    let catalogue = Catalogue::own();
    let mut tables = Tables::read(&[path], &catalogue).unwrap();
    tables.finish(None, &catalogue);
    let hardware = catalogue.entries().iter().find(|one| one.name.ends_with("RTX 3090")).unwrap();
    let asked = PictureQuestion {
        hardware: &hardware.name,
        precision: None,
        batch: Some(256.0),
        is_training: false,
    };
    let case = tables.picture_question("net7", &asked, &catalogue).unwrap();
    let mut predictor = Predictor::of(&tables.observations, Effort::default());
    let said = predictor.predict(&case.observation);
    let score = said
        .as_ref()
        .ok()
        .and_then(|(situation, _)| predictor.score(*situation, &case.observation.test));
    let rows = TableRows {
        times: tables.observations.len(),
        machines: predictor.machines(&case.observation),
        left_out: &tables.left_out,
    };
    table_prediction_document(&case, hardware, &said, score.as_ref(), &rows)
}

fn gaps() -> ResultDocument {
    let none = BTreeMap::new();
    let document = recommendations_document(&recommendations::many());
    let gaps = [vec![answered(), refused()], Vec::new()];
    with_gap_predictions(
        document,
        &gaps,
        &LearnedCells { cells: 42, left_out: &none, not_valid: None },
    )
}

/// One of every kind.
pub(crate) fn documents() -> Vec<ResultDocument> {
    let hardware = hardware_document(&Catalogue::own());
    let given = [answers(), refusal(), exploration(), trained(), backtest(), from_tables(), gaps()];
    given.into_iter().chain([hardware]).collect()
}

fn at(document: &ResultDocument, width: usize) -> String {
    document.terminal(&Style::plain(width), Some(width))
}

#[test]
fn what_was_learned_is_told_by_what_was_held_out() {
    let text = at(&trained(), 80);
    // Every family has one model on one engine here, so a pair is a family.
    for part in ["new setting", "new family", "GPUs: 2 cells: too few", "3 cells: no run"] {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
    assert_eq!(trained().csv().lines().count(), 1 + learned().calibrated().len());
}

#[test]
fn an_answer_from_tables_names_the_engine_that_their_tool_measures_with() {
    let document = from_tables();
    assert_eq!(document.json["answers"][0]["engine"], "torch");
    assert_eq!(document.json["answers"][0]["hardware"], "GeForce RTX 3090");
    let text = at(&document, 80);
    assert!(text.contains("predicted, not measured") && text.contains("timm"), "{text}");
}

#[test]
fn gaps_of_a_recommendation_are_marked_as_predicted() {
    let document = gaps();
    let text = at(&document, 80);
    assert!(text.contains("Predicted, not measured"), "{text}");
    assert!(text.contains("1 configuration, not measured, cannot be predicted either"), "{text}");
    assert_eq!(document.json["predictions"]["answers"].as_array().unwrap().len(), 2);
}

#[test]
fn no_line_passes_the_width() {
    for document in documents() {
        for width in [80, 160] {
            let text = at(&document, width);
            let long = text.lines().find(|line| modelmeter_report::text_width(line) > width);
            assert_eq!(long, None, "{text}");
        }
    }
}
