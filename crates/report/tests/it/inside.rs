//! The inside of a model, seen whole and read by programs.

use crate::sample;
use crate::shown::{inside, page};
use modelmeter_report::{Footer, JsonOptions, LayerView, Style, View, run_json, text_width};
use types::{
    Bound, Bytes, Estimate, Flops, Interval, Layer, LayerKind, LayerReport, Ratio, Rollup,
    Roofline, Seconds, Spent,
};

const SUM: f64 = 0.1189;

fn spent(total: f64, own: f64, work: Option<(u64, u64)>, place: Option<(Bound, f64)>) -> Spent {
    Spent {
        calls: 1.0,
        total: Seconds(total),
        own: Seconds(own),
        share: Ratio(total / SUM),
        flops: work.map(|work| Flops(work.0)),
        bytes: work.map(|work| Bytes(work.1)),
        roofline: place.map(|(bound, attained)| Roofline { bound, attained: Ratio(attained) }),
        host: None,
    }
}

fn layer(path: &str, total: f64, own: f64, work: Option<(u64, u64)>) -> Layer {
    let place = work.map(|work| match work.0 {
        0 => (Bound::Memory, 0.71),
        _ => (Bound::Compute, 0.62),
    });
    Layer {
        path: path.into(),
        depth: path.matches('.').count(),
        kind: LayerKind::of(path, ""),
        class: "MatMul, Add".into(),
        spent: spent(total, own, work, place),
    }
}

/// Two layers of a text encoder; every module's time is what lies in it.
pub(crate) fn encoder() -> LayerReport {
    let mut layers = vec![
        layer("embeddings", 0.0064, 0.0, Some((0, 24_000_000))),
        layer("embeddings.word_embeddings", 0.0060, 0.0060, Some((0, 23_000_000))),
        layer("embeddings.LayerNorm", 0.0004, 0.0004, Some((0, 1_000_000))),
        layer("encoder", 0.1112, 0.0, Some((21_600_000_000, 400_000_000))),
        layer("encoder.layer", 0.1112, 0.0, Some((21_600_000_000, 400_000_000))),
    ];
    for index in 0..2 {
        let at = |path: &str| format!("encoder.layer.{index}{path}");
        layers.extend([
            layer(&at(""), 0.0556, 0.0030, Some((10_800_000_000, 200_000_000))),
            layer(&at(".attention"), 0.0190, 0.0, Some((3_600_000_000, 90_000_000))),
            layer(&at(".attention.self"), 0.0150, 0.0150, Some((2_700_000_000, 70_000_000))),
            layer(&at(".attention.output"), 0.0040, 0.0040, Some((900_000_000, 20_000_000))),
            layer(&at(".mlp"), 0.0330, 0.0330, Some((7_200_000_000, 100_000_000))),
            layer(&at(".norm"), 0.0006, 0.0006, Some((0, 10_000_000))),
        ]);
    }
    layers.push(layer("", 0.0013, 0.0013, None));
    let rollup = |name: &str, total: f64, work, place| Rollup {
        name: name.into(),
        spent: spent(total, total, work, place),
    };
    LayerReport {
        runs: 64,
        plain: Seconds(0.1200),
        instrumented: Seconds(0.1225),
        overhead: Estimate { value: 0.021, interval: Interval { low: 0.014, high: 0.027 } },
        sum: Seconds(SUM),
        device: None,
        closure: Estimate { value: 0.991, interval: Interval { low: 0.984, high: 0.997 } },
        placed: Ratio(0.0421),
        layers,
        kinds: vec![
            rollup(
                "mlp",
                0.0660,
                Some((14_400_000_000, 200_000_000)),
                Some((Bound::Compute, 0.73)),
            ),
            rollup(
                "attention",
                0.0380,
                Some((7_200_000_000, 180_000_000)),
                Some((Bound::Compute, 0.56)),
            ),
            rollup("embedding", 0.0060, Some((0, 23_000_000)), Some((Bound::Memory, 0.71))),
        ],
        operators: vec![
            rollup(
                "MatMul",
                0.1000,
                Some((21_600_000_000, 300_000_000)),
                Some((Bound::Compute, 0.7)),
            ),
            rollup("BiasGelu", 0.0120, None, None),
        ],
        remarks: Vec::new(),
    }
}

