//! Gates over scripted times: worse, the same, and what cannot be told.

use crate::scene::Scene;
use modelmeter::{Gate, GateBaseline, Profiler};
use std::time::Duration;
use types::{
    GateReport, Gauge, Question, Reason, ReasonCode, Ruling, Run, Statistic, Threshold, Verdict,
};

const SAMPLING: Duration = Duration::from_millis(60);
const LATENCY: Gauge = Gauge::Latency(Statistic::P50);

/// A gate with few processes that are sampled shortly.
fn gate(profiler: Profiler) -> Gate {
    Gate::new([profiler]).processes(3).sampling(SAMPLING).turns(2).turn(Duration::from_millis(10))
}

fn ruled(scene: &Scene, gate: &Gate) -> GateReport {
    gate.run(&mut scene.session(), &mut |_| {}).unwrap().0
}

/// The gate failed; or it cannot tell, and only because other work took the machine from the script meanwhile.
fn assert_failed(report: &GateReport) {
    let is_busy = |check: &types::Check| {
        check.ruling == Ruling::CannotTell
            && check.reasons.iter().any(|reason| reason.code == ReasonCode::BusyMachine)
    };
    let fails = |check: &types::Check| check.ruling == Ruling::Failed || is_busy(check);
    assert!(report.checks.iter().all(fails), "{:#?}", report.checks);
}

fn limit(text: &str) -> Threshold {
    text.parse().unwrap()
}

/// Three processes of a script, as a baseline that was stored before on a quiet machine, whatever the machine did.
fn stored(scene: &Scene, profiler: &Profiler) -> Vec<Run> {
    let recording = gate(profiler.clone()).may_ask_nothing();
    let (_, mut runs): (_, Vec<Run>) = recording.run(&mut scene.session(), &mut |_| {}).unwrap();
    assert_eq!(runs.len(), 3);
    runs.iter_mut().for_each(|run| run.verdict = Verdict::from_reasons(Vec::new()));
    runs
}

fn before(runs: &[Run]) -> GateBaseline {
    GateBaseline::Stored { name: "before".into(), runs: runs.to_vec() }
}

/// A verdict with these reasons against a run.
fn against(codes: &[ReasonCode]) -> Verdict {
    let reason = |code: &ReasonCode| Reason {
        code: *code,
        invalidates: true,
        text: code.words().into(),
        hint: None,
        about: None,
    };
    Verdict::from_reasons(codes.iter().map(reason).collect())
}

#[test]
fn a_limit_is_held_broken_or_cannot_be_told() {
    let scene = Scene::new();
    // Limits are far away: a busy machine adds some milliseconds to a sleep.
    let steady = scene.profiler(&scene.model("steady", "40ms"));
    let held = ruled(&scene, &gate(steady.clone()).threshold(limit("latency:10s")));
    assert_eq!((held.ruling(), held.plan.looked), (Ruling::Held, 1));
    let broken = ruled(&scene, &gate(steady).threshold(limit("latency:1ms")));
    assert_failed(&broken);
    // Processes that differ by more than the limit is away decide nothing.
    let unsteady = scene.profiler(&scene.model("unsteady", "5ms\n80ms"));
    let unsettled = ruled(&scene, &gate(unsteady).threshold(limit("latency:20ms")));
    assert_eq!(unsettled.ruling(), Ruling::CannotTell, "{:#?}", unsettled.checks);
    assert!(unsettled.checks[0].settle.is_some(), "it says what would settle it");
}

#[test]
fn against_stored_runs_it_is_worse_the_same_or_cannot_be_told() {
    let scene = Scene::new();
    let profiler = scene.profiler(&scene.model("model", "20ms"));
    let runs = stored(&scene, &profiler);
    let again = |alert: f64| {
        let gate = gate(profiler.clone()).against(before(&runs)).gauges([LATENCY]).alert(alert);
        ruled(&scene, &gate)
    };
    // Far above what a busy machine adds to a sleep.
    let same = again(4.0);
    assert_eq!(same.ruling(), Ruling::Held, "{:#?}", same.checks);
    scene.rewrite("model", "300ms");
    let worse = again(1.0);
    assert_failed(&worse);
    assert!(worse.checks[0].value > worse.checks[0].baseline);
    scene.rewrite("model", "5ms\n200ms");
    assert_eq!(again(1.0).ruling(), Ruling::CannotTell);
}

