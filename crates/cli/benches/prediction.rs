//! How well cells of this machine are predicted from each other, and what choosing the next measurement is worth.
//!
//! `MODELMETER_PREDICTION_DB` names a database; ten presets on three engines at four batch sizes are measured into it by
//! `modelmeter bench --model … --engines rten,onnxruntime,openvino --batch-sizes 1,2,4,8`. Nothing is measured here.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use modelmeter::{Experience, Store};
use predict::{Catalogue, Known, Learned, explore};
use stats::SplitMix;
use std::time::Instant;

const DATABASE: &str = "MODELMETER_PREDICTION_DB";
/// Cells that are known before any is chosen.
const BEGIN: usize = 8;
/// Orders that are drawn at random.
const DRAWS: u64 = 8;
const GOAL: f64 = 0.12;

fn main() {
    let Some(path) = std::env::var_os(DATABASE) else {
        println!("{DATABASE} is not set: it names a database with measured cells; nothing is done");
        return;
    };
    let store = Store::open_to_look(&path).expect("the database can be read");
    let began = Instant::now();
    let experience = Experience::of(&store, &Catalogue::own()).expect("its cells can be read");
    println!(
        "{} cells read in {:.2} s",
        experience.processors.len(),
        began.elapsed().as_secs_f64()
    );
    let began = Instant::now();
    let learned = Learned::fit(experience.processors.clone()).expect("there are enough cells");
    println!("learned in {:.2} s", began.elapsed().as_secs_f64());
    for (situation, one) in learned.calibrated() {
        println!(
            "  {:12} mean error {:5.1} % (goal {:.0} %), median {:5.1} %, holds {:5.1} % × ÷ {:.2}, physics {:5.1} %; {} cells in {} groups",
            situation.words(),
            one.mean_error * 100.0,
            GOAL * 100.0,
            one.median_error * 100.0,
            one.coverage * 100.0,
            one.width,
            one.physics_error.unwrap_or(f64::NAN) * 100.0,
            one.cells,
            one.groups
        );
    }
    let case = &experience.processors[0].case;
    let mut asked = case.clone();
    asked.batch = 3.0;
    let began = Instant::now();
    let rounds = 100;
    for _ in 0..rounds {
        std::hint::black_box(learned.answer(&asked).ok());
    }
    println!("an answer takes {:.2} ms", began.elapsed().as_secs_f64() * 1e3 / f64::from(rounds));
    chosen_against_chance(&experience.processors);
}

/// Mean errors of what is left, after so many measurements, by choice and by chance.
fn chosen_against_chance(all: &[Known]) {
    let most = (all.len() * 2 / 3).min(60);
    let mut tables = [vec![0.0; most + 1], vec![0.0; most + 1]];
    for draw in 0..DRAWS {
        for (way, table) in tables.iter_mut().enumerate() {
            let mut random = SplitMix::new(draw);
            let mut open: Vec<usize> = (0..all.len()).collect();
            let mut known: Vec<usize> = (0..BEGIN)
                .map(|_| open.swap_remove(random.below(open.len() as u64) as usize))
                .collect();
            let mut learned = None;
            for (count, sum) in table.iter_mut().enumerate().skip(BEGIN) {
                if count % 4 == 0 || learned.is_none() {
                    let some = known.iter().map(|at| all[*at].clone()).collect();
                    let fit = Learned::fit(some).expect("there are enough cells");
                    let error =
                        |at: &usize| (fit.guess(&all[*at].case) / all[*at].seconds - 1.0).abs();
                    *sum += open.iter().map(error).sum::<f64>() / open.len() as f64;
                    learned = Some(fit);
                }
                let place = match (way, &learned) {
                    (0, Some(learned)) => {
                        let grid: Vec<_> = open.iter().map(|at| all[*at].case.clone()).collect();
                        // Between fits, what was chosen since is not known to it yet.
                        let order = explore(learned, &grid, 1 + count % 4).order;
                        order.last().copied().unwrap_or(0)
                    }
                    _ => random.below(open.len() as u64) as usize,
                };
                known.push(open.swap_remove(place));
            }
        }
    }
    println!("mean error of what is left, {DRAWS} beginnings:");
    for count in (BEGIN..=most).filter(|count| count % 8 == 0) {
        let mean = |table: &[f64]| table[count] / DRAWS as f64 * 100.0;
        println!(
            "  {count:3} cells measured: {:5.1} % by choice, {:5.1} % by chance",
            mean(&tables[0]),
            mean(&tables[1])
        );
    }
}
