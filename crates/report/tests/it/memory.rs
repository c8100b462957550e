//! Where memory goes, seen whole and read by programs.

use crate::sample;
use crate::shown::memory;
use modelmeter_report::{JsonOptions, MemoryPart, MemoryView, Style, run_json, text_width};
use types::{
    AllocatorMemory, Bytes, Estimate, Interval, LayerMemory, LeakCheck, LeakVerdict, LiveBlocks,
    LiveTensor, MemoryPoint, MemoryReport, MissingCode, Ratio, Reading, Remark, RemarkCode,
    StaticMemory, SystemMemory,
};

fn layer(path: &str, at_peak: u64, allocated: u64) -> LayerMemory {
    LayerMemory {
        path: path.into(),
        allocated: Bytes(allocated),
        count: 7,
        at_peak: Bytes(at_peak),
    }
}

/// A text encoder of twelve layers in a pool. A fixture for reports; nobody measured it.
pub(crate) fn encoder() -> MemoryReport {
    let mut layers = vec![
        layer("embeddings.word_embeddings", 1_572_864, 1_572_864),
        layer("embeddings.LayerNorm", 0, 1_572_864),
    ];
    for index in 0..12 {
        let at = |path: &str| format!("encoder.layer.{index}.{path}");
        layers.push(layer(&at("attention.self"), 262_144, 4_800_000));
        layers.push(layer(&at("intermediate.dense"), 524_288, 6_291_456));
    }
    layers.push(layer("", 66_000, 120_000));
    let live = |node: &str, module: &str, bytes, count| LiveBlocks {
        module: module.into(),
        node: node.into(),
        bytes: Bytes(bytes),
        count,
    };
    let wave = |step: u64| {
        let level = [2, 5, 9, 14, 16, 12, 9, 6][step as usize % 8] * 1_000_000;
        MemoryPoint { at: step * 1_500_000, bytes: level }
    };
    MemoryReport {
        graph: StaticMemory {
            weights: Reading::of(Bytes(437_929_068)),
            apart: Reading::of(Bytes(20_461_568)),
            in_place: Reading::of(Bytes(9_439_232)),
            pooled: Reading::of(Bytes(16_122_904)),
            node: "encoder.layer.0.attention.self.MatMul".into(),
            live: vec![LiveTensor {
                name: "encoder.layer.0.attention.self/MatMul_output_0".into(),
                module: "encoder.layer.0.attention.self".into(),
                bytes: Bytes(3_145_728),
            }],
        },
        allocator: AllocatorMemory {
            source: "every allocation of the worker".into(),
            runs: 12,
            base: Reading::of(Bytes(6_066_688)),
            peak: Reading::of(Bytes(16_188_847)),
            in_use: Reading::of(Bytes(9_440_000)),
            reserved: Reading::of(Bytes(16_188_847)),
            fragmentation: Reading::of(Ratio(0.4169)),
            allocations: Reading::of(1447.2),
            frees: Reading::of(1447.2),
            node: "encoder.layer.0.intermediate.dense/Add".into(),
            live: vec![
                live("encoder.layer.0.intermediate.dense/Add", "encoder.layer.0", 6_291_456, 1),
                live("embeddings.word_embeddings/Gather", "embeddings", 1_572_864, 2),
                live("", "", 2048, 1),
            ],
            layers: Reading::of(layers),
            dropped: 0,
        },
        system: SystemMemory {
            peak: Reading::of(Bytes(512_000_000)),
            average: Reading::of(Bytes(498_000_000)),
            device_peak: None,
            device_process: None,
        },
        per_sample: Reading::of(Bytes(4_047_211)),
        timeline: (0..=80).map(wave).collect(),
        leak: LeakCheck {
            verdict: LeakVerdict::None,
            levels: vec![0; 12],
            growth: Some(0.0),
            why: "the floor did not rise over 12 inferences".into(),
        },
        step: None,
        cost: Reading::of(Estimate { value: 0.031, interval: Interval { low: 0.01, high: 0.052 } }),
        remarks: Vec::new(),
    }
}