fn told(width: usize, only: &[&str]) -> String {
    let view = LayerView { only: only.iter().map(|word| (*word).to_owned()).collect() };
    inside(&encoder(), &view, &Style::plain(width))
}

#[test]
fn layers_at_80() {
    insta::assert_snapshot!(told(80, &[]));
}

#[test]
fn layers_at_140() {
    insta::assert_snapshot!(told(140, &[]));
}

#[test]
fn instruments_that_cost_more_than_was_missed_are_a_line_and_no_row() {
    let mut report = encoder();
    report.plain = Seconds(0.1112);
    report.instrumented = Seconds(0.1207);
    report.closure = Estimate { value: 1.069, interval: Interval { low: 1.06, high: 1.08 } };
    report.overhead = Estimate { value: 0.084, interval: Interval { low: 0.08, high: 0.09 } };
    let text = inside(&report, &LayerView::default(), &Style::plain(140));
    assert!(!text.contains("outside every layer"), "{text}");
    assert!(!text.contains("-6") && !text.contains('−'), "{text}");
    assert!(
        text.contains("instruments cost 8.4 % [8.0, 9.0]: 121 ms with them, 111 ms without; at least 7.70 ms of it is in the layers' times"),
        "{text}"
    );
}

#[test]
fn shares_of_the_outermost_rows_add_up_to_all_layers() {
    let (report, mut run) = (encoder(), sample::text_run());
    let outermost = report.layers.iter().filter(|layer| layer.depth == 0);
    let share: f64 = outermost.map(|layer| layer.spent.share.0).sum();
    assert!((share - 1.0).abs() < 1e-9, "{share}");
    // A run that was stored with shares of the time without instruments is read with these.
    let mut old = report.clone();
    old.layers.iter_mut().for_each(|layer| layer.spent.share = Ratio(layer.spent.total.0 / 0.12));
    run.layers = Some(Box::new(old));
    let text = serde_json::to_string(&run).unwrap();
    let read: types::Run = serde_json::from_str(&text).unwrap();
    assert_eq!(read.layers.unwrap().layers, report.layers);
}

#[test]
fn only_what_was_asked_for() {
    insta::assert_snapshot!(told(80, &["attention", "word"]));
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in [60, 80, 140] {
        for line in told(width, &[]).lines() {
            assert!(text_width(line) <= width, "{width}: {line}");
        }
    }
}

#[test]
fn the_lines_of_one_depth_add_up() {
    let text = told(80, &[]);
    let shares: f64 = text
        .lines()
        .take_while(|line| !line.trim().starts_with("by kind"))
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split('%').next()?.split_whitespace().last()?.parse::<f64>().ok())
        .sum();
    assert!((shares - 100.0).abs() < 1.0, "{shares}\n{text}");
}

#[test]
fn a_layer_from_outside_cannot_move_the_cursor() {
    let mut report = encoder();
    report.layers[0].path = "evil\u{1b}[2Jname".into();
    let text = inside(&report, &LayerView::default(), &Style::plain(80));
    assert!(!text.contains('\u{1b}'), "{text:?}");
}

#[test]
fn the_document_of_a_run_with_layers_keeps_to_its_schema() {
    let mut run = sample::text_run();
    run.layers = Some(Box::new(encoder()));
    let document = run_json(&run, JsonOptions::default());
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../../../docs/schema/modelmeter.run-1.schema.json"))
            .unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let faults: Vec<String> = validator.iter_errors(&document).map(|e| e.to_string()).collect();
    assert!(faults.is_empty(), "{faults:?}");
    assert_eq!(document["layers"]["layers"][0]["path"], "embeddings");
    assert_eq!(document["layers"]["sum"], 118.9);
}

#[test]
fn a_page_ends_with_its_footer() {
    let mut run = sample::text_run();
    run.layers = Some(Box::new(encoder()));
    let text = page(&run, &View::default(), &Style::plain(80), Footer::Stored("7f3a"));
    assert!(text.contains("encoder.layer.* (2)"), "{text}");
    assert!(text.trim_end().lines().last().unwrap().contains("7f3a"), "{text}");
}
