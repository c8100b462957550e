//! Proofs over scripted times: before and after a change that is only said to have happened.

use crate::scene::Scene;
use modelmeter::{Bytes, Changed, Profiler, Prover};
use std::time::Duration;
use types::{Optimisation, Outcome, ProofReport, ReasonCode, RemarkCode, SpeedProof, SpeedVerdict};

/// A model with this script whose changed form has that one, proved on the first engine.
fn proved(before: &str, after: &str) -> ProofReport {
    let scene = Scene::new();
    let model = scene.profiler(&scene.model("before", before));
    let changed = changed(&scene, &model, after);
    let prover = Prover::new().engines(["steady".to_owned()]).turn(Duration::from_millis(10));
    prover.prove(&model, &changed, &mut scene.session(), &mut |_| {}).unwrap()
}

fn changed(scene: &Scene, model: &Profiler, script: &str) -> Changed {
    let onnx = scene.model("after", script).into();
    let asked = Optimisation::Structured { asked: 0.5, reached: 0.5, calibrated: false, steps: 1 };
    Changed {
        folder: scene.path("after", "folder"),
        onnx,
        model: model.profile().unwrap().run.model,
        optimisation: asked,
        before: [100, 100],
        after: [50, 50],
        sizes: [Bytes(400), Bytes(200)],
        weights: Vec::new(),
        blocks: Vec::new(),
        has_transformers: false,
        transformers_remark: None,
        took: Duration::from_secs(1),
        remarks: vec![types::Remark::new(RemarkCode::NotCut, "no attention")],
    }
}

/// Whether other work took the machine from the script; then nothing is decided.
fn is_busy(speed: &SpeedProof) -> bool {
    let mut reasons = speed.verdicts.iter().flat_map(|verdict| &verdict.reasons);
    speed.verdict == SpeedVerdict::CannotTell
        || reasons.any(|reason| reason.invalidates && reason.code == ReasonCode::BusyMachine)
}

#[test]
fn a_change_that_shortens_the_script_is_faster() {
    let report = proved("30ms", "3ms");
    let [speed] = report.speed.as_slice() else { panic!("{:#?}", report.speed) };
    assert_eq!(speed.engine, "steady");
    assert!(speed.verdict == SpeedVerdict::Faster || is_busy(speed), "{speed:#?}");
    let ratio = speed.speed_up.as_ref().unwrap().ratio;
    assert!(ratio > 1.0, "{ratio}");
    assert_eq!((report.before.parameters, report.after.parameters), (100, 50));
    assert_eq!((report.before.size, report.after.size), (Bytes(400), Bytes(200)));
    assert_eq!(report.drift.is_some(), report.uncompared.is_none(), "{report:#?}");
    assert_eq!(report.remarks[0].code, RemarkCode::NotCut, "what is known of the change is first");
}

#[test]
fn a_change_that_lengthens_the_script_is_never_called_faster() {
    let report = proved("3ms", "30ms");
    let [speed] = report.speed.as_slice() else { panic!("{:#?}", report.speed) };
    assert!(speed.verdict == SpeedVerdict::Slower || is_busy(speed), "{speed:#?}");
    assert!(speed.why.is_some() || speed.instead.is_some(), "{speed:#?}");
}

#[test]
fn a_changed_model_that_crashes_is_unmeasured() {
    let report = proved("3ms", "crash");
    let [speed] = report.speed.as_slice() else { panic!("{:#?}", report.speed) };
    assert_eq!(speed.verdict, SpeedVerdict::Unmeasured);
    assert!(matches!(speed.outcome, Outcome::Refused { .. }), "{:?}", speed.outcome);
    assert!(speed.speed_up.is_none(), "{speed:#?}");
    assert_eq!(report.drift.is_none(), report.uncompared.is_some(), "{report:#?}");
}

#[test]
fn without_times_only_sizes_are_compared_and_nothing_is_started() {
    let scene = Scene::new();
    let model = scene.profiler(&scene.model("before", "1ms"));
    let changed = changed(&scene, &model, "crash");
    let loads = scene.loads("before");
    let prover = Prover::new().timed(false);
    let report = prover.prove(&model, &changed, &mut scene.session(), &mut |_| {}).unwrap();
    assert!(report.speed.is_empty() && report.drift.is_none() && report.uncompared.is_none());
    assert_eq!((scene.loads("before"), scene.loads("after")), (loads, 0));
}
