//! Comparisons built by hand, with the numbers of a real one.

use crate::sample::{summary, text_run};
use std::time::Duration;
use types::*;
use types::{Remark, RemarkCode};

/// Three engines against torch: one faster, one as fast.
pub(crate) fn three_engines() -> ComparisonReport {
    let run = text_run();
    ComparisonReport {
        started_at: run.started_at,
        elapsed: Duration::from_secs(95),
        model: run.model,
        batch_size: 4,
        sequence_length: Some(128),
        mode: Mode::Inference,
        seed: 42,
        environment: run.environment,
        design: Design::Interleaved { rounds: 3, turns: 6 },
        baseline: "torch".into(),
        sides: vec![
            side("torch", "2.15.0", 0.2412, 1_042, 4.61),
            side("onnxruntime", "1.31.1", 0.2021, 372, 0.51),
            side("rten", "0.27.0", 0.2451, 285, 0.173),
        ],
        comparisons: vec![
            comparison("onnxruntime", Outcome::Better, 1.19, 1.14, 1.24),
            comparison("rten", Outcome::CannotTell, 0.99, 0.95, 1.04),
        ],
        parity: vec![parity("onnxruntime", 2.7e-6), parity("rten", 3.1e-6)],
        detectable: Some(0.031),
        remarks: Vec::new(),
        layers: None,
        looks: None,
    }
}

/// The same, looked at while it grew: one side was answered after two processes.
pub(crate) fn answered() -> ComparisonReport {
    let mut report = three_engines();
    report.design = Design::Interleaved { rounds: 2, turns: 2 };
    report.looks = Some(LooksReport {
        after: vec![2, 3, 5, 8],
        used: 5,
        at_most: 8,
        ended: Ended::LimitReached,
        chance: 0.01,
    });
    report
}

/// One side whose outputs differ, one that fell, one that is slower and not valid.
pub(crate) fn troubles() -> ComparisonReport {
    let mut report = three_engines();
    let mut fallen = side("openvino", "2026.4.1", 0.1, 10, 0.1);
    fallen.latency = None;
    fallen.load = None;
    fallen.first = None;
    fallen.processes = 0;
    fallen.info.peak_memory = None;
    let why = "the worker was killed for memory".to_string();
    fallen.info.failed = Some(why.clone());
    report.sides.push(fallen);
    let entry = &mut report.parity[0];
    entry.holds = false;
    entry.outputs[0].holds = false;
    entry.outputs[0].max_abs = Some(0.31);
    entry.first_difference = Some("transformer.layer.3.ffn.lin1".into());
    report.comparisons = vec![
        refused(
            "onnxruntime",
            "outputs of `onnxruntime` and `torch` differ: `last_hidden_state` by 3.1e-1, the limit is 1.0e-3; first \
             in `transformer.layer.3.ffn.lin1`",
        ),
        comparison("rten", Outcome::Worse, 0.8, 0.76, 0.83),
        refused("openvino", &why),
    ];
    report.comparisons[1].remarks =
        vec![Remark::new(RemarkCode::NotValid, "`torch` is not valid: the clock was throttled")];
    report.remarks = vec![Remark::new(
        RemarkCode::OneProcess,
        "one process per side does not show the variance between processes",
    )];
    report.sides[2].info.remarks =
        vec![Remark::new(RemarkCode::OtherPrecision, "int64 inputs were narrowed to int32")];
    report.design = Design::Interleaved { rounds: 1, turns: 6 };
    report.detectable = None;
    report
}

/// Two stored runs of one engine, before and after, on different threads.
pub(crate) fn stored() -> ComparisonReport {
    let mut report = three_engines();
    report.design = Design::Stored;
    report.parity.clear();
    report.detectable = None;
    report.sides.remove(1);
    report.sides[0].info.threads = 4;
    report.sides[0].runs = vec![RunId("7f3a09c41be2d650".into())];
    report.sides[1].runs = vec![RunId("e32b09c41be2d650".into())];
    report.sides.iter_mut().for_each(|side| side.processes = 1);
    report.comparisons.remove(0);
    report.comparisons[0].remarks =
        vec![Remark::new(RemarkCode::SidesDiffer, "`torch` and `rten` differ in threads 4 and 2")];
    let speed_up = report.comparisons[0].speed_up.as_mut().expect("it has one");
    speed_up.rounds.clear();
    (speed_up.p_value, speed_up.adjusted_p, speed_up.detectable) = (None, None, None);
    report.remarks = vec![Remark::new(
        RemarkCode::NotInterleaved,
        "stored runs were not interleaved: drift of the machine between them looks like a difference",
    )];
    report
}

