//! An NVIDIA GPU: utilisation, memory, power, energy, clocks, temperature, throttling, and who else uses it.

use crate::{
    energy::{self, Counted},
    heat::Heat,
    pid_namespace,
    readings::{Readings, average, largest},
    socket::{Probe, Target, Watch},
};
use nvml_wrapper::{
    Device as Card,
    bitmasks::device::ThrottleReasons,
    enum_wrappers::device::{Clock, TemperatureSensor, TemperatureThreshold},
    enums::device::UsedGpuMemory,
    error::NvmlError,
};
use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};
use types::{Device, Direction, GpuState, Metric, ThrottleReason, Unit};

/// A round of questions takes the driver a millisecond or so; ten rounds per second are enough for an average.
const READING_PERIOD: Duration = Duration::from_millis(100);

/// How often the driver renews its energy counter: every 97 to 102 ms when watched on an H200 (driver 580).
const COUNTER_PERIOD: Duration = Duration::from_millis(100);

/// See [`Probe::describe`].
pub(crate) struct Gpu;

impl Probe for Gpu {
    fn id(&self) -> &'static str {
        "gpu"
    }

    fn describe(&self) -> &'static str {
        "an NVIDIA GPU as its driver sees it: utilisation, memory, power, energy above idle, clocks, temperature, throttling and other processes"
    }

    fn availability(&self, target: &Target) -> Result<(), String> {
        card(target.device).map(|_| ())
    }

    fn start(&self, target: &Target) -> Result<Box<dyn Watch>, String> {
        let card = card(target.device)?;
        let mut watch = GpuWatch {
            target: target.clone(),
            meter: Meter::open(target.device),
            card,
            seen: Seen::default(),
        };
        watch.read();
        Ok(Box::new(watch))
    }
}

/// The card that the device names, the first where the work runs elsewhere.
///
/// The index is the driver's own; a program that reorders the cards for itself may mean another by it.
fn card(device: Device) -> Result<Card<'static>, String> {
    let driver = hardware::nvidia::driver()?;
    let index = match device {
        Device::Rocm(_) | Device::Migraphx(_) => return Err("the work runs on an AMD GPU".into()),
        Device::Cuda(index) => index,
        _ => 0,
    };
    driver
        .device_by_index(index)
        .map_err(|error| format!("the NVIDIA driver has no GPU {index} ({error})"))
}

/// The energy counter of a card since it was opened.
pub(crate) struct Meter {
    card: Card<'static>,
    first: u64,
    started: Instant,
}

impl Meter {
    /// Only for work on the card itself: what it draws meanwhile is not the work's.
    pub(crate) fn open(device: Device) -> Result<Meter, String> {
        if !matches!(device, Device::Cuda(_)) {
            return Err(format!("the work runs on `{device}`, not on this GPU"));
        }
        let card = card(device)?;
        let first = card.total_energy_consumption().map_err(refused("energy counter"))?;
        Ok(Meter { card, first, started: Instant::now() })
    }

    pub(crate) fn finish(&self) -> Result<Counted, String> {
        let last = self.card.total_energy_consumption().map_err(refused("energy counter"))?;
        let joules = last.saturating_sub(self.first) as f64 / 1e3;
        Counted::check(joules, self.started.elapsed(), COUNTER_PERIOD)
    }
}

fn refused(what: &str) -> impl Fn(NvmlError) -> String {
    move |error| format!("the driver does not report {what} ({error})")
}

/// Everything that was read.
#[derive(Default)]
struct Seen {
    utilisation: Readings,
    memory_utilisation: Readings,
    memory_used: Readings,
    memory_total: Readings,
    memory_process: Readings,
    power: Readings,
    clock_graphics: Readings,
    clock_memory: Readings,
    temperature: Readings,
    throttled: Readings,
    other_processes: BTreeSet<u32>,
    other_processes_why: Option<String>,
}

struct GpuWatch {
    target: Target,
    card: Card<'static>,
    meter: Result<Meter, String>,
    seen: Seen,
}

impl Watch for GpuWatch {
    fn period(&self) -> Option<Duration> {
        Some(READING_PERIOD)
    }

