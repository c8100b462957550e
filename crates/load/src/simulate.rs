//! Replicas behind a router, simulated event by event: when every request would be answered.
//!
//! Arrivals and times of service are drawn from what was measured; the order of events follows from them alone. A queue is
//! served in the order of arrival. One queue feeds all replicas, or every replica has its own and the router chooses.

use crate::{Router, Routing, ServiceTimes};
use serde::{Deserialize, Serialize};
use stats::Generator;
use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

/// How requests are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Batching {
    /// The most requests in one batch.
    pub most: usize,
    /// The longest that a free replica waits for more, in nanoseconds.
    pub wait: u64,
}

impl Default for Batching {
    fn default() -> Batching {
        Batching { most: 1, wait: 0 }
    }
}

/// What a simulation came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulated {
    /// From arrival to answer, of every request in the order of arrival, in nanoseconds.
    pub latencies: Vec<u64>,
    /// The share of the time in which replicas worked.
    pub utilisation: f64,
    /// Requests in a batch, on average.
    pub mean_batch: f64,
}

/// What happens at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    /// A replica has finished.
    Free(usize),
    /// A queue has waited for more requests long enough.
    Waited(usize),
}

/// Requests that wait, and replicas that are free to take them.
#[derive(Debug, Clone, Default)]
struct Queue {
    waiting: VecDeque<usize>,
    free: Vec<usize>,
    /// Requests in service.
    working: usize,
}

struct Simulation<'a> {
    arrivals: &'a [u64],
    times: &'a ServiceTimes,
    batching: Batching,
    queues: Vec<Queue>,
    /// The queue that a replica takes its requests from.
    queue_of: Vec<usize>,
    /// Requests that each replica works on.
    working: Vec<Vec<usize>>,
    events: BinaryHeap<Reverse<(u64, Happening)>>,
    generator: Generator,
    latencies: Vec<u64>,
    busy: u128,
    batches: u64,
    end: u64,
}

/// Simulates these arrivals (nanoseconds, in order) on so many replicas; the same seed gives the same answers.
#[must_use]
pub fn simulate(
    arrivals: &[u64],
    times: &ServiceTimes,
    replicas: usize,
    routing: Routing,
    batching: Batching,
    seed: u64,
) -> Simulated {
    let replicas = replicas.max(1);
    let mut router = Router::new(routing, seed);
    let queues = router.queues(replicas);
    let queue_of: Vec<usize> = (0..replicas).map(|replica| replica % queues).collect();
    let mut simulation = Simulation {
        arrivals,
        times,
        batching: Batching { most: batching.most.max(1), ..batching },
        queues: vec![Queue::default(); queues],
        queue_of,
        working: vec![Vec::new(); replicas],
        events: BinaryHeap::new(),
        generator: Generator::new(seed),
        latencies: vec![0; arrivals.len()],
        busy: 0,
        batches: 0,
        end: 0,
    };
    for replica in 0..replicas {
        simulation.queues[simulation.queue_of[replica]].free.push(replica);
    }
    for (request, moment) in arrivals.iter().enumerate() {
        simulation.run_until(*moment);
        let load = |place: usize| {
            let queue = &simulation.queues[place];
            queue.waiting.len() + queue.working
        };
        let queue = router.choose(queues, load);
        simulation.queues[queue].waiting.push_back(request);
        simulation.start(queue, *moment);
    }
    simulation.run_until(u64::MAX);
    simulation.result(replicas)
}

