//! Predicts times that were held out: of other files, or group by group of the same.

use crate::{
    Backtest, Catalogue, Domain, Effort, Error, Observation, Predicted, Predictor, Refused,
    Situation, Tables,
    anchor::Anchoring,
    learn::Fit,
    score::{Answered, Physics, bare},
};
use std::{
    collections::{BTreeMap, HashSet},
    path::Path,
};

/// Learns from the first files and predicts the second, or holds out groups of the first in turn.
///
/// # Errors
///
/// If a file cannot be read or understood, or there is nothing to learn from.
pub fn backtest<P: AsRef<Path>>(
    files: &[P],
    held_out: &[P],
    catalogue: &Catalogue,
    effort: &Effort,
) -> Result<Backtest, Error> {
    let mut learned = Tables::read(files, catalogue)?;
    let mut asked = Tables::read(held_out, catalogue)?;
    learned.finish(Some(&asked), catalogue);
    asked.finish(Some(&learned), catalogue);
    leave_out_same(&mut learned, &asked);
    learned.mark_doubtful();
    let mut all_left_out = learned.left_out.clone();
    for (why, count) in &asked.left_out {
        *all_left_out.entry(why.clone()).or_default() += count;
    }
    if learned.observations.is_empty() {
        let reasons = all_left_out.keys().map(|why| format!("; {why}")).collect::<String>();
        return Err(Error::TooLittle(format!(
            "no row of these files can be learned from{reasons}"
        )));
    }
    let mut result = match held_out.is_empty() {
        true => cross_validate(learned.observations, effort),
        false => predict_all(learned.observations, asked.observations, effort),
    };
    result.left_out = all_left_out;
    Ok(result)
}

/// What is asked is not learned from: nothing would be predicted.
fn leave_out_same(learned: &mut Tables, asked: &Tables) {
    type Key<'a> = (&'a str, &'a str, &'a str, &'a [String]);
    fn key(one: &Observation) -> Key<'_> {
        (&one.instance, &one.test, &one.model, &one.setting)
    }
    let held_out: HashSet<Key<'_>> = asked.observations.iter().map(key).collect();
    let before = learned.observations.len();
    learned.observations.retain(|one| !held_out.contains(&key(one)));
    let same = before - learned.observations.len();
    if same > 0 {
        let why = "the files to predict have the same time, so it is not learned from";
        *learned.left_out.entry(why.to_owned()).or_default() += same;
    }
}

/// Every group of the times is held out in turn.
#[must_use]
pub fn cross_validate(observations: Vec<Observation>, effort: &Effort) -> Backtest {
    let by_domain = by_domain(observations);
    let mut result = empty(&by_domain, true);
    // A machine may have answers of several parts.
    let mut all = Vec::new();
    for ((domain, _), rows) in &by_domain {
        let physics = Physics::of(rows);
        let situations: &[Situation] = match domain {
            Domain::GenerationOnProcessors | Domain::GenerationOnGpus => {
                &[Situation::NewMachine, Situation::NewFamily]
            }
            _ => &[Situation::NewMachine, Situation::NewFamily, Situation::NewPair],
        };
        let mut some = false;
        for situation in situations {
            let Some(fit) = Fit::new(rows, *situation, effort) else { continue };
            some = true;
            let mut lonely = 0;
            let anchored = match situation {
                Situation::NewMachine => {
                    let groups: Vec<String> = rows.iter().map(|one| one.machine.clone()).collect();
                    Anchoring::learn(rows, &fit.held_out, &groups).1
                }
                _ => vec![None; rows.len()],
            };
            for ((one, said), anchored) in rows.iter().zip(&fit.held_out).zip(anchored) {
                let physics = physics.log_seconds(one);
                if said.log_seconds.is_nan() {
                    lonely += 1;
                    continue;
                }
                let (situation, said) = (*situation, *said);
                all.push(Answered { one: bare(one), situation, said, physics, anchored });
            }
            if lonely > 0 {
                result.refused.push(Refused {
                    why: format!(
                        "{domain}, {}: no other group has a test of the kind",
                        situation.words()
                    ),
                    nearest: "the same with such times of another group".into(),
                    rows: lonely,
                });
            }
        }
        if !some {
            result.refused.push(Refused {
                why: format!(
                    "{domain}: one machine and one family alone, so nothing can be held out"
                ),
                nearest: "the same with times of another machine or family".into(),
                rows: rows.len(),
            });
        }
    }
    result.add(&all);
    result
}

