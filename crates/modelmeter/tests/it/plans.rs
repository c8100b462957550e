//! Plans over scripted engines: every cell has its end, and a plan that goes on measures only what is left.

use crate::scene::Scene;
use modelmeter::{
    CellMeasurer, CellReport, CellStanding, Control, Error, Event, PlanReport, PlanRunner,
    PlanSpec, Resume,
};

/// These models on both engines.
fn spec(models: &[&String]) -> PlanSpec {
    PlanSpec {
        name: "night".into(),
        models: models.iter().map(ToString::to_string).collect(),
        batch_sizes: vec![1],
        processes: 2,
        ..PlanSpec::default()
    }
}

fn runner(scene: &Scene, spec: PlanSpec) -> PlanRunner {
    // A busy machine must not change how often something is measured.
    PlanRunner::new(spec, scene.folders().database).repeats(0)
}

fn measure(scene: &Scene, runner: &PlanRunner) -> (PlanReport, Vec<String>) {
    let (base, mut session) = (scene.profiler(""), scene.session());
    let mut started = Vec::new();
    let mut hear = |event: Event| {
        if let Event::TaskStarted { task, process, .. } = event {
            started.push(format!("{} #{process}", task.name()));
        }
    };
    let mut measurer = CellMeasurer::new(&base, &mut session);
    let report = runner.run(&mut measurer, &Control::default(), &mut hear).unwrap();
    (report, started)
}

fn cell<'a>(report: &'a PlanReport, model: &str, engine: &str) -> &'a CellReport {
    let is_it = |cell: &&CellReport| cell.task.model == model && cell.task.engine == engine;
    report.cells.iter().find(is_it).unwrap()
}

#[test]
fn a_cell_that_crashes_fails_alone_and_is_not_tried_by_its_other_processes() {
    let scene = Scene::new();
    let (good, bad) = (scene.model("good", "1ms"), scene.model("bad", "crash"));
    let (report, started) = measure(&scene, &runner(&scene, spec(&[&good, &bad])));
    assert_eq!(report.cells.len(), 4, "two models on two engines");
    assert_eq!(report.count(CellStanding::Measured), 2);
    assert_eq!(report.count(CellStanding::Failed), 2);
    for engine in ["steady", "slower"] {
        let measured = cell(&report, &good, engine);
        assert_eq!(measured.runs.len(), 2);
        let failed = cell(&report, &bad, engine);
        assert!(failed.runs.is_empty() && failed.why.is_some(), "{failed:?}");
    }
    assert_eq!(started.len(), 4 + 2, "{started:?}");
    assert_eq!((scene.loads("good"), scene.loads("bad")), (4, 2));
    let stored = scene.session().store().unwrap().runs(&store::Filter::default());
    let stored = stored.unwrap();
    assert_eq!(stored.len(), 4);
    let stored = scene.session().store().unwrap().run(&stored[0].id.0).unwrap();
    assert!(stored.tags.contains(&"night".to_owned()), "{:?}", stored.tags);
}

#[test]
fn a_plan_that_goes_on_measures_what_is_left_and_what_failed_only_if_asked() {
    let scene = Scene::new();
    let (good, bad) = (scene.model("good", "1ms"), scene.model("bad", "crash"));
    let spec = PlanSpec { engines: vec!["steady".into()], ..spec(&[&good, &bad]) };
    let first = runner(&scene, PlanSpec { limit: Some(1), ..spec.clone() });
    let (report, started) = measure(&scene, &first);
    assert_eq!((report.cells.len(), started.len()), (1, 2));

    let (report, started) = measure(&scene, &runner(&scene, spec.clone()));
    assert_eq!(started.len(), 1, "only the other cell, and it fails at once: {started:?}");
    assert_eq!(cell(&report, &good, "steady").runs.len(), 2);

    scene.rewrite("bad", "1ms");
    let (report, started) = measure(&scene, &runner(&scene, spec.clone()));
    assert!(started.is_empty(), "what failed stays so: {started:?}");
    assert_eq!(report.count(CellStanding::Failed), 1);

    let (report, started) = measure(&scene, &runner(&scene, spec.clone()).retry_failed(true));
    assert_eq!((report.count(CellStanding::Measured), started.len()), (2, 2));

    let (_, started) = measure(&scene, &runner(&scene, spec).resume(Resume::Again));
    assert_eq!(started.len(), 4, "everything once more");
}

#[test]
fn a_plan_that_is_stopped_says_what_is_open() {
    let scene = Scene::new();
    let model = scene.model("model", "1ms");
    let runner = runner(&scene, spec(&[&model]));
    let (base, mut session, control) = (scene.profiler(""), scene.session(), Control::default());
    let mut measurer = CellMeasurer::new(&base, &mut session);
    let mut hear = |event: Event| {
        if let Event::TaskFinished { .. } = event {
            control.stop();
        }
    };
    let report = runner.run(&mut measurer, &control, &mut hear).unwrap();
    assert!(report.stopped);
    assert_eq!(report.count(CellStanding::Open), 2);
    assert_eq!(report.cells.iter().map(|cell| cell.runs.len()).sum::<usize>(), 1);
    let (report, started) = measure(&scene, &runner);
    assert_eq!((report.count(CellStanding::Measured), started.len()), (2, 3));
}

#[test]
fn a_plan_knows_the_engines_that_it_is_given_and_no_others() {
    let scene = Scene::new();
    let model = scene.model("model", "1ms");
    let spec = PlanSpec { engines: vec!["rten".into()], ..spec(&[&model]) };
    let (base, mut session) = (scene.profiler(""), scene.session());
    let mut measurer = CellMeasurer::new(&base, &mut session);
    let failed = runner(&scene, spec).run(&mut measurer, &Control::default(), &mut |_| {});
    let error: Error = failed.unwrap_err();
    assert!(error.to_string().contains("`rten`"), "{error}");
}
