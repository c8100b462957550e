//! The list of engines is handed in: measurements with engines that this build does not have.

use crate::scene::{Scene, engines};
use modelmeter::{
    Duel, Error, MeterError,
    types::{Outcome, RunId},
};
use std::time::Duration;

const TURN: Duration = Duration::from_millis(20);

#[test]
fn an_engine_that_is_handed_in_is_measured_and_stored_as_any_other() {
    let scene = Scene::new();
    let model = scene.model("model", "3ms");
    let mut session = scene.session();
    // The first of the list is what `auto` takes.
    let run = scene.profiler(&model).profile_in(&mut session, &mut |_| {}).unwrap().run;
    assert_eq!((run.engine.id.as_str(), run.cell.batch_size), ("steady", 1));
    let median = run.summaries[&run.main_phase()].median;
    assert!(median >= 3e-3, "the script says 3 ms: {median}");
    let RunId(id) = &run.id;
    assert_eq!(session.store().unwrap().run(id).unwrap().engine.id, "steady");
    let named = scene.profiler(&model).engine("SLOWER").profile().unwrap().run;
    assert_eq!(named.engine.id, "slower");
}

#[test]
fn an_engine_that_is_not_on_the_list_is_unknown() {
    let scene = Scene::new();
    let model = scene.model("model", "1ms");
    let error = scene.profiler(&model).engine("rten").profile().unwrap_err();
    let Error::UnknownEngine { id, known } = error else { panic!("{error}") };
    assert_eq!((id.as_str(), known), ("rten", engines().ids()));
}

#[test]
fn a_crash_costs_one_measurement_and_says_how_it_ended() {
    let scene = Scene::new();
    let model = scene.model("model", "1ms, 1ms, crash");
    let error = scene.profiler(&model).profile().unwrap_err();
    assert!(matches!(error, Error::Meter(MeterError::Died { .. })), "{error}");
    scene.rewrite("model", "1ms");
    scene.profiler(&model).profile().unwrap();
}

#[test]
fn sides_of_a_duel_are_timed_by_their_scripts_and_one_that_crashes_drops_out() {
    let scene = Scene::new();
    let (slow, fast) = (scene.model("slow", "8ms"), scene.model("fast", "2ms"));
    let crashing = scene.model("crashing", "1ms, 1ms, 1ms, crash");
    let sides = [slow, fast, crashing].map(|model| scene.profiler(&model));
    let duel = Duel::new(sides).processes(2).turns(2).turn(TURN);
    let report = duel.measure(&mut scene.session(), &mut |_| {}).unwrap();
    let median = |at: usize| report.sides[at].latency.as_ref().unwrap().median;
    assert!(median(0) > 2.0 * median(1), "{} {}", median(0), median(1));
    let crashed = &report.comparisons[1].outcome;
    assert!(matches!(crashed, Outcome::Refused { .. }), "{crashed:?}");
}
