//! How many replicas a rate takes, simulated from stored distributions of service times; and a proof with scripted replicas.

mod prove;
mod times;

pub use prove::ProofPlan;

use crate::Error;
use ::load::{Batching, Capacity, CapacityQuestion, Lengths, Routing, capacity};
use std::{collections::BTreeMap, time::Duration};
use times::{Measured, batch, group_key, measured, workload};
use types::{
    Arrivals, CapacityLeftOut, CapacityOption, CapacityReport, Device, LoadLimit, LoadMetric,
    Ratio, Run, Seconds,
};

/// The most replicas that are looked for.
const MOST: usize = 10_000;
const SECONDS_PER_HOUR: f64 = 3600.0;

/// A question about capacity.
#[derive(Debug, Clone, PartialEq)]
pub struct CapacityPlan {
    /// Requests a second.
    pub rate: f64,
    /// How their gaps are drawn.
    pub arrivals: Arrivals,
    /// A percentile that has to be kept: `p99:200ms`, of a language model also `ttft.p99:200ms` and `itl.p95:50ms`.
    pub limit: LoadLimit,
    /// Who gets a request.
    pub routing: Routing,
    /// The most requests in one batch; `None` for the best of those that were measured.
    pub batch_max: Option<usize>,
    /// The longest that a free replica waits for more.
    pub batch_wait: Duration,
    /// How long requests to a language model are.
    pub lengths: Lengths,
    /// The length of a request to any other model; `None` for that of the newest run.
    pub sequence_length: Option<usize>,
    /// What an hour of a replica costs.
    pub costs: Vec<ReplicaCost>,
    /// The seed of everything that is drawn.
    pub seed: u64,
}

/// What an hour of a replica costs.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplicaCost {
    /// An engine or a device; `None` for all others.
    pub of: Option<String>,
    /// The cost, in whatever currency.
    pub per_hour: f64,
}

impl CapacityPlan {
    /// The answer for every engine, precision and device that these runs measured.
    ///
    /// # Errors
    /// Where no run tells how long a request takes, or the limit is none that a simulation knows.
    pub fn answer(&self, model: &str, runs: &[Run]) -> Result<CapacityReport, Error> {
        let mut groups: BTreeMap<String, Vec<&Run>> = BTreeMap::new();
        for run in runs {
            if let Some(key) = group_key(run) {
                groups.entry(key).or_default().push(run);
            }
        }
        if groups.is_empty() {
            return Err(Error::NoServiceTimes { model: model.into() });
        }
        let (groups, mut left_out) = self.of_one_workload(model, groups)?;
        let groups: Vec<(&Vec<&Run>, Measured)> =
            groups.iter().map(|runs| (runs, measured(runs, self.lengths))).collect();
        let generates = groups.iter().any(|(_, measured)| matches!(measured, Measured::Steps(_)));
        let question = self.question(generates)?;
        let mut options = Vec::new();
        for (runs, measured) in &groups {
            match self.option(&question, runs, measured) {
                Ok(option) => options.push(option),
                Err(why) => left_out.push(why),
            }
        }
        options.sort_by(|one, other| {
            // What has no price is not free.
            let cost = |option: &CapacityOption| option.cost_per_hour.unwrap_or(f64::INFINITY);
            cost(one)
                .total_cmp(&cost(other))
                .then_with(|| (one.replicas, one.high).cmp(&(other.replicas, other.high)))
                .then_with(|| one.percentile.0.total_cmp(&other.percentile.0))
        });
        Ok(CapacityReport {
            model: model.into(),
            rate: self.rate,
            arrivals: self.arrivals,
            limit: self.limit,
            routing: self.routing.name().into(),
            batch_max: self.batch_max.map(|most| most as u64),
            batch_wait: Seconds(self.batch_wait.as_secs_f64()),
            prompt: generates.then(|| self.lengths.prompt.to_string()),
            new_tokens: generates.then(|| self.lengths.answer.to_string()),
            seed: self.seed,
            options,
            left_out,
            proof: None,
        })
    }

