//! How long a command will take, said before it starts.

use crate::{Profiler, prepare::Prepared};
use std::time::Duration;
use types::{Event, Warmup};

/// Three windows of warm-up, the fewest that show whether it settled.
const SHORTEST_WARMUP: Duration = Duration::from_millis(180);

impl Profiler {
    /// How long processes with this rule take together: at least, and at most where something limits it. Loading is not
    /// part of it, because nothing is known of it yet.
    #[must_use]
    pub fn forecast(&self, what: impl Into<String>, processes: usize) -> Event {
        let rule = &self.rule;
        let (shortest, longest) = match rule.warmup {
            Warmup::Settle { cap } => (SHORTEST_WARMUP.min(cap), Some(cap)),
            Warmup::Runs { .. } => (Duration::ZERO, None),
        };
        let processes = u32::try_from(processes).unwrap_or(u32::MAX);
        let all = |each: Duration| each.saturating_mul(processes);
        let limit = Some(rule.max_duration).filter(|limit| *limit != Duration::MAX);
        Event::Forecast {
            what: what.into(),
            least: all(rule.min_duration + shortest),
            most: limit.zip(longest).map(|(limit, warmup)| all(limit.saturating_add(warmup))),
        }
    }
}

/// How long one process and one inference take, as one process showed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    start: Duration,
    each: Duration,
}

/// Runs the model a few times to see how long that takes; `None` if it does not run.
pub(crate) fn see(
    profiler: &Profiler,
    ready: &Prepared,
    sink: &mut dyn FnMut(Event),
) -> Option<Seen> {
    let launch = profiler.launch(ready).ok()?;
    let refine = |seen: &[(String, Vec<usize>)]| ready.count_again(seen);
    let job = ready.job(&refine);
    let tried = meter::rehearse(&job, &launch, profiler.rule.timeout, sink).ok()?;
    Some(Seen { start: tried.start, each: tried.each })
}

impl Seen {
    /// How long a process of a side takes that starts, warms up for so many runs and has so many turns.
    pub(crate) fn process(&self, warmup: u64, turns: u32, turn: Duration) -> Duration {
        // A turn has three samples at least, and a first inference that is not counted.
        let turn = turn.max(self.each * 3) + self.each;
        self.start + self.each * u32::try_from(warmup).unwrap_or(u32::MAX) + turn * turns
    }

    /// How long a process takes that runs once, to show its outputs.
    pub(crate) fn once(&self) -> Duration {
        self.start + self.each
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_bounds_the_time_from_both_sides() {
        let Event::Forecast { least, most, .. } = Profiler::new("m").forecast("x", 10) else {
            panic!("another event")
        };
        assert_eq!(least, Duration::from_millis(31_800));
        assert_eq!(most, Some(Duration::from_secs(400)));
        let runs = Profiler::new("m").runs(5).forecast("x", 10);
        assert!(matches!(runs, Event::Forecast { most: None, .. }), "{runs:?}");
    }

    #[test]
    fn a_process_is_its_start_its_warm_up_and_its_turns() {
        let seen = Seen { start: Duration::from_secs(1), each: Duration::from_millis(200) };
        let turn = Duration::from_millis(400);
        assert_eq!(seen.process(3, 2, turn), Duration::from_millis(1000 + 600 + 1600));
    }
}
