//! Rates above a ceiling that was measured earlier: which they are, and what they are once it was measured again.

use types::{Ceilings, Metric, Precision, Reason, ReasonCode, Verdict, key};

/// A rate and its share of the ceiling.
const RATES: [(&str, &str); 2] =
    [(key::FLOPS_PER_SECOND, key::CEILING_SHARE), (key::STEP_BANDWIDTH, key::STEP_BANDWIDTH_SHARE)];

fn value(metrics: &[Metric], key: &str) -> Option<f64> {
    metrics.iter().find(|metric| metric.key == key)?.value
}

/// Whether a rate is above its ceiling, so that one of the two is wrong. Bytes that fit into a cache of this many bytes say
/// nothing of the memory; `step` is the time of a step in seconds.
pub(crate) fn is_above(metrics: &[Metric], step: Option<f64>, cache: Option<u64>) -> bool {
    let is_above = |share: &str| value(metrics, share).is_some_and(meter::is_above_ceiling);
    let from_memory = || {
        let bytes = value(metrics, key::STEP_BANDWIDTH)? * step?;
        Some(bytes > cache? as f64)
    };
    is_above(key::CEILING_SHARE)
        || (is_above(key::STEP_BANDWIDTH_SHARE) && from_memory().unwrap_or(true))
}

/// Places the rates under these ceilings; what was not possible before and is now speaks against the run no more.
pub(crate) fn place_under(
    ceilings: &Ceilings,
    precision: Precision,
    metrics: &mut [Metric],
    verdict: &mut Verdict,
) {
    for (rate, share) in RATES {
        let ceiling = match share {
            key::CEILING_SHARE => ceilings.flops_at(precision),
            _ => ceilings.bandwidth,
        };
        let placed = value(metrics, rate).zip(ceiling).map(|(rate, top)| rate / top.value);
        let known = metrics.iter_mut().find(|metric| metric.key == share);
        if let (Some(known), Some(placed)) = (known, placed)
            && known.value.is_some()
        {
            known.value = Some(placed);
        }
    }
    let is_possible =
        value(metrics, key::CEILING_SHARE).is_some_and(|share| !meter::is_above_ceiling(share));
    if is_possible {
        let above = |reason: &Reason| reason.code == ReasonCode::AboveCeiling;
        let kept = verdict.reasons.drain(..).filter(|reason| !above(reason)).collect();
        *verdict = Verdict::from_reasons(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{Ceiling, Device, Direction, Interval, Unit};

    fn metrics(flops: f64, bytes: f64) -> Vec<Metric> {
        let metric = |key, value| Metric::measured(key, Unit::Ratio, Direction::Higher, value);
        vec![
            metric(key::FLOPS_PER_SECOND, flops * 100.0),
            metric(key::CEILING_SHARE, flops),
            metric(key::STEP_BANDWIDTH, bytes * 10.0),
            metric(key::STEP_BANDWIDTH_SHARE, bytes),
        ]
    }

    fn ceilings(flops: f64, bytes: f64) -> Ceilings {
        let ceiling = |value| Ceiling { value, interval: Interval { low: value, high: value } };
        Ceilings {
            flops: vec![(Precision::Fp32, ceiling(flops))],
            bandwidth: Some(ceiling(bytes)),
            ..Ceilings::of(Device::Cpu, 1)
        }
    }

    fn impossible() -> Verdict {
        let code = ReasonCode::AboveCeiling;
        let text = "the rate is above".to_owned();
        let drift = Reason {
            code: ReasonCode::Drift,
            invalidates: false,
            text: text.clone(),
            hint: None,
            about: None,
        };
        Verdict::from_reasons(vec![
            Reason { code, invalidates: true, text, hint: None, about: None },
            drift,
        ])
    }

    #[test]
    fn both_ceilings_are_doubted_where_a_rate_is_above_and_noise_is_not() {
        assert!(is_above(&metrics(1.2, 0.5), None, None));
        assert!(is_above(&metrics(0.5, 1.2), None, None));
        assert!(!is_above(&metrics(1.04, 1.04), None, None));
        assert!(!is_above(&[], None, None));
    }

    #[test]
    fn a_step_that_a_cache_can_hold_doubts_no_ceiling_of_the_memory() {
        // 1.2 × 10 bytes a second for 2 seconds.
        assert!(is_above(&metrics(0.5, 1.2), Some(2.0), Some(20)));
        assert!(!is_above(&metrics(0.5, 1.2), Some(2.0), Some(24)));
        assert!(is_above(&metrics(1.2, 1.2), Some(2.0), Some(24)), "arithmetic needs no memory");
    }

    #[test]
    fn a_ceiling_that_was_too_low_is_no_reason_any_more() {
        let (mut found, mut verdict) = (metrics(1.5, 1.5), impossible());
        place_under(&ceilings(100.0, 20.0), Precision::Fp32, &mut found, &mut verdict);
        assert_eq!(value(&found, key::CEILING_SHARE), Some(1.5));
        assert_eq!(value(&found, key::STEP_BANDWIDTH_SHARE), Some(0.75));
        assert!(!verdict.valid, "arithmetic is above still");
        place_under(&ceilings(200.0, 30.0), Precision::Fp32, &mut found, &mut verdict);
        assert_eq!(value(&found, key::CEILING_SHARE), Some(0.75));
        assert_eq!(value(&found, key::STEP_BANDWIDTH_SHARE), Some(0.5));
        assert!(verdict.valid && verdict.reasons.len() == 1, "{verdict:?}");
    }

    #[test]
    fn a_share_that_is_missing_stays_missing() {
        let (mut found, mut verdict) = (metrics(0.5, 0.5), impossible());
        found[1].value = None;
        place_under(&ceilings(200.0, 30.0), Precision::Fp32, &mut found, &mut verdict);
        assert_eq!(found[1].value, None);
        assert!(!verdict.valid);
    }
}
