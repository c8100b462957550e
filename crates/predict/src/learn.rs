//! Learns what physics leaves, with whole groups held out, so that what is said of errors holds for what was never seen.

use crate::{
    Domain, Observation,
    physics::Mix,
    quantile,
    seen::{Seen, doubt},
    trees::{Growth, Table, Trees},
};
use serde::{Deserialize, Serialize};
use stats::{SplitMix, mix};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::atomic::{AtomicUsize, Ordering},
};

/// The share of times that an interval should hold.
pub const LEVEL: f64 = 0.9;
/// Beyond this level an interval of few groups would be its largest error alone.
pub(crate) const HIGHEST_LEVEL: f64 = 0.96;
/// Errors are compared on a logarithm; below this they are all called small.
const SMALL_ERROR: f64 = 0.02;
/// A test with fewer groups has an interval at least as wide as that of all tests.
const OWN_INTERVAL: usize = 8;
/// With fewer groups the final fit is one of all of them.
const FEW_GROUPS: usize = 5;
/// How a row's weight falls with the rows of its group.
const GROUP_WEIGHT: f64 = 0.4;
/// Errors beyond this count alike where the middle of errors is learned.
const NEAR: f64 = 0.05;
/// Shares of a peer's error that are tried.
const SHARES: [f64; 6] = [0.0, 0.25, 0.5, 0.75, 0.9, 1.0];

/// What is new about a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Situation {
    /// The kind of machine was never seen.
    NewMachine,
    /// Its kind of processor was seen, in other machines.
    NewInstance,
    /// The family of the model was never seen.
    NewFamily,
    /// Machine and family were seen, the model on this machine was not.
    NewPair,
    /// The model was seen on this machine, in another setting.
    Known,
}

impl Situation {
    /// As people read it.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Situation::NewMachine => "new machine",
            Situation::NewInstance => "new instance",
            Situation::NewFamily => "new family",
            Situation::NewPair => "new pair",
            Situation::Known => "new setting",
        }
    }

    /// What is held out together to learn how wrong answers to such a question are.
    fn group(self, one: &Observation) -> String {
        match self {
            Situation::NewMachine => one.machine.clone(),
            Situation::NewInstance => one.instance.clone(),
            Situation::NewFamily => one.family.clone(),
            Situation::NewPair => format!("{}\n{}", one.machine, one.family),
            Situation::Known => {
                format!("{}\n{}\n{}", one.instance, one.model, one.setting.join(" "))
            }
        }
    }
}

/// How a fit is made.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Parts into which groups are divided.
    pub folds: usize,
    /// Trees of a fit.
    pub trees: usize,
    /// Where random choices begin.
    pub seed: u64,
    /// Threads that fit at once.
    pub threads: usize,
}

impl Default for Effort {
    fn default() -> Effort {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Effort { folds: 8, trees: 400, seed: 7, threads }
    }
}

/// A predicted time and how far to trust it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Predicted {
    /// The logarithm of the seconds.
    pub log_seconds: f64,
    /// Half the width of the interval, as a logarithm.
    pub log_half: f64,
}

/// What physics, trees and constants of one part of the data say.
struct Member {
    mix: Mix,
    trees: Trees,
    /// How much of what the trees say is taken.
    share: f64,
}

impl Member {
    fn fit(
        rows: &[&Observation],
        groups: &[&str],
        situation: Situation,
        effort: &Effort,
        seed: u64,
    ) -> Member {
        let weights = weights(groups);
        let mix = Mix::fit(rows, &weights);
        let features: Vec<Vec<f64>> = rows.iter().map(|one| masked(one, situation)).collect();
        let width = features.first().map_or(0, Vec::len);
        let table = Table::of(features.iter().map(Vec::as_slice), width);
        let targets: Vec<f64> =
            rows.iter().map(|one| one.log_seconds() - mix.log_seconds(one)).collect();
        // A few times are off by a factor, so the middle of errors is learned. Of few cards and models with llama.cpp the mean says more.
        let is_median = rows.first().is_some_and(|one| one.domain != Domain::GenerationOnGpus);
        let growth = Growth {
            trees: effort.trees,
            rate: 0.08,
            leaves: 48,
            rows: (rows.len() / 50).clamp(3, 20),
            row_share: 0.7,
            feature_share: 0.5,
            clip: if is_median { NEAR } else { 1.0 },
            is_median,
            seed,
        };
        let trees = Trees::fit(&table, &targets, &weights, &growth);
        Member { mix, trees, share: 1.0 }
    }

