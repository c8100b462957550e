//! How often change points are right, on drawn histories whose truth is known.
//!
//! `cargo bench --workspace --bench changes`: of so many histories (`TRIALS=300`) without a change, how many show one, and of those with a
//! step at their newest points, how many show it within two points. Seeds are none that a test uses. 1 % false alarms are asked for.
#![expect(clippy::print_stdout, reason = "a bench prints")]

use stats::{SplitMix, cuts};

const LEVEL: f64 = 0.01;
const POINTS: usize = 30;

/// Numbers that look drawn, and Box and Muller's way to the normal distribution.
struct Draw(SplitMix);

impl Draw {
    fn uniform(&mut self) -> f64 {
        self.0.unit()
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().max(1e-300).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

type Noise = fn(usize, &mut Draw) -> Vec<f64>;

const NOISES: [(&str, Noise); 7] = [
    ("independent", |count, draw| (0..count).map(|_| 0.01 * draw.normal()).collect()),
    ("neighbours correlated by 0.3", |count, draw| alike(0.3, count, draw)),
    ("neighbours correlated by 0.6", |count, draw| alike(0.6, count, draw)),
    ("heavy tails (Student, 2 degrees)", |count, draw| {
        let mut one = || {
            let under = (draw.normal().powi(2) + draw.normal().powi(2)) / 2.0;
            0.01 * draw.normal() / under.sqrt()
        };
        (0..count).map(|_| one()).collect()
    }),
    ("one in ten up to 30 % slower", |count, draw| {
        let mut one = || {
            let held_up = if draw.uniform() < 0.1 { 0.3 * draw.uniform() } else { 0.0 };
            0.01 * draw.normal() + held_up
        };
        (0..count).map(|_| one()).collect()
    }),
    ("sliding by 10 %", |count, draw| slide(alike(0.0, count, draw))),
    ("sliding, correlated by 0.3", |count, draw| slide(alike(0.3, count, draw))),
];

fn alike(correlation: f64, count: usize, draw: &mut Draw) -> Vec<f64> {
    let (mut state, rest) = (draw.normal(), (1.0 - correlation * correlation).sqrt());
    let mut next = || {
        state = correlation * state + rest * draw.normal();
        0.01 * state
    };
    (0..count).map(|_| next()).collect()
}

fn slide(noise: Vec<f64>) -> Vec<f64> {
    let count = noise.len() as f64;
    noise.into_iter().enumerate().map(|(at, value)| value + 0.1 * at as f64 / count).collect()
}

fn called(logs: &[f64], seed: u64) -> Vec<usize> {
    let sure = cuts(logs, LEVEL, seed).into_iter();
    sure.filter(|cut| cut.p_value < LEVEL && !cut.is_drift).map(|cut| cut.at).collect()
}

fn main() {
    let trials: u64 =
        std::env::var("TRIALS").ok().and_then(|text| text.parse().ok()).unwrap_or(300);
    println!("| noise of 1 % | false alarms | +5 %, 3 points after | 5 | 10 | 15 |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    for (number, (name, noise)) in NOISES.into_iter().enumerate() {
        let mut draw = Draw(SplitMix::new(0x0bad_cafe + number as u64));
        let share = |count: u64| format!("{:.1} %", 100.0 * count as f64 / trials as f64);
        let alarms =
            (0..trials).filter(|&seed| !called(&noise(POINTS, &mut draw), seed).is_empty());
        let mut cells = vec![share(alarms.count() as u64)];
        for after in [3, 5, 10, 15] {
            let mut finds = |seed: u64| {
                let mut logs = noise(POINTS, &mut draw);
                logs[POINTS - after..].iter_mut().for_each(|log| *log += 0.05f64.ln_1p());
                called(&logs, seed).iter().any(|at| at.abs_diff(POINTS - after) <= 2)
            };
            cells.push(share((0..trials).filter(|&seed| finds(seed)).count() as u64));
        }
        println!("| {name} | {} |", cells.join(" | "));
    }
}
