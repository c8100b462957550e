//! What was measured of a way to serve a model, as something that answers requests in a simulation.

use super::CapacityQuestion;
use crate::{DecodeStep, Lengths, ServiceTimes, StepTimes, simulate, simulate_generation};
use stats::Generator;
use std::collections::BTreeMap;
use types::LoadMetric;

/// Requests that are served alone, to see what a service takes without any queue.
const ALONE: usize = 2000;

/// What replicas do with requests.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answered {
    /// The time that is limited, of every request in the order of arrival, in nanoseconds.
    pub times: Vec<u64>,
    /// The share of the time in which replicas worked.
    pub utilisation: f64,
    /// Requests in a batch, on average.
    pub mean_batch: f64,
}

/// Something that answers requests in a simulation.
pub trait Served {
    /// Whether nothing was measured.
    fn is_empty(&self) -> bool;
    /// The largest batch that was measured.
    fn largest_batch(&self) -> usize;
    /// Requests of one simulation.
    fn requests(&self) -> usize;
    /// The same where the measurement is drawn anew.
    fn requests_again(&self) -> usize;
    /// How many replicas the rate keeps busy on average, about; where a search begins.
    fn work(&self, question: &CapacityQuestion) -> f64;
    /// The limited times of requests that wait for nobody.
    fn alone(&self, question: &CapacityQuestion) -> Vec<u64>;
    /// What so many replicas do with these arrivals.
    fn answer(&self, question: &CapacityQuestion, replicas: usize, arrivals: &[u64]) -> Answered;
    /// Another measurement as this one might have been.
    #[must_use]
    fn redrawn(&self, generator: &mut Generator) -> Self;
}

/// Whole answers by batch size, run by run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MeasuredTimes {
    runs: Vec<ServiceTimes>,
    pooled: ServiceTimes,
}

impl MeasuredTimes {
    /// Runs, each with times of the batch sizes that it measured.
    #[must_use]
    pub fn new(runs: Vec<ServiceTimes>) -> MeasuredTimes {
        let mut lists: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        for (batch, nanos) in runs.iter().flat_map(ServiceTimes::batches) {
            lists.entry(batch).or_default().extend(nanos);
        }
        MeasuredTimes { pooled: ServiceTimes::new(lists), runs }
    }

    /// All runs as one.
    #[must_use]
    pub fn times(&self) -> &ServiceTimes {
        &self.pooled
    }
}

impl Served for MeasuredTimes {
    fn is_empty(&self) -> bool {
        self.pooled.is_empty()
    }

    fn largest_batch(&self) -> usize {
        self.pooled.largest_batch()
    }

    // Enough for a 99.9th percentile.
    fn requests(&self) -> usize {
        100_000
    }

    fn requests_again(&self) -> usize {
        20_000
    }

    fn work(&self, question: &CapacityQuestion) -> f64 {
        let batch = question.batching.most.min(self.largest_batch()).max(1);
        question.rate * self.pooled.mean(batch) / crate::NANOS / batch as f64
    }

    fn alone(&self, question: &CapacityQuestion) -> Vec<u64> {
        let mut generator = Generator::new(question.seed);
        (0..ALONE).map(|_| self.pooled.draw(1, &mut generator)).collect()
    }

    fn answer(&self, question: &CapacityQuestion, replicas: usize, arrivals: &[u64]) -> Answered {
        let CapacityQuestion { routing, batching, seed, .. } = *question;
        let found = simulate(arrivals, &self.pooled, replicas, routing, batching, seed);
        Answered {
            times: found.latencies,
            utilisation: found.utilisation,
            mean_batch: found.mean_batch,
        }
    }

