//! How busy this machine is while something is measured: processors, memory, GPUs.

use std::{
    fs,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Two readings of the processors lie at least so far apart.
const APART: Duration = Duration::from_millis(500);

/// One reading.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Reading {
    /// What is read, and what it is at.
    pub(crate) gauges: Vec<(String, f64, String)>,
}

#[derive(Debug)]
struct Last {
    at: Instant,
    ticks: Ticks,
    busy: Option<f64>,
}

#[derive(Debug, Clone, Copy)]
struct Ticks {
    busy: u64,
    all: u64,
}

/// Remembers the reading before, because a share of processors needs two.
#[derive(Debug, Default)]
pub(crate) struct Gauge(Mutex<Option<Last>>);

impl Gauge {
    pub(crate) fn read(&self) -> Reading {
        let mut gauges = Vec::new();
        if let Some(busy) = self.processors() {
            gauges.push(("processors".into(), busy, report::percent(busy)));
        }
        gauges.extend(memory());
        gauges.extend(gpus());
        Reading { gauges }
    }

    /// The share of all processors that was busy since the reading before.
    fn processors(&self) -> Option<f64> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = last.as_ref().filter(|known| known.at.elapsed() < APART) {
            return known.busy;
        }
        let ticks = ticks(&fs::read_to_string("/proc/stat").ok()?)?;
        let busy = last.as_ref().and_then(|before| {
            let all = ticks.all.checked_sub(before.ticks.all).filter(|all| *all > 0)?;
            Some(ticks.busy.saturating_sub(before.ticks.busy) as f64 / all as f64)
        });
        *last = Some(Last { at: Instant::now(), ticks, busy });
        busy
    }
}

/// The first line of `/proc/stat`: user, nice, system, idle, waiting for disks, and more.
fn ticks(text: &str) -> Option<Ticks> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let numbers: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
    // The last two, time of guests, are part of the first two.
    let all: u64 = numbers.iter().take(8).sum();
    let idle = numbers.get(3)? + numbers.get(4)?;
    Some(Ticks { busy: all.saturating_sub(idle), all })
}

fn memory() -> Option<(String, f64, String)> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let of = |name: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        Some(1024 * line.trim_start_matches(':').split_whitespace().next()?.parse::<u64>().ok()?)
    };
    let (all, free) = (of("MemTotal")?, of("MemAvailable")?);
    let used = all.saturating_sub(free);
    let text = format!("{} of {}", report::bytes(used), report::bytes(all));
    Some(("memory".into(), used as f64 / all.max(1) as f64, text))
}

/// What the driver says of every GPU; nothing where there is none.
fn gpus() -> Vec<(String, f64, String)> {
    let Ok(driver) = hardware::nvidia::driver() else { return Vec::new() };
    let count = driver.device_count().unwrap_or(0);
    let read = |index| {
        let device = driver.device_by_index(index).ok()?;
        let busy = f64::from(device.utilization_rates().ok()?.gpu) / 100.0;
        let memory = device.memory_info().ok()?;
        let mut text = format!(
            "{}, {} of {}",
            report::percent(busy),
            report::bytes(memory.used),
            report::bytes(memory.total)
        );
        if let Ok(milliwatts) = device.power_usage() {
            text += &format!(", {}", report::watts(f64::from(milliwatts) / 1e3));
        }
        let name = device.name().unwrap_or_else(|_| format!("GPU {index}"));
        Some((report::clean(&name), busy, text))
    };
    (0..count).filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_busy_processors_comes_from_two_readings() {
        let first = ticks("cpu  100 0 100 700 100 0 0 0 50 0\ncpu0 1 2 3 4\n").unwrap();
        assert_eq!((first.busy, first.all), (200, 1000));
        assert!(ticks("intr 5").is_none() && ticks("cpu 1 2").is_none());
        let (name, share, text) = memory().unwrap();
        assert!(name == "memory" && (0.0..=1.0).contains(&share) && text.contains(" of "));
        assert_eq!(Gauge::default().processors(), None, "one reading says nothing");
    }
}
