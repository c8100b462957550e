use crate::scene::{duel, parity, side, throttled};
use modelmeter_analysis::{Baseline, CompareError, compare_duel};
use types::{ComparisonReport, Design, Duel, DuelLooks, Ended, Outcome, Seconds, SpeedUp};

/// What people compare with.
const USUAL: Baseline<'_> = Baseline::Engine("torch");

fn speed_up<'a>(report: &'a ComparisonReport, label: &str) -> &'a SpeedUp {
    report.comparison(label).unwrap().speed_up.as_ref().unwrap()
}

fn why(report: &ComparisonReport, label: &str) -> String {
    let comparison = report.comparison(label).unwrap();
    assert_eq!(comparison.speed_up, None, "a refused speed-up has no number");
    match &comparison.outcome {
        Outcome::Refused { why, .. } => why.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_side_is_held_against_torch_and_judged() {
    let sides = vec![side("rten", 1000.0, 3), side("torch", 1200.0, 3), side("ort", 1205.0, 3)];
    let report = compare_duel(&duel(sides), USUAL).unwrap();
    assert_eq!(report.baseline, "torch");
    assert_eq!(report.design, Design::Interleaved { rounds: 3, turns: 6 });
    assert_eq!(report.comparisons.len(), 2);
    let rten = speed_up(&report, "rten");
    assert!((rten.ratio - 1.2).abs() < 0.02, "{rten:?}");
    let interval = rten.interval.unwrap();
    assert!(interval.low > 1.0 && interval.low < 1.2 && interval.high > 1.2, "{interval:?}");
    assert!(rten.worst <= rten.ratio && rten.ratio <= rten.best);
    assert_eq!(report.comparison("rten").unwrap().outcome, Outcome::Better);
    assert_eq!(report.comparison("ort").unwrap().outcome, Outcome::CannotTell);
    assert!(rten.p_value <= rten.adjusted_p && rten.adjusted_p < Some(0.05));
    assert!(report.detectable >= rten.detectable && report.detectable.is_some());
}

#[test]
fn the_drift_of_the_machine_is_nobodys_difference() {
    // Each turn is 3 % slower than the one before, on both sides alike.
    let report =
        compare_duel(&duel(vec![side("a", 1000.0, 3), side("b", 1000.0, 3)]), Baseline::First);
    let report = report.unwrap();
    let interval = speed_up(&report, "b").interval.unwrap();
    assert!(interval.low > 0.94 && interval.high < 1.06, "{interval:?}");
}

#[test]
fn the_baseline_can_be_chosen_and_the_verdict_turns_around() {
    let sides = vec![side("rten", 1000.0, 3), side("torch", 1200.0, 3)];
    let report = compare_duel(&duel(sides), Baseline::Side("rten")).unwrap();
    assert_eq!(report.comparison("torch").unwrap().outcome, Outcome::Worse);
    assert!((speed_up(&report, "torch").ratio - 1.0 / 1.2).abs() < 0.02);
    assert!(report.comparison("rten").is_none());
}

#[test]
fn sides_are_summed_up_over_their_processes() {
    let report =
        compare_duel(&duel(vec![side("a", 1000.0, 3), side("b", 1000.0, 3)]), Baseline::First);
    let side = report.unwrap().side("a").unwrap().clone();
    assert_eq!(side.processes, 3);
    assert_eq!(side.latency.unwrap().count, 3 * 6 * 15);
    assert!((side.load.unwrap().0 - 0.3).abs() < 1e-12);
    assert_eq!(side.first, Some(Seconds(0.4)));
}

#[test]
fn outputs_that_differ_refuse_the_speed_up_and_say_where() {
    let mut both = duel(vec![side("torch", 1000.0, 3), side("rten", 100.0, 3)]);
    both.parity[0].holds = false;
    both.parity[0].outputs[0].holds = false;
    both.parity[0].outputs[0].max_abs = Some(0.31);
    both.parity[0].first_difference = Some("encoder.layer.3.output".into());
    let report = compare_duel(&both, Baseline::First).unwrap();
    let why = why(&report, "rten");
    assert_eq!(
        why,
        "outputs of `rten` and `torch` differ: `last_hidden_state` by 3.1e-1, the limit is 1.0e-3; first in \
         `encoder.layer.3.output`"
    );
    assert_eq!(report.detectable, None);
}

#[test]
fn outputs_that_nobody_compared_refuse_the_speed_up() {
    let mut both = duel(vec![side("torch", 1000.0, 3), side("rten", 100.0, 3)]);
    both.parity.clear();
    let report = compare_duel(&both, Baseline::First).unwrap();
    assert_eq!(why(&report, "rten"), "its outputs were not compared with those of `torch`");
}

#[test]
fn two_sides_equal_to_a_third_are_equal() {
    let sides = vec![side("rten", 1000.0, 3), side("torch", 1200.0, 3), side("ort", 900.0, 3)];
    // Held against rten, while torch is the baseline.
    let mut three = duel(sides);
    assert!(compare_duel(&three, USUAL).unwrap().comparison("ort").unwrap().speed_up.is_some());
    three.parity = vec![parity("ort", "rten")];
    let report = compare_duel(&three, USUAL).unwrap();
    assert!(why(&report, "ort").contains("not compared"));
    three.parity = vec![parity("ort", "rten"), parity("torch", "rten")];
    three.parity[1].holds = false;
    let report = compare_duel(&three, USUAL).unwrap();
    assert!(why(&report, "ort").contains("`torch` and `rten` differ"));
}

#[test]
fn one_process_a_side_calls_only_what_no_process_could_explain() {
    let found = |micros: f64| {
        let sides = vec![side("torch", micros, 1), side("rten", 1000.0, 1)];
        compare_duel(&duel(sides), Baseline::First).unwrap()
    };
    let close = found(1080.0);
    assert_eq!(close.comparison("rten").unwrap().outcome, Outcome::CannotTell);
    let remark = &close.remarks[0];
    assert_eq!(remark.code, types::RemarkCode::OneProcess, "{remark}");
    assert_eq!(speed_up(&close, "rten").p_value, None);
    assert_eq!(found(3000.0).comparison("rten").unwrap().outcome, Outcome::Better);
}

#[test]
fn a_side_that_is_not_valid_decides_nothing() {
    let mut sides = vec![side("torch", 3000.0, 3), side("rten", 1000.0, 3)];
    sides[0].info.verdict = throttled();
    let report = compare_duel(&duel(sides), Baseline::First).unwrap();
    let comparison = report.comparison("rten").unwrap();
    assert_eq!(comparison.outcome, Outcome::CannotTell);
    let [remark] = comparison.remarks.as_slice() else { panic!("{:?}", comparison.remarks) };
    assert_eq!(remark.code, types::RemarkCode::NotValid);
    assert_eq!(remark.text, "`torch` is not valid: the clock was throttled 7 times");
}

#[test]
fn a_side_that_fell_costs_its_own_row_only() {
    let mut sides = vec![side("torch", 1200.0, 3), side("rten", 1000.0, 3), side("ort", 1.0, 0)];
    sides[2].info.failed = Some("it was killed for memory".into());
    let report = compare_duel(&duel(sides.clone()), Baseline::First).unwrap();
    assert_eq!(why(&report, "ort"), "it was killed for memory");
    assert_eq!(report.comparison("rten").unwrap().outcome, Outcome::Better);
    assert_eq!(report.side("ort").unwrap().latency, None);
    assert_eq!(report.design, Design::Interleaved { rounds: 3, turns: 6 });
    let error = compare_duel(&duel(sides), Baseline::Side("ort")).unwrap_err();
    assert!(matches!(error, CompareError::BaselineFailed { .. }), "{error}");
}

#[test]
fn turns_without_a_partner_are_left_out_and_said() {
    let mut sides = vec![side("torch", 1200.0, 3), side("rten", 1000.0, 3)];
    sides[1].rounds[2].truncate(3);
    let report = compare_duel(&duel(sides), Baseline::First).unwrap();
    let comparison = report.comparison("rten").unwrap();
    assert!(
        comparison.remarks[0].code == types::RemarkCode::UnevenTurns,
        "{:?}",
        comparison.remarks
    );
    assert_eq!(comparison.outcome, Outcome::Better);
    assert_eq!(report.design, Design::Interleaved { rounds: 3, turns: 3 });
}

#[test]
fn a_duel_survives_its_stored_form() {
    let before = duel(vec![side("torch", 1200.0, 2), side("rten", 1000.0, 2)]);
    let text = serde_json::to_string(&before).unwrap();
    assert_eq!(serde_json::from_str::<types::Duel>(&text).unwrap(), before);
    let report = compare_duel(&before, Baseline::First).unwrap();
    let text = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<ComparisonReport>(&text).unwrap(), report);
}

#[test]
fn each_side_is_judged_at_the_look_after_which_it_ended() {
    let sides = vec![side("torch", 1200.0, 5), side("rten", 900.0, 2), side("ort", 1190.0, 5)];
    let looked =
        Duel { looks: Some(DuelLooks { at_most: 5, scatter: None }), ..duel(sides.clone()) };
    let report = compare_duel(&looked, USUAL).unwrap();
    let rten = report.comparison("rten").unwrap();
    assert_eq!(rten.outcome, Outcome::Better);
    assert_eq!(rten.remarks, [], "a side that was answered early lacks no turns");
    let found = speed_up(&report, "rten");
    assert_eq!(found.rounds.len(), 2);
    // Two rounds that agree are not believed to the last digit: the interval is at least as wide as the floor makes it.
    let interval = found.interval.unwrap();
    assert!(interval.high / interval.low > 1.2, "{interval:?}");
    assert_eq!(report.comparison("ort").unwrap().outcome, Outcome::CannotTell);
    let looks = report.looks.unwrap();
    assert_eq!((looks.used, looks.at_most, looks.ended), (5, 5, Ended::LimitReached));
    assert_eq!(report.design, Design::Interleaved { rounds: 2, turns: 6 });
    // Without the open side everything is answered.
    let both = vec![side("torch", 1200.0, 2), side("rten", 900.0, 2)];
    let looked = Duel { looks: Some(DuelLooks { at_most: 8, scatter: None }), ..duel(both) };
    let report = compare_duel(&looked, USUAL).unwrap();
    assert_eq!(report.looks.unwrap().ended, Ended::Answered);
}

#[test]
fn two_rounds_claim_nothing_that_processes_alone_could_explain() {
    let found = |ratio: f64, looks| {
        let sides = vec![side("torch", 1000.0 * ratio, 2), side("rten", 1000.0, 2)];
        let report = compare_duel(&Duel { looks, ..duel(sides) }, Baseline::First).unwrap();
        report.comparison("rten").unwrap().outcome.clone()
    };
    let looks = |scatter| Some(DuelLooks { at_most: 8, scatter });
    assert_eq!(found(1.08, looks(None)), Outcome::CannotTell);
    assert_eq!(found(1.25, looks(None)), Outcome::Better);
    assert_eq!(found(1.25, looks(Some(0.2))), Outcome::CannotTell, "the machine scatters more");
}