impl Simulation<'_> {
    /// Lets everything happen that comes before this moment, or at it.
    fn run_until(&mut self, moment: u64) {
        while let Some(Reverse((at, happening))) = self.events.peek().copied() {
            if at > moment {
                break;
            }
            self.events.pop();
            match happening {
                Happening::Waited(queue) => self.start(queue, at),
                Happening::Free(replica) => {
                    let queue = self.queue_of[replica];
                    let done = std::mem::take(&mut self.working[replica]);
                    self.queues[queue].working -= done.len();
                    for request in &done {
                        self.latencies[*request] = at - self.arrivals[*request];
                    }
                    self.end = self.end.max(at);
                    self.queues[queue].free.push(replica);
                    self.start(queue, at);
                }
            }
        }
    }

    /// Gives waiting requests to free replicas, unless it is worth waiting for more.
    fn start(&mut self, queue: usize, now: u64) {
        loop {
            let own = &mut self.queues[queue];
            let Some(oldest) = own.waiting.front().copied() else { return };
            let due = self.arrivals[oldest].saturating_add(self.batching.wait);
            if own.free.is_empty() {
                return;
            }
            if own.waiting.len() < self.batching.most && due > now {
                self.events.push(Reverse((due, Happening::Waited(queue))));
                return;
            }
            let Some(replica) = own.free.pop() else { return };
            let size = own.waiting.len().min(self.batching.most);
            let batch: Vec<usize> = own.waiting.drain(..size).collect();
            own.working += size;
            let time = self.times.draw(size, &mut self.generator);
            self.busy += u128::from(time);
            self.batches += 1;
            self.working[replica] = batch;
            self.events.push(Reverse((now.saturating_add(time), Happening::Free(replica))));
        }
    }

    fn result(self, replicas: usize) -> Simulated {
        let span = self.end.saturating_sub(self.arrivals.first().copied().unwrap_or(0));
        let offered = u128::from(span) * replicas as u128;
        Simulated {
            utilisation: if offered > 0 { self.busy as f64 / offered as f64 } else { 0.0 },
            mean_batch: self.arrivals.len() as f64 / self.batches.max(1) as f64,
            latencies: self.latencies,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Pattern, Schedule};
    use types::Arrivals;

    const MS: u64 = 1_000_000;

    fn poisson(rate: f64, seconds: f64) -> Vec<u64> {
        let pattern = Pattern { rate, ramp_to: None, arrivals: Arrivals::Poisson };
        Schedule::draw(&pattern, seconds, 1_000_000, 1).moments
    }

    #[test]
    fn one_replica_follows_the_recursion_of_lindley() {
        let arrivals = poisson(80.0, 100.0);
        let times = ServiceTimes::constant(10 * MS);
        let found = simulate(&arrivals, &times, 1, Routing::OneQueue, Batching::default(), 1);
        let mut free = 0;
        for (arrival, latency) in arrivals.iter().zip(&found.latencies) {
            free = free.max(*arrival) + 10 * MS;
            assert_eq!(*latency, free - arrival);
        }
        assert!((found.utilisation - 0.8).abs() < 0.03, "{}", found.utilisation);
    }

    #[test]
    fn the_mean_wait_is_that_of_pollaczek_and_khinchine() {
        // M/D/1 at 70 %: ρ ÷ (2 · (1 − ρ)) services.
        let arrivals = poisson(70.0, 4000.0);
        let times = ServiceTimes::constant(10 * MS);
        let found = simulate(&arrivals, &times, 1, Routing::Random, Batching::default(), 1);
        let mean = found.latencies.iter().map(|x| *x as f64).sum::<f64>()
            / found.latencies.len() as f64
            / MS as f64;
        let expected = 10.0 + 10.0 * 0.7 / (2.0 * 0.3);
        assert!((mean / expected - 1.0).abs() < 0.03, "{mean} {expected}");
    }

    #[test]
    fn policies_differ_in_the_order_that_theory_says() {
        let arrivals = poisson(560.0, 100.0);
        // 10 ms on average: with one time for all, one after the other is as good as one queue.
        let times = ServiceTimes::new([(1, vec![2 * MS, 2 * MS, 2 * MS, 34 * MS])]);
        let p99 = |routing| {
            let found = simulate(&arrivals, &times, 8, routing, Batching::default(), 3);
            let mut sorted = found.latencies;
            sorted.sort_unstable();
            sorted[sorted.len() * 99 / 100]
        };
        let [one, robin, random, least] = Routing::ALL.map(p99);
        assert!(one <= least && least < robin && robin < random, "{one} {least} {robin} {random}");
    }

    #[test]
    fn a_batch_waits_for_more_but_not_longer_than_allowed() {
        let times = ServiceTimes::constant(10 * MS);
        let batching = Batching { most: 4, wait: 5 * MS };
        let alone = simulate(&[0], &times, 1, Routing::OneQueue, batching, 1);
        assert_eq!(alone.latencies, [15 * MS]);
        let four = simulate(&[0, MS, 2 * MS, 3 * MS], &times, 1, Routing::OneQueue, batching, 1);
        assert_eq!(four.latencies, [13 * MS, 12 * MS, 11 * MS, 10 * MS], "full at 3 ms");
        assert_eq!(four.mean_batch, 4.0);
        // The fifth comes while the four are served, has waited enough, and goes alone.
        let arrivals = [0, 0, 0, 0, MS];
        let five = simulate(&arrivals, &times, 1, Routing::OneQueue, batching, 1);
        assert_eq!(five.latencies[4], 19 * MS);
    }

    #[test]
    fn every_request_is_answered_exactly_once_by_every_policy() {
        let arrivals = poisson(500.0, 10.0);
        let times = ServiceTimes::new([(1, vec![2 * MS, 20 * MS]), (8, vec![10 * MS, 40 * MS])]);
        for routing in Routing::ALL {
            for batching in [Batching::default(), Batching { most: 8, wait: 2 * MS }] {
                let found = simulate(&arrivals, &times, 5, routing, batching, 9);
                assert!(found.latencies.iter().all(|time| *time >= 2 * MS), "{routing}");
                assert_eq!(found, simulate(&arrivals, &times, 5, routing, batching, 9));
            }
        }
    }

    #[test]
    fn nothing_arrives_and_nothing_breaks() {
        let times = ServiceTimes::constant(MS);
        let found = simulate(&[], &times, 3, Routing::Random, Batching::default(), 1);
        assert!(found.latencies.is_empty() && found.utilisation == 0.0);
    }
}