    fn read(&mut self) {
        let (card, seen) = (&self.card, &mut self.seen);
        let rates = card.utilization_rates().map_err(refused("utilisation"));
        seen.utilisation.push(rates.clone().map(|rates| f64::from(rates.gpu) / 100.0));
        seen.memory_utilisation.push(rates.map(|rates| f64::from(rates.memory) / 100.0));
        let memory = card.memory_info().map_err(refused("memory"));
        seen.memory_used.push(memory.clone().map(|memory| memory.used as f64));
        seen.memory_total.push(memory.map(|memory| memory.total as f64));
        let milliwatts = card.power_usage().map_err(refused("power"));
        seen.power.push(milliwatts.map(|milliwatts| f64::from(milliwatts) / 1e3));
        seen.clock_graphics.push(clock(card, Clock::SM));
        seen.clock_memory.push(clock(card, Clock::Memory));
        seen.temperature.push(temperature(card));
        let reasons = card.current_throttle_reasons().map_err(refused("throttle reasons"));
        seen.throttled.push(reasons.map(|reasons| if held_back(reasons) { 1.0 } else { 0.0 }));
        self.read_processes();
    }

    fn stop(mut self: Box<Self>) -> Vec<Metric> {
        self.read();
        let Seen { other_processes, other_processes_why, .. } = &self.seen;
        let seen = &self.seen;
        let mut metrics = match &self.meter {
            Ok(meter) => energy::metrics("gpu", meter.finish(), self.target.idle.gpu),
            Err(why) => energy::metrics("gpu", Err(why.clone()), self.target.idle.gpu),
        };
        metrics.extend([
            seen.power.metric("gpu.power.sampled", Unit::Watts, average),
            seen.utilisation.metric("gpu.utilisation", Unit::Ratio, average),
            seen.memory_utilisation.metric("gpu.memory.utilisation", Unit::Ratio, average),
            seen.memory_used.metric("gpu.memory.used", Unit::Bytes, largest),
            seen.memory_total.metric("gpu.memory.total", Unit::Bytes, largest),
            seen.memory_process.metric("gpu.memory.process", Unit::Bytes, largest),
            seen.clock_graphics.metric("gpu.clock.sm", Unit::Hertz, average),
            seen.clock_memory.metric("gpu.clock.memory", Unit::Hertz, average),
            seen.temperature.metric("gpu.temperature", Unit::Celsius, largest),
            seen.throttled.metric("gpu.throttled.share", Unit::Ratio, average),
            match other_processes_why {
                None => {
                    let count = other_processes.len() as f64;
                    Metric::measured("gpu.others", Unit::Count, Direction::Lower, count)
                }
                Some(why) => {
                    Metric::missing("gpu.others", Unit::Count, Direction::Lower, why.as_str())
                }
            },
        ]);
        metrics
    }
}

impl GpuWatch {
    /// Who holds memory on the card: the target by its id, everyone else as others.
    fn read_processes(&mut self) {
        let seen = &mut self.seen;
        let processes = match processes(&self.card) {
            Ok(processes) => processes,
            Err(why) => {
                seen.memory_process.push(Err(why.clone()));
                seen.other_processes_why = Some(why);
                return;
            }
        };
        let ours = processes.iter().find(|(pid, _)| *pid == self.target.pid);
        seen.memory_process.push(match ours {
            Some((_, Some(bytes))) => Ok(*bytes as f64),
            Some((_, None)) => Err("the driver does not report memory by process".to_owned()),
            None if pid_namespace::is_hosts_own() => {
                Err(format!("process {} holds no memory on this GPU", self.target.pid))
            }
            None => Err("inside a container the driver does not know our process ids".to_owned()),
        });
        if pid_namespace::is_hosts_own() {
            seen.other_processes.extend(
                processes.iter().map(|(pid, _)| *pid).filter(|pid| *pid != self.target.pid),
            );
        } else {
            seen.other_processes_why =
                Some("inside a container the driver does not know our process ids".to_owned());
        }
    }
}

/// Every process that holds the card, with the memory it holds where the driver tells.
fn processes(card: &Card<'_>) -> Result<Vec<(u32, Option<u64>)>, String> {
    let mut processes = card.running_compute_processes().map_err(refused("list of processes"))?;
    processes.extend(card.running_graphics_processes().unwrap_or_default());
    let mut found: Vec<(u32, Option<u64>)> = processes
        .into_iter()
        .map(|process| match process.used_gpu_memory {
            UsedGpuMemory::Used(bytes) => (process.pid, Some(bytes)),
            UsedGpuMemory::Unavailable => (process.pid, None),
        })
        .collect();
    found.sort_unstable();
    found.dedup_by_key(|(pid, _)| *pid);
    Ok(found)
}

