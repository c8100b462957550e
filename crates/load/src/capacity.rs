//! How many replicas a rate takes: the fewest whose simulated latency keeps a limit, with an interval over what was measured.

use crate::{Batching, Pattern, Routing, Schedule, ServiceTimes, simulate};
use stats::Generator;
use types::Arrivals;

/// Requests of one simulation: enough for a 99.9th percentile.
const REQUESTS: usize = 100_000;
/// The same where the measurement is drawn anew.
const REQUESTS_DRAWN: usize = 20_000;
/// How often the measurement is drawn anew: the ends of the interval rest on three values each.
const DRAWN: usize = 120;
/// Requests that are served alone, to see what a service takes without any queue.
const ALONE: usize = 2000;
/// The share of requests at the start that only fill the queues.
const FILLING: usize = 10;

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CapacityQuestion {
    /// Requests a second.
    pub rate: f64,
    /// How their gaps are drawn.
    pub arrivals: Arrivals,
    /// The share of requests that must keep the limit: 0.99.
    pub share: f64,
    /// The limit in seconds.
    pub limit: f64,
    /// Who gets a request.
    pub routing: Routing,
    /// How requests are put together.
    pub batching: Batching,
    /// No more replicas than this.
    pub most: usize,
    /// The seed of everything that is drawn.
    pub seed: u64,
}

/// So many replicas, and what they would do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Replicas {
    /// How many.
    pub count: usize,
    /// The share of the time in which they work.
    pub utilisation: f64,
    /// The percentile that is limited, in seconds.
    pub percentile: f64,
    /// Requests in a batch, on average.
    pub mean_batch: f64,
}

/// The answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Capacity {
    /// The fewest replicas that keep the limit.
    pub best: Replicas,
    /// One less, which does not keep it; `None` if one is enough.
    pub one_less: Option<Replicas>,
    /// The 95 % interval over what another measurement might have seen.
    pub interval: (usize, usize),
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CapacityError {
    /// Nothing was measured.
    #[error("no times of service are known")]
    NothingKnown,
    /// No number of replicas helps.
    #[error(
        "no number of replicas keeps the limit: the service alone takes {service:.4} s where {limit:.4} s are allowed"
    )]
    ServiceTooSlow {
        /// What the percentile is without any queue, in seconds.
        service: f64,
        /// What is allowed, in seconds.
        limit: f64,
    },
    /// More replicas than allowed.
    #[error("more than {0} replicas would be needed")]
    TooMany(usize),
}

/// The fewest replicas that keep the limit.
///
/// # Errors
/// Where no number of replicas does.
pub fn capacity(
    question: &CapacityQuestion,
    runs: &[ServiceTimes],
) -> Result<Capacity, CapacityError> {
    let pooled = pool(runs);
    if pooled.is_empty() {
        return Err(CapacityError::NothingKnown);
    }
    // A batch that nobody measured is never made.
    let most = question.batching.most.clamp(1, pooled.largest_batch());
    let batching = Batching { most, ..question.batching };
    let question = &CapacityQuestion { batching, ..*question };
    let alone = unloaded(question, &pooled);
    if alone > question.limit {
        return Err(CapacityError::ServiceTooSlow { service: alone, limit: question.limit });
    }
    let best = fewest(question, &pooled, REQUESTS).ok_or(CapacityError::TooMany(question.most))?;
    let one_less = (best.count > 1)
        .then(|| try_replicas(question, &pooled, best.count - 1, &arrivals(question, REQUESTS)));
    let interval = interval(question, runs, best.count);
    Ok(Capacity { best, one_less, interval })
}

/// All runs as one.
fn pool(runs: &[ServiceTimes]) -> ServiceTimes {
    let mut lists: std::collections::BTreeMap<usize, Vec<u64>> = Default::default();
    for (batch, nanos) in runs.iter().flat_map(ServiceTimes::batches) {
        lists.entry(batch).or_default().extend(nanos);
    }
    ServiceTimes::new(lists)
}

/// The percentile where nobody waits for anybody else, in seconds.
fn unloaded(question: &CapacityQuestion, times: &ServiceTimes) -> f64 {
    // As many replicas as requests.
    let arrivals = vec![0; ALONE];
    let batching = Batching { most: 1, wait: 0 };
    let question = CapacityQuestion { batching, routing: Routing::OneQueue, ..*question };
    try_replicas(&question, times, ALONE, &arrivals).percentile
}

