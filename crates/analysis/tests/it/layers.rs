//! BERT as three engines report it: names as they come, times as they were measured once, in microseconds.

use modelmeter_analysis::join_layers;
use types::{LayerJoin, LayerProfile, LayerTime};

const LAYERS: usize = 12;
const RUNS: u64 = 5;

fn profile(label: &str, times: &[(String, &str, u64)]) -> LayerProfile {
    let layer = |(path, kind, micros): &(String, &str, u64)| LayerTime {
        path: path.clone(),
        kind: (*kind).into(),
        calls: RUNS,
        nanos: micros * 1000 * RUNS,
        phase: None,
    };
    let layers: Vec<LayerTime> = times.iter().map(layer).collect();
    let total_nanos = layers.iter().map(|layer| layer.nanos).sum::<u64>() * 11 / 10;
    LayerProfile { label: label.into(), runs: RUNS, total_nanos, layers, cost: None }
}

/// Modules with their own times, children before their parents.
fn torch() -> LayerProfile {
    let mut times: Vec<(String, &str, u64)> = Vec::new();
    for (path, kind, micros) in [
        ("embeddings.word_embeddings", "Embedding", 99),
        ("embeddings.token_type_embeddings", "Embedding", 85),
        ("embeddings.position_embeddings", "Embedding", 96),
        ("embeddings.LayerNorm", "LayerNorm", 83),
        ("embeddings.dropout", "Dropout", 4),
        ("embeddings", "BertEmbeddings", 335),
    ] {
        times.push((path.into(), kind, micros));
    }
    for layer in 0..LAYERS {
        for (path, kind, micros) in [
            (".attention.self.query", "Linear", 1237),
            (".attention.self.key", "Linear", 1137),
            (".attention.self.value", "Linear", 1144),
            (".attention.self", "BertSelfAttention", 881),
            (".attention.output.dense", "Linear", 1139),
            (".attention.output.dropout", "Dropout", 4),
            (".attention.output.LayerNorm", "LayerNorm", 153),
            (".attention.output", "BertSelfOutput", 147),
            (".attention", "BertAttention", 49),
            (".intermediate.dense", "Linear", 4590),
            (".intermediate.intermediate_act_fn", "GELUActivation", 812),
            (".intermediate", "BertIntermediate", 58),
            (".output.dense", "Linear", 4668),
            (".output.dropout", "Dropout", 4),
            (".output.LayerNorm", "LayerNorm", 104),
            (".output", "BertOutput", 107),
            ("", "BertLayer", 105),
        ] {
            times.push((format!("encoder.layer.{layer}{path}"), kind, micros));
        }
    }
    for (path, kind, micros) in [
        ("encoder", "BertEncoder", 172),
        ("pooler.dense", "Linear", 236),
        ("pooler.activation", "Tanh", 74),
        ("pooler", "BertPooler", 111),
        ("", "BertModel", 431),
    ] {
        times.push((path.into(), kind, micros));
    }
    profile("torch", &times)
}