fn clock(card: &Card<'_>, which: Clock) -> Result<f64, String> {
    let megahertz = card.clock_info(which).map_err(refused("clock"))?;
    Ok(f64::from(megahertz) * 1e6)
}

fn temperature(card: &Card<'_>) -> Result<f64, String> {
    card.temperature(TemperatureSensor::Gpu).map(f64::from).map_err(refused("temperature"))
}

/// An idle card and clocks that someone set on purpose are not held back.
fn held_back(reasons: ThrottleReasons) -> bool {
    let harmless = ThrottleReasons::GPU_IDLE
        | ThrottleReasons::APPLICATIONS_CLOCKS_SETTING
        | ThrottleReasons::DISPLAY_CLOCK_SETTING;
    !reasons.difference(harmless).is_empty()
}

/// The reasons by the driver's names.
fn named(reasons: ThrottleReasons) -> Vec<ThrottleReason> {
    let reason = |(name, _): (&str, _)| name.to_lowercase().replace('_', " ").into();
    reasons.iter_names().map(reason).collect()
}

/// The state of every card now; `other_processes` holds everyone, ours too.
pub(crate) fn states() -> Vec<GpuState> {
    let Ok(driver) = hardware::nvidia::driver() else { return Vec::new() };
    let version = driver.sys_driver_version().unwrap_or_default();
    (0..driver.device_count().unwrap_or(0))
        .filter_map(|index| {
            let card = driver.device_by_index(index).ok()?;
            Some(GpuState {
                index,
                driver: version.clone(),
                clock_graphics: clock(&card, Clock::Graphics).ok(),
                clock_memory: clock(&card, Clock::Memory).ok(),
                power_limit: card.enforced_power_limit().ok().map(|limit| f64::from(limit) / 1e3),
                temperature: temperature(&card).ok(),
                throttle_reasons: card.current_throttle_reasons().map(named).unwrap_or_default(),
                other_processes: processes(&card)
                    .unwrap_or_default()
                    .into_iter()
                    .map(|(pid, _)| pid)
                    .collect(),
            })
        })
        .collect()
}

/// How hot every card is, and from where on it slows down.
pub(crate) fn heat() -> Vec<Heat> {
    let Ok(driver) = hardware::nvidia::driver() else { return Vec::new() };
    let of = |index: u32| {
        let card = driver.device_by_index(index).ok()?;
        let limit = card.temperature_threshold(TemperatureThreshold::Slowdown).ok()?;
        let celsius = temperature(&card).ok()?;
        Some(Heat { sensor: format!("cuda:{index}"), celsius, limit: f64::from(limit) })
    };
    (0..driver.device_count().unwrap_or(0)).filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_card_is_not_throttled_and_a_hot_one_is() {
        assert!(!held_back(ThrottleReasons::empty()));
        assert!(!held_back(ThrottleReasons::GPU_IDLE));
        let hot = ThrottleReasons::GPU_IDLE | ThrottleReasons::HW_THERMAL_SLOWDOWN;
        assert!(held_back(hot));
        let fault = [ThrottleReason::GpuIdle, ThrottleReason::HwThermalSlowdown];
        assert_eq!(named(hot), fault);
        // Every name of the driver has a code.
        let is_unknown = |reason: &ThrottleReason| matches!(reason, ThrottleReason::Other(_));
        assert!(!named(ThrottleReasons::all()).iter().any(is_unknown));
    }

    #[test]
    fn a_series_without_a_number_says_why() {
        let mut series = Readings::default();
        series.push(Err("the driver gives no power (not supported)".into()));
        let metric = series.metric("gpu.power", Unit::Watts, average);
        assert_eq!(metric.value, None);
        assert!(metric.why.unwrap().contains("no power"));
        series.push(Ok(4.0));
        series.push(Ok(6.0));
        assert_eq!(series.metric("gpu.power", Unit::Watts, average).value, Some(5.0));
        assert_eq!(series.metric("gpu.power", Unit::Watts, largest).value, Some(6.0));
    }

    #[test]
    fn work_on_the_processor_has_no_gpu_energy() {
        let why = Meter::open(Device::Cpu).err().unwrap();
        assert!(why.contains("`cpu`"), "{why}");
    }
}
