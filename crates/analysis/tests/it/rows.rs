//! Light rows of runs, built by hand.

use modelmeter_analysis::Cells;
use types::{
    Bytes, Device, Interval, Measured, Mode, Percentiles, Precision, Provenance, ReasonCode, RunId,
};

/// A valid run of one machine: a median in milliseconds ± 1 %, a throughput to fit, 200 samples, 300 MB.
pub(crate) fn row(
    id: &str,
    device: Device,
    engine: &str,
    batch: u64,
    milliseconds: f64,
) -> Measured {
    let median = milliseconds / 1e3;
    Measured {
        id: RunId(id.into()),
        started_at: 1_000_000 * id.bytes().map(i64::from).sum::<i64>(),
        model: "distilbert".into(),
        fingerprint: "f1".into(),
        random_weights: false,
        machine: "c0ffee".into(),
        host: "bench".into(),
        device,
        engine: engine.into(),
        engine_version: "1.0".into(),
        precision: Precision::Fp32,
        batch_size: batch,
        sequence_length: Some(128),
        mode: Mode::Inference,
        threads: 2,
        variant: "".into(),
        valid: true,
        reason: None,
        provenance: Provenance::Measured,
        samples: 200,
        median: Some(median),
        interval: Some(Interval { low: median * 0.99, high: median * 1.01 }),
        percentiles: Percentiles {
            p90: Some(median * 1.1),
            p95: Some(median * 1.2),
            p99: Some(median * 1.5),
            p999: Some(median * 2.0),
        },
        samples_per_second: Some(batch as f64 / median),
        memory_peak: Some(Bytes(300_000_000)),
        joules_per_sample: None,
        ceiling_share: Some(0.5),
        tags: Vec::new(),
    }
}

pub(crate) fn cpu(id: &str, engine: &str, batch: u64, milliseconds: f64) -> Measured {
    row(id, Device::Cpu, engine, batch, milliseconds)
}

pub(crate) fn cuda(id: &str, engine: &str, batch: u64, milliseconds: f64) -> Measured {
    row(id, Device::Cuda(0), engine, batch, milliseconds)
}

/// The run, disturbed by other work.
pub(crate) fn disturbed(row: Measured) -> Measured {
    Measured { valid: false, reason: Some(ReasonCode::BusyMachine), ..row }
}

pub(crate) fn at(minute: i64, row: Measured) -> Measured {
    Measured { started_at: minute * 60_000_000, ..row }
}

pub(crate) fn cells(rows: impl IntoIterator<Item = Measured>) -> Cells {
    rows.into_iter().collect()
}
