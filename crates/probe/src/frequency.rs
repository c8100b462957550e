//! Clock frequency of the processors, and what governs it.

use crate::{
    procfs::{read_number, read_text},
    socket::{Probe, Target, Watch, require_linux},
};
use std::{fs, path::Path, time::Duration};
use types::{Direction, Metric, Unit};

/// Slow, because the kernel may have to ask every processor.
const SLOW_PERIOD: Duration = Duration::from_millis(500);

const CPUS: &str = "sys/devices/system/cpu";

/// See [`Probe::describe`].
pub(crate) struct Frequency;

impl Probe for Frequency {
    fn id(&self) -> &'static str {
        "frequency"
    }

    fn describe(&self) -> &'static str {
        "clock frequency averaged over the processors, sampled, and whether turbo is allowed; under most hypervisors only a nominal frequency is shown"
    }

    fn availability(&self, _target: &Target) -> Result<(), String> {
        require_linux()?;
        current(Path::new("/")).map(|_| ())
    }

    fn start(&self, _target: &Target) -> Result<Box<dyn Watch>, String> {
        let mut watch = FrequencyWatch { readings: Vec::new(), nominal: false };
        watch.read();
        Ok(Box::new(watch))
    }
}

/// The processors' frequency in Hz, averaged over them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Current {
    pub(crate) hertz: f64,
    /// Whether this is only what the system calls itself, not what it runs at.
    nominal: bool,
}

/// From cpufreq where there is one, else from `/proc/cpuinfo`.
pub(crate) fn current(root: &Path) -> Result<Current, String> {
    let folder = root.join(CPUS);
    let entries =
        fs::read_dir(&folder).map_err(|error| format!("`{}`: {error}", folder.display()))?;
    let kilohertz: Vec<f64> = entries
        .flatten()
        .filter_map(|entry| read_number(entry.path().join("cpufreq/scaling_cur_freq")))
        .map(|frequency| frequency as f64)
        .collect();
    if !kilohertz.is_empty() {
        let hertz = kilohertz.iter().sum::<f64>() / kilohertz.len() as f64 * 1e3;
        return Ok(Current { hertz, nominal: false });
    }
    let text = read_text(root.join("proc/cpuinfo"))?;
    parse_cpuinfo(&text).ok_or_else(|| {
        "neither cpufreq nor `/proc/cpuinfo` reports a frequency; load a cpufreq driver".to_owned()
    })
}

/// Without the counters `aperfmperf` the kernel prints one constant, measured at boot.
fn parse_cpuinfo(text: &str) -> Option<Current> {
    let values = |key: &'static str| {
        text.lines().filter_map(move |line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == key).then(|| value.trim())
        })
    };
    let megahertz: Vec<f64> = values("cpu MHz").filter_map(|value| value.parse().ok()).collect();
    let counters = values("flags").any(|flags| flags.split(' ').any(|flag| flag == "aperfmperf"));
    (!megahertz.is_empty()).then(|| Current {
        hertz: megahertz.iter().sum::<f64>() / megahertz.len() as f64 * 1e6,
        nominal: !counters,
    })
}

/// The governor, where all processors have the same one; otherwise all of them.
pub(crate) fn governor(root: &Path) -> Option<String> {
    let mut governors: Vec<String> = fs::read_dir(root.join(CPUS))
        .ok()?
        .flatten()
        .filter_map(|entry| fs::read_to_string(entry.path().join("cpufreq/scaling_governor")).ok())
        .map(|text| text.trim().to_owned())
        .collect();
    governors.sort_unstable();
    governors.dedup();
    (!governors.is_empty()).then(|| governors.join(", "))
}

/// Whether the processors may run above their nominal frequency.
fn turbo(root: &Path) -> Result<bool, String> {
    if let Some(off) = read_number(root.join(CPUS).join("intel_pstate/no_turbo")) {
        return Ok(off == 0);
    }
    read_number(root.join(CPUS).join("cpufreq/boost"))
        .map(|on| on != 0)
        .ok_or_else(|| "neither `intel_pstate/no_turbo` nor `cpufreq/boost` exists".to_owned())
}