/// Nodes after fusion, as ONNX Runtime 1.31 names them: `name` makes a name out of module and operator.
fn onnxruntime(name: fn(&str, &str) -> String) -> LayerProfile {
    let mut times: Vec<(String, &str, u64)> = vec![
        ("Unsqueeze_2".into(), "Unsqueeze", 43),
        (name("embeddings", "Gather"), "Gather", 19),
        ("Slice".into(), "Slice", 93),
        (name("embeddings.token_type_embeddings", "Gather"), "Gather", 131),
        (name("embeddings.word_embeddings", "Gather"), "Gather", 151),
        (name("embeddings", "Add"), "Add", 148),
        (name("embeddings.LayerNorm", "LayerNormalization"), "LayerNormalization", 84),
    ];
    for layer in 0..LAYERS {
        let module = |path: &str| format!("encoder.layer.{layer}{path}");
        let node = |path: &str, operator: &str| name(&module(path), operator);
        let numbered = |operator: &str, number: usize| match number {
            0 => operator.to_owned(),
            number => format!("{operator}_{number}"),
        };
        for (number, path) in ["query", "key", "value"].iter().enumerate() {
            times.push((node(&format!(".attention.self.{path}"), "MatMul"), "MatMul", 957));
            times.push((node(&format!(".attention.self.{path}"), "Add"), "Add", 58));
            times.push((node(".attention.self", &numbered("Reshape", number)), "Reshape", 24));
            times.push((node(".attention.self", &numbered("Transpose", number)), "Transpose", 56));
        }
        let scores = format!("{}.MatMul/MatMulScaleFusion/", module(".attention.self"));
        times.push((scores, "FusedMatMul", 116));
        if layer == 0 {
            // The mask is made where it is first needed, outside every module.
            times.extend([
                ("Cast".into(), "Cast", 24),
                ("Sub".into(), "Sub", 28),
                ("Mul".into(), "Mul", 21),
            ]);
        }
        times.push((node(".attention.self", "Softmax"), "Softmax", 67));
        times.push((node(".attention.self", "MatMul_1"), "MatMul", 118));
        times.push((node(".attention.output.dense", "MatMul"), "MatMul", 1564));
        times.push((node(".attention.output", "Add"), "Add", 46));
        let norm = node(".attention.output.LayerNorm", "LayerNormalization");
        times.push((norm, "LayerNormalization", 77));
        times.push((node(".intermediate.dense", "MatMul"), "MatMul", 4411));
        times.push((
            if layer == 0 { "BiasGelu".into() } else { format!("BiasGelu_token_{layer}") },
            "BiasGelu",
            1005,
        ));
        times.push((node(".output.dense", "MatMul"), "MatMul", 4743));
        times.push((node(".output", "Add"), "Add", 58));
        times.push((node(".output.LayerNorm", "LayerNormalization"), "LayerNormalization", 77));
    }
    times.push(("fused pooler.dense.MatMul/MatMulAddFusion".into(), "FusedGemm", 231));
    profile("onnxruntime", &times)
}

/// The operator was taken off before, and nothing tells nodes from modules.
fn bare(module: &str, _operator: &str) -> String {
    module.to_owned()
}

fn slashed(module: &str, operator: &str) -> String {
    format!("{module}/{operator}")
}

fn dotted(module: &str, operator: &str) -> String {
    format!("{module}.{operator}")
}

fn micros(join: &LayerJoin, path: &str) -> Vec<u64> {
    let row = join.rows.iter().find(|row| row.path == path);
    let row = row.unwrap_or_else(|| panic!("no row {path}"));
    row.cells.iter().map(|cell| (cell.time.0 * 1e6).round() as u64).collect()
}

#[test]
fn nearly_all_time_of_both_sides_finds_its_module() {
    let mut stripped = onnxruntime(bare);
    for layer in &mut stripped.layers {
        if !layer.path.contains('.') && layer.path.starts_with(&layer.kind) {
            layer.path.clear();
        }
    }
    for runtime in [onnxruntime(slashed), onnxruntime(dotted), stripped] {
        let join = join_layers(&[torch(), runtime]);
        for side in &join.sides {
            assert!(side.joined.share.0 >= 0.95, "{side:?}");
            let whole = side.joined.time.0 + side.unjoined.time.0;
            assert!((whole - side.total.0).abs() < 1e-12);
            assert!(side.outside.0 > side.total.0);
        }
        // The model's own glue is in no module and joins nothing.
        assert!(join.sides[0].unjoined.share.0 > 0.0);
    }
}

#[test]
fn a_product_is_compared_with_the_same_product() {
    let join = join_layers(&[torch(), onnxruntime(slashed)]);
    assert_eq!(micros(&join, "encoder.layer.3.attention.self.query"), [1237, 957 + 58]);
    assert_eq!(micros(&join, "encoder.layer.3.output.dense"), [4668, 4743]);
    let row = join.rows.iter().find(|row| row.path == "encoder.layer.3.output.dense").unwrap();
    assert_eq!(row.ratios[0], Some(1.0));
    assert!((row.ratios[1].unwrap() - 4668.0 / 4743.0).abs() < 1e-9);
    // Scores and softmax are the attention's own time on both sides.
    let nodes = 116 + 67 + 118 + 3 * (24 + 56);
    assert_eq!(micros(&join, "encoder.layer.3.attention.self"), [881, nodes]);
}