#[test]
fn a_baseline_that_was_disturbed_hides_no_regression() {
    let scene = Scene::new();
    let profiler = scene.profiler(&scene.model("model", "20ms"));
    let mut runs = stored(&scene, &profiler);
    let again = |runs: &[Run], gauges: &[Gauge]| {
        let gate = gate(profiler.clone()).against(before(runs)).alert(4.0);
        ruled(&scene, &gate.gauges(gauges.iter().copied()))
    };
    // As slow as beside other work: whatever comes after it looks fast.
    scene.rewrite("model", "2ms");
    let busy = against(&[ReasonCode::BusyMachine, ReasonCode::WideInterval]);
    runs.iter_mut().for_each(|run| run.verdict = busy.clone());
    let all = again(&runs, &[LATENCY, Gauge::MemoryPeak]);
    let [time, memory] = all.checks.as_slice() else { panic!("{:#?}", all.checks) };
    assert_eq!((time.ruling, memory.ruling), (Ruling::CannotTell, Ruling::Held), "{all:#?}");
    let why = time.why.as_deref().unwrap();
    assert_eq!(why, "no run of the baseline is valid (3 × other work)");
    assert!(time.settle.as_deref().unwrap().contains("quiet machine"), "{time:#?}");
    assert_eq!(all.plan.looked, 1, "more processes would tell no more");
    // One process that says little alone is a baseline with others; one that was not warm is none.
    runs[0].verdict = against(&[ReasonCode::WideInterval]);
    runs[1].verdict = against(&[ReasonCode::WideInterval, ReasonCode::NotWarm]);
    let some = again(&runs, &[LATENCY]);
    assert!(some.checks[0].baseline.is_some(), "{some:#?}");
    let remark = some.remarks.iter().find(|remark| remark.text.contains("left out")).unwrap();
    let text = "2 of 3 runs of the baseline are not valid and are left out of the times (1 × other work, 1 × warm-up did \
                not settle)";
    assert_eq!(remark.text, text);
    let unfit = GateBaseline::unfit(&runs);
    assert_eq!((unfit.total(), unfit.disturbed()), (2, 1));
}

#[test]
fn an_alert_that_no_drift_raises_is_the_alert() {
    let scene = Scene::new();
    let profiler = scene.profiler(&scene.model("model", "2ms"));
    let runs = stored(&scene, &profiler);
    let gate = gate(profiler).against(before(&runs)).gauges([Gauge::MemoryPeak]);
    let report = ruled(&scene, &gate.usual_alert(0.03));
    let Question::Change { alert, effective, drift, .. } = report.checks[0].question else {
        panic!("a baseline asks for changes")
    };
    assert_eq!((alert, effective, drift), (0.03, 0.03, 0.0), "memory does not drift");
}

#[test]
fn against_another_model_memory_is_compared_round_by_round() {
    let scene = Scene::new();
    let small = scene.model("small", "1ms + hold 1000000");
    let large = scene.model("large", "1ms + hold 200000000");
    let rule = |model: &str, against: &str| {
        let gate = gate(scene.profiler(model)).against(GateBaseline::Model(against.into()));
        ruled(&scene, &gate.gauges([Gauge::MemoryPeak]).alert(0.2))
    };
    let worse = rule(&large, &small);
    assert_eq!(worse.ruling(), Ruling::Failed, "{:#?}", worse.checks);
    assert_eq!(worse.checks[0].rounds.len(), 3);
    assert!(worse.checks[0].rounds.iter().all(|ratio| *ratio > 2.0));
    assert_eq!(rule(&small, &small).ruling(), Ruling::Held);
}

#[test]
fn a_cell_that_crashes_is_missing_and_the_others_are_ruled_on() {
    let scene = Scene::new();
    let cells = ["1ms", "crash"].map(|script| {
        let name = script.replace(' ', "");
        scene.profiler(&scene.model(&name, script))
    });
    let gate = Gate::new(cells).processes(3).sampling(SAMPLING).threshold(limit("latency:1s"));
    let report = ruled(&scene, &gate);
    assert_eq!(report.missing.len(), 1);
    assert!(report.missing[0].what.contains("crash") && report.missing[0].fails);
    assert_eq!(report.checks.iter().filter(|check| check.ruling == Ruling::Held).count(), 1);
    assert_eq!(report.ruling(), Ruling::Failed);
}
