//! Layers from turns, with numbers worked out by hand.

use modelmeter_analysis::layer_report;
use types::{
    Bound, Bytes, Ceiling, Ceilings, Flops, Interval, Layer, LayerKind, LayerReport, LayerTime,
    LayerTurn, LayerWork, Phase, Precision,
};

const MS: u64 = 1_000_000;

fn time(path: &str, kind: &str, calls: u64, nanos: u64) -> LayerTime {
    LayerTime { path: path.into(), kind: kind.into(), calls, nanos, phase: None }
}

fn work(path: &str, operator: &str, flops: u64, bytes: u64) -> LayerWork {
    LayerWork {
        name: format!("{path}.{operator}"),
        path: path.into(),
        operator: operator.into(),
        kind: LayerKind::of(path, operator),
        flops: Some(Flops(flops)),
        bytes: Some(Bytes(bytes)),
    }
}

/// Two inferences of 100 ms without and 104 ms with instruments, 99 ms of the latter inside the parts.
fn turn(slower: u64) -> LayerTurn {
    LayerTurn {
        plain: vec![100 * MS * slower; 2],
        profiled: vec![104 * MS * slower; 2],
        layers: vec![
            time("embeddings.word.Gather", "Gather", 2, 2 * 9 * MS * slower),
            time("layer.0.attention.query.MatMul", "MatMul", 2, 2 * 40 * MS * slower),
            time("BiasGelu_token_3", "BiasGelu", 2, 2 * 10 * MS * slower),
            time("layer.0.mlp.fc1.MatMul", "MatMul", 2, 2 * 40 * MS * slower),
        ],
        device: None,
    }
}

fn ceilings() -> Ceilings {
    let ceiling = |value| Ceiling { value, interval: Interval { low: value, high: value } };
    serde_json::from_value(serde_json::json!({
        "threads": 2,
        "flops": [[Precision::Fp32, ceiling(100e9)]],
        "bandwidth": ceiling(10e9),
        "measured_at": 0,
    }))
    .unwrap()
}

fn report(turns: &[LayerTurn]) -> LayerReport {
    let work = [
        work("embeddings.word", "Gather", 0, 72_000_000),
        work("layer.0.attention.query", "MatMul", 2_000_000_000, 1_000_000),
        work("layer.0.mlp.fc1", "MatMul", 4_000_000_000, 1_000_000),
    ];
    layer_report(turns, &work, Precision::Fp32, Some(&ceilings())).unwrap()
}

fn layer<'a>(report: &'a LayerReport, path: &str) -> &'a Layer {
    report.layers.iter().find(|layer| layer.path == path).unwrap()
}

fn near(found: f64, wanted: f64) -> bool {
    (found - wanted).abs() < 1e-9 * wanted.abs().max(1.0)
}

#[test]
fn the_parts_add_up_to_what_the_closure_says() {
    let report = report(&[turn(1), turn(1), turn(1), turn(1)]);
    assert!(near(report.plain.0, 0.1), "{report:?}");
    assert!(near(report.overhead.value, 0.04), "{report:?}");
    assert!(near(report.closure.value, 0.99), "{report:?}");
    assert!(near(report.sum.0, 0.099), "{report:?}");
    assert!(near(report.residue().0, 0.001), "{report:?}");
    let own: f64 = report.layers.iter().map(|layer| layer.spent.own.0).sum();
    assert!(near(own, 0.099), "{own}");
    let kinds: f64 = report.kinds.iter().map(|kind| kind.spent.total.0).sum();
    assert!(near(kinds, 0.099), "{kinds}");
}

#[test]
fn a_turn_on_a_slow_machine_does_not_move_the_ratios() {
    let report = report(&[turn(1), turn(1), turn(3), turn(1), turn(1)]);
    assert!(near(report.closure.value, 0.99), "{report:?}");
    assert!(near(report.plain.0, 0.1), "{report:?}");
}

