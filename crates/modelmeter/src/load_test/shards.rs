//! One load for several generators: who sends what, and all of it as one load again.

use super::Outcome;
use ::load::{Record, Source};
use endpoint::Job;
use types::{GeneratorReport, LoadPercentiles, LoadProgress, Seconds};

/// A job for each of so many generators. Of a schedule every one has each so-many-th request, of users its share of them.
pub(super) fn shards(job: &Job, generators: usize) -> Vec<Job> {
    let users = match job.source {
        Source::Closed { users } => users.max(1),
        _ => usize::MAX,
    };
    let count = generators.clamp(1, users.min(job.max_requests.max(1)));
    if count == 1 {
        return vec![job.clone()];
    }
    (0..count).map(|place| shard(job, place, count)).collect()
}

fn shard(job: &Job, place: usize, count: usize) -> Job {
    // As many as the first ones get more where it does not divide.
    let share = |all: usize| all / count + usize::from(place < all % count);
    let every = |list: &[u64]| list.iter().skip(place).step_by(count).copied().collect();
    let order: Vec<u32> = job.order.iter().skip(place).step_by(count).copied().collect();
    Job {
        source: match &job.source {
            Source::Open(moments) => Source::Open(every(moments)),
            Source::Closed { users } => Source::Closed { users: share(*users) },
            Source::Bursts { streams } => Source::Bursts { streams: *streams },
        },
        order: if order.is_empty() { job.order.clone() } else { order },
        max_requests: share(job.max_requests),
        max_in_flight: job.max_in_flight.map(|most| share(most).max(1)),
        backlog: job.backlog.map(|most| (most / count).max(1)),
        connections: share(job.connections).max(1),
        together: true,
        ..job.clone()
    }
}

/// What several generators did, as if it had been one: requests in the order of the schedule.
pub(super) fn merged(parts: Vec<Outcome>) -> Outcome {
    let mut records: Vec<Record> = Vec::new();
    let mut generator = GeneratorReport::default();
    let (mut overrun, mut stopped_at) = (false, None);
    for part in parts {
        records.extend(part.records);
        let one = part.generator;
        // The one that was nearest to its limit decides whether the load is valid.
        if one.share() >= generator.share() {
            generator.processor = one.processor;
            generator.elapsed = Seconds(one.elapsed.0.max(generator.elapsed.0));
        }
        generator.connections += one.connections;
        generator.generators += one.generators;
        overrun |= part.overrun;
        stopped_at = stopped_at.max(part.stopped_at);
    }
    records.sort_by_key(|record| record.scheduled);
    for (number, record) in records.iter_mut().enumerate() {
        record.request = u32::try_from(number).unwrap_or(u32::MAX);
    }
    Outcome { records, generator, overrun, stopped_at }
}

/// How all of them go, for a screen: counts together, and of times the worst, because percentiles cannot be added.
pub(super) fn together<'a>(parts: impl Iterator<Item = &'a LoadProgress>) -> LoadProgress {
    let mut all = LoadProgress::default();
    for one in parts {
        all.at = all.at.max(one.at);
        all.sent += one.sent;
        all.completed += one.completed;
        all.failed += one.failed;
        all.in_flight += one.in_flight;
        all.rate += one.rate;
        all.e2e = worst(all.e2e, one.e2e);
        all.ttft = worst(all.ttft, one.ttft);
        all.lag = worst(all.lag, one.lag);
    }
    all
}

fn worst(one: LoadPercentiles, other: LoadPercentiles) -> LoadPercentiles {
    LoadPercentiles {
        p50: one.p50.max(other.p50),
        p95: one.p95.max(other.p95),
        p99: one.p99.max(other.p99),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use endpoint::{Content, Target};
    use types::Protocol;

    fn job(source: Source) -> Job {
        Job {
            target: Target {
                address: "http://127.0.0.1:1".parse().unwrap(),
                protocol: Protocol::Http,
                streaming: false,
                headers: Vec::new(),
            },
            contents: vec![Content::default(); 3],
            order: vec![0, 1, 2, 0, 1],
            source,
            max_requests: 10,
            until: 1,
            drain: 1,
            timeout: 1,
            max_in_flight: Some(3),
            backlog: None,
            connections: 4,
            together: false,
            max_answer: 1,
        }
    }

    #[test]
    fn every_request_has_one_generator_and_keeps_its_moment_and_its_content() {
        let whole = job(Source::Open(vec![10, 20, 30, 40, 50]));
        let parts = shards(&whole, 2);
        assert_eq!(parts[0].source, Source::Open(vec![10, 30, 50]));
        assert_eq!(parts[1].source, Source::Open(vec![20, 40]));
        assert_eq!(
            (parts[0].order.as_slice(), parts[1].order.as_slice()),
            (&[0, 2, 1][..], &[1, 0][..])
        );
        assert_eq!((parts[0].max_in_flight, parts[1].max_in_flight), (Some(2), Some(1)));
        assert!(parts.iter().all(|part| part.together));
        assert_eq!(shards(&whole, 1), [whole]);
    }

    #[test]
    fn users_are_shared_and_none_is_left_without_a_generator() {
        let of = |users, generators| {
            let parts = shards(&job(Source::Closed { users }), generators);
            parts.into_iter().map(|part| part.source).collect::<Vec<_>>()
        };
        assert_eq!(of(3, 2), [Source::Closed { users: 2 }, Source::Closed { users: 1 }]);
        assert_eq!(of(1, 4), [Source::Closed { users: 1 }]);
    }

    #[test]
    fn parts_are_one_load_again() {
        let part = |moments: &[u64], processor| Outcome {
            records: moments.iter().map(|moment| Record::not_sent(0, *moment)).collect(),
            generator: GeneratorReport {
                processor: Seconds(processor),
                elapsed: Seconds(10.0),
                connections: 2,
                generators: 1,
            },
            overrun: false,
            stopped_at: None,
        };
        let all = merged(vec![part(&[10, 30], 1.0), part(&[20], 9.0)]);
        let seen: Vec<(u32, u64)> =
            all.records.iter().map(|one| (one.request, one.scheduled)).collect();
        assert_eq!(seen, [(0, 10), (1, 20), (2, 30)]);
        assert_eq!(
            (all.generator.share(), all.generator.connections, all.generator.generators),
            (0.9, 4, 2)
        );
    }
}