fn arrivals(question: &CapacityQuestion, requests: usize) -> Vec<u64> {
    let pattern = Pattern { rate: question.rate, ramp_to: None, arrivals: question.arrivals };
    Schedule::draw(&pattern, f64::INFINITY, requests, question.seed).moments
}

/// What so many replicas would do with these arrivals; the first of them only fill the queues.
fn try_replicas(
    question: &CapacityQuestion,
    times: &ServiceTimes,
    count: usize,
    arrivals: &[u64],
) -> Replicas {
    let CapacityQuestion { routing, batching, share, seed, .. } = *question;
    let found = simulate(arrivals, times, count, routing, batching, seed);
    let mut steady = found.latencies.get(arrivals.len() / FILLING..).unwrap_or_default().to_vec();
    steady.sort_unstable();
    let place = ((steady.len() as f64 * share) as usize).min(steady.len().saturating_sub(1));
    Replicas {
        count,
        utilisation: found.utilisation,
        percentile: steady.get(place).map_or(0.0, |nanos| *nanos as f64 / crate::NANOS),
        mean_batch: found.mean_batch,
    }
}

/// From the fewest that can keep up: doubling, then bisection.
fn fewest(question: &CapacityQuestion, times: &ServiceTimes, requests: usize) -> Option<Replicas> {
    let arrivals = arrivals(question, requests);
    let at = |count| try_replicas(question, times, count, &arrivals);
    let holds = |replicas: &Replicas| replicas.percentile <= question.limit;
    let batch = question.batching.most.min(times.largest_batch()).max(1);
    let work = question.rate * times.mean(batch) / crate::NANOS / batch as f64;
    let mut low = (work.floor() as usize).max(1);
    let mut found = at(low.min(question.most));
    if holds(&found) {
        // The start is below what keeps up on average, unless one is enough.
        while found.count > 1 {
            let less = at(found.count - 1);
            if !holds(&less) {
                break;
            }
            found = less;
        }
        return Some(found);
    }
    loop {
        let next = (found.count * 2).min(question.most);
        if next == found.count {
            return None;
        }
        low = found.count;
        found = at(next);
        if holds(&found) {
            break;
        }
    }
    while found.count - low > 1 {
        let middle = at(low + (found.count - low) / 2);
        if holds(&middle) {
            found = middle;
        } else {
            low = middle.count;
        }
    }
    Some(found)
}

/// The middle 95 % of what other measurements might have said: runs are drawn anew, and the times within each run.
fn interval(question: &CapacityQuestion, runs: &[ServiceTimes], best: usize) -> (usize, usize) {
    let mut generator = Generator::new(stats::mix(question.seed ^ 0x5eed));
    let mut counts: Vec<usize> = (0..DRAWN)
        .map(|draw| {
            let drawn = redrawn(runs, &mut generator);
            let question = CapacityQuestion { seed: question.seed ^ draw as u64, ..*question };
            // One that never holds needs more than anybody has.
            near(&question, &drawn, best)
        })
        .collect();
    counts.sort_unstable();
    let cut = DRAWN / 40;
    (counts[cut].min(best), counts[DRAWN - 1 - cut].max(best))
}

/// The fewest replicas for times that resemble those for which `best` is the answer: from there up or down, in steps that grow.
fn near(question: &CapacityQuestion, times: &ServiceTimes, best: usize) -> usize {
    let arrivals = arrivals(question, REQUESTS_DRAWN);
    let holds =
        |count: usize| try_replicas(question, times, count, &arrivals).percentile <= question.limit;
    let (mut low, mut high);
    if holds(best) {
        (low, high) = (best - 1, best);
        let mut step = 1;
        while low > 0 && holds(low) {
            high = low;
            low = low.saturating_sub(step);
            step *= 2;
        }
    } else {
        (low, high) = (best, best + 1);
        let mut step = 1;
        while !holds(high) {
            low = high;
            // One that never holds needs more than anybody has.
            if high >= question.most {
                return question.most;
            }
            step *= 2;
            high = (high + step).min(question.most);
        }
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if holds(middle) { high = middle } else { low = middle }
    }
    high
}

/// Of every batch size, as many runs as there are, drawn with replacement, and the times of each drawn anew.
fn redrawn(runs: &[ServiceTimes], generator: &mut Generator) -> ServiceTimes {
    let mut lists: std::collections::BTreeMap<usize, Vec<&[u64]>> = Default::default();
    for (batch, nanos) in runs.iter().flat_map(ServiceTimes::batches) {
        lists.entry(batch).or_default().push(nanos);
    }
    ServiceTimes::new(lists.into_iter().map(|(batch, lists)| {
        let mut again = Vec::new();
        for _ in 0..lists.len() {
            let nanos = lists[generator.below(lists.len())];
            again.extend((0..nanos.len()).map(|_| nanos[generator.below(nanos.len())]));
        }
        (batch, again)
    }))
}