#[test]
fn a_module_holds_what_lies_inside_it() {
    let report = report(&[turn(1), turn(1)]);
    let outer = layer(&report, "layer.0");
    // The nameless activation runs between the two halves, so it belongs to the module around both.
    assert!(near(outer.spent.own.0, 0.010), "{outer:?}");
    assert!(near(outer.spent.total.0, 0.090), "{outer:?}");
    assert_eq!(outer.spent.flops, Some(Flops(6_000_000_000)));
    assert_eq!(outer.depth, 1);
    assert!(near(report.placed.0, 10.0 / 99.0), "{report:?}");
    let order: Vec<&str> = report.layers.iter().map(|layer| layer.path.as_str()).collect();
    let place = |path: &str| order.iter().position(|known| *known == path).unwrap();
    assert!(place("embeddings") < place("layer"));
    assert!(place("layer.0") < place("layer.0.attention.query"));
}

#[test]
fn the_slower_of_computing_and_moving_is_the_bound() {
    let report = report(&[turn(1), turn(1)]);
    let query = layer(&report, "layer.0.attention.query").spent.roofline.unwrap();
    // 2 GFLOP at 100 GFLOP/s are 20 ms of the 40.
    assert_eq!(query.bound, Bound::Compute);
    assert!(near(query.attained.0, 0.5), "{query:?}");
    let words = layer(&report, "embeddings.word").spent.roofline.unwrap();
    // 72 MB at 10 GB/s are 7.2 ms of the 9.
    assert_eq!(words.bound, Bound::Memory);
    assert!(near(words.attained.0, 0.8), "{words:?}");
}

#[test]
fn operators_are_told_where_the_engine_times_nodes() {
    let report = report(&[turn(1), turn(1)]);
    let products = &report.operators[0];
    assert_eq!(products.name, "MatMul");
    assert!(near(products.spent.total.0, 0.080), "{products:?}");
    assert!(near(products.spent.calls, 2.0), "{products:?}");
    assert_eq!(products.spent.flops, Some(Flops(6_000_000_000)));
    // A fused operator's work is nobody's: it has time and no rate.
    let fused = report.operators.iter().find(|rollup| rollup.name == "BiasGelu").unwrap();
    assert_eq!(fused.spent.flops, None);
}

#[test]
fn modules_of_a_framework_are_no_operators() {
    let modules = LayerTurn {
        plain: vec![10 * MS],
        profiled: vec![10 * MS],
        layers: vec![
            time("", "Model", 1, MS),
            time("layer.0", "Block", 1, 2 * MS),
            time("layer.0.attention", "Attention", 1, 7 * MS),
            // A class that is called like an operator.
            time("pooler.activation", "Tanh", 1, 0),
        ],
        device: None,
    };
    let work =
        [work("layer.0.attention", "MatMul", 10, 10), work("pooler.activation", "Tanh", 10, 10)];
    let report = layer_report(&[modules.clone(), modules], &work, Precision::Fp32, None).unwrap();
    assert!(report.operators.is_empty());
    assert!(near(layer(&report, "layer.0").spent.total.0, 0.009));
    assert!(near(layer(&report, "").spent.own.0, 0.001));
    assert_eq!(layer(&report, "layer.0").spent.roofline, None);
}

#[test]
fn nothing_is_said_of_no_turns() {
    assert!(layer_report(&[], &[], Precision::Fp32, None).is_none());
    let empty = LayerTurn { plain: vec![MS], profiled: vec![MS], layers: Vec::new(), device: None };
    assert!(layer_report(&[empty], &[], Precision::Fp32, None).is_none());
}

fn in_phase(phase: Phase, path: &str, kind: &str, nanos: u64) -> LayerTime {
    LayerTime { phase: Some(phase), ..time(path, kind, 1, nanos) }
}

