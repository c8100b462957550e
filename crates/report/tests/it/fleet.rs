//! An analysis and recommendations of a small fleet, built by hand.

use types::{
    AnalysedCell, Analysis, BatchSeries, Behind, Bytes, Candidate, CellKey, Device, Exclusion, Gap,
    Interval, InvalidRuns, LeftOut, LengthSeries, MissingCode, Mode, Objective, Percentile,
    Percentiles, Pooled, PooledCell, Precision, Prices, Reading, ReasonCode, Recommendation,
    Remark, RemarkCode, RunId, Scaling, Seconds, Slo, Tally, Wish,
};

pub(crate) fn pooled(value: f64, low: f64, high: f64) -> Pooled {
    Pooled { value, interval: Some(Interval { low, high }) }
}

fn key(device: Device, engine: &str, precision: Precision, batch_size: u64) -> CellKey {
    CellKey {
        model: "distilbert-base-uncased".into(),
        random_weights: true,
        mode: Mode::Inference,
        sequence_length: Some(128),
        imported: false,
        machine: "c0ffee12a7d3".into(),
        device,
        engine: engine.into(),
        precision,
        threads: 2,
        variant: String::new(),
        batch_size,
    }
}

/// So many runs that other work disturbed.
pub(crate) fn not_valid(runs: u64) -> InvalidRuns {
    let mut all = InvalidRuns::default();
    all.add(ReasonCode::BusyMachine, runs);
    all
}

/// A cell of three runs whose numbers follow from its median.
pub(crate) fn cell(key: CellKey, median: f64, megabytes: u64) -> PooledCell {
    let rate = key.batch_size as f64 / median;
    let version = if key.engine == "rten" { "0.27.0" } else { "1.31.1" };
    PooledCell {
        engine_version: version.into(),
        fingerprint: "f1".into(),
        runs: ["7f3a09c41be2d650", "81c2aa0493be1f70", "0be77a21c9d45533"]
            .map(|id| RunId(id.into()))
            .into(),
        invalid: None,
        invalid_runs: InvalidRuns::default(),
        newest_is_valid: true,
        older: 2,
        began: (1_763_273_520_000_000, 1_763_277_120_000_000),
        samples: 636,
        fewest_samples: 212,
        latency: pooled(median, median * 0.985, median * 1.016),
        slowest: median * 1.01,
        percentiles: Percentiles {
            p90: Some(median * 1.05),
            p95: Some(median * 1.09),
            p99: Some(median * 1.2),
            p999: None,
        },
        throughput: Reading::of(pooled(rate, rate * 0.985, rate * 1.016)),
        memory: Reading::of(Bytes(megabytes * 1_000_000)),
        memory_spread: Reading::of(Pooled { value: megabytes as f64 * 1e6, interval: None }),
        energy: Reading::missing(
            MissingCode::NotMeasured,
            "the energy of its runs was not measured",
        ),
        efficiency: Reading::of(0.61),
        key,
    }
}

/// A processor and a GPU, two engines, two formats, a few batches.
pub(crate) fn fleet() -> Analysis {
    let (cpu, gpu) = (Device::Cpu, Device::Cuda(0));
    let on_cpu = "it runs on the cpu itself";
    let no_cpu = "the cpu of this machine has no valid run with the same model, engine, precision, batch and length";
    let numbers = [
        (key(cpu, "onnxruntime", Precision::Fp32, 1), 0.0610, 372, Err(on_cpu), true),
        (key(cpu, "onnxruntime", Precision::Fp32, 8), 0.4020, 401, Err(on_cpu), false),
        (key(cpu, "rten", Precision::Fp32, 1), 0.0655, 285, Err(on_cpu), true),
        (key(gpu, "onnxruntime", Precision::Fp32, 1), 0.0041, 912, Ok(14.88), true),
        (key(gpu, "onnxruntime", Precision::Fp32, 8), 0.0079, 1003, Ok(50.9), true),
        (key(gpu, "onnxruntime", Precision::Fp16, 8), 0.0044, 871, Err(no_cpu), true),
    ];
    let cells = numbers.map(|(key, median, megabytes, speed_up, front)| AnalysedCell {
        cell: cell(key, median, megabytes),
        speed_up: match speed_up {
            Ok(ratio) => Reading::of(pooled(ratio, ratio * 0.98, ratio * 1.02)),
            Err(why) => Reading::missing(MissingCode::NotApplicable, why),
        },
        on_front: Reading::of(front),
    });
    let scaling = |from, to, exponent: f64, gain, efficiency| Scaling {
        from,
        to,
        points: 2,
        exponent: Pooled { value: exponent, interval: None },
        gain,
        efficiency,
    };
    Analysis {
        cells: cells.into(),
        not_valid: Vec::new(),
        again: None,
        batches: vec![
            BatchSeries {
                best: key(cpu, "onnxruntime", Precision::Fp32, 8),
                throughput: pooled(19.9, 19.6, 20.2),
                enough: 8,
                scaling: Reading::of(scaling(1, 8, 0.907, 1.214, 0.152)),
            },
            BatchSeries {
                best: key(cpu, "rten", Precision::Fp32, 1),
                throughput: pooled(15.3, 15.0, 15.6),
                enough: 1,
                scaling: Reading::missing(MissingCode::TooFewValues, "one batch size was measured"),
            },
            BatchSeries {
                best: key(gpu, "onnxruntime", Precision::Fp32, 8),
                throughput: pooled(1013.0, 998.0, 1029.0),
                enough: 8,
                scaling: Reading::of(scaling(1, 8, 0.315, 4.152, 0.519)),
            },
        ],
        lengths: vec![LengthSeries {
            shortest: key(cpu, "rten", Precision::Fp32, 1),
            scaling: Scaling {
                points: 3,
                exponent: pooled(1.13, 1.02, 1.24),
                ..scaling(128, 512, 1.13, 0.835, 0.835)
            },
        }],
        machines: [("c0ffee12a7d3".to_owned(), "bench".to_owned())].into(),
        tally: Tally {
            seen: 23,
            pooled: 18,
            older: 3,
            invalid: 2,
            invalid_reasons: not_valid(2),
            ..Tally::default()
        },
        remarks: vec![Remark::new(
            RemarkCode::NotInterleaved,
            "cells were measured at different times",
        )],
    }
}

