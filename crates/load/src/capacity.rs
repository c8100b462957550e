//! How many replicas a rate takes: the fewest whose simulated latency keeps a limit, with an interval over what was measured.

mod measured;

pub use measured::{MeasuredSteps, MeasuredTimes, Served};

use crate::{Batching, Pattern, Routing, Schedule};
use measured::Answered;
use stats::Generator;
use types::{Arrivals, LoadMetric};

/// How often the measurement is drawn anew: the ends of the interval rest on three values each.
const DRAWN: usize = 120;
/// The share of requests at the start that only fill the queues.
const FILLING: usize = 10;

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CapacityQuestion {
    /// Requests a second.
    pub rate: f64,
    /// How their gaps are drawn.
    pub arrivals: Arrivals,
    /// The time that is limited: of a language model the first token, the time between tokens or all; otherwise all.
    pub metric: LoadMetric,
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
    /// The most requests in one batch with which they do.
    pub batch_max: usize,
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

/// The fewest replicas that keep the limit, with the best of these largest batches; an empty list leaves that of the question.
///
/// # Errors
/// Where no number of replicas does, whatever the batch.
pub fn capacity(
    question: &CapacityQuestion,
    served: &impl Served,
    batches: &[usize],
) -> Result<Capacity, CapacityError> {
    if served.is_empty() {
        return Err(CapacityError::NothingKnown);
    }
    // A batch that nobody measured is never made.
    let largest = served.largest_batch().max(1);
    let asked = [question.batching.most];
    let batches = if batches.is_empty() { &asked[..] } else { batches };
    let mut found: Option<(CapacityQuestion, Replicas)> = None;
    let mut refused = CapacityError::NothingKnown;
    for most in batches {
        let batching = Batching { most: (*most).clamp(1, largest), ..question.batching };
        let question = CapacityQuestion { batching, ..*question };
        match smallest(&question, served) {
            Err(error) => refused = error,
            Ok(one) => {
                let better = |(_, known): &(CapacityQuestion, Replicas)| {
                    (one.count, one.percentile) < (known.count, known.percentile)
                };
                if found.as_ref().is_none_or(better) {
                    found = Some((question, one));
                }
            }
        }
    }
    let (question, best) = found.ok_or(refused)?;
    let one_less = (best.count > 1).then(|| {
        try_replicas(&question, served, best.count - 1, &arrivals(&question, served.requests()))
    });
    let interval = interval(&question, served, best.count);
    Ok(Capacity { best, batch_max: question.batching.most, one_less, interval })
}

/// The fewest replicas with one batch.
fn smallest(question: &CapacityQuestion, served: &impl Served) -> Result<Replicas, CapacityError> {
    let alone = percentile(question, served.alone(question));
    if alone > question.limit {
        return Err(CapacityError::ServiceTooSlow { service: alone, limit: question.limit });
    }
    fewest(question, served).ok_or(CapacityError::TooMany(question.most))
}

fn arrivals(question: &CapacityQuestion, requests: usize) -> Vec<u64> {
    let pattern = Pattern { rate: question.rate, ramp_to: None, arrivals: question.arrivals };
    Schedule::draw(&pattern, f64::INFINITY, requests, question.seed).moments
}

/// The percentile of these times, in seconds.
fn percentile(question: &CapacityQuestion, mut times: Vec<u64>) -> f64 {
    times.sort_unstable();
    let place = ((times.len() as f64 * question.share) as usize).min(times.len().saturating_sub(1));
    times.get(place).map_or(0.0, |nanos| *nanos as f64 / crate::NANOS)
}

/// What so many replicas would do with these arrivals; the first of them only fill the queues.
fn try_replicas(
    question: &CapacityQuestion,
    served: &impl Served,
    count: usize,
    arrivals: &[u64],
) -> Replicas {
    let Answered { times, utilisation, mean_batch } = served.answer(question, count, arrivals);
    let steady = times.get(times.len() / FILLING..).unwrap_or_default().to_vec();
    Replicas { count, utilisation, percentile: percentile(question, steady), mean_batch }
}

/// From the fewest that can keep up: doubling, then bisection.
fn fewest(question: &CapacityQuestion, served: &impl Served) -> Option<Replicas> {
    let arrivals = arrivals(question, served.requests());
    let at = |count| try_replicas(question, served, count, &arrivals);
    let holds = |replicas: &Replicas| replicas.percentile <= question.limit;
    let mut low = (served.work(question).floor() as usize).max(1);
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
fn interval(question: &CapacityQuestion, served: &impl Served, best: usize) -> (usize, usize) {
    let mut generator = Generator::new(stats::mix(question.seed ^ 0x5eed));
    let mut counts: Vec<usize> = (0..DRAWN)
        .map(|draw| {
            let drawn = served.redrawn(&mut generator);
            let question = CapacityQuestion { seed: question.seed ^ draw as u64, ..*question };
            near(&question, &drawn, best)
        })
        .collect();
    counts.sort_unstable();
    let cut = DRAWN / 40;
    (counts[cut].min(best), counts[DRAWN - 1 - cut].max(best))
}

/// The fewest replicas for times that resemble those for which `best` is the answer: from there up or down, in steps that grow.
fn near(question: &CapacityQuestion, served: &impl Served, best: usize) -> usize {
    let arrivals = arrivals(question, served.requests_again());
    let holds = |count: usize| {
        try_replicas(question, served, count, &arrivals).percentile <= question.limit
    };
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

/// The highest utilisation at which so many replicas keep the limit: what they are worth behind this router.
#[must_use]
pub fn utilisation(question: &CapacityQuestion, served: &MeasuredTimes, replicas: usize) -> f64 {
    let mean = served.times().mean(1) / crate::NANOS;
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..10 {
        let middle = (low + high) / 2.0;
        let rate = middle * replicas as f64 / mean;
        let question = CapacityQuestion { rate, ..*question };
        let arrivals = arrivals(&question, served.requests());
        let found = try_replicas(&question, served, replicas, &arrivals);
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
    use crate::{DecodeStep, Length, Lengths, ServiceTimes, StepTimes};

    const MS: u64 = 1_000_000;

    fn question(rate: f64, routing: Routing) -> CapacityQuestion {
        CapacityQuestion {
            rate,
            arrivals: Arrivals::Poisson,
            metric: LoadMetric::E2e,
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
        let times = MeasuredTimes::new(vec![ServiceTimes::constant(10 * MS)]);
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
        let runs = MeasuredTimes::new(vec![ServiceTimes::constant(10 * MS)]);
        let count = |routing| capacity(&question(300.0, routing), &runs, &[]).unwrap();
        let (one, random) = (count(Routing::OneQueue), count(Routing::Random));
        // 300/s of 10 ms keep three busy.
        assert_eq!(one.best.count, 4, "{one:?}");
        assert!((9..=10).contains(&random.best.count), "{random:?}");
        assert!(one.one_less.unwrap().percentile > 0.03);
        assert!(one.interval.0 <= 4 && one.interval.1 >= 4);
    }

    #[test]
    fn a_service_that_is_too_slow_alone_needs_no_replicas() {
        let times = |ms| MeasuredTimes::new(vec![ServiceTimes::constant(ms * MS)]);
        let refused = capacity(&question(1.0, Routing::OneQueue), &times(50), &[]).unwrap_err();
        assert!(matches!(refused, CapacityError::ServiceTooSlow { .. }), "{refused}");
        let none = capacity(&question(1.0, Routing::OneQueue), &MeasuredTimes::new(vec![]), &[])
            .unwrap_err();
        assert_eq!(none, CapacityError::NothingKnown);
        let few = CapacityQuestion { most: 2, ..question(300.0, Routing::OneQueue) };
        let many = capacity(&few, &times(10), &[]).unwrap_err();
        assert_eq!(many, CapacityError::TooMany(2));
    }

    #[test]
    fn runs_that_differ_widen_the_interval() {
        let fast = ServiceTimes::constant(8 * MS);
        let slow = ServiceTimes::constant(16 * MS);
        let of = |runs| {
            let runs = MeasuredTimes::new(runs);
            capacity(&question(400.0, Routing::OneQueue), &runs, &[]).unwrap()
        };
        let same = of(vec![fast.clone(), fast.clone()]).interval;
        let apart = of(vec![fast, slow]);
        assert!(apart.interval.1 - apart.interval.0 > same.1 - same.0, "{same:?} {apart:?}");
    }

    #[test]
    fn batches_save_replicas_where_they_save_time() {
        let times = ServiceTimes::new([(1, vec![10 * MS]), (8, vec![20 * MS])]);
        let times = MeasuredTimes::new(vec![times]);
        let alone = CapacityQuestion { limit: 0.1, ..question(800.0, Routing::OneQueue) };
        let batching = Batching { most: 8, wait: 5 * MS };
        let together = CapacityQuestion { batching, ..alone };
        let (one, many) = (
            capacity(&alone, &times, &[]).unwrap().best,
            capacity(&together, &times, &[]).unwrap().best,
        );
        assert!(many.count * 2 <= one.count, "{many:?} {one:?}");
        assert!(many.mean_batch > 2.0);
    }

    #[test]
    fn the_best_batch_is_chosen_where_none_is_given() {
        let times =
            ServiceTimes::new([(1, vec![10 * MS]), (8, vec![20 * MS]), (32, vec![300 * MS])]);
        let times = MeasuredTimes::new(vec![times]);
        let asked = CapacityQuestion { limit: 0.1, ..question(800.0, Routing::OneQueue) };
        let chosen = capacity(&asked, &times, &[1, 8, 32]).unwrap();
        assert_eq!(chosen.batch_max, 8, "{chosen:?}");
        let alone = capacity(&asked, &times, &[1]).unwrap();
        assert!(chosen.best.count < alone.best.count);
    }

    #[test]
    fn a_language_model_is_limited_by_its_first_token_and_by_its_steps() {
        let step = |nanos| vec![DecodeStep { depth: 0, nanos }];
        let times =
            StepTimes::new([(100, vec![50 * MS])], [(1, step(10 * MS)), (8, step(20 * MS))]);
        let lengths = Lengths { prompt: Length::exactly(100), answer: Length::exactly(20) };
        let served = MeasuredSteps::new(vec![times], lengths);
        let asked = |metric, limit| CapacityQuestion {
            metric,
            limit,
            batching: Batching { most: 8, wait: 0 },
            ..question(20.0, Routing::OneQueue)
        };
        // A prompt alone takes 50 ms, 20 a second keep one replica busy with prompts only.
        let first = capacity(&asked(LoadMetric::Ttft, 0.2), &served, &[]).unwrap();
        assert!((2..=4).contains(&first.best.count), "{first:?}");
        assert!(first.interval.0 <= first.best.count && first.best.count <= first.interval.1);
        // With a tight limit between tokens nobody may be stopped for another's prompt often.
        let between = capacity(&asked(LoadMetric::Itl, 0.013), &served, &[]).unwrap();
        assert!(between.best.count > first.best.count, "{between:?} {first:?}");
        let never = capacity(&asked(LoadMetric::Itl, 0.009), &served, &[]).unwrap_err();
        assert!(matches!(never, CapacityError::ServiceTooSlow { .. }), "{never}");
    }
}