/// A step of 100 ms: 30 forward, 2 loss, 50 backward, 18 optimiser.
fn step() -> LayerTurn {
    LayerTurn {
        plain: vec![100 * MS; 2],
        profiled: vec![100 * MS],
        layers: vec![
            in_phase(Phase::Forward, "layer.0.mlp.fc1.MatMul", "MatMul", 20 * MS),
            in_phase(Phase::Forward, "layer.0.mlp.fc2.MatMul", "MatMul", 10 * MS),
            in_phase(Phase::Loss, "ReduceMean", "ReduceMean", 2 * MS),
            in_phase(Phase::Backward, "", "step", MS),
            in_phase(Phase::Backward, "BiasGelu_token_1", "BiasGelu", 4 * MS),
            in_phase(Phase::Backward, "layer.0.mlp.fc2.MatMul", "MatMul", 15 * MS),
            in_phase(Phase::Backward, "layer.0.mlp.fc1.MatMul", "MatMul", 30 * MS),
            in_phase(Phase::Optimizer, "", "step", 18 * MS),
        ],
        device: None,
    }
}

#[test]
fn a_step_has_its_parts_around_the_modules() {
    let done = [
        LayerWork { path: "forward.layer.0.mlp.fc1".into(), ..work("fc1", "MatMul", 10, 1) },
        LayerWork { path: "backward.layer.0.mlp.fc1".into(), ..work("fc1", "MatMul", 20, 1) },
        LayerWork { path: "optimizer".into(), ..work("adam", "Mul", 5, 1) },
    ];
    let turns = [step(), step(), step(), step()];
    let report = layer_report(&turns, &done, Precision::Fp32, Some(&ceilings())).unwrap();
    assert!(report.is_step(), "{report:?}");
    let seconds = |path: &str| layer(&report, path).spent.total.0;
    for (path, wanted) in [
        ("forward", 0.030),
        ("forward.layer.0.mlp.fc1", 0.020),
        ("loss", 0.002),
        ("backward", 0.050),
        ("backward.layer.0.mlp.fc1", 0.030),
        ("optimizer", 0.018),
    ] {
        assert!(near(seconds(path), wanted), "{path}: {} {wanted}", seconds(path));
    }
    // What ran first in the backward pass has no neighbour there: it is not placed by the forward pass.
    assert!(near(layer(&report, "backward").spent.own.0, 0.005), "{report:?}");
    assert_eq!(layer(&report, "backward").spent.flops, Some(Flops(20)));
    let kinds: Vec<&str> = report.kinds.iter().map(|kind| kind.name.as_str()).collect();
    assert_eq!(kinds, ["mlp", "optimizer", "other", "loss"]);
    let share: f64 = report.layers.iter().filter(|l| l.depth == 0).map(|l| l.spent.share.0).sum();
    assert!(near(share, 1.0), "{share}");
}

/// Three inferences: a device that works 2 ms of 10 in one layer and 1 ms in another; instruments cost the host 4 ms.
fn device_turn() -> LayerTurn {
    LayerTurn {
        plain: vec![10 * MS; 3],
        profiled: vec![14 * MS; 3],
        layers: vec![
            time("", "Model", 3, 0),
            time("layer.0.attention", "Attention", 3, 3 * 2 * MS),
            time("layer.0.mlp", "Mlp", 3, 3 * MS),
        ],
        device: Some(types::DeviceTurn {
            busy: vec![3 * MS, 3 * MS, 3 * MS],
            // One inference waited for something else.
            idle: vec![7 * MS, 7 * MS, 90 * MS],
            host: vec![3 * MS, 3 * 5 * MS, 3 * 4 * MS],
        }),
    }
}

#[test]
fn layers_of_a_device_and_the_time_it_does_nothing_add_up() {
    let turns = [device_turn(), device_turn(), device_turn()];
    let report = layer_report(&turns, &[], Precision::Fp32, None).unwrap();
    assert!(near(report.closure.value, 1.0), "{:?}", report.closure);
    assert!(near(report.overhead.value, 0.4));
    let device = report.device.as_ref().unwrap();
    assert!(near(device.busy.0, 0.003) && near(device.idle.0, 0.007), "{device:?}");
    let spent = &layer(&report, "layer.0").spent;
    assert!(near(spent.total.0, 0.003) && near(spent.share.0, 0.3), "{spent:?}");
    assert!(near(spent.host.unwrap().0, 0.009), "{spent:?}");
    assert!(near(layer(&report, "layer.0.attention").spent.host.unwrap().0, 0.005));
}
