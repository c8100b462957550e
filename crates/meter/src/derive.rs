//! Numbers that follow from the samples and the work: throughput, FLOP/s, share of the ceiling.

use types::{
    Ceilings, Cell, Device, Direction, InputRole, InputSpec, Metric, Phase, ProbeReport, Summary,
    Unit, Work,
};

/// What the derived numbers rest on.
pub(crate) struct Basis<'a> {
    pub(crate) cell: &'a Cell,
    pub(crate) inputs: &'a [InputSpec],
    /// Of the phase a user waits for.
    pub(crate) headline: &'a Summary,
    pub(crate) inference: &'a Summary,
    pub(crate) work: &'a Work,
    pub(crate) ceilings: Option<&'a Ceilings>,
    /// Real tokens in the batch where there was text.
    pub(crate) real_tokens: Option<u64>,
    /// Probe reports over load and first inference.
    pub(crate) loading: &'a [ProbeReport],
    /// Probe reports over sampling.
    pub(crate) sampling: &'a [ProbeReport],
}

/// The run's metrics: derived ones first, then what the probes saw.
pub(crate) fn metrics(basis: &Basis<'_>) -> Vec<Metric> {
    let mut metrics = throughput(basis);
    metrics.extend(compute(basis));
    let peaks = [basis.loading, basis.sampling].map(|reports| metric_of(reports, "memory.peak"));
    for report in basis.sampling {
        metrics.extend(report.metrics.iter().cloned());
    }
    merge_peaks(&mut metrics, peaks);
    metrics
}

fn metric_of<'a>(reports: &'a [ProbeReport], key: &str) -> Option<&'a Metric> {
    reports.iter().flat_map(|report| &report.metrics).find(|metric| metric.key == key)
}

/// The high-water mark is reset between loading and sampling; the peak people mean is over both.
fn merge_peaks(metrics: &mut Vec<Metric>, [loading, sampling]: [Option<&Metric>; 2]) {
    let value = |metric: Option<&Metric>| metric.and_then(|metric| metric.value);
    let (loading, sampling) = (value(loading), value(sampling));
    let peak = [loading, sampling].into_iter().flatten().reduce(f64::max);
    if let Some(peak) = peak {
        if let Some(metric) = metrics.iter_mut().find(|metric| metric.key == "memory.peak") {
            *metric = Metric::measured("memory.peak", Unit::Bytes, Direction::Lower, peak);
        }
        let part = |key: &str, value| Metric::measured(key, Unit::Bytes, Direction::Lower, value);
        metrics.extend(loading.map(|bytes| part("memory.peak.loading", bytes)));
        metrics.extend(sampling.map(|bytes| part("memory.peak.sampling", bytes)));
    }
}

fn throughput(basis: &Basis<'_>) -> Vec<Metric> {
    let seconds = basis.headline.mean;
    let rate = |key: &str, items: u64| {
        let value = stats::per_second(items, seconds)?;
        Some(Metric::measured(key, Unit::PerSecond, Direction::Higher, value))
    };
    let batch = basis.cell.batch_size as u64;
    let images = basis.inputs.iter().any(|input| input.role == InputRole::Image);
    let tokens = basis.real_tokens.or_else(|| {
        let ids = basis.inputs.iter().find(|input| input.role == InputRole::TokenIds)?;
        Some(ids.dims.iter().product::<usize>() as u64)
    });
    [
        rate("throughput.samples", batch),
        tokens.and_then(|tokens| rate("throughput.tokens", tokens)),
        images.then(|| rate("throughput.images", batch)).flatten(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn compute(basis: &Basis<'_>) -> Vec<Metric> {
    let key = "compute.flops_per_second";
    let share = "compute.ceiling_share";
    let (unit, up) = (Unit::FlopsPerSecond, Direction::Higher);
    if basis.work.flops.0 == 0 || basis.inference.median <= 0.0 {
        let why = "no operator of this model could be counted";
        return vec![
            Metric::missing(key, unit, up, why),
            Metric::missing(share, Unit::Ratio, up, why),
        ];
    }
    let rate = basis.work.flops.0 as f64 / basis.inference.median;
    let precision = basis.cell.precision;
    let ceiling = basis.ceilings.and_then(|ceilings| ceilings.flops_at(precision));
    let share = match ceiling {
        Some(ceiling) => Metric::measured(share, Unit::Ratio, up, rate / ceiling.value),
        None => {
            let device = basis.cell.device;
            let why = match device {
                Device::Cpu => format!("this machine's {precision} ceiling was not measured"),
                _ => format!("the {precision} ceiling of {device} was not measured"),
            };
            Metric::missing(share, Unit::Ratio, up, why)
        }
    };
    vec![Metric::measured(key, unit, up, rate), share]
}

/// The phase a user waits for: everything where text comes in, the model alone where ids are drawn.
pub(crate) fn headline_phase(cell: &Cell) -> Phase {
    if cell.text.is_some() { Phase::Total } else { Phase::Inference }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peak(value: f64) -> Metric {
        Metric::measured("memory.peak", Unit::Bytes, Direction::Lower, value)
    }

    #[test]
    fn the_peak_is_the_larger_of_loading_and_sampling() {
        let (loading, sampling) = (peak(300.0), peak(200.0));
        let mut metrics = vec![sampling.clone()];
        merge_peaks(&mut metrics, [Some(&loading), Some(&sampling)]);
        let of = |key: &str| metrics.iter().find(|m| m.key == key).unwrap().value;
        assert_eq!(of("memory.peak"), Some(300.0));
        assert_eq!(of("memory.peak.sampling"), Some(200.0));
    }
}