    fn log_seconds(&self, one: &Observation, situation: Situation) -> f64 {
        self.mix.log_seconds(one) + self.share * self.trees.answer(&masked(one, situation))
    }
}

/// What is learned from; which hardware it is means nothing on a machine that was never seen.
fn masked(one: &Observation, situation: Situation) -> Vec<f64> {
    let mut features = one.features.clone();
    if situation == Situation::NewMachine {
        features[..one.hardware_features].fill(f64::NAN);
    }
    features
}

/// Large groups say more than small ones, but not in proportion.
fn weights(groups: &[&str]) -> Vec<f64> {
    let mut sizes: HashMap<&str, f64> = HashMap::new();
    for group in groups {
        *sizes.entry(group).or_default() += 1.0;
    }
    groups.iter().map(|group| 1.0 / sizes[group].powf(GROUP_WEIGHT)).collect()
}

/// Times of the same model elsewhere, and how far each is from what a member says of it.
struct Peers<'a> {
    by_model: HashMap<&'a str, Vec<usize>>,
}

impl<'a> Peers<'a> {
    fn of(rows: &'a [Observation]) -> Peers<'a> {
        let mut by_model: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, one) in rows.iter().enumerate() {
            by_model.entry(&one.model).or_default().push(at);
        }
        // Where a few models make up all rows, a model's errors are learned by the trees already.
        by_model.retain(|_, of_model| of_model.len() * 50 < rows.len().max(400));
        Peers { by_model }
    }

    /// The mean of what those say whose setting is most alike.
    fn error(
        &self,
        one: &Observation,
        rows: &[Observation],
        says: impl Fn(usize) -> f64,
        may: impl Fn(usize) -> bool,
    ) -> Option<f64> {
        let alike = |other: &Observation| {
            let mut score = u32::from(other.machine == one.machine);
            for (own, its) in one.setting.iter().zip(&other.setting) {
                score = score * 2 + u32::from(own == its);
            }
            score
        };
        let known = || {
            let all = self.by_model.get(one.model.as_str()).into_iter().flatten();
            all.copied().filter(|at| may(*at))
        };
        let most = known().map(|at| alike(&rows[at])).max()?;
        let (mut sum, mut count) = (0.0, 0.0);
        for at in known().filter(|at| alike(&rows[*at]) == most) {
            sum += says(at);
            count += 1.0;
        }
        Some(sum / count)
    }
}

/// What a measurement elsewhere says of a question, relative to what a member says of the question.
///
/// At most the calculation runs at the stated peak; what is left of the time waits for memory. Each part is carried over by
/// its own ratio of stated rates, so a model that uses a card well gains more from a faster one.
fn carried_over(
    member: &Member,
    situation: Situation,
    peer: &Observation,
    one: &Observation,
) -> f64 {
    const MOST_CALCULATION: f64 = 0.9;
    let calculation = peer.bounds[0].min(MOST_CALCULATION * peer.seconds);
    let rest = peer.seconds - calculation;
    let seconds =
        calculation * one.bounds[0] / peer.bounds[0] + rest * one.bounds[1] / peer.bounds[1];
    // The same measurement as if it were of the target: what is left to differ is the setting.
    let mut moved = peer.clone();
    moved.bounds = one.bounds;
    for (own, its) in moved.features.iter_mut().zip(&one.features).take(one.hardware_features) {
        *own = *its;
    }
    if let Some(balance) = one.balance_feature {
        moved.features[balance] = one.features[balance];
    }
    seconds.ln() - member.log_seconds(&moved, situation)
}

/// A fit for one kind of question.
pub(crate) struct Fit {
    situation: Situation,
    members: Vec<Member>,
    /// Errors of all rows by every member, for peers.
    errors: Vec<Vec<f64>>,
    peer_share: f64,
    difficulty: Vec<Trees>,
    quantiles: Quantiles,
    /// Of every row, what was said of it while its group was held out; not a number where nothing could be.
    pub(crate) held_out: Vec<Predicted>,
    /// How many groups it rests on.
    pub(crate) groups: usize,
}

