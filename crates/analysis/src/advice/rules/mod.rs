//! The rules, one file each.

mod attention;
mod batch_size;
mod cache_type;
mod cold_start;
mod decode_bandwidth;
mod dynamic_batching;
mod embedding;
mod fragmentation;
mod fusion;
mod gradient_accumulation;
mod gradient_checkpointing;
mod narrower;
mod on_gpu;
mod padding;
mod pooling;
mod precision;
mod quantisation;
mod sharding;
mod stored_weights;
mod threads;
mod tokenisation;
mod web_device;
mod web_download;

use super::judgement::{Judgement, Rule};
use types::{Advice, Evidence, ExpectedGain, Proof};

/// Every rule there is; the report, the help and docs/ADVICE.md follow this list.
pub static RULES: &[&dyn Rule] = &[
    &batch_size::BatchSize,
    &precision::LowerPrecision,
    &quantisation::Quantisation,
    &fusion::Fusion,
    &threads::Threads,
    &padding::PaddingWaste,
    &tokenisation::Tokenisation,
    &attention::Attention,
    &embedding::Embedding,
    &cold_start::ColdStart,
    &fragmentation::Fragmented,
    &gradient_accumulation::GradientAccumulation,
    &gradient_checkpointing::GradientCheckpointing,
    &sharding::Sharding,
    &dynamic_batching::DynamicBatching,
    &pooling::Pooling,
    &decode_bandwidth::DecodeBandwidth,
    &stored_weights::AsStored,
    &cache_type::CacheType,
    &web_download::WebDownload,
    &web_device::WebDevice,
    &on_gpu::OnGpu(&super::gpu::GPU_RULES[0]),
    &on_gpu::OnGpu(&super::gpu::GPU_RULES[1]),
    &on_gpu::OnGpu(&super::gpu::GPU_RULES[2]),
    &on_gpu::OnGpu(&super::gpu::GPU_RULES[3]),
    &on_gpu::OnGpu(&super::gpu::GPU_RULES[4]),
];

/// An advice; its rule and command are filled in where all rules are asked.
fn advise(
    title: impl Into<String>,
    evidence: Vec<Evidence>,
    gain: ExpectedGain,
    proof: Proof,
    caveat: Option<&str>,
) -> Judgement {
    Judgement::Advice(Box::new(Advice {
        rule: String::new(),
        title: title.into(),
        evidence,
        gain,
        proof,
        command: None,
        caveat: caveat.map(str::to_owned),
        trial: None,
    }))
}

/// What the tests of rules share.
#[cfg(test)]
mod said {
    use super::*;
    use crate::advice::{Facts, Missing};

    pub(super) fn by(rule: &dyn Rule, facts: &Facts<'_>) -> Judgement {
        rule.judge(facts).unwrap_or_else(Judgement::CannotTell)
    }

    pub(super) fn advice(rule: &dyn Rule, facts: &Facts<'_>) -> Advice {
        match by(rule, facts) {
            Judgement::Advice(advice) => *advice,
            other => panic!("{} gave no advice: {other:?}", rule.id()),
        }
    }

    pub(super) fn fine(rule: &dyn Rule, facts: &Facts<'_>) -> Evidence {
        match by(rule, facts) {
            Judgement::Fine(evidence) => evidence,
            other => panic!("{} is not fine: {other:?}", rule.id()),
        }
    }

    pub(super) fn missing(rule: &dyn Rule, facts: &Facts<'_>) -> Missing {
        match by(rule, facts) {
            Judgement::CannotTell(missing) => missing,
            other => panic!("{} could tell: {other:?}", rule.id()),
        }
    }

    pub(super) fn beside(rule: &dyn Rule, facts: &Facts<'_>) -> String {
        match by(rule, facts) {
            Judgement::Beside(why) => why,
            other => panic!("{} does concern it: {other:?}", rule.id()),
        }
    }

    /// Both ends of the factor.
    pub(super) fn is_between(advice: &Advice, low: f64, high: f64) {
        let found = advice.gain.factor;
        let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
        assert!(near(found.low, low) && near(found.high, high), "{found:?} is not {low} … {high}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_a_name_of_its_own_and_a_paragraph() {
        let page = include_str!("../../../../../docs/ADVICE.md");
        for (place, rule) in RULES.iter().enumerate() {
            let id = rule.id();
            assert!(RULES[..place].iter().all(|other| other.id() != id), "`{id}` is there twice");
            assert!(page.contains(&format!("## `{id}`")), "docs/ADVICE.md has no `{id}`");
            assert!(!rule.about().is_empty());
        }
        let paragraphs = page.lines().filter(|line| line.starts_with("## `")).count();
        assert_eq!(paragraphs, RULES.len(), "docs/ADVICE.md describes rules that are gone");
    }
}
