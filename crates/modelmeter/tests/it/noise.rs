//! A machine's noise over scripted times.

use crate::scene::Scene;
use modelmeter::{Error, NoiseTest};

#[test]
fn a_model_is_compared_with_itself_round_by_round_and_the_result_is_kept() {
    let scene = Scene::new();
    let test = NoiseTest::new(scene.profiler(&scene.model("model", "20ms"))).processes(3);
    let mut session = scene.session();
    let noise = match test.run(&mut session, &mut |_| {}) {
        Ok(noise) => noise,
        // Other work on the machine: then there is no number, and that is said.
        Err(Error::TooBusy { why }) => return assert!(!why.is_empty()),
        Err(error) => panic!("{error}"),
    };
    assert_eq!((noise.itself.rounds, noise.medians.len()), (3, 6), "three processes a side");
    assert_eq!(scene.loads("model"), 6);
    assert_eq!((noise.cell.engine.as_str(), noise.cell.batch_size), ("steady", 1));
    assert!(noise.medians.iter().all(|median| *median >= 0.02), "{:?}", noise.medians);
    let itself = &noise.itself;
    assert!(itself.interval.low <= itself.ratio && itself.ratio <= itself.interval.high);
    let ends = (itself.interval.high - 1.0, 1.0 / itself.interval.low - 1.0);
    assert_eq!(itself.floor, ends.0.max(ends.1), "the farther end is the floor");
    let machine = session.machine().key.clone();
    assert_eq!(session.store().unwrap().noise(&machine).unwrap(), [noise]);
}

#[test]
fn a_model_that_crashes_has_no_noise_and_keeps_none() {
    let scene = Scene::new();
    let test = NoiseTest::new(scene.profiler(&scene.model("model", "crash"))).processes(3);
    let mut session = scene.session();
    let error = test.run(&mut session, &mut |_| {}).unwrap_err();
    assert!(matches!(error, Error::Baseline { .. } | Error::Meter(_)), "{error:?}");
    let machine = session.machine().key.clone();
    assert_eq!(session.store().unwrap().noise(&machine).unwrap(), []);
}
