//! One vocabulary of events, whatever the command.

use crate::scene::Scene;
use modelmeter::{
    Bytes, CellMeasurer, Control, Duel, Event, Fitter, LimitedBy, PlanRunner, PlanSpec, Precision,
    Stage,
};
use std::time::Duration;
use types::FailureKind;

/// The name of an event, as sinks outside this program read it.
fn name(event: &Event) -> String {
    let json = serde_json::to_value(event).unwrap();
    assert_eq!(serde_json::from_value::<Event>(json.clone()).unwrap(), *event);
    json["event"].as_str().unwrap().to_owned()
}

#[test]
fn a_measurement_begins_goes_through_its_stages_and_ends_with_its_run() {
    let scene = Scene::new();
    let model = scene.model("model", "1ms\ncrash");
    let (mut heard, mut stages, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    let mut sink = |event: Event| {
        if let Event::StageStarted { stage, label: None } = &event {
            stages.push(*stage);
        }
        if let Event::CellFailed { failure, .. } = &event {
            failed.push(failure.kind);
        }
        heard.push(name(&event));
    };
    let mut session = scene.session();
    let run = scene.profiler(&model).profile_in(&mut session, &mut sink).unwrap().run;
    scene.profiler(&model).profile_in(&mut session, &mut sink).unwrap_err();
    let told = ["cell-started", "cell-finished", "cell-started", "cell-failed"];
    heard.retain(|event| told.contains(&event.as_str()));
    assert_eq!(heard, told);
    assert_eq!(failed, [FailureKind::Crash]);
    let order = [Stage::Prepare, Stage::Start, Stage::Load, Stage::First, Stage::Warmup];
    let seen: Vec<Stage> = stages.into_iter().filter(|stage| order.contains(stage)).collect();
    assert_eq!(seen[..order.len()], order);
    assert!(session.stored_as(&run.id).is_some());
}

#[test]
fn of_several_measurements_every_event_says_which_it_is_about() {
    let scene = Scene::new();
    let profiler = scene.profiler(&scene.model("model", "1ms")).limit_by(LimitedBy::Rlimit);
    let fitter = Fitter::new(profiler, Bytes(256 << 20)).most_batch(2);
    let mut labels: Vec<String> = Vec::new();
    let mut sink = |event: Event| {
        if let Event::Progress { stage: Stage::Sample, label, .. } = event {
            labels.push(label.unwrap_or_default());
        }
    };
    let fitter = fitter.precisions([Precision::Fp32]);
    fitter.fit(&mut scene.session(), &mut sink).unwrap();
    labels.dedup();
    assert!(labels.contains(&"steady fp32, batch 1".to_owned()), "{labels:?}");
    assert!(labels.iter().any(|label| label.starts_with("confirming steady fp32, batch ")));
    assert!(labels.iter().all(|label| !label.is_empty()), "{labels:?}");
}

#[test]
fn a_duel_tells_every_run() {
    let scene = Scene::new();
    let sides = ["a", "b"].map(|name| scene.profiler(&scene.model(name, "1ms")));
    // Three samples in each: too few for a run together, so that each process is one.
    let duel = Duel::new(sides).processes(2).turns(1).turn(Duration::from_millis(2));
    let mut runs = 0;
    let mut sink = |event: Event| runs += usize::from(name(&event) == "cell-finished");
    duel.measure(&mut scene.session(), &mut sink).unwrap();
    assert_eq!(runs, 4, "two processes of two sides");
}

#[test]
fn a_plan_tells_its_tasks_and_each_run_once() {
    let scene = Scene::new();
    let (good, bad) = (scene.model("good", "1ms"), scene.model("bad", "crash"));
    let spec = PlanSpec {
        name: "night".into(),
        models: vec![good, bad],
        engines: vec!["steady".into()],
        processes: 1,
        ..PlanSpec::default()
    };
    let runner = PlanRunner::new(spec, scene.folders().database).repeats(0);
    let (base, mut session) = (scene.profiler(""), scene.session());
    let mut heard = Vec::new();
    let mut sink = |event: Event| heard.push(name(&event));
    let mut measurer = CellMeasurer::new(&base, &mut session);
    runner.run(&mut measurer, &Control::default(), &mut sink).unwrap();
    assert_eq!(heard[0], "plan-started");
    let count = |wanted: &str| heard.iter().filter(|event| *event == wanted).count();
    let ends = (count("task-started"), count("task-finished"), count("task-failed"));
    assert_eq!(ends, (2, 1, 1), "{heard:?}");
    assert_eq!(count("cell-finished") + count("cell-failed"), 0, "{heard:?}");
}
