//! What looking at a comparison while it grows costs: wrong answers, intervals that hold the truth, and rounds needed, by
//! how processes of one program differ.
//!
//! `cargo bench -p modelmeter-stats --bench looks`: every line is `COUNT` comparisons (10,000) with seeds of their own.
//! A round's ratio is the truth, the difference of two processes' effects and noise of its turns. `SIDES=3` compares so
//! many sides with one baseline, whose processes they share, and corrects for it as `compare` does.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints and may panic")]

use modelmeter_stats::{Generator, Looks, RatioEstimate, SURE, false_discovery, looked_ratio};

/// The most rounds, as `compare` has them.
const AT_MOST: u32 = 8;
/// The noise of a turn on a quiet machine and on a noisy one, as a logarithm.
const TURN_NOISE: [f64; 2] = [0.015, 0.07];
/// Turns of a side in a round.
const TURNS: usize = 2;

/// The effect of a process on its time, as a logarithm.
#[derive(Clone, Copy)]
enum Effect {
    Even(f64),
    Either(f64),
    Rarely(f64),
    Normal(f64),
}

impl Effect {
    fn draw(self, generator: &mut Generator) -> f64 {
        match self {
            Effect::Even(most) => most * generator.below(100_001) as f64 / 1e5,
            Effect::Either(size) => size * generator.below(2) as f64,
            Effect::Rarely(size) => size * f64::from(u8::from(generator.below(10) == 0)),
            Effect::Normal(deviation) => deviation * generator.normal(),
        }
    }
}

fn main() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<usize>().ok());
    let count = number("COUNT").unwrap_or(10_000);
    let sides = number("SIDES").unwrap_or(1);
    let effects = [
        ("none", Effect::Even(0.0)),
        ("anything up to 4 %", Effect::Even(0.04)),
        ("anything up to 8 %", Effect::Even(0.08)),
        ("none or 4 %, even chances", Effect::Either(0.04)),
        ("none or 8 %, even chances", Effect::Either(0.08)),
        ("8 % in one of ten", Effect::Rarely(0.08)),
        ("normal, 3 %", Effect::Normal(0.03)),
    ];
    println!(
        "{count} comparisons a line, {sides} sides against a baseline, at most {AT_MOST} processes\n"
    );
    println!(
        "| processes differ by | noise of a turn | difference | wrong | found | interval holds | processes, mean |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    for noise in TURN_NOISE {
        for (name, effect) in effects {
            for truth in [0.0, 0.03, 0.1, 0.2] {
                let mut sum = Sum::default();
                for seed in 0..count {
                    sum.add(&compare(effect, noise, f64::ln_1p(truth), sides, seed as u64));
                }
                sum.print(name, noise, truth);
            }
        }
    }
}

/// What came of one side.
struct Found {
    answer: Option<bool>,
    truth: f64,
    estimate: RatioEstimate,
    rounds: usize,
}

/// A comparison as `compare` makes it: sides that are answered are not measured further.
fn compare(effect: Effect, noise: f64, truth: f64, sides: usize, seed: u64) -> Vec<Found> {
    let mut generator = Generator::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let looks = Looks::new(AT_MOST, None);
    let mut rounds: Vec<Vec<Vec<f64>>> = vec![Vec::new(); sides];
    let mut open = vec![true; sides];
    for round in 1..=AT_MOST {
        let base = effect.draw(&mut generator);
        let base_turns: Vec<f64> = (0..TURNS).map(|_| base + noise * generator.normal()).collect();
        for side in (0..sides).filter(|side| open[*side]) {
            let own = effect.draw(&mut generator) - truth;
            let pairs = base_turns.iter().map(|base| base - own - noise * generator.normal());
            rounds[side].push(pairs.collect());
        }
        if looks.is_look(round) {
            let estimates = estimates(&rounds, &looks);
            for (open, (_, sure)) in open.iter_mut().zip(&estimates) {
                *open &= !sure;
            }
            if !open.contains(&true) {
                break;
            }
        }
    }
    let found = estimates(&rounds, &looks).into_iter().zip(&rounds);
    let found = found.map(|((estimate, sure), own)| Found {
        answer: sure.then_some(estimate.ratio > 1.0),
        truth,
        rounds: own.len(),
        estimate,
    });
    found.collect()
}

/// Every side at its own look, and whether it is answered among all of them.
fn estimates(rounds: &[Vec<Vec<f64>>], looks: &Looks) -> Vec<(RatioEstimate, bool)> {
    let each = rounds.iter().map(|own| looked_ratio(own, looks, own.len() as u32, 1).unwrap());
    let each: Vec<RatioEstimate> = each.collect();
    let p_values: Vec<f64> = each.iter().map(|one| one.p_value.unwrap()).collect();
    let sure = false_discovery(&p_values).into_iter().map(|p| p < SURE);
    each.into_iter().zip(sure).collect()
}

#[derive(Default)]
struct Sum {
    comparisons: usize,
    all: usize,
    wrong: usize,
    found: usize,
    held: usize,
    rounds: usize,
}

impl Sum {
    /// A comparison is wrong if any of its answers is.
    fn add(&mut self, sides: &[Found]) {
        let is_wrong = |one: &Found| one.answer.is_some_and(|faster| one.truth == 0.0 || !faster);
        self.comparisons += 1;
        self.wrong += usize::from(sides.iter().any(is_wrong));
        for one in sides {
            let interval = one.estimate.interval.unwrap();
            let truth = one.truth.exp();
            self.held += usize::from(interval.low <= truth && truth <= interval.high);
            self.found += usize::from(one.answer == Some(true) && one.truth > 0.0);
            self.rounds += one.rounds;
            self.all += 1;
        }
    }

    fn print(&self, name: &str, noise: f64, truth: f64) {
        let share = |count: usize, all: usize| 100.0 * count as f64 / all as f64;
        let difference =
            if truth == 0.0 { "none".into() } else { format!("{:.0} %", truth * 100.0) };
        let found = match truth > 0.0 {
            true => format!("{:.1} %", share(self.found, self.all)),
            false => "–".into(),
        };
        println!(
            "| {name} | {:.1} % | {difference} | {:.2} % | {found} | {:.1} % | {:.1} |",
            noise * 100.0,
            share(self.wrong, self.comparisons),
            share(self.held, self.all),
            self.rounds as f64 / self.all as f64,
        );
    }
}
