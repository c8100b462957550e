//! Small operators that only move data: what joining them would save.

use super::advise;
use crate::advice::{
    Facts, Judgement, Missing, Rule,
    judgement::{WORTH_IT, change, evidence, gain},
};
use types::{Bound, Change, Goal, LayerReport, Proof, Rollup, Unit};

/// Operators that compute little for each byte they touch, so that they cost what their bytes cost.
const LIGHT: [&str; 36] = [
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Pow",
    "Sqrt",
    "Erf",
    "Tanh",
    "Sigmoid",
    "Relu",
    "Gelu",
    "Silu",
    "LeakyRelu",
    "Clip",
    "Exp",
    "Neg",
    "Where",
    "Cast",
    "Softmax",
    "LayerNormalization",
    "BatchNormalization",
    "RMSNormalization",
    "ReduceMean",
    "Transpose",
    "Reshape",
    "Concat",
    "Slice",
    "Split",
    "Squeeze",
    "Unsqueeze",
    "Expand",
    "HardSwish",
    "Mish",
    "Reciprocal",
    "Identity",
    "Equal",
];

pub(super) struct Fusion;

impl Rule for Fusion {
    fn id(&self) -> &'static str {
        "fusion"
    }

    fn about(&self) -> &'static str {
        "time in operators that only move data and could be fused"
    }

    fn judge(&self, facts: &Facts<'_>) -> Result<Judgement, Missing> {
        let report = facts.layers()?;
        if report.operators.is_empty() {
            return Err(Missing::because(format!(
                "engine `{}` times modules, not operators",
                facts.run.cell.engine
            )));
        }
        let share = light_share(report);
        let high = 1.0 / (1.0 - share).max(0.05);
        // A chain of two that becomes one reads and writes once instead of twice.
        let low = 1.0 / (1.0 - share / 2.0);
        let text = "share of the time in operators that only move data";
        let number = evidence(text, "layers.light", share, Unit::Ratio);
        if low < WORTH_IT {
            return Ok(Judgement::Fine(number));
        }
        let mut numbers = vec![number];
        for light in largest(report) {
            let text = format!("share of `{}`", light.name);
            let key = format!("layers.operator.{}", light.name);
            numbers.push(evidence(text, key, light.spent.share.0, Unit::Ratio));
        }
        let (title, proof) = plan(facts)?;
        let basis = "fusing saves half to all of the time in these operators";
        let caveat = "the larger the share of matrix products, the smaller the gain";
        Ok(advise(title, numbers, gain(Goal::Latency, low, high, basis), proof, Some(caveat)))
    }
}

fn light(report: &LayerReport) -> impl Iterator<Item = &Rollup> {
    let memory_bound =
        |one: &&Rollup| one.spent.roofline.is_none_or(|place| place.bound == Bound::Memory);
    let listed = |one: &&Rollup| LIGHT.contains(&one.name.as_str());
    report.operators.iter().filter(listed).filter(memory_bound)
}

fn light_share(report: &LayerReport) -> f64 {
    light(report).map(|one| one.spent.share.0).sum::<f64>().min(1.0)
}

/// The three that take most.
fn largest(report: &LayerReport) -> Vec<&Rollup> {
    let mut all: Vec<&Rollup> = light(report).collect();
    all.sort_by(|a, b| b.spent.share.0.total_cmp(&a.spent.share.0));
    all.truncate(3);
    all
}

/// The engine's own switch first, another engine otherwise.
pub(super) fn plan(facts: &Facts<'_>) -> Result<(String, Proof), Missing> {
    let all = facts.alternatives.as_ref().map_err(Clone::clone)?;
    let own = all.iter().find(|one| one.engine == facts.run.cell.engine);
    if let Some(options) = own.and_then(|own| own.fusing.clone()) {
        let words = options.to_string();
        let told = if words.is_empty() { "its own defaults".to_owned() } else { words };
        let title = format!("let {} fuse: {told}", facts.run.cell.engine);
        return Ok((title, change(Change { options: Some(options), ..Change::default() })));
    }
    Ok(match facts.other_engine()? {
        Some(other) => {
            let title = format!("try {}, which fuses in its own way", other.engine);
            (title, change(Change { engine: Some(other.engine.clone()), ..Change::default() }))
        }
        None => {
            let why = "no other engine here runs this model".into();
            ("use an engine that fuses more".into(), Proof::Elsewhere { why })
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::said;
    use super::*;
    use crate::advice::scene;
    use types::{EngineOptions, Precision};

    #[test]
    fn light_operators_are_worth_joining() {
        let mut run = scene::run();
        let memory = Some(Bound::Memory);
        run.layers = scene::layers(
            &[],
            &[
                ("MatMul", 0.6, Some(Bound::Compute)),
                ("Add", 0.1, memory),
                ("Erf", 0.2, memory),
                ("Transpose", 0.1, None),
            ],
        );
        let mut facts = scene::facts(&run);
        facts.alternatives = Ok(vec![
            scene::engine("rten", &[Precision::Fp32]),
            scene::engine("onnxruntime", &[Precision::Fp32]),
        ]);
        let advice = said::advice(&Fusion, &facts);
        // Two fifths of the time: half of them gone, or all.
        said::is_between(&advice, 1.0 / 0.8, 1.0 / 0.6);
        assert_eq!(advice.evidence[1].text, "share of `Erf`");
        let engine = Some("onnxruntime".to_owned());
        let change = Change { engine, ..Change::default() };
        assert_eq!(advice.proof, Proof::Change { change });
        if let Ok(all) = &mut facts.alternatives {
            all[0].fusing =
                Some(EngineOptions { compile: Some("default".into()), ..EngineOptions::default() });
        }
        assert_eq!(said::advice(&Fusion, &facts).title, "let rten fuse: compiled");
    }

    #[test]
    fn matrix_products_alone_are_fine() {
        let mut run = scene::run();
        run.layers = scene::layers(
            &[],
            // A softmax that arithmetic bounds gains nothing from moving less.
            &[("MatMul", 0.8, None), ("Softmax", 0.17, Some(Bound::Compute)), ("Add", 0.03, None)],
        );
        assert!((said::fine(&Fusion, &scene::facts(&run)).value - 0.03).abs() < 1e-12);
    }

    #[test]
    fn without_layers_or_operators_nothing_is_known() {
        let mut run = scene::run();
        let missing = said::missing(&Fusion, &scene::facts(&run));
        assert!(missing.hint.unwrap().contains("modelmeter profile bert"));
        run.layers = scene::layers(&[("mlp", 1.0, None)], &[]);
        assert!(said::missing(&Fusion, &scene::facts(&run)).why.contains("modules"));
    }
}