#[test]
fn what_one_side_tells_apart_rolls_up_to_what_both_know() {
    let join = join_layers(&[torch(), onnxruntime(slashed)]);
    // Dropout is a module only in the framework.
    assert_eq!(micros(&join, "encoder.layer.5.output"), [107 + 4, 58]);
    // The runtime folded positions into a constant; the framework's go to the embeddings.
    let nodes = 19 + 93 + 148;
    assert_eq!(micros(&join, "embeddings"), [335 + 96 + 4, nodes]);
    // The runtime fused bias and activation under a name without a module: it ran between two nodes of layer 5.
    assert_eq!(micros(&join, "encoder.layer.5"), [105 + 49 + 58 + 812, 1005]);
    assert_eq!(micros(&join, "pooler.dense"), [236, 231]);
    assert!(join.sides[1].placed.0 > 0.03 && join.sides[1].placed.0 < 0.08, "{:?}", join.sides[1]);
    assert!(join.sides[0].placed.0 == 0.0 && join.sides[0].placed.0.is_sign_positive());
}

#[test]
fn layers_put_together_keep_every_microsecond() {
    let join = join_layers(&[torch(), onnxruntime(slashed)]);
    let pooled = join.pooled();
    assert_eq!(micros(&pooled, "encoder.layer.*.attention.self.query"), [12 * 1237, 12 * 1015]);
    let row = pooled.rows.iter().find(|row| row.path.ends_with("self.query")).unwrap();
    assert_eq!(row.modules, 12);
    assert!(pooled.rows.len() < 25, "{}", pooled.rows.len());
    for side in 0..2 {
        let sum: f64 = pooled.rows.iter().map(|row| row.cells[side].time.0).sum();
        assert!((sum - join.sides[side].joined.time.0).abs() < 1e-9);
        let shares: f64 = pooled.rows.iter().map(|row| row.cells[side].share.0).sum();
        assert!((shares + join.sides[side].unjoined.share.0 - 1.0).abs() < 1e-9);
    }
}

#[test]
fn three_sides_join_on_what_all_of_them_know() {
    let mut rten = onnxruntime(slashed);
    rten.label = "rten".into();
    // This one keeps names through fusion, but knows nothing below the attention.
    for layer in &mut rten.layers {
        if let Some(at) = layer.path.find(".attention.self.") {
            layer.path = format!("{}.attention.self/Attention", &layer.path[..at]);
        }
    }
    let join = join_layers(&[torch(), onnxruntime(slashed), rten]);
    assert!(join.rows.iter().all(|row| !row.path.ends_with(".query")));
    let own = 1237 + 1137 + 1144 + 881;
    assert_eq!(micros(&join, "encoder.layer.3.attention.self")[0], own);
    assert!(join.sides.iter().all(|side| side.joined.share.0 >= 0.95));
}

#[test]
fn names_that_say_nothing_join_nothing() {
    let times: Vec<(String, &str, u64)> =
        (0..100).map(|at| (format!("Multiply_{at}"), "Multiply", 100)).collect();
    let join = join_layers(&[torch(), profile("nameless", &times)]);
    assert!(join.rows.is_empty(), "{:?}", join.rows);
    assert!(join.sides.iter().all(|side| side.joined.share.0 == 0.0));
    assert!((join.sides[1].unjoined.share.0 - 1.0).abs() < 1e-12);
}

#[test]
fn nothing_to_join_is_an_empty_join() {
    assert!(join_layers(&[]).rows.is_empty());
    let empty =
        LayerProfile { label: "x".into(), runs: 0, total_nanos: 0, layers: Vec::new(), cost: None };
    let join = join_layers(&[empty, torch()]);
    assert!(join.rows.is_empty());
    assert_eq!(join.sides[0].joined.share.0, 0.0);
}
