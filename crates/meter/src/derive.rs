//! Numbers that follow from the samples and the work: throughput, FLOP/s, share of the ceiling.

use crate::{generation, is_above_ceiling};
use std::collections::BTreeMap;
use types::{
    Bytes, Ceiling, Ceilings, Cell, Device, Direction, GenerationReport, InputRole, InputSpec,
    Metric, Mode, Phase, Precision, ProbeReport, Summary, Unit, Work, key,
};

/// What the derived numbers rest on.
pub(crate) struct Basis<'a> {
    pub(crate) cell: &'a Cell,
    pub(crate) inputs: &'a [InputSpec],
    /// Of the phase a user waits for.
    pub(crate) headline: &'a Summary,
    pub(crate) inference: &'a Summary,
    pub(crate) work: &'a Work,
    /// What of the work nobody could count, and why.
    pub(crate) unknown: &'a BTreeMap<String, String>,
    pub(crate) ceilings: Option<&'a Ceilings>,
    /// Real tokens in the batch where there was text.
    pub(crate) real_tokens: Option<u64>,
    /// Probe reports over load and first inference.
    pub(crate) loading: &'a [ProbeReport],
    /// Probe reports over sampling.
    pub(crate) sampling: &'a [ProbeReport],
    pub(crate) summaries: &'a BTreeMap<Phase, Summary>,
    /// Bytes of the weights that a step of generating reads.
    pub(crate) weights_read: Option<Bytes>,
    /// Whether such a step reads no more of the cache than the window of each layer.
    pub(crate) reads_windows: bool,
    /// What generating left, where the cell generates.
    pub(crate) generation: Option<&'a GenerationReport>,
}

/// The run's metrics: derived ones first, then what the probes saw.
pub(crate) fn metrics(basis: &Basis<'_>) -> Vec<Metric> {
    let mut metrics = throughput(basis);
    metrics.extend(compute(basis));
    metrics.extend(generation::metrics(basis));
    metrics.extend(of_probes(basis.loading, basis.sampling));
    metrics
}

/// What the probes saw while the model worked, with what only loading showed.
pub(crate) fn of_probes(loading: &[ProbeReport], sampling: &[ProbeReport]) -> Vec<Metric> {
    let mut metrics: Vec<Metric> =
        sampling.iter().flat_map(|report| report.metrics.iter().cloned()).collect();
    let both = |key: &str| [loading, sampling].map(|reports| metric_of(reports, key));
    merge_peaks(&mut metrics, both(key::MEMORY_PEAK));
    merge_larger(&mut metrics, both(key::GPU_MEMORY_PROCESS));
    for (sampling, while_loading) in LOADED {
        let bytes = metric_of(loading, sampling).and_then(|metric| metric.value);
        let fact = |bytes| Metric::measured(while_loading, Unit::Bytes, Direction::Neutral, bytes);
        metrics.extend(bytes.map(fact));
    }
    metrics
}

/// What went to and fro while the model was loaded, beside what did while it was sampled.
const LOADED: [(&str, &str); 4] = [
    (key::DISK_READ, key::DISK_READ_LOADING),
    (key::DISK_WRITTEN, key::DISK_WRITTEN_LOADING),
    (key::NETWORK_RECEIVED, key::NETWORK_RECEIVED_LOADING),
    (key::NETWORK_SENT, key::NETWORK_SENT_LOADING),
];

/// A device may hold more while the model is loaded than later; the largest is over both.
fn merge_larger(metrics: &mut [Metric], [loading, sampling]: [Option<&Metric>; 2]) {
    let (Some(loading), Some(sampling)) = (loading, sampling) else { return };
    if let Some(value) = loading.value.filter(|value| sampling.value.is_none_or(|own| *value > own))
        && let Some(metric) = metrics.iter_mut().find(|metric| metric.key == sampling.key)
    {
        *metric = Metric::measured(&*sampling.key, sampling.unit, sampling.direction, value);
    }
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
        if let Some(metric) = metrics.iter_mut().find(|metric| metric.key == key::MEMORY_PEAK) {
            *metric = Metric::measured(key::MEMORY_PEAK, Unit::Bytes, Direction::Lower, peak);
        }
        let part = |key: &str, value| Metric::measured(key, Unit::Bytes, Direction::Lower, value);
        metrics.extend(loading.map(|bytes| part(key::MEMORY_PEAK_LOADING, bytes)));
        metrics.extend(sampling.map(|bytes| part(key::MEMORY_PEAK_SAMPLING, bytes)));
    }
}

