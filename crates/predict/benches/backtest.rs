//! The goals of predictions and what is reached, on tables that are not in the repository.
//!
//! `MODELMETER_PREDICTION_DATA` names a folder with `timm/*.csv` and `llama-bench-cpus.csv.gz`;
//! `MODELMETER_PREDICTION_SEED` divides the groups in another way.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use modelmeter_predict::{Backtest, Catalogue, Domain, Effort, Score, Situation, backtest};
use std::{
    env, fs,
    path::{Path, PathBuf},
    time::Instant,
};

const FOLDER: &str = "MODELMETER_PREDICTION_DATA";
/// Another number divides the groups in another way: what is reached must not be luck.
const SEED: &str = "MODELMETER_PREDICTION_SEED";

fn main() {
    let Some(folder) = env::var_os(FOLDER).map(PathBuf::from) else {
        println!(
            "{FOLDER} is not set: it names the folder of the measured tables; nothing is done"
        );
        return;
    };
    let table = folder.join("llama-bench-cpus.csv.gz");
    if table.exists() {
        processors(&table);
    } else {
        println!("{} is missing", table.display());
    }
    match timm(&folder.join("timm")) {
        tables if tables.is_empty() => println!("{} holds no table", folder.join("timm").display()),
        tables => cards(&tables),
    }
}

/// Five folds, dealt by the seed of the environment if it has one.
fn effort() -> Effort {
    let own = Effort { folds: 5, ..Effort::default() };
    let seed = env::var(SEED).ok().and_then(|seed| seed.parse().ok());
    Effort { seed: seed.unwrap_or(own.seed), ..own }
}

fn processors(table: &Path) {
    let began = Instant::now();
    let effort = effort();
    let found = backtest(&[table], &[], &Catalogue::own(), &effort).expect("the table can be read");
    println!("llama-bench, 5 folds by processor: {:.1} s", began.elapsed().as_secs_f64());
    for (test, goal, anchored) in [("tg128", 0.12, 0.07), ("pp512", 0.10, 0.05)] {
        let Some(kind) = kind(&found, Domain::GenerationOnProcessors, Situation::NewMachine, test)
        else {
            continue;
        };
        line(test, &kind.score, kind.score.median_error, goal, kind.physics.median_error);
        if let Some(score) = &kind.anchored {
            line(&format!("{test}, anchored"), score, score.median_error, anchored, f64::NAN);
        }
    }
}

fn cards(tables: &[PathBuf]) {
    let effort = effort();
    let found = backtest(tables, &[], &Catalogue::own(), &effort).expect("the tables can be read");
    println!("timm: mean errors");
    for (situation, goal) in
        [(Situation::NewFamily, 0.12), (Situation::NewPair, 0.12), (Situation::NewMachine, 0.20)]
    {
        for kind in found.kinds.iter().filter(|kind| kind.situation == situation) {
            let name = format!("{}, {}, {}", situation.words(), kind.domain, kind.test);
            line(&name, &kind.score, kind.score.mean_error, goal, kind.physics.mean_error);
            if let Some(score) = &kind.anchored {
                line(&format!("{name}, anchored"), score, score.mean_error, 0.10, f64::NAN);
            }
        }
    }
}

fn line(name: &str, score: &Score, error: f64, goal: f64, physics: f64) {
    let sign = if error <= goal { "reached" } else { "missed" };
    println!(
        "  {name:64} {:5.1} % (goal {:2.0} %, {sign}); holds {:5.1} %, × ÷ {:.2}; physics {:5.1} %; {} times on {} machines",
        error * 100.0,
        goal * 100.0,
        score.coverage * 100.0,
        score.width,
        physics * 100.0,
        score.rows,
        score.machines
    );
}

fn kind<'a>(
    found: &'a Backtest,
    domain: Domain,
    situation: Situation,
    test: &str,
) -> Option<&'a modelmeter_predict::KindScore> {
    found
        .kinds
        .iter()
        .find(|kind| kind.domain == domain && kind.situation == situation && kind.test == test)
}

fn timm(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut tables: Vec<PathBuf> =
        paths.filter(|path| path.to_string_lossy().contains(".csv")).collect();
    tables.sort();
    tables
}
