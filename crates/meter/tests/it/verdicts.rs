use crate::bench::{bench, job, measured, scripted, short_rule};
use modelmeter_meter::measure;
use types::{ReasonCode, StoppingRule};

fn codes(run: &types::Run) -> Vec<ReasonCode> {
    run.verdict.reasons.iter().map(|reason| reason.code).collect()
}

#[test]
fn five_runs_are_too_few_for_a_median() {
    let rule = StoppingRule { min_runs: 5, max_runs: 5, ..short_rule() };
    let run = measured("1ms", &rule).0.unwrap();
    assert!(!run.verdict.valid);
    assert!(codes(&run).contains(&ReasonCode::TooFewSamples));
}

#[test]
fn a_percentile_without_enough_samples_is_a_remark_with_a_way_out() {
    let run = measured("1ms", &short_rule()).0.unwrap();
    let reason = run
        .verdict
        .reasons
        .iter()
        .find(|reason| reason.code == ReasonCode::UnsupportedPercentile)
        .unwrap();
    assert!(!reason.invalidates);
    assert!(reason.text.contains("p99") && reason.text.contains("662"), "{}", reason.text);
    assert!(reason.hint.as_ref().unwrap().contains("--duration"));
}

#[test]
fn a_rate_above_the_machines_ceiling_is_never_valid() {
    // 1000 FLOP in a millisecond are a million a second; this machine claims to reach a thousand.
    let mut slow = bench();
    slow.ceilings.as_mut().unwrap().flops[0].1.value = 1000.0;
    let file = tempfile::NamedTempFile::new().unwrap();
    let run = measure(&job(file.path()), &slow, &scripted("1ms"), &short_rule(), &mut |_| {});
    let run = run.unwrap();
    assert!(codes(&run).contains(&ReasonCode::AboveCeiling));
    assert!(!run.verdict.valid);
    let fine = measured("1ms", &short_rule()).0.unwrap();
    assert!(!codes(&fine).contains(&ReasonCode::AboveCeiling));
}

#[test]
fn outputs_that_are_not_numbers_are_a_remark() {
    let run = measured("nan", &short_rule()).0.unwrap();
    assert!(codes(&run).contains(&ReasonCode::NonFiniteOutput));
}