/// The highest utilisation at which so many replicas keep the limit: what they are worth behind this router.
#[must_use]
pub fn utilisation(question: &CapacityQuestion, times: &ServiceTimes, replicas: usize) -> f64 {
    let mean = times.mean(1) / crate::NANOS;
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..10 {
        let middle = (low + high) / 2.0;
        let rate = middle * replicas as f64 / mean;
        let question = CapacityQuestion { rate, ..*question };
        let found = try_replicas(&question, times, replicas, &arrivals(&question, REQUESTS));
        if found.percentile <= question.limit {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn question(rate: f64, routing: Routing) -> CapacityQuestion {
        CapacityQuestion {
            rate,
            arrivals: Arrivals::Poisson,
            share: 0.99,
            limit: 0.03,
            routing,
            batching: Batching::default(),
            most: 1000,
            seed: 1,
        }
    }

    #[test]
    fn eight_replicas_are_worth_a_third_behind_a_random_router_and_most_of_themselves_behind_one_queue()
     {
        let times = ServiceTimes::constant(10 * MS);
        let of = |routing, replicas| utilisation(&question(1.0, routing), &times, replicas);
        for (routing, replicas, expected) in
            [(Routing::Random, 1, 0.32), (Routing::Random, 8, 0.32), (Routing::OneQueue, 8, 0.87)]
        {
            let found = of(routing, replicas);
            assert!((found - expected).abs() < 0.02, "{routing} {replicas}: {found}");
        }
    }

    #[test]
    fn the_answer_follows_from_the_router() {
        let runs = [ServiceTimes::constant(10 * MS)];
        let count = |routing| capacity(&question(300.0, routing), &runs).unwrap();
        let (one, random) = (count(Routing::OneQueue), count(Routing::Random));
        // 300/s of 10 ms keep three busy.
        assert_eq!(one.best.count, 4, "{one:?}");
        assert!((9..=10).contains(&random.best.count), "{random:?}");
        assert!(one.one_less.unwrap().percentile > 0.03);
        assert!(one.interval.0 <= 4 && one.interval.1 >= 4);
    }

    #[test]
    fn a_service_that_is_too_slow_alone_needs_no_replicas() {
        let runs = [ServiceTimes::constant(50 * MS)];
        let refused = capacity(&question(1.0, Routing::OneQueue), &runs).unwrap_err();
        assert!(matches!(refused, CapacityError::ServiceTooSlow { .. }), "{refused}");
        let none = capacity(&question(1.0, Routing::OneQueue), &[]).unwrap_err();
        assert_eq!(none, CapacityError::NothingKnown);
        let few = CapacityQuestion { most: 2, ..question(300.0, Routing::OneQueue) };
        let many = capacity(&few, &[ServiceTimes::constant(10 * MS)]).unwrap_err();
        assert_eq!(many, CapacityError::TooMany(2));
    }

    #[test]
    fn runs_that_differ_widen_the_interval() {
        let fast = ServiceTimes::constant(8 * MS);
        let slow = ServiceTimes::constant(16 * MS);
        let same = capacity(&question(400.0, Routing::OneQueue), &[fast.clone(), fast.clone()]);
        let apart = capacity(&question(400.0, Routing::OneQueue), &[fast, slow]).unwrap();
        let same = same.unwrap().interval;
        assert!(apart.interval.1 - apart.interval.0 > same.1 - same.0, "{same:?} {apart:?}");
    }

    #[test]
    fn batches_save_replicas_where_they_save_time() {
        let times = [ServiceTimes::new([(1, vec![10 * MS]), (8, vec![20 * MS])])];
        let alone = CapacityQuestion { limit: 0.1, ..question(800.0, Routing::OneQueue) };
        let batching = Batching { most: 8, wait: 5 * MS };
        let together = CapacityQuestion { batching, ..alone };
        let (one, many) =
            (capacity(&alone, &times).unwrap().best, capacity(&together, &times).unwrap().best);
        assert!(many.count * 2 <= one.count, "{many:?} {one:?}");
        assert!(many.mean_batch > 2.0);
    }
}
