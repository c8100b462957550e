//! A made-up inside of a BERT-like model: its layers. A fixture for reports, pictures and traces; nobody measured it.

use types::{
    Bound, Bytes, Estimate, Flops, Interval, Layer, LayerKind, LayerReport, Ratio, Rollup,
    Roofline, Seconds, Spent,
};

/// A module: its name inside the one around it, its kind, its class, its own nanoseconds and FLOP a nanosecond.
pub(crate) struct Part(
    pub(crate) &'static str,
    pub(crate) LayerKind,
    pub(crate) &'static str,
    pub(crate) u64,
    pub(crate) u64,
    pub(crate) Vec<Part>,
);

pub(crate) fn embeddings() -> Part {
    use LayerKind::{Embedding, Norm};
    Part(
        "embeddings",
        Embedding,
        "Add",
        212_417,
        0,
        vec![
            Part("word_embeddings", Embedding, "Gather", 841_903, 0, vec![]),
            Part("position_embeddings", Embedding, "Gather", 97_001, 0, vec![]),
            Part("LayerNorm", Norm, "LayerNormalization", 388_250, 6, vec![]),
        ],
    )
}

pub(crate) fn block() -> Vec<Part> {
    use LayerKind::{Attention, Mlp, Norm, Other};
    let linear = |name, kind, nanos| Part(name, kind, "MatMul, Add", nanos, 190, vec![]);
    let norm = || Part("LayerNorm", Norm, "LayerNormalization", 391_007, 6, vec![]);
    let inner = vec![
        linear("query", Attention, 1_610_333),
        linear("key", Attention, 1_588_121),
        linear("value", Attention, 1_597_810),
    ];
    vec![
        Part(
            "attention",
            Attention,
            "BertAttention",
            0,
            0,
            vec![
                Part("self", Attention, "MatMul, Softmax, MatMul", 1_412_555, 90, inner),
                Part(
                    "output",
                    Attention,
                    "Add",
                    203_119,
                    0,
                    vec![linear("dense", Attention, 1_641_200), norm()],
                ),
            ],
        ),
        Part("intermediate", Mlp, "Gelu", 820_411, 3, vec![linear("dense", Mlp, 6_004_777)]),
        Part("output", Other, "Add", 197_303, 0, vec![linear("dense", Mlp, 6_255_120), norm()]),
    ]
}

/// The layers of a model with so many blocks.
pub(crate) fn layers(blocks: usize) -> LayerReport {
    let mut layers = Vec::new();
    push(&embeddings(), "", 0, &mut layers);
    let encoder = layers.len();
    layers.push(layer("encoder", 0, LayerKind::Other, "BertEncoder", 0, 0));
    for block_index in 0..blocks {
        let at = layers.len();
        let path = format!("encoder.layer.{block_index}");
        layers.push(layer(&path, 1, LayerKind::Other, "BertLayer", 0, 0));
        for part in block() {
            push(&part, &path, 2, &mut layers);
        }
        add_up(&mut layers, at);
    }
    add_up(&mut layers, encoder);
    push(
        &Part("pooler.dense", LayerKind::Head, "Gemm, Tanh", 41_800, 12, vec![]),
        "",
        0,
        &mut layers,
    );
    layers.push(layer("", 0, LayerKind::Other, "Cast, Unsqueeze", 18_004, 0));
    let sum: f64 = layers.iter().map(|layer| layer.spent.own.0).sum();
    for layer in &mut layers {
        layer.spent.share = Ratio(layer.spent.total.0 / sum);
    }
    let near = |value: f64| Estimate {
        value,
        interval: Interval { low: value - 0.004, high: value + 0.004 },
    };
    LayerReport {
        runs: 24,
        plain: Seconds(sum / 0.991),
        instrumented: Seconds(sum / 0.991 * 1.021),
        overhead: near(0.021),
        sum: Seconds(sum),
        device: None,
        closure: near(0.991),
        placed: Ratio(0.012),
        layers,
        kinds: Vec::new(),
        operators: vec![Rollup { name: "MatMul".into(), spent: spent(1_000_000, 190) }],
        remarks: Vec::new(),
    }
}

fn push(part: &Part, around: &str, depth: usize, layers: &mut Vec<Layer>) {
    let Part(name, kind, class, nanos, rate, inside) = part;
    let path = if around.is_empty() { (*name).to_string() } else { format!("{around}.{name}") };
    let at = layers.len();
    layers.push(layer(&path, depth, *kind, class, *nanos, *rate));
    for part in inside {
        push(part, &path, depth + 1, layers);
    }
    add_up(layers, at);
}

/// Adds what lies inside a module, everything pushed since, to its total.
fn add_up(layers: &mut [Layer], at: usize) {
    let inside: f64 = layers[at + 1..].iter().map(|layer| layer.spent.own.0).sum();
    let depth = layers[at].depth + 1;
    let children = layers[at + 1..].iter().filter(|layer| layer.depth == depth);
    let flops: u64 = children.filter_map(|layer| layer.spent.flops).map(|flops| flops.0).sum();
    let spent = &mut layers[at].spent;
    spent.total = Seconds(spent.own.0 + inside);
    let own = spent.flops.map_or(0, |flops| flops.0);
    spent.flops = Some(Flops(own + flops)).filter(|flops| flops.0 > 0);
}

fn layer(path: &str, depth: usize, kind: LayerKind, class: &str, nanos: u64, rate: u64) -> Layer {
    Layer { path: path.into(), depth, kind, class: class.into(), spent: spent(nanos, rate) }
}

fn spent(nanos: u64, rate: u64) -> Spent {
    let own = Seconds(nanos as f64 / 1e9);
    let bound = if rate > 50 { Bound::Compute } else { Bound::Memory };
    let roofline = Roofline { bound, attained: Ratio(0.31 + rate as f64 / 600.0) };
    Spent {
        calls: 1.0,
        total: own,
        own,
        share: Ratio(0.0),
        flops: (rate > 0).then_some(Flops(nanos * rate)),
        bytes: (nanos > 0).then_some(Bytes(nanos * 3)),
        roofline: (rate > 0).then_some(roofline),
        host: None,
    }
}
