//! Energy of the processor packages, from the counters that Intel's and AMD's processors keep.

use crate::{
    energy::{self, Counted},
    procfs::{read_number, read_text},
    socket::{Probe, Target, Watch, require_linux},
};
use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use types::Metric;

/// The counters are renewed about every millisecond (Intel's Software Developer's Manual, volume 3, RAPL).
const COUNTER_PERIOD: Duration = Duration::from_millis(1);

/// A package's counter wraps after many minutes; a reading a second cannot miss a turn.
const READING_PERIOD: Duration = Duration::from_secs(1);

/// See [`Probe::describe`].
pub(crate) struct Rapl;

impl Probe for Rapl {
    fn id(&self) -> &'static str {
        "rapl"
    }

    fn describe(&self) -> &'static str {
        "energy of all processor packages, including other programs, above idle if idle power was measured; without \
         memory, disks and power supply"
    }

    fn availability(&self, _target: &Target) -> Result<(), String> {
        require_linux()?;
        packages(Path::new("/")).map(|_| ())
    }

    fn start(&self, target: &Target) -> Result<Box<dyn Watch>, String> {
        Ok(Box::new(RaplWatch { meter: Meter::open()?, idle: target.idle.cpu }))
    }
}

/// One package's counter.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Package {
    folder: PathBuf,
    /// Microjoules at which the counter starts again from zero.
    range: u64,
    last: u64,
}

/// The package domains; their parts (`core`, `dram`) lie below them and `psys` holds them all.
fn packages(root: &Path) -> Result<Vec<Package>, String> {
    let powercap = root.join("sys/class/powercap");
    let mut packages = Vec::new();
    let mut denied = None;
    for entry in fs::read_dir(&powercap).into_iter().flatten().flatten() {
        let folder = entry.path();
        let is_domain =
            entry.file_name().to_str().is_some_and(|name| name.starts_with("intel-rapl:"));
        let is_package = is_domain
            && fs::read_to_string(folder.join("name"))
                .is_ok_and(|name| name.starts_with("package"));
        if !is_package {
            continue;
        }
        match read_text(folder.join("energy_uj")) {
            Ok(text) => {
                let last = text
                    .trim()
                    .parse()
                    .map_err(|_| "`energy_uj` does not contain a number".to_owned())?;
                let range = read_number(folder.join("max_energy_range_uj")).unwrap_or(u64::MAX);
                packages.push(Package { folder, range, last });
            }
            Err(why) => denied = Some(why),
        }
    }
    packages.sort_by(|one, other| one.folder.cmp(&other.folder));
    match (packages.is_empty(), denied) {
        (_, Some(why)) => {
            Err(format!("{why}; run as root, or `chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj`"))
        }
        (true, None) => Err(
            "no package energy counter under `/sys/class/powercap`; virtual machines rarely have one, elsewhere load the module `intel_rapl_msr`".to_owned(),
        ),
        (false, None) => Ok(packages),
    }
}

/// What a counter moved on, also over the point where it starts again from zero.
fn advance(before: u64, now: u64, range: u64) -> u64 {
    if now >= before { now - before } else { range.saturating_sub(before) + now }
}

/// The packages' counters since they were opened.
pub(crate) struct Meter {
    packages: Vec<Package>,
    microjoules: u64,
    started: Instant,
    failed: Option<String>,
}

impl Meter {
    pub(crate) fn open() -> Result<Meter, String> {
        let packages = packages(Path::new("/"))?;
        Ok(Meter { packages, microjoules: 0, started: Instant::now(), failed: None })
    }

    fn read(&mut self) {
        for package in &mut self.packages {
            match read_number(package.folder.join("energy_uj")) {
                Some(now) => {
                    self.microjoules += advance(package.last, now, package.range);
                    package.last = now;
                }
                None => {
                    let path = package.folder.join("energy_uj");
                    self.failed = Some(format!("`{}` could not be read any more", path.display()));
                }
            }
        }
    }

    pub(crate) fn finish(mut self) -> Result<Counted, String> {
        self.read();
        let window = self.started.elapsed();
        match self.failed {
            Some(why) => Err(why),
            None => Counted::check(self.microjoules as f64 / 1e6, window, COUNTER_PERIOD),
        }
    }
}

struct RaplWatch {
    meter: Meter,
    idle: Option<f64>,
}

impl Watch for RaplWatch {
    fn period(&self) -> Option<Duration> {
        Some(READING_PERIOD)
    }

    fn read(&mut self) {
        self.meter.read();
    }

    fn stop(self: Box<Self>) -> Vec<Metric> {
        energy::metrics("cpu", self.meter.finish(), self.idle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_starts_again_from_zero_loses_nothing() {
        assert_eq!(advance(10, 25, 100), 15);
        assert_eq!(advance(90, 5, 100), 15);
        assert_eq!(advance(7, 7, 100), 0);
    }

    fn domain(root: &Path, folder: &str, name: &str, energy: &str) {
        let folder = root.join("sys/class/powercap").join(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("name"), name).unwrap();
        fs::write(folder.join("energy_uj"), energy).unwrap();
        fs::write(folder.join("max_energy_range_uj"), "262143328850\n").unwrap();
    }

    #[test]
    fn only_packages_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        assert!(packages(folder.path()).unwrap_err().contains("no package energy counter"));
        domain(folder.path(), "intel-rapl:0", "package-0\n", "500\n");
        domain(folder.path(), "intel-rapl:0:0", "core\n", "200\n");
        domain(folder.path(), "intel-rapl:1", "psys\n", "900\n");
        domain(folder.path(), "intel-rapl-mmio:0", "package-0\n", "500\n");
        let found = packages(folder.path()).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].last, found[0].range), (500, 262143328850));
    }

    #[test]
    fn a_counter_that_cannot_be_read_says_how_to_open_it() {
        let folder = tempfile::tempdir().unwrap();
        domain(folder.path(), "intel-rapl:0", "package-0\n", "500\n");
        let counter = folder.path().join("sys/class/powercap/intel-rapl:0/energy_uj");
        // Unreadable also for root, whom permissions do not stop.
        fs::remove_file(&counter).unwrap();
        fs::create_dir(&counter).unwrap();
        let why = packages(folder.path()).unwrap_err();
        assert!(why.contains("energy_uj") && why.contains("chmod"), "{why}");
    }
}