/// Two machines, a thread count apart, an import and names that try something.
pub(crate) fn troubles() -> Analysis {
    let mut found = fleet();
    found.cells[1].cell.key.machine = "badcafe00001".into();
    found.cells[2].cell.key.threads = 1;
    found.cells[2].cell.key.variant = "graph none".into();
    found.cells[3].cell.memory =
        Reading::missing(MissingCode::NotMeasured, "the memory of its runs was not measured");
    found.cells[3].on_front =
        Reading::missing(MissingCode::Underivable, "one of them is not known");
    found.cells[4].cell.key.imported = true;
    found.cells[5].cell.key.model = "\u{1b}[31m模型|".repeat(20);
    found.machines.insert("badcafe00001".into(), "bench".into());
    found.remarks.push(Remark::new(RemarkCode::NotInterleaved, "word ".repeat(60)));
    found
}

fn candidate(cell: PooledCell, value: Pooled, behind: Option<(Pooled, bool)>) -> Candidate {
    let behind = behind.map(|(factor, told_apart)| Behind { factor, allowance: 0.3, told_apart });
    Candidate { cell, value, behind }
}

/// A clear best, something close behind it, and something left out of every kind.
pub(crate) fn advice() -> Recommendation {
    let gpu = Device::Cuda(0);
    let slo = Slo { percentile: Percentile::P95, limit: Seconds(0.05) };
    let limit = Bytes(2_000_000_000);
    let first = cell(key(gpu, "onnxruntime", Precision::Fp16, 8), 0.0044, 871);
    let second = cell(key(gpu, "onnxruntime", Precision::Fp32, 8), 0.0051, 1003);
    let third = cell(key(Device::Cpu, "onnxruntime", Precision::Fp32, 1), 0.0410, 401);
    let out = |batch, why, count| LeftOut {
        cell: key(Device::Cpu, "rten", Precision::Fp32, batch),
        why,
        count,
        runs: vec![RunId("42ab09c41be2d650".into())],
    };
    Recommendation {
        model: "distilbert-base-uncased".into(),
        random_weights: true,
        mode: Mode::Inference,
        sequence_length: Some(128),
        wish: Wish {
            objective: Objective::Throughput,
            slos: vec![slo],
            memory_limit: Some(limit),
            prices: Prices::default(),
            imported: false,
        },
        candidates: vec![
            candidate(first, pooled(1818.0, 1791.0, 1847.0), None),
            candidate(
                second,
                pooled(1569.0, 1545.0, 1594.0),
                Some((pooled(1.159, 1.134, 1.184), false)),
            ),
            candidate(third, pooled(24.4, 24.0, 24.8), Some((pooled(74.5, 73.2, 75.9), true))),
        ],
        left_out: vec![
            out(1, Exclusion::Slo { slo, found: 0.0714 }, 3),
            out(2, Exclusion::TooFewSamples { slo, samples: 40, needs: 130 }, 1),
            out(4, Exclusion::NoPercentile { slo }, 1),
            out(8, Exclusion::Memory { found: Bytes(2_100_000_000), limit }, 2),
            out(16, Exclusion::Invalid { reasons: not_valid(2) }, 2),
        ],
        gaps: vec![Gap {
            machine: "c0ffee12a7d3".into(),
            device: gpu,
            engine: "torch".into(),
            precision: Precision::Bf16,
            batch_sizes: vec![1, 8],
        }],
        machines: [("c0ffee12a7d3".to_owned(), "bench".to_owned())].into(),
        again: None,
        remarks: vec![Remark::new(
            RemarkCode::NotInterleaved,
            "the first two were not interleaved: a difference below 30 % is not reported",
        )],
    }
}

/// Nothing that was measured will do.
pub(crate) fn nothing() -> Recommendation {
    let advice = advice();
    Recommendation { candidates: Vec::new(), gaps: Vec::new(), remarks: Vec::new(), ..advice }
}
