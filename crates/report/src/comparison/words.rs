//! Numbers and names of a comparison in the fewest words.

use crate::clean::clean;
use number::fixed;
use types::{Comparison, Interval, Outcome, SideInfo, SpeedUp};

/// An interval that lies within this share of equal on either side is worth the words `no difference`.
///
/// Ours: below a tenth nobody changes engines, and a wider interval would claim what was not seen.
const EQUAL_WITHIN: f64 = 0.10;

/// The side's label, with the engine's version behind the engine's name: `torch 2.15 bf16`.
pub(super) fn name(info: &SideInfo) -> String {
    let (label, engine) = (clean(&info.label), clean(&info.engine.id));
    let version = short_version(&clean(&info.engine.version));
    match label.strip_prefix(&engine) {
        _ if version.is_empty() || label.contains(&version) => label,
        Some(rest) => format!("{engine} {version}{rest}"),
        None => format!("{label} ({engine} {version})"),
    }
}

/// The first two parts of a version: `1.31.1` is `1.31`.
pub(crate) fn short_version(version: &str) -> String {
    let parts: Vec<&str> = version.splitn(3, '.').collect();
    parts[..parts.len().min(2)].join(".")
}

/// What may be said of a side, with its interval: `1.19 × faster [1.14, 1.24]`.
pub(super) fn verdict(comparison: &Comparison, info: &SideInfo) -> String {
    let Some(speed_up) = &comparison.speed_up else {
        return if info.failed.is_some() { "failed".into() } else { "refused".into() };
    };
    if is_too_busy(comparison) {
        return "cannot tell (machine too busy)".into();
    }
    match comparison.outcome {
        Outcome::Better => claim(speed_up.ratio, "faster", speed_up.interval),
        Outcome::Worse => claim(1.0 / speed_up.ratio, "slower", speed_up.interval.map(inverse)),
        Outcome::CannotTell if is_equal(speed_up) => bracketed("no difference", speed_up.interval),
        Outcome::CannotTell | Outcome::Refused { .. } => {
            bracketed("cannot tell", speed_up.interval)
        }
    }
}

/// Whether the machine is why nothing can be told.
pub(crate) fn is_too_busy(comparison: &Comparison) -> bool {
    comparison.disturbed.as_ref().is_some_and(types::Disturbed::is_too_much)
}

/// How many times as long it takes: `3.21 × [3.10, 3.32]`.
pub(super) fn factor(comparison: &Comparison) -> String {
    let Some(speed_up) = &comparison.speed_up else { return "refused".into() };
    if is_too_busy(comparison) {
        return "machine too busy".into();
    }
    let text = format!("{} ×", ratio(1.0 / speed_up.ratio));
    bracketed(&text, speed_up.interval.map(inverse))
}

/// `1.10 … 1.31`.
pub(super) fn range(low: f64, high: f64) -> String {
    let decimals = decimals(low.max(high));
    format!("{} … {}", fixed(low, decimals), fixed(high, decimals))
}

/// A ratio with as many decimals as its size deserves: `0.97`, `1.19`, `12.3`.
pub(crate) fn ratio(ratio: f64) -> String {
    fixed(ratio, decimals(ratio))
}

/// Whether the whole interval lies near equal and holds it, and rests on repeated processes.
fn is_equal(speed_up: &SpeedUp) -> bool {
    let near = 1.0 + EQUAL_WITHIN;
    let around = |Interval { low, high }: Interval| {
        low <= 1.0 && high >= 1.0 && low >= 1.0 / near && high <= near
    };
    speed_up.p_value.is_some() && speed_up.interval.is_some_and(around)
}

pub(crate) fn inverse(interval: Interval) -> Interval {
    Interval { low: 1.0 / interval.high, high: 1.0 / interval.low }
}

/// A factor above 1; decimals are added until it does not look like 1.
fn claim(factor: f64, word: &str, interval: Option<Interval>) -> String {
    let low = interval.map_or(factor, |interval| interval.low);
    let looks_equal = |decimals: &usize| fixed(low, *decimals) == fixed(1.0, *decimals);
    let start = decimals(factor);
    let decimals = (start..start + 2).find(|decimals| !looks_equal(decimals)).unwrap_or(start + 2);
    let words = format!("{} × {word}", fixed(factor, decimals));
    match interval {
        Some(Interval { low, high }) => {
            format!("{words} [{}, {}]", fixed(low, decimals), fixed(high, decimals))
        }
        None => words,
    }
}

/// Words with an interval behind them: `1.19 × [1.14, 1.24]`.
pub(crate) fn bracketed(words: &str, interval: Option<Interval>) -> String {
    match interval {
        Some(Interval { low, high }) => {
            let decimals = decimals(high);
            format!("{words} [{}, {}]", fixed(low, decimals), fixed(high, decimals))
        }
        None => words.into(),
    }
}

