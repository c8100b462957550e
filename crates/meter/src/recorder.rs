//! A recorder of a GPU's work in a worker: its folder, the variables that make the driver load it, and what it wrote.

use crate::Launch;
use engine::{NodeProfile, parts::RECORDER, private::TemporaryFolder};
use gpu::{Injection, NOBODY, PartedRun, Recording, Wish};
use std::{collections::HashMap, ffi::OsString};
use types::{Device, DeviceTurn, GpuProfile};

/// Python's hook is for programs of others.
const NOT_OURS: &str = "PYTHONPATH";

/// A worker's recorder.
pub(crate) struct Recorder {
    folder: TemporaryFolder,
}

/// What the recorder wrote down, turn by turn.
pub(crate) struct Recorded {
    runs: Vec<PartedRun>,
    recording: Recording,
}

impl Recorder {
    /// The same launch with a recorder; none where a device has no records, or the recorder cannot be written.
    pub(crate) fn attach(launch: &Launch, device: Device) -> Option<(Recorder, Launch)> {
        if !matches!(device, Device::Cuda(_)) || !launch.is_isolated() {
            return None;
        }
        Recorder::attach_to(launch)
    }

    pub(crate) fn attach_to(launch: &Launch) -> Option<(Recorder, Launch)> {
        let folder = TemporaryFolder::make().ok()?;
        let injection = Injection::unpack(folder.path()).ok()?;
        let wish = Wish { graphs: true, ..Wish::default() };
        let mut variables =
            injection.variables(folder.path(), &wish, |name| std::env::var_os(name));
        variables.retain(|(name, _)| name != NOT_OURS);
        variables.push((RECORDER.into(), injection.library().into()));
        Some((Recorder { folder }, with_variables(launch, &variables)))
    }

    /// What was written so far; none without the runs of a worker.
    pub(crate) fn read(&self) -> Option<Recorded> {
        let (recordings, _) = gpu::recordings(self.folder.path()).ok()?;
        // A worker may have helpers of its own.
        recordings.into_iter().find_map(|recording| {
            let runs = recording.parted_runs();
            (!runs.is_empty()).then_some(Recorded { runs, recording })
        })
    }
}

impl Recorded {
    /// Why the records cannot be used.
    pub(crate) fn problem(&self) -> Option<String> {
        let problems = self.recording.lasting_problems();
        problems.into_iter().find(|one| one.kind.spoils() || one.kind.blinds()).map(|one| one.text)
    }

    /// Puts the times of a turn beside its nodes: those of the device into the nodes, the rest into the answer. None if the
    /// device did nothing.
    pub(crate) fn turn(&self, turn: usize, profile: &mut NodeProfile) -> Option<DeviceTurn> {
        let numbers = profile.parts.take()?;
        let runs = || self.runs.iter().filter(move |run| run.turn == turn);
        let mut found = DeviceTurn {
            busy: runs().filter(|run| run.is_in_parts).map(|run| run.busy).collect(),
            idle: runs().filter(|run| !run.is_in_parts).map(PartedRun::idle).collect(),
            host: vec![0; numbers.len()],
        };
        let places: HashMap<u64, usize> =
            numbers.iter().enumerate().map(|(at, number)| (*number, at)).collect();
        let mut nobody = 0;
        for run in runs().filter(|run| run.is_in_parts) {
            for (number, time) in &run.parts {
                match places.get(number) {
                    Some(at) => {
                        profile.nodes[*at].nanos += time.device;
                        found.host[*at] += time.host;
                    }
                    None => nobody += time.device,
                }
            }
        }
        // Work that no module launched is the model's own.
        if nobody > 0 {
            profile.nodes.push(engine::NodeTime {
                path: String::new(),
                kind: "outside every module".into(),
                calls: profile.runs,
                nanos: nobody,
                phase: profile.nodes.first().and_then(|node| node.phase),
            });
            found.host.push(0);
        }
        found.busy.iter().any(|busy| *busy > 0).then_some(found)
    }

    /// What the device did in the last turn; `numbers` and `paths` are those of its nodes.
    pub(crate) fn profile(&self, numbers: &[u64], paths: &[String]) -> Option<GpuProfile> {
        let places: HashMap<u64, usize> =
            numbers.iter().enumerate().map(|(at, number)| (*number, at)).collect();
        self.recording.last_turn(|number| {
            if number == NOBODY {
                return None;
            }
            let path = paths.get(*places.get(&number)?)?;
            Some(if path.is_empty() { "(model)".to_owned() } else { path.clone() })
        })
    }
}

fn with_variables(launch: &Launch, more: &[(OsString, OsString)]) -> Launch {
    match launch.clone() {
        Launch::Process { program, arguments, mut environment } => {
            environment.retain(|(name, _)| !more.iter().any(|(other, _)| other == name));
            environment.extend_from_slice(more);
            Launch::Process { program, arguments, environment }
        }
        Launch::Limited { launch, limit } => {
            Launch::Limited { launch: Box::new(with_variables(&launch, more)), limit }
        }
        thread => thread,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpu::PartTime;

    fn run(turn: usize, is_in_parts: bool, parts: &[(u64, u64, u64)]) -> PartedRun {
        let time = |device, host| PartTime { device, host, pieces: 1 };
        let parts: HashMap<u64, PartTime> =
            parts.iter().map(|(number, device, host)| (*number, time(*device, *host))).collect();
        let busy = parts.values().map(|part| part.device).sum();
        PartedRun { turn, is_in_parts, length: 100, busy, parts }
    }

    fn node(path: &str) -> engine::NodeTime {
        engine::NodeTime {
            path: path.into(),
            kind: "Linear".into(),
            calls: 2,
            nanos: 0,
            phase: None,
        }
    }

    #[test]
    fn a_turn_takes_the_devices_time_and_keeps_the_hosts_beside_it() {
        let runs = vec![
            run(0, true, &[(4, 99, 99)]),
            run(1, false, &[(NOBODY, 60, 0)]),
            run(1, true, &[(0, 10, 5), (4, 30, 20)]),
            run(1, true, &[(0, 10, 5), (4, 31, 20), (NOBODY, 3, 7)]),
        ];
        let recorded = Recorded { runs, recording: Recording::default() };
        let nodes = vec![node(""), node("layer")];
        let mut profile = NodeProfile { nodes, parts: Some(vec![0, 4]), ..NodeProfile::default() };
        let turn = recorded.turn(1, &mut profile).unwrap();
        assert_eq!((turn.busy, turn.idle, turn.host), (vec![40, 44], vec![40], vec![10, 40, 0]));
        let times: Vec<u64> = profile.nodes.iter().map(|node| node.nanos).collect();
        assert_eq!(times, [20, 61, 3], "what no module launched is told too");
        assert!(recorded.turn(7, &mut profile).is_none());
    }
}
