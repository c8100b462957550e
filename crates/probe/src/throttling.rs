//! How often the processors were held back because they were too hot.

use crate::{
    procfs::read_number,
    socket::{Probe, Target, Watch, require_linux},
};
use std::{fs, path::Path, time::Duration};
use types::{Direction, Metric, Unit};

/// See [`Probe::describe`].
pub(crate) struct Throttling;

impl Probe for Throttling {
    fn id(&self) -> &'static str {
        "throttling"
    }

    fn describe(&self) -> &'static str {
        "thermal throttle events of cores and packages, counted by Intel processors"
    }

    fn availability(&self, _target: &Target) -> Result<(), String> {
        require_linux()?;
        events(Path::new("/")).map(|_| ())
    }

    fn start(&self, _target: &Target) -> Result<Box<dyn Watch>, String> {
        Ok(Box::new(ThrottlingWatch { first: events(Path::new("/"))? }))
    }
}

/// Events since boot, over all processors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Events {
    core: u64,
    package: u64,
}

impl Events {
    /// How many there were since `earlier`.
    pub(crate) fn since(self, earlier: Events) -> Events {
        Events {
            core: self.core.saturating_sub(earlier.core),
            package: self.package.saturating_sub(earlier.package),
        }
    }

    pub(crate) fn total(self) -> u64 {
        self.core + self.package
    }
}

pub(crate) fn events(root: &Path) -> Result<Events, String> {
    let mut events = Events::default();
    let mut found = false;
    for entry in fs::read_dir(root.join("sys/devices/system/cpu")).into_iter().flatten().flatten() {
        let folder = entry.path().join("thermal_throttle");
        if let Some(count) = read_number(folder.join("core_throttle_count")) {
            events.core += count;
            found = true;
        }
        // Every processor of a package shows the package's count.
        if let Some(count) = read_number(folder.join("package_throttle_count")) {
            events.package = events.package.max(count);
            found = true;
        }
    }
    if found {
        Ok(events)
    } else {
        Err("this processor does not count throttling (no `thermal_throttle` under `/sys/devices/system/cpu/cpu0`); usual for virtual machines and processors that are not Intel's".to_owned())
    }
}

struct ThrottlingWatch {
    first: Events,
}

impl Watch for ThrottlingWatch {
    fn period(&self) -> Option<Duration> {
        None
    }

    fn read(&mut self) {}

    fn stop(self: Box<Self>) -> Vec<Metric> {
        let window = events(Path::new("/")).map(|now| now.since(self.first));
        let metric = |key: &str, count: Result<u64, String>| match count {
            Ok(count) => Metric::measured(key, Unit::Count, Direction::Lower, count as f64),
            Err(why) => Metric::missing(key, Unit::Count, Direction::Lower, why),
        };
        vec![
            metric("throttling.core.events", window.clone().map(|events| events.core)),
            metric("throttling.package.events", window.map(|events| events.package)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_added_up_and_a_package_is_counted_once() {
        let folder = tempfile::tempdir().unwrap();
        assert!(events(folder.path()).is_err());
        for cpu in 0..2 {
            let path =
                folder.path().join(format!("sys/devices/system/cpu/cpu{cpu}/thermal_throttle"));
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join("core_throttle_count"), "3\n").unwrap();
            fs::write(path.join("package_throttle_count"), "5\n").unwrap();
        }
        let found = events(folder.path()).unwrap();
        assert_eq!(found, Events { core: 6, package: 5 });
        assert_eq!(found.since(Events { core: 2, package: 5 }).total(), 4);
    }
}
