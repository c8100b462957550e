//! What slowed devices down between two moments: throttled clocks, and other processes on a GPU.

use crate::{nvml, pid_namespace, procfs::descendants, throttling};
use std::path::Path;
use types::{GpuState, Throttle};

/// The counters of throttling and the state of the GPUs at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceState {
    throttle: Result<throttling::Events, String>,
    gpus: Vec<GpuState>,
}

/// What held between two moments.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeviceConditions {
    /// Throttling of the processors' clocks.
    pub throttle: Throttle,
    /// GPUs: clocks and temperature after, throttle reasons of both ends, processes that are not ours.
    pub gpus: Vec<GpuState>,
}

impl DeviceState {
    /// The state of processors and GPUs now.
    #[must_use]
    pub fn take() -> DeviceState {
        DeviceState { gpus: nvml::states(), ..DeviceState::of_processors() }
    }

    /// The same without a look at the GPUs, for work that uses none.
    #[must_use]
    pub fn of_processors() -> DeviceState {
        let throttle = match cfg!(target_os = "linux") {
            true => throttling::events(Path::new("/")),
            false => Err("only Linux counts throttling".to_owned()),
        };
        DeviceState { throttle, gpus: Vec::new() }
    }

    /// What held until a later moment, where this one was before any process of ours started.
    #[must_use]
    pub fn until(&self, later: &DeviceState, ours: &[u32]) -> DeviceConditions {
        let seen = match pid_namespace::is_hosts_own() {
            true => Seen::BothEnds,
            false => Seen::Before,
        };
        self.between(later, ours, seen)
    }

    /// What held until a later moment, where processes of ours ran at both.
    ///
    /// In a container the driver's process ids are not ours, so nobody can tell which of them are others.
    #[must_use]
    pub fn until_among(&self, later: &DeviceState, ours: &[u32]) -> DeviceConditions {
        let seen = match pid_namespace::is_hosts_own() {
            true => Seen::BothEnds,
            false => Seen::Never,
        };
        self.between(later, ours, seen)
    }

    fn between(&self, later: &DeviceState, ours: &[u32], seen: Seen) -> DeviceConditions {
        DeviceConditions {
            throttle: throttle(&self.throttle, &later.throttle),
            gpus: gpus(&self.gpus, &later.gpus, &family(ours, &later.gpus), seen),
        }
    }
}

impl DeviceConditions {
    /// Both together: the later clocks and temperatures, and what was against either.
    #[must_use]
    pub fn and(mut self, later: DeviceConditions) -> DeviceConditions {
        self.throttle = match (self.throttle.events, later.throttle.events) {
            (Some(one), Some(two)) => Throttle { events: Some(one + two), why: None },
            (None, _) => self.throttle,
            (_, None) => later.throttle,
        };
        if !later.gpus.is_empty() {
            self.gpus = gpus(&self.gpus, &later.gpus, &[], Seen::BothEnds);
        }
        self
    }

    /// The same with other processes that only the whole round shows, because its beginning was before ours.
    #[must_use]
    pub fn with_others_of(mut self, round: &[GpuState]) -> DeviceConditions {
        if self.gpus.is_empty() {
            self.gpus = round.to_vec();
        } else if !pid_namespace::is_hosts_own() {
            for state in &mut self.gpus {
                let whole = round.iter().find(|whole| whole.index == state.index);
                state.other_processes =
                    whole.map(|whole| whole.other_processes.clone()).unwrap_or_default();
            }
        }
        self
    }
}

/// At which end the driver's list of processes tells others from ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    BothEnds,
    Before,
    Never,
}

/// Ours with all that they started; nobody needs it where no GPU is.
fn family(ours: &[u32], gpus: &[GpuState]) -> Vec<u32> {
    match gpus.is_empty() {
        true => Vec::new(),
        false => ours.iter().flat_map(|pid| [*pid].into_iter().chain(descendants(*pid))).collect(),
    }
}

fn throttle(
    before: &Result<throttling::Events, String>,
    after: &Result<throttling::Events, String>,
) -> Throttle {
    match (before, after) {
        (Ok(before), Ok(after)) => {
            Throttle { events: Some(after.since(*before).total()), why: None }
        }
        (Err(why), _) | (_, Err(why)) => Throttle { events: None, why: Some(why.clone()) },
    }
}

/// Joins both ends.
fn gpus(before: &[GpuState], after: &[GpuState], ours: &[u32], seen: Seen) -> Vec<GpuState> {
    let mut joined = Vec::new();
    for state in if after.is_empty() { before } else { after } {
        let mut state = state.clone();
        if seen != Seen::BothEnds {
            state.other_processes.clear();
        }
        if let Some(earlier) = before.iter().find(|earlier| earlier.index == state.index) {
            if seen != Seen::Never {
                state.other_processes.extend(&earlier.other_processes);
            }
            state.throttle_reasons.extend(earlier.throttle_reasons.iter().cloned());
        }
        state.other_processes.retain(|pid| !ours.contains(pid));
        state.other_processes.sort_unstable();
        state.other_processes.dedup();
        state.throttle_reasons.sort_unstable();
        state.throttle_reasons.dedup();
        joined.push(state);
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::ThrottleReason;

    fn card(other_processes: &[u32], reasons: &[&str]) -> GpuState {
        GpuState {
            other_processes: other_processes.to_vec(),
            throttle_reasons: reasons.iter().map(|reason| (*reason).to_owned().into()).collect(),
            ..GpuState::default()
        }
    }

    #[test]
    fn our_own_processes_are_not_others() {
        let (before, after) = (card(&[5], &["gpu idle"]), card(&[5, 9, 12], &["sw power cap"]));
        let joined = gpus(&[before], &[after], &[9], Seen::BothEnds);
        assert_eq!(joined[0].other_processes, [5, 12]);
        assert_eq!(
            joined[0].throttle_reasons,
            [ThrottleReason::GpuIdle, ThrottleReason::SwPowerCap]
        );
    }

    #[test]
    fn in_a_container_only_those_before_the_worker_are_surely_others() {
        let (before, after) = ([card(&[77], &[])], [card(&[77, 4242], &[])]);
        assert_eq!(gpus(&before, &after, &[9], Seen::Before)[0].other_processes, [77]);
        assert!(gpus(&before, &after, &[9], Seen::Never)[0].other_processes.is_empty());
    }

    #[test]
    fn throttling_that_cannot_be_counted_is_not_zero() {
        let counted = throttle(&Err("why".into()), &Err("why".into()));
        assert_eq!((counted.events, counted.why.as_deref()), (None, Some("why")));
    }

    #[test]
    fn windows_add_up_and_keep_what_was_against_either() {
        let window = |events, gpu| DeviceConditions {
            throttle: Throttle { events, why: None },
            gpus: vec![gpu],
        };
        let hot = window(Some(3), card(&[], &["sw thermal slowdown"]));
        let shared = window(Some(4), card(&[12], &[]));
        let both = hot.clone().and(shared);
        assert_eq!(both.throttle.events, Some(7));
        assert_eq!(both.gpus[0].other_processes, [12]);
        assert_eq!(both.gpus[0].throttle_reasons, [ThrottleReason::SwThermalSlowdown]);
        // What nobody counted is not a zero.
        let unknown = DeviceConditions {
            throttle: Throttle { events: None, why: Some("not counted".into()) },
            gpus: Vec::new(),
        };
        let sum = hot.and(unknown);
        assert_eq!((sum.throttle.events, sum.gpus.len()), (None, 1));
    }
}
