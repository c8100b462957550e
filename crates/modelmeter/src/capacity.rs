//! How many replicas a rate takes, simulated from stored distributions of service times. Nothing is measured.

use crate::Error;
use ::load::{Batching, CapacityQuestion, Routing, ServiceTimes, capacity};
use std::{collections::BTreeMap, time::Duration};
use types::{
    Arrivals, CapacityLeftOut, CapacityOption, CapacityReport, LoadLimit, LoadMetric, Mode, Phase,
    Ratio, Run, Scenario, Seconds, Variant,
};

/// The most replicas that are looked for.
const MOST: usize = 10_000;

/// A question about capacity.
#[derive(Debug, Clone, PartialEq)]
pub struct CapacityPlan {
    /// Requests a second.
    pub rate: f64,
    /// How their gaps are drawn.
    pub arrivals: Arrivals,
    /// A percentile of the whole answer that has to be kept: `p99:200ms`.
    pub limit: LoadLimit,
    /// Who gets a request.
    pub routing: Routing,
    /// The most requests in one batch.
    pub batch_max: usize,
    /// The longest that a free replica waits for more.
    pub batch_wait: Duration,
    /// The seed of everything that is drawn.
    pub seed: u64,
}

/// Runs that measured the same thing at different batch sizes.
#[derive(Default)]
struct Group<'a> {
    runs: Vec<&'a Run>,
}

impl CapacityPlan {
    /// The answer for every engine, precision and device that these runs measured.
    ///
    /// # Errors
    /// Where no run tells how long one request takes, or the limit is none of the whole answer.
    pub fn answer(&self, model: &str, runs: &[Run]) -> Result<CapacityReport, Error> {
        let share = match (self.limit.metric, self.limit.statistic.share()) {
            (LoadMetric::E2e, Some(share)) => share,
            _ => {
                let text = format!(
                    "capacity needs a percentile of the whole answer, not `{}`",
                    self.limit.key()
                );
                return Err(Error::Rule(format!("{text}: `--slo p99:200ms`")));
            }
        };
        let mut groups: BTreeMap<String, Group<'_>> = BTreeMap::new();
        for run in runs.iter().filter(|run| service(run).is_some()) {
            groups.entry(key(run)).or_default().runs.push(run);
        }
        if groups.is_empty() {
            return Err(Error::NoServiceTimes { model: model.into() });
        }
        let question = CapacityQuestion {
            rate: self.rate,
            arrivals: self.arrivals,
            share,
            limit: self.limit.seconds,
            routing: self.routing,
            batching: Batching {
                most: self.batch_max.max(1),
                wait: u64::try_from(self.batch_wait.as_nanos()).unwrap_or(u64::MAX),
            },
            most: MOST,
            seed: self.seed,
        };
        let (mut options, mut left_out) = (Vec::new(), Vec::new());
        for group in groups.values() {
            match group.option(&question) {
                Ok(option) => options.push(option),
                Err(why) => left_out.push(why),
            }
        }
        options.sort_by(|one, other| {
            (one.replicas, one.high)
                .cmp(&(other.replicas, other.high))
                .then_with(|| one.percentile.0.total_cmp(&other.percentile.0))
        });
        Ok(CapacityReport {
            model: model.into(),
            rate: self.rate,
            arrivals: self.arrivals,
            limit: self.limit,
            routing: self.routing.name().into(),
            batch_max: self.batch_max.max(1) as u64,
            batch_wait: Seconds(self.batch_wait.as_secs_f64()),
            seed: self.seed,
            options,
            left_out,
        })
    }
}

/// How long one batch took each time: what a replica does with it, without any queue.
fn service(run: &Run) -> Option<&[u64]> {
    let nanos = match (run.cell.mode, &run.cell.load) {
        (Mode::Inference, _) => run.samples_of(run.main_phase()),
        // With one request at a time nobody waits for anybody else.
        (Mode::Load, Some(load)) if load.scenario == Scenario::SingleStream => {
            run.samples_of(Phase::Service)
        }
        _ => None,
    };
    nanos.filter(|nanos| run.verdict.valid && !nanos.is_empty())
}

/// What has to be the same in runs that are put together; the batch is what differs.
fn key(run: &Run) -> String {
    let cell = &run.cell;
    format!(
        "{} {} {} {} {} {:?} {} {}",
        run.model.fingerprint,
        run.environment.machine.key,
        run.engine.id,
        cell.device,
        cell.precision,
        cell.sequence_length,
        cell.threads,
        Variant::of(run).canonical()
    )
}

impl Group<'_> {
    fn option(&self, question: &CapacityQuestion) -> Result<CapacityOption, CapacityLeftOut> {
        let times: Vec<ServiceTimes> = self
            .runs
            .iter()
            .filter_map(|run| {
                Some(ServiceTimes::new([(run.cell.batch_size, service(run)?.to_vec())]))
            })
            .collect();
        // A group has at least the run that opened it.
        let first = self.runs[0];
        let precision = first.tells("cell.precision").then_some(first.cell.precision);
        let found = capacity(question, &times).map_err(|error| CapacityLeftOut {
            engine: first.engine.id.clone(),
            precision,
            why: error.to_string(),
        })?;
        let mut batches: Vec<u64> =
            self.runs.iter().map(|run| run.cell.batch_size as u64).collect();
        batches.sort_unstable();
        batches.dedup();
        Ok(CapacityOption {
            engine: first.engine.id.clone(),
            device: first.cell.device,
            precision,
            threads: first.tells("cell.threads").then_some(first.cell.threads),
            sequence_length: first.cell.sequence_length,
            batches,
            runs: self.runs.iter().map(|run| run.id.clone()).collect(),
            replicas: found.best.count as u64,
            low: found.interval.0 as u64,
            high: found.interval.1 as u64,
            utilisation: Ratio(found.best.utilisation),
            percentile: Seconds(found.best.percentile),
            one_less: found.one_less.map(|less| Seconds(less.percentile)),
            mean_batch: found.best.mean_batch,
        })
    }
}