/// How many difficulties an interval must be wide.
#[derive(Debug, Clone, Default)]
pub(crate) struct Quantiles {
    all: f64,
    tests: BTreeMap<String, f64>,
}

impl Quantiles {
    /// Groups count alike, however many rows they have.
    pub(crate) fn of(
        rows: &[Observation],
        scores: &[f64],
        groups: &[String],
        may: impl Fn(usize) -> bool,
    ) -> Quantiles {
        let chosen: Vec<usize> =
            (0..rows.len()).filter(|at| may(*at) && scores[*at].is_finite()).collect();
        let quantile = |some: &[usize]| {
            let mut sizes: HashMap<&str, f64> = HashMap::new();
            for at in some {
                *sizes.entry(&groups[*at]).or_default() += 1.0;
            }
            let level = (LEVEL * (1.0 + 1.0 / sizes.len().max(1) as f64)).min(HIGHEST_LEVEL);
            let pairs =
                some.iter().map(|at| (scores[*at], 1.0 / sizes[groups[*at].as_str()])).collect();
            (quantile::weighted(pairs, level).unwrap_or(f64::INFINITY), sizes.len())
        };
        let mut by_test: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for at in &chosen {
            by_test.entry(&rows[*at].test).or_default().push(*at);
        }
        let (all, groups) = quantile(&chosen);
        let tests = by_test
            .into_iter()
            .map(|(test, some)| (test.to_owned(), quantile(&some)))
            .map(|(test, (own, of_test))| {
                // A few groups may have been lucky.
                let is_enough = of_test >= OWN_INTERVAL.min(groups);
                (test, if is_enough { own } else { own.max(all) })
            })
            .collect();
        Quantiles { all, tests }
    }

    pub(crate) fn of_test(&self, test: &str) -> f64 {
        self.tests.get(test).copied().unwrap_or(self.all)
    }
}

impl Fit {
    /// Fits with one part of the groups held out after the other.
    pub(crate) fn new(rows: &[Observation], situation: Situation, effort: &Effort) -> Option<Fit> {
        let groups: Vec<String> = rows.iter().map(|one| situation.group(one)).collect();
        let (folds, count) = parts_of(&groups, effort.folds, effort.seed);
        let groups_count = groups.iter().collect::<BTreeSet<_>>().len();
        if count < 2 {
            return None;
        }
        let is_whole = groups_count < FEW_GROUPS;
        let members = count + usize::from(is_whole);
        let member = |part: usize| {
            let own: Vec<usize> =
                (0..rows.len()).filter(|at| folds[*at] != part && !rows[*at].is_doubtful).collect();
            let some: Vec<&Observation> = own.iter().map(|at| &rows[*at]).collect();
            let their: Vec<&str> = own.iter().map(|at| groups[*at].as_str()).collect();
            Member::fit(&some, &their, situation, effort, mix(effort.seed + part as u64))
        };
        let mut members = in_parallel(members, effort.threads, member);
        if rows.first().is_some_and(|one| one.domain == Domain::GenerationOnGpus) {
            let share = tree_share(&members, rows, &folds, &groups, situation);
            members.iter_mut().for_each(|member| member.share = share);
        }
        let errors: Vec<Vec<f64>> = in_parallel(members.len(), effort.threads, |at| {
            let of =
                |one: &Observation| one.log_seconds() - members[at].log_seconds(one, situation);
            rows.iter().map(of).collect()
        });
        let peers = Peers::of(rows);
        // Of a kind of test that one part alone has, nothing was learned while that part was held out.
        let mut parts_of_test: HashMap<&str, BTreeSet<usize>> = HashMap::new();
        for (one, part) in rows.iter().zip(&folds) {
            parts_of_test.entry(one.test_kind()).or_default().insert(*part);
        }
        let is_known = |at: usize| parts_of_test[rows[at].test_kind()].len() > 1;
        let plain: Vec<f64> = (0..rows.len())
            .map(|at| if is_known(at) { errors[folds[at]][at] } else { f64::NAN })
            .collect();
        if plain.iter().all(|error| error.is_nan()) {
            return None;
        }
        let of_peers: Vec<Option<f64>> = (0..rows.len())
            .map(|at| {
                let part = folds[at];
                let says = |other: usize| match rows[at].balance_feature {
                    Some(_) => carried_over(&members[part], situation, &rows[other], &rows[at]),
                    None => errors[part][other],
                };
                peers.error(&rows[at], rows, says, |other| folds[other] != part)
            })
            .collect();
        let peer_share = best_share(&plain, &of_peers);
        let left: Vec<f64> = plain
            .iter()
            .zip(&of_peers)
            .map(|(error, peer)| error - peer.map_or(0.0, |peer| peer * peer_share))
            .collect();
        // Nothing is learned from doubtful times, nor is an interval made wide enough for them; they are predicted all the same.
        let trusted: Vec<f64> = rows
            .iter()
            .zip(&left)
            .map(|(one, error)| if one.is_doubtful { f64::NAN } else { *error })
            .collect();
        let (difficulty, scales) = difficulty(rows, &trusted, &groups, situation, effort);
        let scores: Vec<f64> =
            trusted.iter().zip(&scales).map(|(error, scale)| error.abs() / scale).collect();
        let quantiles = Quantiles::of(rows, &scores, &groups, |_| true);
        // What is said of a group must not rest on its own errors, so its interval is of the others.
        let (parts, part_count) = parts_of(&groups, 5, effort.seed + 1);
        let others: Vec<Quantiles> = (0..part_count)
            .map(|part| {
                Quantiles::of(rows, &scores, &groups, |at| part_count < 2 || parts[at] != part)
            })
            .collect();
        let doubts = doubts(rows, &folds, count, situation);
        let held_out = (0..rows.len())
            .map(|at| {
                let half = scales[at] * others[parts[at]].of_test(&rows[at].test);
                Predicted {
                    log_seconds: rows[at].log_seconds() - left[at],
                    log_half: half.hypot(doubts[at]),
                }
            })
            .collect();
        let (members, errors) = if is_whole {
            let last = members.len() - 1;
            (members.into_iter().skip(last).collect(), errors.into_iter().skip(last).collect())
        } else {
            (members, errors)
        };
        Some(Fit {
            situation,
            members,
            errors,
            peer_share,
            difficulty,
            quantiles,
            held_out,
            groups: groups_count,
        })
    }