    /// Of every batch size, as many runs as there are, drawn with replacement, and the times of each drawn anew.
    fn redrawn(&self, generator: &mut Generator) -> MeasuredTimes {
        let mut lists: BTreeMap<usize, Vec<&[u64]>> = BTreeMap::new();
        for (batch, nanos) in self.runs.iter().flat_map(ServiceTimes::batches) {
            lists.entry(batch).or_default().push(nanos);
        }
        let drawn = lists.into_iter().map(|(batch, lists)| {
            let mut again = Vec::new();
            for _ in 0..lists.len() {
                let nanos = lists[generator.below(lists.len())];
                again.extend((0..nanos.len()).map(|_| nanos[generator.below(nanos.len())]));
            }
            (batch, again)
        });
        MeasuredTimes::new(vec![ServiceTimes::new(drawn)])
    }
}

/// Steps of a language model, run by run, and how long its requests are.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredSteps {
    runs: Vec<StepTimes>,
    pooled: StepTimes,
    lengths: Lengths,
}

impl MeasuredSteps {
    /// Runs, each with the prompts or steps that it measured.
    #[must_use]
    pub fn new(runs: Vec<StepTimes>, lengths: Lengths) -> MeasuredSteps {
        let mut prompts: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        let mut steps: BTreeMap<usize, Vec<DecodeStep>> = BTreeMap::new();
        for run in &runs {
            for (tokens, nanos) in run.prompts() {
                prompts.entry(tokens).or_default().extend(nanos);
            }
            for (batch, measured) in run.steps() {
                steps.entry(batch).or_default().extend(measured);
            }
        }
        MeasuredSteps { pooled: StepTimes::new(prompts, steps), runs, lengths }
    }
}

impl Served for MeasuredSteps {
    fn is_empty(&self) -> bool {
        self.pooled.is_empty()
    }

    fn largest_batch(&self) -> usize {
        self.pooled.largest_batch()
    }

    // A request takes many steps: fewer are simulated.
    fn requests(&self) -> usize {
        20_000
    }

    fn requests_again(&self) -> usize {
        2_000
    }

    fn work(&self, question: &CapacityQuestion) -> f64 {
        let batch = question.batching.most.min(self.largest_batch()).max(1);
        let mut generator = Generator::new(question.seed);
        let mean = |times: Vec<u64>| times.iter().sum::<u64>() as f64 / times.len() as f64;
        let Lengths { prompt, answer } = self.lengths;
        let tokens = prompt.mean.round().max(1.0) as usize;
        let depth = prompt.mean + answer.mean / 2.0;
        let prompts = (0..100).map(|_| self.pooled.draw_prompt(tokens, &mut generator)).collect();
        let prompts = mean(prompts);
        let steps = (0..100).map(|_| self.pooled.draw_step(batch, depth, &mut generator)).collect();
        let steps = mean(steps) * (answer.mean - 1.0).max(0.0) / batch as f64;
        question.rate * (prompts + steps) / crate::NANOS
    }

    fn alone(&self, question: &CapacityQuestion) -> Vec<u64> {
        // So far apart that nobody meets anybody.
        let apart: Vec<u64> = (0..ALONE as u64 / 4).map(|at| at << 42).collect();
        self.answer(question, 1, &apart).times
    }

    fn answer(&self, question: &CapacityQuestion, replicas: usize, arrivals: &[u64]) -> Answered {
        let CapacityQuestion { routing, batching, seed, .. } = *question;
        let most = batching.most;
        let found = simulate_generation(
            arrivals,
            &self.pooled,
            self.lengths,
            replicas,
            routing,
            most,
            seed,
        );
        let times = match question.metric {
            LoadMetric::Ttft | LoadMetric::TtftService | LoadMetric::TtftVisible => found.first,
            LoadMetric::Itl | LoadMetric::Gap => found.between.into_iter().flatten().collect(),
            LoadMetric::E2e | LoadMetric::E2eService | LoadMetric::Lag => found.last,
        };
        Answered { times, utilisation: found.utilisation, mean_batch: found.mean_batch }
    }

    /// The times of every run drawn anew. Prompts and every batch are runs of their own, so no run can stand for another.
    fn redrawn(&self, generator: &mut Generator) -> MeasuredSteps {
        let again: Vec<StepTimes> = self.runs.iter().map(|run| run.redrawn(generator)).collect();
        MeasuredSteps::new(again, self.lengths)
    }
}
