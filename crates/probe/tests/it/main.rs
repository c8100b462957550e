//! Every probe on a real process that the test itself starts.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]

mod tracker;

use modelmeter_probe::{IdlePower, PROBES, Snapshot, Target, Watcher};
use std::{
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};
use types::{Device, Metric, ProbeReport};

#[global_allocator]
static ALLOCATOR: modelmeter_probe::TrackingAllocator = modelmeter_probe::TrackingAllocator;

const MIB: f64 = 1024.0 * 1024.0;

/// When set, this binary is not the test but the process it watches.
const ROLE: &str = "MODELMETER_PROBE_TEST_ROLE";

/// In its other role: 64 MiB that are really touched, then a loop that never rests.
#[test]
fn the_watched_process_takes_its_memory_and_ends_when_killed() {
    if std::env::var_os(ROLE).is_some() {
        work_for_ever();
    }
    let mut worker = Worker::start();
    worker.wait_for_memory();
    worker.0.kill().unwrap();
    assert_eq!(worker.0.wait().unwrap().code(), None, "ended by a signal, not by itself");
}

fn work_for_ever() -> ! {
    let mut memory = vec![0u8; 64 << 20];
    let mut value = 1u8;
    loop {
        for page in memory.iter_mut().step_by(4096) {
            value = value.wrapping_mul(3).wrapping_add(*page);
            *page = value;
        }
    }
}

/// Starts this same binary in the role of the watched process; ended when dropped.
struct Worker(Child);

impl Worker {
    fn start() -> Worker {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "the_watched_process_takes_its_memory_and_ends_when_killed"])
            .env(ROLE, "1")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Worker(child)
    }

    fn target(&self) -> Target {
        Target::new(self.0.id(), Device::Cpu)
    }

    /// Waits until the process really has its memory, so that no test depends on how fast it starts.
    fn wait_for_memory(&self) {
        let until = Instant::now() + Duration::from_secs(60);
        let path = format!("/proc/{}/statm", self.0.id());
        while Instant::now() < until {
            let pages = std::fs::read_to_string(&path)
                .ok()
                .and_then(|text| text.split_whitespace().nth(1)?.parse::<f64>().ok());
            if pages.is_some_and(|pages| pages * 4096.0 >= 64.0 * MIB) {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
        panic!("the watched process never took its memory");
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn report<'a>(reports: &'a [ProbeReport], probe: &str) -> &'a ProbeReport {
    reports.iter().find(|report| report.probe == probe).unwrap()
}

fn metric<'a>(reports: &'a [ProbeReport], probe: &str, key: &str) -> &'a Metric {
    let report = report(reports, probe);
    let found = report.metrics.iter().find(|metric| metric.key == key);
    found.unwrap_or_else(|| panic!("no {key} in {report:?}"))
}

/// The processor time the watched process was given, so that a busy machine cannot fail the test.
fn processor_seconds(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) / 100.0
}

#[test]
fn a_busy_process_with_64_mib_is_seen_as_one() {
    let worker = Worker::start();
    worker.wait_for_memory();
    let started = Instant::now();
    let watcher = Watcher::start(PROBES, &worker.target());
    let before = processor_seconds(worker.0.id());
    // Longer than a second of processor time, however the machine shares itself out.
    while processor_seconds(worker.0.id()) - before < 1.0 {
        assert!(started.elapsed() < Duration::from_secs(120), "the process is given no time");
        thread::sleep(Duration::from_millis(10));
    }
    let reports = watcher.stop();
    let elapsed = started.elapsed().as_secs_f64();

    assert!(metric(&reports, "memory", "memory.peak").value.unwrap() >= 64.0 * MIB);
    assert!(metric(&reports, "memory", "memory.average").value.unwrap() >= 64.0 * MIB);
    assert!(metric(&reports, "memory", "memory.anonymous").value.unwrap() >= 63.0 * MIB);
    assert!(metric(&reports, "memory", "memory.proportional").value.unwrap() >= 63.0 * MIB);
    let time = metric(&reports, "cpu", "cpu.process.time").value.unwrap();
    assert!(time >= 0.95, "{time}");
    let cores = metric(&reports, "cpu", "cpu.process.cores").value.unwrap();
    assert!(cores >= 0.9 / elapsed && cores <= 1.1, "{cores} in {elapsed} s");
    let machine = metric(&reports, "cpu", "cpu.machine.utilisation").value.unwrap();
    assert!(machine > 0.0 && machine <= 1.0, "{machine}");
    assert!(metric(&reports, "switches", "switches.involuntary").value.is_some());
    assert!(report(&reports, "memory").readings >= 3);
    assert!(report(&reports, "memory").cost > Duration::ZERO);
}