/// An engine that tells little, on a device.
pub(crate) fn silent() -> MemoryReport {
    let mut report = encoder();
    let why = "this engine does not report its memory";
    report.allocator.base = Reading::missing(MissingCode::NotReported, why);
    report.allocator.peak = Reading::missing(MissingCode::NotReported, why);
    report.allocator.in_use = Reading::missing(MissingCode::NotReported, why);
    report.allocator.reserved = Reading::missing(MissingCode::NotReported, why);
    report.allocator.fragmentation = Reading::missing(MissingCode::NotReported, why);
    report.allocator.allocations = Reading::missing(MissingCode::NotReported, why);
    report.allocator.frees = Reading::missing(MissingCode::NotReported, why);
    report.allocator.layers = Reading::missing(MissingCode::NotReported, why);
    report.allocator.live.clear();
    report.graph.in_place =
        Reading::missing(MissingCode::Underivable, "some shapes of the graph are unknown");
    report.graph.pooled =
        Reading::missing(MissingCode::Underivable, "some shapes of the graph are unknown");
    report.timeline.clear();
    report.system.device_peak = Some(Reading::of(Bytes(3_200_000_000)));
    report.system.device_process = Some(Reading::of(Bytes(2_900_000_000)));
    report.leak = LeakCheck {
        verdict: LeakVerdict::CannotTell,
        levels: Vec::new(),
        growth: None,
        why: why.into(),
    };
    report.cost = Reading::missing(MissingCode::NotReported, why);
    report.remarks = vec![Remark::new(
        RemarkCode::PeakOfAllSteps,
        "a remark that is long enough to need a second line of the page",
    )];
    report
}

#[test]
fn an_encoder_at_80() {
    insta::assert_snapshot!(memory(&encoder(), &MemoryView::default(), &Style::default()));
}

#[test]
fn an_engine_that_tells_little_at_80() {
    insta::assert_snapshot!(memory(&silent(), &MemoryView::default(), &Style::default()));
}

#[test]
fn a_part_is_told_without_the_others() {
    let told = |only: Vec<MemoryPart>| memory(&encoder(), &MemoryView { only }, &Style::default());
    let (chart, table) = ("one inference, ", "allocated  ");
    let snapshots = told(vec![MemoryPart::Snapshots]);
    assert!(snapshots.contains(chart) && snapshots.contains("largest  "), "{snapshots}");
    assert!(!snapshots.contains(table), "{snapshots}");
    let allocations = told(vec![MemoryPart::Allocations]);
    assert!(allocations.contains(table), "{allocations}");
    assert!(!allocations.contains(chart) && !allocations.contains("largest"), "{allocations}");
    assert!(told(Vec::new()).contains(chart) && told(Vec::new()).contains(table));
}

#[test]
fn a_leak_says_how_much() {
    let mut report = encoder();
    report.leak.verdict = LeakVerdict::Leak;
    report.leak.growth = Some(5003.0);
    let text = memory(&report, &MemoryView::default(), &Style::default());
    assert!(text.contains("yes, 5.00 kB are not freed in every inference"), "{text}");
}

#[test]
fn no_line_is_wider_than_the_terminal_and_names_cannot_paint() {
    let mut hostile = encoder();
    let name = format!("\u{1b}[31m{}", "very.long.name.".repeat(20));
    hostile.allocator.live[0].node.clone_from(&name);
    hostile.allocator.source.clone_from(&name);
    hostile.remarks.push(Remark::new(RemarkCode::PeakOfAllSteps, name.clone()));
    if let Some(layers) = &mut hostile.allocator.layers.value {
        layers.push(layer(&name, 1 << 40, 1 << 41));
    }
    for report in [encoder(), silent(), hostile] {
        for width in [60, 72, 80, 120] {
            let text = memory(&report, &MemoryView::default(), &Style::plain(width));
            assert!(!text.contains('\u{1b}'), "{text}");
            for line in text.lines() {
                assert!(text_width(line) <= width, "{width}: {line}");
            }
        }
    }
}

#[test]
fn the_document_holds_it_and_keeps_the_schema() {
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../../../docs/schema/modelmeter.run-1.schema.json"))
            .unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for report in [encoder(), silent()] {
        let mut run = sample::bare_run("bert-base-uncased", 0.245, 212);
        run.memory = Some(Box::new(report));
        let document = run_json(&run, JsonOptions::default());
        let broken: Vec<String> =
            validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert_eq!(broken, Vec::<String>::new());
        let memory = &document["memory_profile"];
        assert_eq!(memory["unit"], "bytes");
        assert_eq!(memory["static"]["weights"]["value"], 437_929_068);
        let peak = &memory["allocator"]["peak"];
        assert!(peak["value"].is_u64() || peak["why"].is_string(), "{peak}");
    }
    let plain = run_json(&sample::bare_run("a", 0.1, 20), JsonOptions::default());
    assert!(plain.get("memory_profile").is_none());
}