    /// The runs whose requests are alike: of the asked length, otherwise as those of the newest run. The others are named.
    fn of_one_workload<'a>(
        &self,
        model: &str,
        groups: BTreeMap<String, Vec<&'a Run>>,
    ) -> Result<(Vec<Vec<&'a Run>>, Vec<CapacityLeftOut>), Error> {
        let all: Vec<&'a Run> = groups.values().flatten().copied().collect();
        let length = |run: &Run| workload(run).and_then(|(length, _)| length);
        let is_asked = |run: &&Run| {
            let asked = self.sequence_length;
            workload(run).is_some() && asked.is_none_or(|asked| length(run) == Some(asked))
        };
        let newest = all.iter().copied().filter(is_asked).max_by_key(|run| run.started_at);
        let taken = newest.and_then(workload);
        let generates = all.iter().any(|run| workload(run).is_none());
        if let (Some(asked), None, false) = (self.sequence_length, taken, generates) {
            let mut lengths: Vec<usize> = all.iter().filter_map(|run| length(run)).collect();
            lengths.sort_unstable();
            lengths.dedup();
            let lengths: Vec<String> = lengths.iter().map(usize::to_string).collect();
            let text = match lengths.as_slice() {
                [] => {
                    format!("the runs of `{model}` have no length: leave `--sequence-length` out")
                }
                known => format!(
                    "no valid run of `{model}` has the length {asked}; there are runs with {}",
                    known.join(", ")
                ),
            };
            return Err(Error::Rule(text));
        }
        let (mut alike, mut left_out) = (Vec::new(), Vec::new());
        for runs in groups.into_values() {
            let first = runs[0];
            let why = match workload(first) {
                own if own.is_none() || own == taken => {
                    alike.push(runs);
                    continue;
                }
                Some((_, Some(content))) => format!("measured with other requests: {content}"),
                Some((Some(length), None)) => {
                    format!("measured with length {length}: see `--sequence-length {length}`")
                }
                _ => "measured without a length".to_owned(),
            };
            let precision = first.tells("cell.precision").then_some(first.cell.precision);
            left_out.push(CapacityLeftOut { engine: first.engine.id.clone(), precision, why });
        }
        Ok((alike, left_out))
    }

    fn question(&self, generates: bool) -> Result<CapacityQuestion, Error> {
        let LoadLimit { metric, statistic, seconds } = self.limit;
        let of_steps = matches!(metric, LoadMetric::Ttft | LoadMetric::Itl);
        let usable = metric == LoadMetric::E2e || (generates && of_steps);
        let Some(share) = statistic.share().filter(|_| usable) else {
            let what = match generates {
                true => {
                    "a percentile of the whole answer, the first token or the time between tokens"
                }
                false => "a percentile of the whole answer",
            };
            let text = format!("capacity needs {what}, not `{}`", self.limit.key());
            return Err(Error::Rule(format!("{text}: `--slo p99:200ms`")));
        };
        Ok(CapacityQuestion {
            rate: self.rate,
            arrivals: self.arrivals,
            metric,
            share,
            limit: seconds,
            routing: self.routing,
            batching: Batching {
                most: self.batch_max.unwrap_or(1).max(1),
                wait: u64::try_from(self.batch_wait.as_nanos()).unwrap_or(u64::MAX),
            },
            most: MOST,
            seed: self.seed,
        })
    }

    fn option(
        &self,
        question: &CapacityQuestion,
        runs: &[&Run],
        measured: &Measured,
    ) -> Result<CapacityOption, CapacityLeftOut> {
        // A group has at least the run that opened it.
        let first = runs[0];
        let precision = first.tells("cell.precision").then_some(first.cell.precision);
        let mut batches: Vec<usize> = runs.iter().map(|run| batch(run)).collect();
        batches.sort_unstable();
        batches.dedup();
        let tried = match self.batch_max {
            Some(most) => vec![most],
            None => batches.clone(),
        };
        let found: Result<Capacity, _> = match measured {
            Measured::Times(times) => capacity(question, times, &tried),
            Measured::Steps(steps) => capacity(question, steps, &tried),
        };
        let found = found.map_err(|error| CapacityLeftOut {
            engine: first.engine.id.clone(),
            precision,
            why: error.to_string(),
        })?;
        let cost_per_hour = self
            .cost(&first.engine.id, first.cell.device)
            .map(|cost| cost * found.best.count as f64);
        Ok(CapacityOption {
            engine: first.engine.id.clone(),
            device: first.cell.device,
            precision,
            threads: first.tells("cell.threads").then_some(first.cell.threads),
            sequence_length: first.cell.sequence_length,
            batches: batches.iter().map(|batch| *batch as u64).collect(),
            batch_max: found.batch_max as u64,
            runs: runs.iter().map(|run| run.id.clone()).collect(),
            replicas: found.best.count as u64,
            low: found.interval.0 as u64,
            high: found.interval.1 as u64,
            utilisation: Ratio(found.best.utilisation),
            percentile: Seconds(found.best.percentile),
            one_less: found.one_less.map(|less| Seconds(less.percentile)),
            mean_batch: found.best.mean_batch,
            cost_per_hour,
            cost_per_million: cost_per_hour.map(|cost| cost / (self.rate * SECONDS_PER_HOUR) * 1e6),
        })
    }

    /// What an hour of one replica costs: the entry of its engine or device, otherwise the one for all.
    fn cost(&self, engine: &str, device: Device) -> Option<f64> {
        let device = device.to_string();
        let kind = device.split(':').next().unwrap_or_default().to_owned();
        let named = |name: &String| *name == engine || *name == device || *name == kind;
        let own = self.costs.iter().find(|cost| cost.of.as_ref().is_some_and(named));
        let cost = own.or_else(|| self.costs.iter().find(|cost| cost.of.is_none()));
        cost.map(|cost| cost.per_hour)
    }
}
