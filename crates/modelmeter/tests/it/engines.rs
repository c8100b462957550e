//! The list of engines is handed in: measurements with engines that this build does not have.

use crate::scene::{Scene, engines};
use modelmeter::{
    Duel, Error, MeterError,
    types::{Design, Ended, Event, Interim, InterimState, Outcome, RunId},
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

#[test]
fn a_clear_difference_ends_a_duel_early_and_the_table_fills_meanwhile() {
    let scene = Scene::new();
    let (slow, fast) = (scene.model("slow", "20ms"), scene.model("fast", "2ms"));
    let sides = [slow, fast].map(|model| scene.profiler(&model));
    let duel = Duel::new(sides).turn(TURN);
    let mut tables: Vec<Interim> = Vec::new();
    let mut sink = |event: Event| {
        if let Event::Interim { table, .. } = event {
            tables.push(*table);
        }
    };
    let report = duel.measure(&mut scene.session(), &mut sink).unwrap();
    let looks = report.looks.unwrap();
    assert_eq!((looks.at_most, looks.after.as_slice()), (8, [2, 3, 5, 8].as_slice()));
    let last = tables.last().unwrap();
    assert_eq!((last.processes, last.is_round), (looks.used, true));
    let comparison = &report.comparisons[0];
    let interval = last.rows[1].interval.unwrap();
    let said = comparison.speed_up.as_ref().unwrap().interval.unwrap();
    assert_eq!(interval, said, "the last table and the result say the same");
    // Other work may disturb every turn; then nothing is answered, and that is the reason.
    let is_busy = comparison.disturbed.as_ref().is_some_and(types::Disturbed::is_too_much);
    if is_busy {
        // After three rounds of which no turn counts, or at the last one.
        assert!((3..=8).contains(&looks.used) && looks.ended == Ended::LimitReached, "{looks:?}");
        return;
    }
    assert_eq!(comparison.outcome, Outcome::Better);
    assert_eq!(looks.ended, Ended::Answered);
    assert!(looks.used < 8, "{looks:?}");
    assert_eq!(last.left_at_most, Some(Duration::ZERO));
    assert_eq!(last.rows[1].state, InterimState::Answered { outcome: Outcome::Better });
    // The table fills: first nothing, then a ratio, then an interval.
    assert_eq!(tables[0].rows[1].median, None);
    let with_ratio = tables.iter().position(|table| table.rows[1].ratio.is_some()).unwrap();
    let with_interval = tables.iter().position(|table| table.rows[1].interval.is_some()).unwrap();
    assert!(0 < with_ratio && with_ratio < with_interval, "{with_ratio} {with_interval}");
}

#[test]
fn a_number_of_processes_that_was_asked_for_is_kept_however_clear_it_is() {
    let scene = Scene::new();
    let (slow, fast) = (scene.model("slow", "20ms"), scene.model("fast", "2ms"));
    let sides = [slow, fast].map(|model| scene.profiler(&model));
    let duel = Duel::new(sides).processes(3).turns(2).turn(TURN);
    let report = duel.measure(&mut scene.session(), &mut |_| {}).unwrap();
    assert_eq!(report.design, Design::Interleaved { rounds: 3, turns: 2 });
    assert_eq!(report.looks, None);
}