    /// What the time of a question is, by what was learned from these rows.
    pub(crate) fn predict(
        &self,
        one: &Observation,
        rows: &[Observation],
        peers: &PeersOf<'_>,
    ) -> Predicted {
        let mut sum = 0.0;
        for (member, errors) in self.members.iter().zip(&self.errors) {
            let says = |other: usize| match one.balance_feature {
                Some(_) => carried_over(member, self.situation, &rows[other], one),
                None => errors[other],
            };
            let peer = peers.0.error(one, rows, says, |_| true).unwrap_or(0.0);
            sum += member.log_seconds(one, self.situation) + peer * self.peer_share;
        }
        let features = masked(one, self.situation);
        let scale = scale(&self.difficulty, &features);
        Predicted {
            log_seconds: sum / self.members.len() as f64,
            log_half: scale * self.quantiles.of_test(&one.test),
        }
    }
}

/// What every row's interval is wider by, as an answer on such a machine would be.
fn doubts(rows: &[Observation], folds: &[usize], parts: usize, situation: Situation) -> Vec<f64> {
    if situation != Situation::NewMachine {
        return vec![0.0; rows.len()];
    }
    let all = Seen::by_test(rows.iter());
    let learned: Vec<_> = (0..parts)
        .map(|part| {
            let others = rows.iter().zip(folds).filter(|(_, own)| **own != part);
            Seen::by_test(others.map(|(one, _)| one))
        })
        .collect();
    rows.iter().zip(folds).map(|(one, part)| doubt(one, &all, &learned[*part])).collect()
}

/// Times of the same models, found once for many questions.
pub(crate) struct PeersOf<'a>(Peers<'a>);

