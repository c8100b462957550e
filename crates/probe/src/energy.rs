//! What energy counters share: the idle baseline, the shortest honest window, and the metrics.

use crate::{nvml, rapl};
use number::{duration, watts};
use std::{thread, time::Duration};
use types::{Device, Direction, Metric, Unit};

/// A counter that moves in steps is only as exact as one step; over twenty of them that is 5 %.
const COUNTER_PERIODS: u32 = 20;

/// What the machine draws when nothing runs, in watts; `None` if nothing counts it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct IdlePower {
    /// The processor packages.
    pub cpu: Option<f64>,
    /// The GPU that the work will use.
    pub gpu: Option<f64>,
}

impl IdlePower {
    /// Watches the counters for `window` before the worker starts; returns at once where there are none.
    ///
    /// Windows shorter than twenty periods of a counter give `None` for it.
    #[must_use]
    pub fn measure(device: Device, window: Duration) -> IdlePower {
        let cpu = rapl::Meter::open().ok();
        let gpu = nvml::Meter::open(device).ok();
        if cpu.is_none() && gpu.is_none() {
            return IdlePower::default();
        }
        thread::sleep(window);
        IdlePower {
            cpu: cpu.and_then(|meter| meter.finish().ok()).map(|counted| counted.power()),
            gpu: gpu.and_then(|meter| meter.finish().ok()).map(|counted| counted.power()),
        }
    }
}

/// Energy that a counter counted over a window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Counted {
    joules: f64,
    window: Duration,
}

impl Counted {
    /// Checks that the number means something: the counter moved, and over enough of its periods.
    pub(crate) fn check(
        joules: f64,
        window: Duration,
        period: Duration,
    ) -> Result<Counted, String> {
        let shortest = period * COUNTER_PERIODS;
        if window < shortest {
            return Err(format!(
                "the window of {} is shorter than {COUNTER_PERIODS} periods of the counter ({})",
                duration(window),
                duration(shortest)
            ));
        }
        if joules <= 0.0 {
            return Err("the counter did not move over the window".to_owned());
        }
        Ok(Counted { joules, window })
    }

    /// Average watts.
    pub(crate) fn power(self) -> f64 {
        self.joules / self.window.as_secs_f64()
    }
}

/// `NAME.energy` above idle, `NAME.energy.total` as counted, `NAME.power` on average, `NAME.power.idle`.
pub(crate) fn metrics(
    name: &str,
    counted: Result<Counted, String>,
    idle: Option<f64>,
) -> Vec<Metric> {
    let metric = |key: &str, unit: Unit, direction: Direction, value: Result<f64, String>| {
        let key = format!("{name}.{key}");
        match value {
            Ok(value) => Metric::measured(key, unit, direction, value),
            Err(why) => Metric::missing(key, unit, direction, why),
        }
    };
    let no_idle = || "no idle power was measured before the worker started".to_owned();
    let above = counted.clone().and_then(|counted| {
        let idle =
            idle.ok_or_else(|| format!("{}; `{name}.energy.total` has all of it", no_idle()))?;
        let above = counted.joules - idle * counted.window.as_secs_f64();
        if above > 0.0 {
            return Ok(above);
        }
        Err(format!(
            "no more was drawn than at idle ({} against {})",
            watts(counted.power()),
            watts(idle)
        ))
    });
    vec![
        metric("energy", Unit::Joules, Direction::Lower, above),
        metric("energy.total", Unit::Joules, Direction::Lower, counted.clone().map(|c| c.joules)),
        metric("power", Unit::Watts, Direction::Lower, counted.map(Counted::power)),
        metric("power.idle", Unit::Watts, Direction::Neutral, idle.ok_or_else(no_idle)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const PERIOD: Duration = Duration::from_millis(1);

    fn value(metrics: &[Metric], key: &str) -> Option<f64> {
        metrics.iter().find(|metric| metric.key == key).unwrap().value
    }

    #[test]
    fn idle_power_is_taken_away() {
        let counted = Counted::check(50.0, SECOND * 2, PERIOD);
        let metrics = metrics("cpu", counted, Some(10.0));
        assert_eq!(value(&metrics, "cpu.energy"), Some(30.0));
        assert_eq!(value(&metrics, "cpu.energy.total"), Some(50.0));
        assert_eq!(value(&metrics, "cpu.power"), Some(25.0));
    }

    #[test]
    fn without_a_baseline_only_the_total_is_told() {
        let metrics = metrics("cpu", Counted::check(50.0, SECOND, PERIOD), None);
        assert_eq!(value(&metrics, "cpu.energy"), None);
        assert_eq!(value(&metrics, "cpu.energy.total"), Some(50.0));
    }

    #[test]
    fn less_than_idle_is_missing_and_not_negative() {
        let metrics = metrics("gpu", Counted::check(5.0, SECOND, PERIOD), Some(10.0));
        assert_eq!(value(&metrics, "gpu.energy"), None);
        assert!(metrics[0].why.as_ref().unwrap().contains("idle"));
    }

    #[test]
    fn a_short_window_and_a_counter_that_stands_still_have_no_energy() {
        let short = Counted::check(50.0, PERIOD * 19, PERIOD).unwrap_err();
        assert!(short.contains("20 periods"), "{short}");
        let still = Counted::check(0.0, SECOND, PERIOD).unwrap_err();
        assert!(still.contains("did not move"), "{still}");
    }
}
