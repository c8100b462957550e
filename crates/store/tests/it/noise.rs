//! Revisions of runs and the noise of machines, on both databases.

use crate::{
    place::{Place, on_both},
    sample,
};
use modelmeter_store::Filter;
use std::time::Duration;
use types::{GateCell, Interval, Itself, Jitter, Noise, Revision, Seconds};

on_both!(every_test_of_a_machine_stays, a_branch_and_a_commit_find_their_runs);

fn noise(measured_at: i64) -> Noise {
    Noise {
        measured_at,
        elapsed: Duration::from_secs(30),
        cell: GateCell::of(&sample::run(1)),
        jitter: Jitter { watched: Seconds(3.0), lost: 0.02, longest: Seconds(0.004), pauses: 12.0 },
        itself: Itself {
            rounds: 12,
            ratio: 1.002,
            interval: Interval { low: 0.99, high: 1.01 },
            scatter: 0.014,
            floor: 0.01,
        },
        medians: vec![0.0012, 0.0013],
        drift: Vec::new(),
    }
}

fn every_test_of_a_machine_stays(place: &Place) {
    let store = place.open();
    let machine = sample::machine();
    assert_eq!(store.noise(&machine.key).unwrap(), []);
    for at in [20, 30, 10] {
        store.save_noise(&machine, &noise(at)).unwrap();
    }
    let found: Vec<i64> =
        store.noise(&machine.key).unwrap().iter().map(|test| test.measured_at).collect();
    assert_eq!(found, [30, 20, 10], "the newest comes first");
    assert_eq!(store.noise("another").unwrap(), []);
    let broken = Noise { medians: vec![f64::NAN], ..noise(40) };
    assert!(store.save_noise(&machine, &broken).is_err());
}

fn a_branch_and_a_commit_find_their_runs(place: &Place) {
    let store = place.open();
    let revision = |commit: &str, branch: Option<&str>| {
        Some(Revision { commit: commit.into(), branch: branch.map(str::to_owned) })
    };
    for (number, found) in [
        (0, None),
        (1, revision("00ab11", Some("main"))),
        (2, revision("00ac22", Some("ma%n"))),
        (3, revision("ffee33", None)),
    ] {
        let mut run = sample::run(number);
        run.environment.revision = found;
        store.insert_run(&run).unwrap();
        assert_eq!(store.run(&run.id.0).unwrap().environment.revision, run.environment.revision);
    }
    let ids = |filter: Filter| -> Vec<String> {
        store.runs(&filter).unwrap().into_iter().map(|row| row.id.0).collect()
    };
    let id = |number: u64| sample::run(number).id.0;
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(ids(Filter { branch: text("main"), ..Filter::default() }), [id(1)]);
    assert_eq!(ids(Filter { branch: text("ma%n"), ..Filter::default() }), [id(2)]);
    assert_eq!(ids(Filter { commit: text("00a"), ..Filter::default() }), [id(2), id(1)]);
    assert_eq!(ids(Filter { commit: text("FFEE33"), ..Filter::default() }), [id(3)]);
    assert_eq!(ids(Filter { commit: text("%"), ..Filter::default() }), Vec::<String>::new());
    store.delete(&[sample::run(1).id]).unwrap();
    assert_eq!(ids(Filter { branch: text("main"), ..Filter::default() }), Vec::<String>::new());
}
