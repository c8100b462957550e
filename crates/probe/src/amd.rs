//! An AMD GPU: what its driver writes under `/sys/class/drm`. Written after the kernel's documentation; never run on such a
//! GPU.

use crate::{
    readings::{Readings, average, largest},
    socket::{Probe, Target, Watch, require_linux},
};
use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};
use types::{Device, Metric, Unit};

/// The driver itself averages power over about a second; ten readings a second are enough.
const READING_PERIOD: Duration = Duration::from_millis(100);

/// AMD's number among the makers of PCI devices.
const VENDOR: &str = "0x1002";

/// See [`Probe::describe`].
pub(crate) struct AmdGpu;

impl Probe for AmdGpu {
    fn id(&self) -> &'static str {
        "amd-gpu"
    }

    fn describe(&self) -> &'static str {
        "an AMD GPU as its driver sees it: utilisation, memory, power, temperature; never run on one"
    }

    fn availability(&self, target: &Target) -> Result<(), String> {
        card(Path::new("/"), target.device).map(|_| ())
    }

    fn start(&self, target: &Target) -> Result<Box<dyn Watch>, String> {
        let mut watch =
            AmdWatch { card: card(Path::new("/"), target.device)?, seen: Seen::default() };
        watch.read();
        Ok(Box::new(watch))
    }
}

/// The folder of the card that the device names, by the order of the driver's own numbers.
fn card(root: &Path, device: Device) -> Result<PathBuf, String> {
    require_linux()?;
    let index = match device {
        Device::Rocm(index) | Device::Migraphx(index) => index as usize,
        _ => return Err(format!("the work runs on `{device}`, not on an AMD GPU")),
    };
    let number = |name: &str| name.strip_prefix("card")?.parse::<u32>().ok();
    let entries = fs::read_dir(root.join("sys/class/drm")).into_iter().flatten().flatten();
    let mut cards: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            Some((number(entry.file_name().to_str()?)?, entry.path().join("device")))
        })
        .filter(|(_, card)| read(&card.join("vendor")).is_ok_and(|vendor| vendor == VENDOR))
        .collect();
    cards.sort();
    let found = cards.len();
    cards.into_iter().nth(index).map(|(_, card)| card).ok_or_else(|| {
        format!("`/sys/class/drm` lists {found} AMD GPUs, and none with the number {index}")
    })
}

fn read(path: &Path) -> Result<String, String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let text =
        fs::read_to_string(path).map_err(|_| format!("the driver does not report `{name}`"))?;
    Ok(text.trim().to_owned())
}

/// A number that the driver wrote, in its own unit.
fn number(path: &Path) -> Result<f64, String> {
    let text = read(path)?;
    text.parse().map_err(|_| format!("the driver wrote `{text}` for a number"))
}

/// The first of these files in the card's folder of sensors.
fn sensor(card: &Path, names: &[&str]) -> Result<f64, String> {
    let folders = fs::read_dir(card.join("hwmon")).into_iter().flatten().flatten();
    let mut missing = "the driver has no sensors".to_owned();
    for folder in folders {
        for name in names {
            match number(&folder.path().join(name)) {
                Ok(value) => return Ok(value),
                Err(why) => missing = why,
            }
        }
    }
    Err(missing)
}

#[derive(Default)]
struct Seen {
    utilisation: Readings,
    memory_used: Readings,
    memory_total: Readings,
    power: Readings,
    temperature: Readings,
}

impl Seen {
    fn read(&mut self, card: &Path) {
        let percent = number(&card.join("gpu_busy_percent"));
        self.utilisation.push(percent.map(|percent| percent / 100.0));
        self.memory_used.push(number(&card.join("mem_info_vram_used")));
        self.memory_total.push(number(&card.join("mem_info_vram_total")));
        let microwatts = sensor(card, &["power1_average", "power1_input"]);
        self.power.push(microwatts.map(|microwatts| microwatts / 1e6));
        self.temperature.push(sensor(card, &["temp1_input"]).map(|celsius| celsius / 1e3));
    }

    fn metrics(&self) -> Vec<Metric> {
        vec![
            self.power.metric("gpu.power.sampled", Unit::Watts, average),
            self.utilisation.metric("gpu.utilisation", Unit::Ratio, average),
            self.memory_used.metric("gpu.memory.used", Unit::Bytes, largest),
            self.memory_total.metric("gpu.memory.total", Unit::Bytes, largest),
            self.temperature.metric("gpu.temperature", Unit::Celsius, largest),
        ]
    }
}

struct AmdWatch {
    card: PathBuf,
    seen: Seen,
}

impl Watch for AmdWatch {
    fn period(&self) -> Option<Duration> {
        Some(READING_PERIOD)
    }

    fn read(&mut self) {
        self.seen.read(&self.card);
    }

    fn stop(mut self: Box<Self>) -> Vec<Metric> {
        self.read();
        self.seen.metrics()
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_card_is_found_by_its_maker_and_its_numbers_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for (name, vendor) in [("card0", "0x10de"), ("card1", "0x1002"), ("card1-DP-1", "0x1002")] {
            write(root, &format!("sys/class/drm/{name}/device/vendor"), &format!("{vendor}\n"));
        }
        let device = "sys/class/drm/card1/device";
        for (file, text) in [
            ("gpu_busy_percent", "37\n"),
            ("mem_info_vram_used", "1073741824\n"),
            ("mem_info_vram_total", "17163091968\n"),
            ("hwmon/hwmon3/power1_average", "123000000\n"),
        ] {
            write(root, &format!("{device}/{file}"), text);
        }
        let card = card(root, Device::Rocm(0)).unwrap();
        assert_eq!(card, root.join(device));
        assert!(super::card(root, Device::Rocm(1)).unwrap_err().contains("lists 1"));
        assert!(super::card(root, Device::Cuda(0)).unwrap_err().contains("not on an AMD GPU"));
        let mut seen = Seen::default();
        seen.read(&card);
        let value = |key: &str| {
            let metrics = seen.metrics();
            let metric = metrics.iter().find(|metric| metric.key == key).unwrap().clone();
            (metric.value, metric.why)
        };
        assert_eq!(value("gpu.utilisation").0, Some(0.37));
        assert_eq!(value("gpu.memory.used").0, Some(1_073_741_824.0));
        assert_eq!(value("gpu.power.sampled").0, Some(123.0));
        // What the driver does not tell is missing with the reason.
        assert!(value("gpu.temperature").1.unwrap().contains("temp1_input"));
    }
}
