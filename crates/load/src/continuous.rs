//! Replicas of a language model, simulated step by step: requests join a running batch when their prompt is read, and leave it
//! with their last token.
//!
//! A step is a prompt of one request, which comes first, or one more token for every running one, as in llama.cpp's server and in
//! others without chunked prompts.

use crate::{Length, Router, Routing, StepTimes};
use stats::Generator;
use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

/// How long requests are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lengths {
    /// Tokens of the prompt.
    pub prompt: Length,
    /// Tokens of the answer.
    pub answer: Length,
}

/// What a simulation came to: one entry a request, in the order of arrival, in nanoseconds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Generated {
    /// From arrival to the first token.
    pub first: Vec<u64>,
    /// From arrival to the last token.
    pub last: Vec<u64>,
    /// Between tokens, the mean of a request; `None` for one token.
    pub between: Vec<Option<u64>>,
    /// The share of the time in which replicas worked.
    pub utilisation: f64,
    /// Rows of a step of decoding, on average.
    pub mean_batch: f64,
}

struct Row {
    request: usize,
    depth: usize,
    left: usize,
}

enum Doing {
    Nothing,
    Prompt(usize),
    Step,
}

struct Replica {
    queue: usize,
    rows: Vec<Row>,
    doing: Doing,
}

struct Simulation<'a> {
    times: &'a StepTimes,
    most: usize,
    prompts: Vec<usize>,
    answers: Vec<usize>,
    queues: Vec<VecDeque<usize>>,
    replicas: Vec<Replica>,
    events: BinaryHeap<Reverse<(u64, usize)>>,
    generator: Generator,
    first: Vec<u64>,
    last: Vec<u64>,
    busy: u128,
    steps: u64,
    tokens: u64,
}

/// Simulates these arrivals (nanoseconds, in order) on so many replicas that run at most `most` requests at once.
#[must_use]
pub fn simulate_generation(
    arrivals: &[u64],
    times: &StepTimes,
    lengths: Lengths,
    replicas: usize,
    routing: Routing,
    most: usize,
    seed: u64,
) -> Generated {
    let replicas = replicas.max(1);
    let mut router = Router::new(routing, seed);
    let queues = router.queues(replicas);
    let mut generator = Generator::new(stats::mix(seed ^ 0x1e46));
    let mut draw = |length: Length| -> Vec<usize> {
        arrivals.iter().map(|_| length.draw(&mut generator)).collect()
    };
    let mut simulation = Simulation {
        times,
        most: most.max(1),
        prompts: draw(lengths.prompt),
        answers: draw(lengths.answer),
        queues: vec![VecDeque::new(); queues],
        replicas: (0..replicas)
            .map(|place| Replica { queue: place % queues, rows: Vec::new(), doing: Doing::Nothing })
            .collect(),
        events: BinaryHeap::new(),
        generator: Generator::new(seed),
        first: vec![0; arrivals.len()],
        last: vec![0; arrivals.len()],
        busy: 0,
        steps: 0,
        tokens: 0,
    };
    for (request, moment) in arrivals.iter().enumerate() {
        simulation.run_until(*moment);
        let queue = router.choose(queues, |queue| simulation.load(queue, replicas));
        simulation.queues[queue].push_back(request);
        let mut idle = (0..replicas).filter(|place| {
            let replica = &simulation.replicas[*place];
            replica.queue == queue && matches!(replica.doing, Doing::Nothing)
        });
        if let Some(place) = idle.next() {
            simulation.begin(place, *moment);
        }
    }
    simulation.run_until(u64::MAX);
    simulation.result(arrivals)
}

