//! Runs with everything a page can show.

use crate::{encoder::layers, sample::text_run};
use report::{Dossier, Subject};
use types::*;

/// A run with so many samples, layers and ceilings.
pub(crate) fn subject(samples: usize) -> Subject {
    let mut run = text_run();
    // Made-up times: a slow wave, some noise, and one in five hundred far out.
    let nanos = |number: usize| {
        let noise = (number * 7_919 % 1_009) as u64 * 9_000;
        let far = if number % 500 == 499 { 90_000_000 } else { 0 };
        240_000_000 + noise + (number / 50 % 7) as u64 * 400_000 + far
    };
    run.samples =
        vec![Samples { phase: Phase::Inference, nanos: (0..samples).map(nanos).collect() }];
    let mut inside = layers(12);
    let attention = inside.layers.iter().find(|layer| layer.path.ends_with("query")).unwrap();
    inside.kinds = vec![Rollup { name: "attention".into(), spent: attention.spent.clone() }];
    run.layers = Some(Box::new(inside));
    let ceiling = |value: f64| Ceiling { value, interval: Interval { low: value, high: value } };
    let ceilings = Ceilings {
        flops: vec![(Precision::Fp32, ceiling(3e11))],
        bandwidth: Some(ceiling(2e10)),
        ..Ceilings::of(Device::Cpu, 2)
    };
    Subject {
        name: "7f3a".into(),
        command: Ok(format!("modelmeter profile {}", run.cell.model)),
        advice: vec![advice()],
        fine: Vec::new(),
        not_judged: Vec::new(),
        ceilings: Some(ceilings),
        run,
    }
}

fn advice() -> Advice {
    Advice {
        rule: "precision".into(),
        title: "compute in bf16".into(),
        evidence: vec![Evidence {
            text: "share of matrix products".into(),
            key: "x".into(),
            value: 0.9,
            unit: Unit::Ratio,
        }],
        gain: ExpectedGain {
            what: Goal::Latency,
            factor: Interval { low: 1.5, high: 3.0 },
            saved: None,
            basis: "the ceilings".into(),
        },
        proof: Proof::Repeat,
        command: Some("modelmeter compare bert".into()),
        caveat: None,
        trial: None,
    }
}

pub(crate) fn dossier(subjects: Vec<Subject>) -> Dossier {
    Dossier { subjects, ..Dossier::default() }
}
