//! How hot processors and cards are, and from where on they are held back.

use crate::{nvml, procfs::read_number};
use std::{fs, path::Path};

/// Drivers whose sensors sit in the processor.
const PROCESSOR_DRIVERS: [&str; 5] =
    ["coretemp", "k10temp", "zenpower", "cpu_thermal", "soc_thermal"];

/// Nearer to its limit than this a processor or card is hot.
const HOT: f64 = 5.0;

/// Farther from its limit than this it is cool again.
const COOL: f64 = 15.0;

/// What one sensor says.
#[derive(Debug, Clone, PartialEq)]
pub struct Heat {
    /// Which: `coretemp`, `cuda:0`.
    pub sensor: String,
    /// How hot it is, in degrees Celsius.
    pub celsius: f64,
    /// From where on the hardware is held back.
    pub limit: f64,
}

impl Heat {
    /// Whether a measurement that begins now would be held back soon.
    #[must_use]
    pub fn is_hot(&self) -> bool {
        self.celsius > self.limit - HOT
    }

    /// Whether there is room again.
    #[must_use]
    pub fn is_cool(&self) -> bool {
        self.celsius <= self.limit - COOL
    }
}

/// Every sensor that tells its limit; none in most virtual machines.
#[must_use]
pub fn heat() -> Vec<Heat> {
    let mut found = processors(Path::new("/"));
    found.extend(nvml::heat());
    found
}

fn processors(root: &Path) -> Vec<Heat> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root.join("sys/class/hwmon")).into_iter().flatten().flatten() {
        let folder = entry.path();
        let name = fs::read_to_string(folder.join("name")).unwrap_or_default();
        let name = name.trim();
        if !PROCESSOR_DRIVERS.contains(&name) {
            continue;
        }
        // The hottest of its cores against the limit of that core.
        let cores = (1..=512).map_while(|index| {
            let file = |what: &str| folder.join(format!("temp{index}_{what}"));
            let celsius = read_number(file("input"));
            let limit = read_number(file("max")).or_else(|| read_number(file("crit")));
            (index == 1 || celsius.is_some()).then_some((celsius, limit))
        });
        let told = cores.filter_map(|(celsius, limit)| Some((celsius?, limit.filter(|l| *l > 0)?)));
        let nearest = told.max_by_key(|(celsius, limit)| i128::from(*celsius) - i128::from(*limit));
        if let Some((celsius, limit)) = nearest {
            // The kernel counts in thousandths; nothing measurable is lost below 2^53.
            let degrees = |value: u64| value as f64 / 1e3;
            let sensor = name.to_owned();
            found.push(Heat { sensor, celsius: degrees(celsius), limit: degrees(limit) });
        }
    }
    found.sort_by(|a, b| a.sensor.cmp(&b.sensor));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_core_nearest_to_its_limit_speaks_for_the_processor() {
        let root = tempfile::tempdir().unwrap();
        let write = |monitor: &str, file: &str, text: &str| {
            let folder = root.path().join("sys/class/hwmon").join(monitor);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(file), text).unwrap();
        };
        write("hwmon0", "name", "nvme\n");
        write("hwmon0", "temp1_input", "99000\n");
        write("hwmon0", "temp1_max", "80000\n");
        write("hwmon1", "name", "coretemp\n");
        write("hwmon1", "temp1_input", "60000\n");
        write("hwmon1", "temp1_max", "100000\n");
        write("hwmon1", "temp2_input", "97000\n");
        write("hwmon1", "temp2_crit", "100000\n");
        let found = processors(root.path());
        assert_eq!(found, [Heat { sensor: "coretemp".into(), celsius: 97.0, limit: 100.0 }]);
        assert!(found[0].is_hot() && !found[0].is_cool());
        write("hwmon1", "temp2_input", "84000\n");
        assert!(processors(root.path())[0].is_cool());
        assert!(processors(Path::new("/no/such/place")).is_empty());
    }
}