impl Simulation<'_> {
    /// Requests of a queue, and those that its replica works on.
    fn load(&self, queue: usize, replicas: usize) -> usize {
        let running = match self.queues.len() == replicas {
            true => {
                let replica = &self.replicas[queue];
                replica.rows.len() + usize::from(matches!(replica.doing, Doing::Prompt(_)))
            }
            false => 0,
        };
        self.queues[queue].len() + running
    }

    fn run_until(&mut self, moment: u64) {
        while let Some(Reverse((at, place))) = self.events.peek().copied() {
            if at > moment {
                break;
            }
            self.events.pop();
            self.end(place, at);
            self.begin(place, at);
        }
    }

    /// A prompt if one waits and there is room, else a token for everybody.
    fn begin(&mut self, place: usize, now: u64) {
        let replica = &mut self.replicas[place];
        let room = replica.rows.len() < self.most;
        let next = if room { self.queues[replica.queue].pop_front() } else { None };
        let time = match next {
            Some(request) => {
                replica.doing = Doing::Prompt(request);
                self.times.draw_prompt(self.prompts[request], &mut self.generator)
            }
            None if replica.rows.is_empty() => {
                replica.doing = Doing::Nothing;
                return;
            }
            None => {
                replica.doing = Doing::Step;
                let batch = replica.rows.len();
                let depth: usize = replica.rows.iter().map(|row| row.depth).sum();
                self.steps += 1;
                self.tokens += batch as u64;
                self.times.draw_step(batch, depth as f64 / batch as f64, &mut self.generator)
            }
        };
        self.busy += u128::from(time);
        self.events.push(Reverse((now.saturating_add(time), place)));
    }

    fn end(&mut self, place: usize, now: u64) {
        let replica = &mut self.replicas[place];
        match replica.doing {
            Doing::Nothing => {}
            Doing::Prompt(request) => {
                (self.first[request], self.last[request]) = (now, now);
                let left = self.answers[request] - 1;
                if left > 0 {
                    replica.rows.push(Row { request, depth: self.prompts[request], left });
                }
            }
            Doing::Step => {
                for row in &mut replica.rows {
                    row.depth += 1;
                    row.left -= 1;
                    self.last[row.request] = now;
                }
                replica.rows.retain(|row| row.left > 0);
            }
        }
    }

    fn result(self, arrivals: &[u64]) -> Generated {
        let since = |ends: &[u64]| -> Vec<u64> {
            ends.iter().zip(arrivals).map(|(end, from)| end.saturating_sub(*from)).collect()
        };
        let pairs = self.first.iter().zip(&self.last).zip(&self.answers);
        let between = pairs.map(|((first, last), tokens)| {
            let rest = (*tokens as u64).checked_sub(1).filter(|rest| *rest > 0)?;
            Some((last - first) / rest)
        });
        let begin = arrivals.first().copied().unwrap_or(0);
        let span = self.last.iter().max().map_or(0, |end| end.saturating_sub(begin));
        let offered = u128::from(span) * self.replicas.len() as u128;
        Generated {
            first: since(&self.first),
            last: since(&self.last),
            between: between.collect(),
            utilisation: if offered > 0 { self.busy as f64 / offered as f64 } else { 0.0 },
            mean_batch: self.tokens as f64 / self.steps.max(1) as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DecodeStep;

    const MS: u64 = 1_000_000;

    fn times() -> StepTimes {
        let step = |nanos| vec![DecodeStep { depth: 0, nanos }];
        StepTimes::new([(10, vec![100 * MS])], [(1, step(10 * MS)), (2, step(12 * MS))])
    }

    fn lengths(answer: usize) -> Lengths {
        Lengths { prompt: Length::exactly(10), answer: Length::exactly(answer) }
    }

    fn run(arrivals: &[u64], replicas: usize, most: usize) -> Generated {
        simulate_generation(arrivals, &times(), lengths(4), replicas, Routing::OneQueue, most, 1)
    }

    #[test]
    fn one_request_takes_its_prompt_and_its_steps() {
        let found = run(&[0], 1, 4);
        assert_eq!((found.first[0], found.last[0]), (100 * MS, 130 * MS));
        assert_eq!(found.between, [Some(10 * MS)]);
        assert!((found.utilisation - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_second_request_stops_the_first_for_its_prompt_and_then_runs_with_it() {
        let found = run(&[0, 105 * MS], 1, 4);
        // 100 first token; a step to 110; the other's prompt to 210; two steps of both to 234; the last one alone.
        assert_eq!(found.last[0], 234 * MS);
        assert_eq!(found.first[1], 105 * MS);
        assert_eq!(found.last[1], (244 - 105) * MS);
    }

    #[test]
    fn without_room_a_request_waits_and_with_another_replica_it_does_not() {
        let alone = run(&[0, 0], 1, 1);
        assert_eq!(alone.first, [100 * MS, 230 * MS]);
        assert_eq!(run(&[0, 0], 2, 1).first, [100 * MS, 100 * MS]);
        for routing in Routing::ALL {
            let arrivals: Vec<u64> = (0..500).map(|at| at * 40 * MS).collect();
            let found = simulate_generation(&arrivals, &times(), lengths(1), 3, routing, 2, 5);
            assert!(found.first.iter().all(|time| *time >= 100 * MS), "{routing}");
            assert!(found.between.iter().all(Option::is_none));
        }
    }
}
