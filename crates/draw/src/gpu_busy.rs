//! The share of time in which a GPU worked, over time.

use crate::{
    Absent, axis,
    canvas::Stroke,
    picture::{Drawn, RunMaterial},
    plot::{Paper, Plot},
    scale::Scale,
    with_variables,
};
use types::{GpuDevice, GpuProfile, Unit};

pub(crate) fn draw(material: &RunMaterial<'_>) -> Result<Drawn, Absent> {
    let profile = material.run.gpu.as_deref();
    let device = profile.and_then(longest);
    let absent =
        || Absent::new("what the GPU did was not recorded", "modelmeter profile MODEL --gpu");
    busy(device.ok_or_else(absent)?, material.paper)
}

/// The picture of the device that was used longest, for screens and for phones, with the colours of the page around it.
///
/// # Errors
/// Where no device did anything.
pub fn gpu_busy_for_page(profile: &GpuProfile) -> Result<[String; 2], Absent> {
    let absent = || Absent::new("no GPU did anything", "modelmeter gpu -- PROGRAM");
    let device = longest(profile).ok_or_else(absent)?;
    let svg = |paper| busy(device, paper).map(|drawn| with_variables(&drawn.svg));
    Ok([svg(Paper::Screen)?, svg(Paper::Phone)?])
}

fn longest(profile: &GpuProfile) -> Option<&GpuDevice> {
    let devices = profile.processes.iter().flat_map(|process| &process.devices);
    devices.max_by(|a, b| a.window.total_cmp(&b.window))
}

fn busy(device: &GpuDevice, paper: Paper) -> Result<Drawn, Absent> {
    let parts = device.busy.len();
    if parts == 0 || device.window <= 0.0 {
        return Err(Absent::new("the GPU did nothing", "modelmeter gpu -- PROGRAM"));
    }
    let mut plot = Plot::new(paper);
    let field = plot.field(&Scale::between(0.0, 1.0, 1.0, 0.0), Unit::Ratio, 30.0);
    let y = Scale::between(0.0, 1.0, field.bottom(), field.y);
    let x = Scale::between(0.0, device.window, field.x, field.right());
    let look = plot.canvas.look;
    axis::left(&mut plot.canvas, field, &y, Unit::Ratio, "");
    axis::below(&mut plot.canvas, field, &x, Unit::Seconds, "time since the first work");
    let mut line: Vec<(f64, f64)> = Vec::new();
    for (at, share) in device.busy.iter().enumerate() {
        let time = |part: usize| x.at(device.window * part as f64 / parts as f64);
        let level = y.at(share.clamp(0.0, 1.0));
        line.extend([(time(at), level), (time(at + 1), level)]);
    }
    let mut shape = line.clone();
    shape.extend([(field.right(), y.at(0.0)), (field.x, y.at(0.0))]);
    plot.canvas.polygon(&shape, look.series(2), 0.3);
    plot.canvas.polyline(&line, Stroke::new(look.series(2), 1.2));
    let about = format!(
        "a kernel ran in {} of {}",
        report::percent(device.busy.iter().sum::<f64>() / parts as f64),
        report::seconds(device.window)
    );
    Ok(plot.finish("Share of time in which a kernel ran", &about, Vec::new()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::GpuProcess;

    #[test]
    fn the_device_that_was_used_longest_is_drawn_and_nothing_of_none() {
        assert!(gpu_busy_for_page(&GpuProfile::default()).is_err());
        let device = |window, busy: Vec<f64>| GpuDevice { window, busy, ..GpuDevice::default() };
        let devices = vec![device(1.0, vec![0.5]), device(2.0, vec![0.25, 1.0])];
        let process = GpuProcess { devices, ..GpuProcess::default() };
        let profile = GpuProfile { processes: vec![process], unread: Vec::new() };
        let [screen, phone] = gpu_busy_for_page(&profile).unwrap();
        assert!(screen.contains("a kernel ran in 62"), "{screen}");
        assert_ne!(screen, phone);
    }
}
