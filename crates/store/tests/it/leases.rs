//! Several workers share a plan.

use crate::{
    place::{Place, on_both},
    sample,
};
use modelmeter_store::{CellState, Lease, Outcome, PlanCell, PlanProgress, Store, StoreError};
use std::{collections::BTreeSet, thread, time::Duration};
use types::RunId;

/// Longer than any test.
const LONG: Duration = Duration::from_secs(3600);

/// Over at once.
const NONE: Duration = Duration::ZERO;

on_both!(
    cells_are_leased_in_the_order_of_the_plan,
    adding_to_a_finished_plan_adds_only_what_is_new,
    a_plan_keeps_its_cells_under_another_name_and_takes_nobodys,
    a_lease_that_ran_out_is_taken_by_another_and_fenced_off,
    a_sign_of_life_keeps_a_lease,
    a_cell_that_was_given_back_is_leased_again,
    two_workers_never_get_the_same_cell,
    many_add_the_same_plan_at_once,
    a_dead_workers_cell_is_finished_by_another,
    a_cell_whose_lease_is_over_waits_and_its_worker_is_still_told,
);

fn cells(keys: std::ops::Range<u64>) -> Vec<PlanCell> {
    let cell = |n: u64| PlanCell {
        key: format!("cell {n}"),
        // Against the order of the names.
        position: 1000 - n,
        document: format!(r#"{{"batch_size":{n}}}"#),
    };
    keys.map(cell).collect()
}

fn take(store: &Store, worker: &str, duration: Duration) -> Lease {
    store.lease("night", worker, duration).unwrap().unwrap()
}

fn states(store: &Store) -> Vec<CellState> {
    store.plan_cells("night").unwrap().iter().map(|cell| cell.state).collect()
}

fn is_lost(answer: Result<(), StoreError>) -> bool {
    matches!(answer, Err(StoreError::LeaseLost { .. }))
}

fn cells_are_leased_in_the_order_of_the_plan(place: &Place) {
    let store = place.open();
    assert_eq!(store.lease("night", "ann", LONG).unwrap(), None);
    assert_eq!(store.plan_put("night", &cells(0..3)).unwrap(), 3);
    assert_eq!(store.plan_put("day", &cells(7..8)).unwrap(), 1);
    let first = take(&store, "ann", LONG);
    assert_eq!((&first.cell, first.attempt), (&cells(2..3)[0], 1));
    let second = take(&store, "bob", LONG);
    assert_eq!(second.cell.key, "cell 1");
    let run = sample::run(1).id;
    store.finish(&first, &Outcome::Done(run.clone())).unwrap();
    store.finish(&second, &Outcome::Failed("out of memory".into())).unwrap();
    let found = store.plan_cells("night").unwrap();
    assert_eq!(states(&store), [CellState::Done, CellState::Failed, CellState::Waiting]);
    assert_eq!(found[0].run.as_ref(), Some(&run));
    assert_eq!((found[0].worker.as_deref(), &found[0].reason), (Some("ann"), &None));
    assert!(found[0].leased_at.unwrap() <= found[0].finished_at.unwrap());
    assert_eq!(found[1].reason.as_deref(), Some("out of memory"));
    assert_eq!((found[2].attempts, &found[2].worker, found[2].leased_at), (0, &None, None));
    let of = |plan: &str, waiting, done, failed| PlanProgress {
        plan: plan.into(),
        waiting,
        leased: 0,
        done,
        failed,
    };
    assert_eq!(store.plans().unwrap(), [of("day", 1, 0, 0), of("night", 1, 1, 1)]);
    assert_eq!(store.plan_cells("none").unwrap(), []);
}

fn adding_to_a_finished_plan_adds_only_what_is_new(place: &Place) {
    let store = place.open();
    store.plan_put("night", &cells(0..2)).unwrap();
    for n in 0..2 {
        let lease = take(&store, "ann", LONG);
        store.finish(&lease, &Outcome::Done(sample::run(n).id)).unwrap();
    }
    assert_eq!(store.lease("night", "ann", LONG).unwrap(), None);
    assert_eq!(store.plan_put("night", &cells(0..2)).unwrap(), 0);
    // More than go into one statement, and one of them twice.
    let mut more = cells(0..100);
    more.extend(cells(50..51));
    assert_eq!(store.plan_put("night", &more).unwrap(), 98);
    assert_eq!(take(&store, "ann", LONG).cell.key, "cell 99");
    let done = states(&store).into_iter().filter(|state| *state == CellState::Done).count();
    assert_eq!(done, 2);
}

fn a_plan_keeps_its_cells_under_another_name_and_takes_nobodys(place: &Place) {
    let store = place.open();
    assert_eq!(store.plan_rename("dusk", "night").unwrap(), 0, "there is no such plan");
    store.plan_put("dusk", &cells(0..2)).unwrap();
    assert_eq!(store.plan_rename("dusk", "night").unwrap(), 2);
    assert_eq!(states(&store), [CellState::Waiting; 2]);
    store.plan_put("dusk", &cells(5..6)).unwrap();
    assert_eq!(store.plan_rename("dusk", "night").unwrap(), 0, "the name is taken");
    assert_eq!(store.plan_cells("dusk").unwrap().len(), 1);
}

fn a_lease_that_ran_out_is_taken_by_another_and_fenced_off(place: &Place) {
    let store = place.open();
    store.plan_put("night", &cells(0..1)).unwrap();
    let dead = take(&store, "ann", NONE);
    assert!(store.plan_cells("night").unwrap()[0].is_expired);
    let alive = take(&store, "bob", LONG);
    assert_eq!((alive.cell.key.as_str(), alive.attempt), ("cell 0", 2));
    assert!(!store.plan_cells("night").unwrap()[0].is_expired);
    // The dead one was only slow. Its run is a run, but the cell is no longer its own.
    let run = sample::run(1);
    store.insert_run(&run).unwrap();
    let error = store.finish(&dead, &Outcome::Done(run.id.clone())).unwrap_err();
    assert!(matches!(error, StoreError::LeaseLost { .. }), "{error}");
    assert!(error.to_string().contains("ann"), "{error}");
    assert!(is_lost(store.heartbeat(&dead)));
    assert!(is_lost(store.release(&dead)));
    assert_eq!(store.run(&run.id.0).unwrap(), run);
    let other = sample::run(2).id;
    store.finish(&alive, &Outcome::Done(other.clone())).unwrap();
    assert!(is_lost(store.finish(&dead, &Outcome::Done(run.id))));
    assert_eq!(store.plan_cells("night").unwrap()[0].run, Some(other));
}

fn a_sign_of_life_keeps_a_lease(place: &Place) {
    let store = place.open();
    store.plan_put("night", &cells(0..1)).unwrap();
    let mut lease = take(&store, "ann", NONE);
    lease.duration = LONG;
    store.heartbeat(&lease).unwrap();
    assert_eq!(store.lease("night", "bob", LONG).unwrap(), None);
    // One that ran out but that nobody took is as good as any.
    lease.duration = NONE;
    store.heartbeat(&lease).unwrap();
    let done = Outcome::Done(RunId("abcd".into()));
    store.finish(&lease, &done).unwrap();
    store.finish(&lease, &done).unwrap();
    assert!(is_lost(store.finish(&lease, &Outcome::Done(RunId("other".into())))));
    assert!(is_lost(store.finish(&lease, &Outcome::Failed("no".into()))));
    assert!(is_lost(store.heartbeat(&lease)));
    assert_eq!(states(&store), [CellState::Done]);
}

fn a_cell_that_was_given_back_is_leased_again(place: &Place) {
    let store = place.open();
    store.plan_put("night", &cells(0..1)).unwrap();
    let first = take(&store, "ann", LONG);
    store.release(&first).unwrap();
    assert_eq!(states(&store), [CellState::Waiting]);
    assert!(is_lost(store.finish(&first, &Outcome::Failed("late".into()))));
    let second = take(&store, "bob", LONG);
    assert_eq!(second.attempt, 2);
    store.finish(&second, &Outcome::Failed("crashed".into())).unwrap();
    assert_eq!(store.lease("night", "ann", LONG).unwrap(), None);
    assert_eq!(store.plan_retry("night").unwrap(), 1);
    assert_eq!(take(&store, "ann", LONG).attempt, 3);
    assert_eq!(store.plan_cells("night").unwrap()[0].reason, None);
}

fn two_workers_never_get_the_same_cell(place: &Place) {
    let store = place.open();
    store.plan_put("night", &cells(0..60)).unwrap();
    let work = |worker: usize| {
        let location = place.location().to_owned();
        thread::spawn(move || {
            let store = Store::open(location).unwrap();
            let name = format!("worker {worker}");
            let mut mine = Vec::new();
            while let Some(lease) = store.lease("night", &name, LONG).unwrap() {
                // Some are finished at once and some stay leased, so that both are passed over.
                if lease.cell.position % 2 == 0 {
                    let run = RunId(format!("run of {}", lease.cell.key));
                    store.finish(&lease, &Outcome::Done(run)).unwrap();
                }
                assert_eq!(lease.attempt, 1);
                mine.push(lease.cell.key);
            }
            mine
        })
    };
    let workers: Vec<_> = (0..8).map(work).collect();
    let taken: Vec<String> =
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect();
    assert_eq!(taken.len(), 60);
    assert_eq!(taken.iter().collect::<BTreeSet<_>>().len(), 60);
    let left = states(&store).into_iter().filter(|state| *state == CellState::Leased).count();
    assert_eq!(left, 30);
}

fn many_add_the_same_plan_at_once(place: &Place) {
    place.open();
    let add = |turn: usize| {
        let location = place.location().to_owned();
        thread::spawn(move || {
            let mut cells = cells(0..150);
            cells.rotate_left(turn * 17);
            Store::open(location).unwrap().plan_put("night", &cells).unwrap()
        })
    };
    let adding: Vec<_> = (0..6).map(add).collect();
    let added: u64 = adding.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert_eq!(added, 150);
}

fn a_dead_workers_cell_is_finished_by_another(place: &Place) {
    let store = place.open();
    store.plan_put("night", &cells(0..6)).unwrap();
    // The first dies with a cell in its hands: its connection ends, its lease runs out.
    let dying = place.open();
    take(&dying, "first", NONE);
    drop(dying);
    while let Some(lease) = store.lease("night", "second", LONG).unwrap() {
        let run = sample::run(lease.cell.position);
        store.insert_run(&run).unwrap();
        store.finish(&lease, &Outcome::Done(run.id)).unwrap();
    }
    let cells = store.plan_cells("night").unwrap();
    assert!(cells.iter().all(|cell| cell.state == CellState::Done));
    assert!(cells.iter().all(|cell| cell.worker.as_deref() == Some("second")));
    assert_eq!(cells.iter().map(|cell| cell.attempts).sum::<u64>(), 7);
    for cell in cells {
        store.run(&cell.run.unwrap().0).unwrap();
    }
}

fn a_cell_whose_lease_is_over_waits_and_its_worker_is_still_told(place: &Place) {
    let store = place.open();
    assert_eq!(store.leased_cells(LONG).unwrap(), []);
    store.plan_put("night", &cells(0..4)).unwrap();
    store.plan_put("day", &cells(7..8)).unwrap();
    take(&store, "silent", NONE);
    // The one that is over is taken first by whoever comes, so the living take what is behind it.
    let living = take(&store, "living", LONG);
    assert_eq!(living.attempt, 2);
    let lost = take(&store, "lost", NONE);
    let told = |after: Duration| -> Vec<(String, String, bool)> {
        let found = store.leased_cells(after).unwrap();
        let one = |one: modelmeter_store::LeasedCell| {
            (one.plan, one.cell.worker.unwrap(), one.cell.is_expired)
        };
        found.into_iter().map(one).collect()
    };
    let (night, own) = ("night".to_owned(), |name: &str| name.to_owned());
    assert_eq!(told(NONE), [(night.clone(), own("living"), false)]);
    let both = [(night.clone(), own("living"), false), (night, own("lost"), true)];
    assert_eq!(told(LONG), both);
    let progress = store.plans().unwrap();
    assert_eq!((progress[1].waiting, progress[1].leased), (3, 1));
    store.finish(&lost, &Outcome::Failed("no".into())).unwrap();
    let progress = store.plans().unwrap();
    assert_eq!((progress[1].waiting, progress[1].leased, progress[1].failed), (2, 1, 1));
}