impl<'a> PeersOf<'a> {
    pub(crate) fn of(rows: &'a [Observation]) -> PeersOf<'a> {
        PeersOf(Peers::of(rows))
    }
}

/// How much of what the trees say helps most on groups that were held out, all counting alike: a few cards may say nothing of
/// another, and then physics with its two constants is left.
fn tree_share(
    members: &[Member],
    rows: &[Observation],
    folds: &[usize],
    groups: &[String],
    situation: Situation,
) -> f64 {
    let mut of_group: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for (at, one) in rows.iter().enumerate().filter(|(_, one)| !one.is_doubtful) {
        let member = &members[folds[at]];
        let physics = one.log_seconds() - member.mix.log_seconds(one);
        let trees = member.trees.answer(&masked(one, situation));
        of_group.entry(&groups[at]).or_default().push((physics, trees));
    }
    let left = |share: f64| -> f64 {
        let of = |pairs: &Vec<(f64, f64)>| {
            quantile::median(pairs.iter().map(|(physics, trees)| (physics - share * trees).abs()))
        };
        of_group.values().filter_map(of).sum()
    };
    let best = SHARES.into_iter().min_by(|one, other| left(*one).total_cmp(&left(*other)));
    best.unwrap_or(1.0)
}

/// The share of what another time was off by that helps most.
pub(crate) fn best_share(errors: &[f64], others: &[Option<f64>]) -> f64 {
    let left = |share: f64| {
        let pairs = errors.iter().zip(others);
        let left = pairs.filter_map(|(error, other)| Some((error - (*other)? * share).abs()));
        quantile::median(left).unwrap_or(0.0)
    };
    SHARES.into_iter().min_by(|one, other| left(*one).total_cmp(&left(*other))).unwrap_or(0.0)
}

/// How large errors are where: fitted on errors of groups that were held out, and judged on others again.
fn difficulty(
    rows: &[Observation],
    errors: &[f64],
    groups: &[String],
    situation: Situation,
    effort: &Effort,
) -> (Vec<Trees>, Vec<f64>) {
    let (parts, count) = parts_of(groups, 4, effort.seed + 2);
    let features: Vec<Vec<f64>> = rows.iter().map(|one| masked(one, situation)).collect();
    let targets: Vec<f64> = errors.iter().map(|error| (error.abs() + SMALL_ERROR).ln()).collect();
    let growth = Growth {
        trees: 50,
        rate: 0.1,
        leaves: 6,
        rows: (rows.len() / 40).max(10),
        row_share: 0.7,
        feature_share: 0.5,
        clip: 1.5,
        is_median: false,
        seed: effort.seed,
    };
    let fit = |part: usize| {
        let own: Vec<usize> = (0..rows.len())
            .filter(|at| errors[*at].is_finite() && (count < 2 || parts[*at] != part))
            .collect();
        let width = features.first().map_or(0, Vec::len);
        let table = Table::of(own.iter().map(|at| features[*at].as_slice()), width);
        let some: Vec<f64> = own.iter().map(|at| targets[*at]).collect();
        let their: Vec<&str> = own.iter().map(|at| groups[*at].as_str()).collect();
        Trees::fit(&table, &some, &weights(&their), &growth)
    };
    let made = in_parallel(count.max(1), effort.threads, fit);
    let scales = features
        .iter()
        .zip(&parts)
        .map(|(features, part)| scale(std::slice::from_ref(&made[*part]), features))
        .collect();
    (made, scales)
}

fn scale(trees: &[Trees], features: &[f64]) -> f64 {
    let sum: f64 = trees.iter().map(|trees| trees.answer(features)).sum();
    (sum / trees.len() as f64).exp()
}

/// The part of every row: groups stay together and are dealt at random.
pub(crate) fn parts_of(groups: &[String], wanted: usize, seed: u64) -> (Vec<usize>, usize) {
    let distinct: BTreeSet<&str> = groups.iter().map(String::as_str).collect();
    let mut order: Vec<&str> = distinct.into_iter().collect();
    let mut random = SplitMix::new(seed);
    for at in (1..order.len()).rev() {
        order.swap(at, random.below(at as u64 + 1) as usize);
    }
    let count = wanted.min(order.len()).max(1);
    let part: HashMap<&str, usize> =
        order.iter().enumerate().map(|(at, group)| (*group, at % count)).collect();
    (groups.iter().map(|group| part[group.as_str()]).collect(), count)
}

/// Makes so many things on so many threads, in order.
fn in_parallel<T: Send>(count: usize, threads: usize, make: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut made = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                return made;
            }
            made.push((at, make(at)));
        }
    };
    let mut all: Vec<(usize, T)> = std::thread::scope(|scope| {
        let more: Vec<_> = (1..threads.min(count)).map(|_| scope.spawn(work)).collect();
        let mut all = work();
        for thread in more {
            all.extend(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        all
    });
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, made)| made).collect()
}
