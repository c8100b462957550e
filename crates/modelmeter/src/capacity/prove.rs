//! A proof: as many scripted replicas as were answered, a real load, and what the simulation says of the very same schedule.

use super::CapacityPlan;
use crate::{
    Error, LoadTarget, LoadTest, Session,
    capacity::times::{Measured, group_key, measured},
};
use ::load::{Batching, Pattern, Schedule, Seeds, ServiceTimes, simulate};
use endpoint::{Bodies, Inspection, ReplicaScript, Replicas};
use std::{sync::atomic::AtomicBool, time::Duration};
use types::{
    CapacityOption, CapacityProof, Event, LoadMetric, Protocol, Rate, Run, Scenario, Seconds,
};

/// How far the measured percentile may lie from the simulated one.
const AGREEMENT: f64 = 0.1;
/// The longest that one answer may take.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The most requests.
const MOST: usize = 1_000_000;

/// How a proof is made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProofPlan {
    /// How long requests are sent.
    pub duration: Duration,
    /// The part of it at the start that does not count.
    pub warmup: Duration,
}

impl CapacityPlan {
    /// Starts the replicas of an option here, sends them the rate and compares. Every replica only takes the measured times,
    /// asleep: what is proved are the queues, the router and the simulation, not the times.
    ///
    /// # Errors
    /// Where the option is one of a language model, or the replicas or the generator cannot be started.
    pub fn prove(
        &self,
        how: &ProofPlan,
        option: &CapacityOption,
        runs: &[Run],
        stop: &AtomicBool,
        sink: &mut dyn FnMut(Event),
    ) -> Result<CapacityProof, Error> {
        let times = self.times(option, runs)?;
        let Some(share) = self.limit.statistic.share() else {
            return Err(Error::Rule("a proof needs a percentile".into()));
        };
        let batching = Batching {
            most: option.batch_max as usize,
            wait: u64::try_from(self.batch_wait.as_nanos()).unwrap_or(u64::MAX),
        };
        let count = option.replicas as usize;
        let script = ReplicaScript {
            times: times.clone(),
            count,
            routing: self.routing,
            batching,
            seed: self.seed,
        };
        let replicas = Replicas::start(&script)
            .map_err(|error| Error::Generator { why: format!("no replicas here: {error}") })?;
        let address = format!("http://{}/", replicas.address());
        let address = address
            .parse()
            .map_err(|error: endpoint::AddressError| Error::Generator { why: error.to_string() })?;
        let target = LoadTarget::find(&Inspection {
            address,
            protocol: Some(Protocol::Http),
            model: Some("scripted replicas".into()),
            headers: Vec::new(),
        })?;
        let rate = Rate(self.rate);
        let test = LoadTest {
            scenario: Scenario::Server { rate, arrivals: self.arrivals, ramp_to: None },
            trace: Vec::new(),
            bodies: Bodies::Bytes { body: Vec::new(), content_type: String::new() },
            streaming: false,
            duration: how.duration,
            warmup: how.warmup,
            timeout: TIMEOUT,
            max_requests: MOST,
            batching: Batching::default(),
            generators: 1,
            metrics_address: None,
            max_in_flight: None,
            backlog: None,
            limits: vec![self.limit],
            errors_allowed: 0.0,
            seed: self.seed,
            headers: Vec::new(),
            tags: Vec::new(),
        };
        // What scripted replicas do is no result of a model: nothing is stored.
        let label = format!("{count} scripted replicas");
        let mut sink = |event: Event| match event {
            // Nor is it told as one.
            Event::CellFinished { .. } => {}
            event => sink(event.labelled(&label)),
        };
        let run = test.run(&target, &mut Session::without_store(), stop, &mut sink)?;
        let simulated = self.simulated(how, &times, count, batching, share);
        Ok(proof(&run, count, share, simulated))
    }

    /// The times of the option's own runs.
    fn times(&self, option: &CapacityOption, runs: &[Run]) -> Result<ServiceTimes, Error> {
        let own: Vec<&Run> = runs.iter().filter(|run| option.runs.contains(&run.id)).collect();
        match own.iter().any(|run| group_key(run).is_some()).then(|| measured(&own, self.lengths)) {
            Some(Measured::Times(times)) => Ok(times.times().clone()),
            _ => Err(Error::Rule(
                "scripted replicas answer whole requests; steps of a language model are not proved yet".into(),
            )),
        }
    }

    /// The percentile that the simulation gives for the schedule that is sent.
    fn simulated(
        &self,
        how: &ProofPlan,
        times: &ServiceTimes,
        count: usize,
        batching: Batching,
        share: f64,
    ) -> f64 {
        let pattern = Pattern { rate: self.rate, ramp_to: None, arrivals: self.arrivals };
        let seconds = how.duration.as_secs_f64();
        let gaps = Seeds::of(self.seed).gaps;
        let arrivals = Schedule::draw(&pattern, seconds, MOST, gaps).moments;
        let warm = u64::try_from(how.warmup.as_nanos()).unwrap_or(u64::MAX);
        let mut all = Vec::new();
        // Times of service are drawn: several draws, so that one lucky one does not decide.
        for seed in 0..DRAWS {
            let found = simulate(&arrivals, times, count, self.routing, batching, self.seed ^ seed);
            let mut steady: Vec<u64> = arrivals
                .iter()
                .zip(found.latencies)
                .filter(|(arrival, _)| **arrival >= warm)
                .map(|(_, latency)| latency)
                .collect();
            steady.sort_unstable();
            all.push(quantile(&steady, share));
        }
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    }
}

/// Draws of the times of service for one schedule.
const DRAWS: u64 = 11;

fn quantile(sorted: &[u64], share: f64) -> f64 {
    let place = ((sorted.len() as f64 * share) as usize).min(sorted.len().saturating_sub(1));
    sorted.get(place).map_or(0.0, |nanos| *nanos as f64 / 1e9)
}

fn proof(run: &Run, count: usize, share: f64, simulated: f64) -> CapacityProof {
    let report = run.load.as_deref();
    let mut nanos = run.samples_of(types::Phase::Total).unwrap_or_default().to_vec();
    nanos.sort_unstable();
    let measured = quantile(&nanos, share);
    let lag = report.and_then(|report| report.latency(LoadMetric::Lag));
    CapacityProof {
        replicas: count as u64,
        requests: nanos.len() as u64,
        simulated: Seconds(simulated),
        measured: Seconds(measured),
        lag: Seconds(lag.map_or(0.0, |lag| lag.p99)),
        agrees: run.verdict.valid.then(|| (measured / simulated - 1.0).abs() <= AGREEMENT),
        reasons: run
            .verdict
            .reasons
            .iter()
            .filter(|reason| reason.invalidates)
            .map(|reason| reason.text.clone())
            .collect(),
    }
}