/// Where the time of two sides goes.
pub(crate) fn layers() -> LayerJoin {
    let totals = [0.24, 0.20];
    let side = |label: &str, total: f64, joined: f64, placed: f64| LayerSide {
        label: label.into(),
        total: Seconds(total),
        outside: Seconds(total * 1.02),
        joined: LayerCell::new(joined, total),
        unjoined: LayerCell::new(total - joined, total),
        placed: Ratio(placed),
        cost: Some(LayerCost {
            plain: Seconds(total * 1.004),
            overhead: Estimate { value: 0.016, interval: Interval { low: 0.009, high: 0.022 } },
            closure: Estimate { value: 0.996, interval: Interval { low: 0.989, high: 1.002 } },
        }),
    };
    let mut rows = vec![LayerRow::new("embeddings".into(), 1, &[0.006, 0.004], &totals)];
    for layer in 0..6 {
        for (path, times) in [
            (".attention.q_lin", [0.004, 0.003]),
            (".attention", [0.003, 0.0021]),
            (".ffn.lin1", [0.0155, 0.0137]),
            (".ffn.lin2", [0.0152, 0.0135]),
            ("", [0.0009, 0.0]),
        ] {
            let path = format!("transformer.layer.{layer}{path}");
            rows.push(LayerRow::new(path, 1, &times, &totals));
        }
    }
    let joined = |at: usize| rows.iter().map(|row: &LayerRow| row.cells[at].time.0).sum::<f64>();
    let sides =
        vec![side("torch", 0.24, joined(0), 0.0), side("onnxruntime", 0.20, joined(1), 0.0421)];
    LayerJoin { sides, rows, pooling: types::Pooling::default() }
}

fn side(engine: &str, version: &str, median: f64, megabytes: u64, load: f64) -> SideReport {
    SideReport {
        info: SideInfo {
            label: engine.into(),
            engine: EngineInfo {
                id: engine.into(),
                version: version.into(),
                placement: "cpu, 2 threads".into(),
            },
            device: Device::Cpu,
            precision: Precision::Fp32,
            threads: 2,
            options: EngineOptions::default(),
            mode: Mode::Inference,
            phases: Vec::new(),
            training: None,
            generation: None,
            peak_memory: Some(Bytes(megabytes * 1_000_000)),
            verdict: Verdict::from_reasons(Vec::new()),
            remarks: Vec::new(),
            failed: None,
        },
        processes: 3,
        latency: Some(summary(median, 270)),
        load: Some(Seconds(load)),
        first: Some(Seconds(median * 1.7)),
        runs: Vec::new(),
    }
}

fn comparison(side: &str, outcome: Outcome, ratio: f64, low: f64, high: f64) -> Comparison {
    Comparison {
        side: side.into(),
        baseline: "torch".into(),
        speed_up: Some(SpeedUp {
            ratio,
            interval: Some(Interval { low, high }),
            best: ratio * 1.09,
            worst: ratio * 0.93,
            rounds: vec![ratio * 0.99, ratio, ratio * 1.01],
            p_value: Some(0.0021),
            adjusted_p: Some(0.0042),
            detectable: Some(0.031),
        }),
        outcome,
        disturbed: None,
        remarks: Vec::new(),
    }
}

fn refused(side: &str, why: &str) -> Comparison {
    Comparison {
        side: side.into(),
        baseline: "torch".into(),
        speed_up: None,
        outcome: Outcome::Refused { code: types::RemarkCode::OutputsDiffer, why: why.into() },
        disturbed: None,
        remarks: Vec::new(),
    }
}

fn parity(side: &str, max_abs: f64) -> Parity {
    let output = OutputParity {
        output: "last_hidden_state".into(),
        max_abs: Some(max_abs),
        cosine: Some(1.0),
        error: Some(3e-6),
        tolerance: Some(1e-3),
        rounding: None,
        holds: true,
        undecided: false,
        why: None,
        note: None,
    };
    Parity {
        side: side.into(),
        reference: "torch".into(),
        outputs: vec![output],
        holds: true,
        first_difference: None,
    }
}