/// Learns from the first times and predicts the second.
#[must_use]
pub fn predict_all(
    learned: Vec<Observation>,
    asked: Vec<Observation>,
    effort: &Effort,
) -> Backtest {
    let learned = by_domain(learned);
    let mut result = empty(&learned, false);
    let mut all = Vec::new();
    for ((domain, part), questions) in by_domain(asked) {
        let Some(rows) = learned.get(&(domain, part.clone())) else {
            let mut known: Vec<String> = learned
                .keys()
                .map(|(domain, part)| format!("{domain} {part}").trim_end().to_owned())
                .collect();
            known.dedup();
            let words = format!("{domain} {part}");
            result.refused.push(Refused {
                why: format!("{}: nothing of the kind was learned", words.trim_end()),
                nearest: format!("questions of {}", known.join(", ")),
                rows: questions.len(),
            });
            continue;
        };
        let mut predictor = Predictor::of(rows, *effort);
        let mut answered: Vec<(Observation, Situation, Predicted)> = Vec::new();
        // Of thousands of questions that are refused alike, the first nearest one is told.
        let mut refused: BTreeMap<(String, String), (String, usize)> = BTreeMap::new();
        for one in questions {
            match predictor.predict(&one) {
                Ok((situation, said)) => answered.push((one, situation, said)),
                Err(Refused { why, nearest, .. }) => {
                    refused.entry((why, one.test)).or_insert((nearest, 0)).1 += 1;
                }
            }
        }
        result.refused.extend(refused.into_iter().map(|((why, test), (nearest, rows))| Refused {
            why: format!("{test}: {why}"),
            nearest,
            rows,
        }));
        let physics = Physics::of(rows);
        let targets: Vec<Observation> = answered.iter().map(|(one, ..)| one.clone()).collect();
        let said: Vec<Predicted> = answered.iter().map(|(.., said)| *said).collect();
        let mut anchored = vec![None; answered.len()];
        if let Some(anchoring) = predictor.anchoring() {
            anchored = anchoring.apply(&targets, &said);
        }
        all.extend(answered.iter().zip(anchored).map(|((one, situation, said), anchored)| {
            Answered {
                one: bare(one),
                situation: *situation,
                said: *said,
                physics: physics.log_seconds(one),
                anchored: anchored.filter(|_| *situation == Situation::NewMachine),
            }
        }));
    }
    result.add(&all);
    result
}

fn empty(learned: &BTreeMap<Part, Vec<Observation>>, is_cross_validation: bool) -> Backtest {
    let mut rows_of: BTreeMap<Domain, usize> = BTreeMap::new();
    for ((domain, _), rows) in learned {
        *rows_of.entry(*domain).or_default() += rows.len();
    }
    Backtest {
        learned: rows_of.into_iter().collect(),
        is_cross_validation,
        kinds: Vec::new(),
        machines: Vec::new(),
        refused: Vec::new(),
        left_out: BTreeMap::new(),
    }
}

/// What is learned together.
type Part = (Domain, String);

fn by_domain(observations: Vec<Observation>) -> BTreeMap<Part, Vec<Observation>> {
    let mut all: BTreeMap<Part, Vec<Observation>> = BTreeMap::new();
    for one in observations {
        all.entry((one.domain, one.part().to_owned())).or_default().push(one);
    }
    all
}
