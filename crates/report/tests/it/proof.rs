//! A proof, seen whole and read by programs.

use crate::sample;
use modelmeter_report::{PROOF_SCHEMA, Style, proof_document, text_width};
use serde_json::Value;
use std::time::Duration;
use types::{
    BlockFacts, Bytes, Drift, Flops, Interval, ModelFacts, Optimisation, Outcome, OutputDrift,
    Precision, ProofReport, Remark, RemarkCode, Seconds, Similarity, SpeedProof, SpeedUp,
    SpeedVerdict, WeightFacts,
};

const SCHEMA: &str = include_str!("../../../../docs/schema/modelmeter.proof-1.schema.json");

fn facts(nonzeros: u64, size: u64, flops: u64) -> ModelFacts {
    ModelFacts {
        parameters: 109_482_240,
        nonzeros,
        size: Bytes(size),
        compressed: Some(Bytes(size / 10 * 9)),
        flops: Flops(flops),
        precision: Precision::Fp32,
    }
}

fn moved(name: &str, cosine: f64) -> OutputDrift {
    OutputDrift {
        output: name.into(),
        cosine: Some(cosine),
        relative_error: Some((2.0 - 2.0 * cosine).sqrt()),
        top1: Some(0.921),
        why: None,
    }
}

fn speed(engine: &str, verdict: SpeedVerdict, ratio: f64) -> SpeedProof {
    let latency = Some(sample::summary(0.2451, 48));
    let is_faster = verdict == SpeedVerdict::Faster;
    SpeedProof {
        engine: engine.into(),
        version: "1.31.1".into(),
        before: latency.clone(),
        after: latency,
        memory_before: Some(Bytes(612_000_000)),
        memory_after: Some(Bytes(611_000_000)),
        speed_up: Some(SpeedUp {
            ratio,
            interval: Some(Interval { low: ratio - 0.02, high: ratio + 0.02 }),
            best: ratio,
            worst: ratio,
            rounds: vec![ratio],
            p_value: Some(0.5),
            adjusted_p: Some(0.5),
            detectable: Some(0.03),
        }),
        outcome: if is_faster { Outcome::Better } else { Outcome::CannotTell },
        verdicts: Vec::new(),
        verdict,
        why: (!is_faster).then(|| "dense kernels do not skip zeros".into()),
        instead: (!is_faster)
            .then(|| "`prune --method structured` makes the matrices smaller".into()),
    }
}

pub(crate) fn sparse() -> ProofReport {
    let weight = |layer: usize, part: &str| WeightFacts {
        name: format!("encoder.layer.{layer}.{part}.weight"),
        before: [2_359_296, 2_359_296],
        after: [2_359_296, 1_179_648],
    };
    ProofReport {
        started_at: 1_750_000_000_000_000,
        elapsed: Duration::from_secs(40),
        model: sample::text_run().model,
        optimisation: Optimisation::Zeroed {
            method: "magnitude".into(),
            pattern: None,
            asked: 0.5,
            reached: 0.5,
            calibrated: false,
            steps: 1,
        },
        folder: Some("sparse".into()),
        changed_in: Seconds(1.31),
        batch_size: 4,
        sequence_length: Some(128),
        before: facts(109_400_000, 438_000_000, 96_600_000_000),
        after: facts(66_700_000, 438_000_000, 96_600_000_000),
        weights: (0..2)
            .flat_map(|n| [weight(n, "intermediate.dense"), weight(n, "output.dense")])
            .collect(),
        blocks: Vec::new(),
        drift: Some(Drift {
            engine: "rten".into(),
            samples: 4,
            given: true,
            outputs: vec![moved("last_hidden_state", 0.9912), moved("pooler_output", 0.999_812)],
            layers: vec![moved("encoder.layer.0", 0.9991), moved("encoder.layer.1", 0.9912)],
            similarities: vec![Similarity {
                first: "A man is playing a guitar on the street".into(),
                second: "Somebody makes music outside".into(),
                before: 0.612,
                after: 0.588,
            }],
        }),
        speed: vec![
            speed("rten", SpeedVerdict::NoFaster, 1.0),
            speed("onnxruntime", SpeedVerdict::NoFaster, 1.01),
        ],
        uncompared: None,
        remarks: vec![Remark::new(
            RemarkCode::NotPruned,
            "not pruned, because groups of 4 do not fill it: `pooler`",
        )],
    }
}

pub(crate) fn cut() -> ProofReport {
    let block = |n: usize, what: &str, before, after| BlockFacts {
        name: format!("encoder.layer.{n}"),
        what: what.into(),
        before,
        after,
    };
    let mut report = sparse();
    report.optimisation =
        Optimisation::Structured { asked: 0.3, reached: 0.316, calibrated: true, steps: 1 };
    report.blocks =
        (0..2).flat_map(|n| [block(n, "heads", 12, 8), block(n, "neurons", 3072, 2152)]).collect();
    report.speed = vec![speed("rten", SpeedVerdict::Faster, 1.38)];
    report
}

#[test]
fn a_proof_at_80() {
    for (name, report) in [("sparse_at_80", sparse()), ("cut_at_80", cut())] {
        let page = proof_document(&report).terminal(&Style::plain(80), Some(80));
        for line in page.lines() {
            assert!(text_width(line) <= 80, "{line}");
        }
        insta::assert_snapshot!(name, page);
    }
}

#[test]
fn a_proof_as_markdown() {
    insta::assert_snapshot!("sparse_as_markdown", proof_document(&sparse()).markdown());
}

#[test]
fn the_document_keeps_the_published_schema() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for report in [sparse(), cut()] {
        let document = proof_document(&report).json;
        assert_eq!(document["schema"], PROOF_SCHEMA);
        let wrong: Vec<String> = validator
            .iter_errors(&document)
            .map(|error| format!("{error} at {}", error.instance_path()))
            .collect();
        assert_eq!(wrong, Vec::<String>::new());
    }
}