#[test]
fn every_probe_reports_in_the_order_of_the_list_and_nothing_is_silently_zero() {
    let worker = Worker::start();
    worker.wait_for_memory();
    let watcher = Watcher::start(PROBES, &worker.target());
    thread::sleep(Duration::from_millis(120));
    let reports = watcher.stop();
    let listed: Vec<&str> = PROBES.iter().map(|probe| probe.id()).collect();
    let reported: Vec<&str> = reports.iter().map(|report| report.probe.as_str()).collect();
    assert_eq!(listed, reported);
    let mut keys = std::collections::BTreeSet::new();
    for report in &reports {
        assert_eq!(report.unavailable.is_some(), report.metrics.is_empty(), "{report:?}");
        for metric in &report.metrics {
            assert_eq!(metric.value.is_none(), metric.why.is_some(), "{metric:?}");
            assert!(metric.value.is_none_or(f64::is_finite), "{metric:?}");
            assert!(keys.insert(metric.key.clone()), "{} is told twice", metric.key);
        }
    }
}

#[test]
fn a_killed_process_leaves_its_last_numbers_and_a_reason() {
    let mut worker = Worker::start();
    worker.wait_for_memory();
    let watcher = Watcher::start(PROBES, &worker.target());
    thread::sleep(Duration::from_millis(200));
    worker.0.kill().unwrap();
    worker.0.wait().unwrap();
    let reports = watcher.stop();
    for probe in ["cpu", "memory", "faults", "switches", "disk", "network"] {
        let rest = metric(&reports, probe, &format!("{probe}.rest"));
        let why = rest.why.as_deref().unwrap();
        assert!(why.contains(&worker.0.id().to_string()) && why.contains("last known"), "{why}");
    }
    assert!(metric(&reports, "memory", "memory.peak").value.unwrap() >= 64.0 * MIB);
    assert_eq!(metric(&reports, "memory", "memory.proportional").value, None);
}

#[test]
fn a_process_that_never_was_is_unavailable_and_the_machine_is_still_seen() {
    let mut worker = Worker::start();
    let target = worker.target();
    worker.0.kill().unwrap();
    worker.0.wait().unwrap();
    let watcher = Watcher::start(PROBES, &target);
    thread::sleep(Duration::from_millis(50));
    let reports = watcher.stop();
    for probe in ["cpu", "memory", "faults", "switches", "disk", "network", "cgroup"] {
        let why = report(&reports, probe).unavailable.as_deref();
        assert!(why.is_some_and(|why| why.contains("is not running")), "{probe}: {why:?}");
    }
    assert!(report(&reports, "load").unavailable.is_none());
    assert!(metric(&reports, "steal", "steal.share").value.is_some());
}

#[test]
fn a_machine_without_counters_has_no_idle_power_rather_than_zero() {
    let idle = IdlePower::measure(Device::Cpu, Duration::from_millis(30));
    assert!(idle.cpu.is_none_or(|watts| watts > 0.0));
    assert_eq!(idle.gpu, None, "the work is not on the GPU");
}

#[test]
fn conditions_around_a_run_hold_what_linux_always_tells() {
    let before = Snapshot::take();
    let worker = Worker::start();
    worker.wait_for_memory();
    thread::sleep(Duration::from_millis(50));
    let conditions = before.diff(&Snapshot::take(), &[worker.0.id()]);
    assert!(conditions.load_average.is_some());
    assert!(conditions.steal.is_some_and(|share| (0.0..=1.0).contains(&share)));
    assert!(conditions.memory_available.is_some_and(|bytes| bytes.0 > 0));
}