fn throughput(basis: &Basis<'_>) -> Vec<Metric> {
    let seconds = basis.headline.mean;
    let rate = |key: &str, items: u64| {
        let value = stats::per_second(items, seconds)?;
        Some(Metric::measured(key, Unit::PerSecond, Direction::Higher, value))
    };
    // A step takes several batches where gradients are added up or several processes train.
    let batches = basis.cell.training.map_or(1, |training| {
        u64::from(training.accumulation.max(1)) * u64::from(training.world_size.max(1))
    });
    let batch = basis.cell.batch_size as u64 * batches;
    let images = basis.inputs.iter().any(|input| input.role == InputRole::Image);
    let tokens = basis.real_tokens.or_else(|| {
        let ids = basis.inputs.iter().find(|input| input.role == InputRole::TokenIds)?;
        Some(ids.dims.iter().product::<usize>() as u64)
    });
    let tokens = tokens.map(|tokens| tokens * batches);
    [
        rate(key::THROUGHPUT_SAMPLES, batch),
        tokens.and_then(|tokens| rate(key::THROUGHPUT_TOKENS, tokens)),
        images.then(|| rate(key::THROUGHPUT_IMAGES, batch)).flatten(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn compute(basis: &Basis<'_>) -> Vec<Metric> {
    let key = key::FLOPS_PER_SECOND;
    let share = key::CEILING_SHARE;
    let (unit, up) = (Unit::FlopsPerSecond, Direction::Higher);
    if basis.work.flops.0 == 0 || basis.inference.median <= 0.0 {
        let why = match basis.unknown.get("work.flops") {
            Some(why) => why.as_str(),
            None => "no operator of this model could be counted",
        };
        return vec![
            Metric::missing(key, unit, up, why),
            Metric::missing(share, Unit::Ratio, up, why),
        ];
    }
    let rate = basis.work.flops.0 as f64 / basis.inference.median;
    let precision = basis.cell.precision;
    let ceiling = basis.ceilings.and_then(|ceilings| bounding(ceilings, precision, rate));
    let share = match ceiling {
        Some(ceiling) => Metric::measured(share, Unit::Ratio, up, rate / ceiling.value),
        None => {
            let why = no_ceiling(basis.ceilings, basis.cell.device, precision);
            Metric::missing(share, Unit::Ratio, up, why)
        }
    };
    vec![Metric::measured(key, unit, up, rate), share]
}

/// The ceiling that bounds a rate; fp32 that is faster than fp32 can be was computed in TF32, where the device has that.
fn bounding(ceilings: &Ceilings, precision: Precision, rate: f64) -> Option<Ceiling> {
    let own = ceilings.flops_at(precision);
    match (own, ceilings.tf32) {
        (Some(own), Some(tf32)) if is_in_tf32(ceilings, precision, rate) => {
            Some(if tf32.value > own.value { tf32 } else { own })
        }
        _ => own,
    }
}

/// Whether a rate in fp32 can only be reached by rounding to TF32.
pub(crate) fn is_in_tf32(ceilings: &Ceilings, precision: Precision, rate: f64) -> bool {
    let own = ceilings.flops_at(precision).map(|own| own.value);
    precision == Precision::Fp32
        && ceilings.tf32.is_some()
        && own.is_some_and(|own| is_above_ceiling(rate / own))
}

/// Why there is no ceiling, and what would give one.
fn no_ceiling(ceilings: Option<&Ceilings>, device: Device, precision: Precision) -> String {
    if let Some(why) = ceilings.and_then(|ceilings| ceilings.why_not(precision.name())) {
        return format!("the {precision} ceiling could not be measured: {why}");
    }
    match device.bounded_by() {
        Some(bounding) => format!(
            "the {precision} ceiling of {bounding} was not measured; `modelmeter calibrate --device {bounding}` \
             measures it"
        ),
        None => format!("the hardware behind `{device}` is unknown"),
    }
}

/// The phase a user waits for: everything where text comes in, the model alone where ids are drawn.
pub(crate) fn headline_phase(cell: &Cell) -> Phase {
    if cell.is_end_to_end() { Phase::Total } else { model_phase(cell) }
}

/// The phase in which the model computes: a whole step where it is trained.
pub(crate) fn model_phase(cell: &Cell) -> Phase {
    if cell.mode == Mode::Training { Phase::Total } else { Phase::Inference }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ceiling(value: f64) -> Ceiling {
        Ceiling { value, interval: types::Interval { low: value, high: value } }
    }

    #[test]
    fn fp32_faster_than_fp32_can_be_is_held_against_tf32_where_the_device_has_it() {
        let mut gpu = Ceilings::of(Device::Cuda(0), 0);
        gpu.flops = vec![(Precision::Fp32, ceiling(50.0)), (Precision::Bf16, ceiling(700.0))];
        let of = |gpu: &Ceilings, precision, rate| bounding(gpu, precision, rate).unwrap().value;
        assert_eq!(of(&gpu, Precision::Fp32, 300.0), 50.0);
        gpu.tf32 = Some(ceiling(350.0));
        assert_eq!(of(&gpu, Precision::Fp32, 300.0), 350.0);
        assert_eq!(of(&gpu, Precision::Fp32, 40.0), 50.0);
        assert_eq!(of(&gpu, Precision::Bf16, 900.0), 700.0);
        assert!(bounding(&gpu, Precision::Int8, 1.0).is_none());
    }

    #[test]
    fn a_missing_ceiling_says_why_and_what_would_give_one() {
        let why = |ceilings, device| no_ceiling(ceilings, device, Precision::Int8);
        assert!(why(None, Device::Tensorrt(1)).contains("`modelmeter calibrate --device cuda:1`"));
        assert!(why(None, Device::Npu).contains("`npu`"));
        let mut tried = Ceilings::of(Device::Cuda(0), 0);
        tried.unmeasured =
            vec![types::Unmeasured { what: "int8".into(), why: "no such product".into() }];
        assert!(why(Some(&tried), Device::Cuda(0)).ends_with("no such product"));
    }

    fn peak(value: f64) -> Metric {
        Metric::measured("memory.peak", Unit::Bytes, Direction::Lower, value)
    }

    #[test]
    fn a_devices_peak_is_the_larger_of_loading_and_sampling_too() {
        let of = |value| Metric { key: key::GPU_MEMORY_PROCESS.into(), ..peak(value) };
        let mut metrics = vec![of(200.0)];
        merge_larger(&mut metrics, [Some(&of(300.0)), Some(&of(200.0))]);
        assert_eq!(metrics[0].value, Some(300.0));
        merge_larger(&mut metrics, [Some(&of(100.0)), Some(&of(300.0))]);
        assert_eq!(metrics[0].value, Some(300.0));
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
