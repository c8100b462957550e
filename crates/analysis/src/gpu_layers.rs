//! Kernel time by range and module as layers, for a flame graph.

use types::{
    Estimate, GpuProcess, GpuRange, Interval, Layer, LayerKind, LayerReport, Ratio, Seconds, Spent,
};

/// The ranges of a process with the time of the kernels that were launched in each; none without kernels in any range.
#[must_use]
pub fn gpu_layers(process: &GpuProcess) -> Option<LayerReport> {
    let ranges = &process.ranges;
    let whole: f64 = process.devices.iter().map(|device| device.kernel_sum).sum();
    let inside: f64 =
        ranges.iter().filter(|range| range.depth == 0).map(|range| range.kernels).sum();
    if whole <= 0.0 || inside <= 0.0 {
        return None;
    }
    let layer =
        |path: &str, depth: usize, class: &str, (total, own): (f64, f64), calls: f64| Layer {
            path: path.to_owned(),
            depth,
            kind: LayerKind::of(path, class),
            class: class.to_owned(),
            spent: Spent {
                calls,
                total: Seconds(total),
                own: Seconds(own.max(0.0)),
                share: Ratio(total / whole),
                flops: None,
                bytes: None,
                roofline: None,
                host: None,
            },
        };
    let mut layers: Vec<Layer> = (0..ranges.len())
        .filter(|at| ranges[*at].kernels > 0.0)
        .map(|at| {
            let range = &ranges[at];
            let class = if range.is_module { "module" } else { "range" };
            let times = (range.kernels, range.kernels - children(ranges, at));
            layer(&range.name, range.depth as usize, class, times, range.calls as f64)
        })
        .collect();
    let rest = whole - inside;
    if rest > 0.0 {
        layers.push(layer("", 0, "outside every range", (rest, rest), 1.0));
    }
    let exactly = |value: f64| Estimate { value, interval: Interval { low: value, high: value } };
    Some(LayerReport {
        runs: 1,
        plain: Seconds(whole),
        instrumented: Seconds(whole),
        overhead: exactly(0.0),
        sum: Seconds(whole),
        device: None,
        closure: exactly(1.0),
        placed: Ratio(0.0),
        layers,
        kinds: Vec::new(),
        operators: Vec::new(),
        remarks: Vec::new(),
    })
}

/// Kernel time of the ranges directly inside one; they follow it.
fn children(ranges: &[GpuRange], at: usize) -> f64 {
    let depth = ranges[at].depth;
    let inside = ranges[at + 1..].iter().take_while(|range| range.depth > depth);
    inside.filter(|range| range.depth == depth + 1).map(|range| range.kernels).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::GpuDevice;

    #[test]
    fn ranges_nest_and_their_own_times_add_up_to_all_kernels() {
        let range = |name: &str, depth, kernels| GpuRange {
            name: name.into(),
            depth,
            domain: None,
            is_module: depth > 0,
            calls: 2,
            host: 1.0,
            kernels,
        };
        let device = GpuDevice { kernel_sum: 1.0, ..GpuDevice::default() };
        let process = GpuProcess {
            devices: vec![device],
            ranges: vec![
                range("step", 0, 0.9),
                range("layer.0", 1, 0.5),
                range("layer.0.mlp", 2, 0.2),
                range("layer.1", 1, 0.3),
                range("idle", 0, 0.0),
            ],
            ..GpuProcess::default()
        };
        let report = gpu_layers(&process).unwrap();
        let own: Vec<f64> = report.layers.iter().map(|layer| layer.spent.own.0).collect();
        assert_eq!(own.len(), 5);
        for (found, expected) in own.iter().zip([0.1, 0.3, 0.2, 0.3, 0.1]) {
            assert!((found - expected).abs() < 1e-9, "{own:?}");
        }
        assert!(gpu_layers(&GpuProcess::default()).is_none());
    }
}