struct FrequencyWatch {
    readings: Vec<f64>,
    nominal: bool,
}

impl Watch for FrequencyWatch {
    fn period(&self) -> Option<Duration> {
        Some(SLOW_PERIOD)
    }

    fn read(&mut self) {
        if let Ok(current) = current(Path::new("/")) {
            self.readings.push(current.hertz);
            self.nominal = current.nominal;
        }
    }

    fn stop(mut self: Box<Self>) -> Vec<Metric> {
        self.read();
        let mut metrics = frequencies(&self.readings, self.nominal);
        metrics.push(match turbo(Path::new("/")) {
            Ok(on) => {
                let value = if on { 1.0 } else { 0.0 };
                Metric::measured("frequency.turbo", Unit::Count, Direction::Neutral, value)
            }
            Err(why) => Metric::missing("frequency.turbo", Unit::Count, Direction::Neutral, why),
        });
        metrics
    }
}

fn frequencies(readings: &[f64], nominal: bool) -> Vec<Metric> {
    let hertz =
        |key: &str, value: f64| Metric::measured(key, Unit::Hertz, Direction::Neutral, value);
    let average = readings.iter().sum::<f64>() / readings.len().max(1) as f64;
    let why = if readings.is_empty() {
        "the frequency could not be read any more"
    } else if nominal {
        "only the nominal frequency is shown here: no cpufreq, and no counters `aperfmperf`"
    } else {
        return vec![
            hertz("frequency.average", average),
            hertz("frequency.minimum", readings.iter().copied().fold(f64::INFINITY, f64::min)),
            hertz("frequency.maximum", readings.iter().copied().fold(0.0, f64::max)),
        ];
    };
    let mut metrics =
        vec![Metric::missing("frequency.average", Unit::Hertz, Direction::Neutral, why)];
    if !readings.is_empty() {
        metrics.push(hertz("frequency.nominal", average));
    }
    metrics
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpufreq_is_preferred_and_averaged() {
        let folder = tempfile::tempdir().unwrap();
        for (cpu, frequency) in [(0, "2000000"), (1, "3000000")] {
            let cpufreq = folder.path().join(CPUS).join(format!("cpu{cpu}/cpufreq"));
            fs::create_dir_all(&cpufreq).unwrap();
            fs::write(cpufreq.join("scaling_cur_freq"), format!("{frequency}\n")).unwrap();
            fs::write(cpufreq.join("scaling_governor"), "performance\n").unwrap();
        }
        let found = current(folder.path()).unwrap();
        assert_eq!(found, Current { hertz: 2.5e9, nominal: false });
        assert_eq!(governor(folder.path()).as_deref(), Some("performance"));
        assert!(turbo(folder.path()).is_err());
        fs::create_dir_all(folder.path().join(CPUS).join("intel_pstate")).unwrap();
        fs::write(folder.path().join(CPUS).join("intel_pstate/no_turbo"), "1\n").unwrap();
        assert_eq!(turbo(folder.path()), Ok(false));
    }

    #[test]
    fn a_constant_of_cpuinfo_is_not_called_a_measurement() {
        let text = "processor\t: 0\ncpu MHz\t\t: 2500.000\nflags\t\t: fpu hypervisor\n";
        assert_eq!(parse_cpuinfo(text), Some(Current { hertz: 2.5e9, nominal: true }));
        let metrics = frequencies(&[2.5e9], true);
        assert_eq!((metrics[0].key.as_str(), metrics[0].value), ("frequency.average", None));
        assert_eq!(metrics[1].key, "frequency.nominal");
        let counted = parse_cpuinfo(&text.replace("fpu", "fpu aperfmperf")).unwrap();
        assert!(!counted.nominal);
        assert_eq!(parse_cpuinfo("BogoMIPS: 1\n"), None);
    }
}