fn decimals(ratio: f64) -> usize {
    match ratio.abs() {
        size if size < 9.995 => 2,
        size if size < 99.95 => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(outcome: Outcome, low: f64, high: f64) -> String {
        words_of(outcome, low, high, Some(0.1))
    }

    fn words_of(outcome: Outcome, low: f64, high: f64, p_value: Option<f64>) -> String {
        let speed_up = SpeedUp {
            ratio: (low * high).sqrt(),
            interval: Some(Interval { low, high }),
            best: high,
            worst: low,
            rounds: Vec::new(),
            p_value,
            adjusted_p: None,
            detectable: None,
        };
        let comparison = Comparison {
            side: "a".into(),
            baseline: "b".into(),
            speed_up: Some(speed_up),
            outcome,
            disturbed: None,
            remarks: Vec::new(),
        };
        verdict(&comparison, &info("a", "a", ""))
    }

    fn info(label: &str, engine: &str, version: &str) -> SideInfo {
        SideInfo {
            label: label.into(),
            engine: types::EngineInfo {
                id: engine.into(),
                version: version.into(),
                placement: String::new(),
            },
            device: types::Device::Cpu,
            precision: types::Precision::Fp32,
            threads: 1,
            options: types::EngineOptions::default(),
            mode: types::Mode::Inference,
            phases: Vec::new(),
            training: None,
            generation: None,
            peak_memory: None,
            verdict: types::Verdict::from_reasons(Vec::new()),
            remarks: Vec::new(),
            failed: None,
        }
    }

    #[test]
    fn a_machine_that_was_too_busy_is_the_verdict() {
        let causes = vec![(types::ReasonCode::BusyMachine, 18)];
        let speed_up = SpeedUp {
            ratio: 1.38,
            interval: Some(Interval { low: 1.32, high: 1.44 }),
            best: 1.5,
            worst: 1.2,
            rounds: Vec::new(),
            p_value: Some(0.001),
            adjusted_p: Some(0.001),
            detectable: None,
        };
        let comparison = Comparison {
            side: "a".into(),
            baseline: "b".into(),
            speed_up: Some(speed_up),
            outcome: Outcome::CannotTell,
            disturbed: Some(types::Disturbed { pairs: 20, left_out: 18, causes }),
            remarks: Vec::new(),
        };
        assert_eq!(verdict(&comparison, &info("a", "a", "")), "cannot tell (machine too busy)");
        assert_eq!(factor(&comparison), "machine too busy");
    }

    #[test]
    fn a_verdict_is_one_phrase() {
        for (outcome, low, high, text) in [
            (Outcome::Better, 1.14, 1.24, "1.19 × faster [1.14, 1.24]"),
            (Outcome::Worse, 0.5, 0.8, "1.58 × slower [1.25, 2.00]"),
            (Outcome::CannotTell, 0.95, 1.04, "no difference [0.95, 1.04]"),
            (Outcome::CannotTell, 0.6, 1.7, "cannot tell [0.60, 1.70]"),
            // Nothing says that it is equal: the data were not allowed to decide.
            (Outcome::CannotTell, 1.02, 1.04, "cannot tell [1.02, 1.04]"),
            (Outcome::Better, 11.0, 14.0, "12.4 × faster [11.0, 14.0]"),
        ] {
            assert_eq!(words(outcome, low, high), text);
        }
    }

    #[test]
    fn equal_is_said_only_where_processes_were_repeated() {
        let text = words_of(Outcome::CannotTell, 0.99, 1.01, None);
        assert_eq!(text, "cannot tell [0.99, 1.01]");
    }

    #[test]
    fn a_claim_never_looks_like_equal() {
        assert_eq!(words(Outcome::Better, 1.002, 1.006), "1.004 × faster [1.002, 1.006]");
        assert_eq!(words(Outcome::Worse, 0.99975, 0.99985), "1.0002 × slower [1.0002, 1.0003]");
    }

    #[test]
    fn a_name_says_the_version_once() {
        for (label, engine, version, text) in [
            ("onnxruntime", "onnxruntime", "1.31.1", "onnxruntime 1.31"),
            ("torch bf16", "torch", "2.15.0+cpu", "torch 2.15 bf16"),
            ("rten #2", "rten", "0.27.0", "rten 0.27 #2"),
            ("rten 0.27.0", "rten", "0.27.0", "rten 0.27.0"),
            ("before", "rten", "0.27.0", "before (rten 0.27)"),
            ("rten", "rten", "", "rten"),
        ] {
            assert_eq!(name(&info(label, engine, version)), text);
        }
    }
}
