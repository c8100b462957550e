//! Fits with a scripted need of memory: so much for every sample.

use crate::scene::Scene;
use modelmeter::{
    Bytes, Fitter, LimitedBy, Precision,
    types::{FitCell, FitOutcome, FitReport, RefusalKind},
};

const MIB: u64 = 1 << 20;

/// What a sample takes.
const EACH: u64 = 4 * MIB;

fn fit(script: &str, limit: u64) -> FitReport {
    let scene = Scene::new();
    let profiler = scene.profiler(&scene.model("model", script)).limit_by(LimitedBy::Rlimit);
    let fitter = Fitter::new(profiler, Bytes(limit)).most_batch(64).precisions([Precision::Fp32]);
    fitter.fit(&mut scene.session(), &mut |_| {}).unwrap()
}

#[test]
fn the_largest_batch_under_a_limit_is_found_and_the_best_is_confirmed() {
    // The time is the same for every batch, so that the largest is the best.
    let report = fit(&format!("30ms + hold-each {EACH}"), 160 * MIB);
    let way = &report.ways[0];
    let (largest, refused) = (way.largest.unwrap(), way.refused.unwrap());
    // The worker itself takes some of it.
    assert!((16..=39).contains(&largest), "{largest}: {:#?}", way.tries);
    assert!(refused > largest && refused <= 41, "{refused}");
    let refusal = way.tries.iter().find(|tried| tried.batch >= refused).unwrap();
    let refusal = refusal.refused.as_ref().unwrap();
    assert_eq!(refusal.kind, RefusalKind::OutOfMemory, "{}", refusal.why);
    let fitting = way.cells.iter().filter(|cell| cell.outcome == FitOutcome::Fits);
    let speed = |cell: &FitCell| cell.throughput.unwrap().value;
    let timed: Vec<(usize, f64)> = fitting.map(|cell| (cell.batch, speed(cell))).collect();
    let (first, last) = (timed[0], timed[timed.len() - 1]);
    assert!(last.0 > first.0 && last.1 > first.1, "{timed:?}");
    // Which of them is best is up to the machine; that it is one that fits is not.
    let best = report.best().unwrap();
    assert_eq!(best.cell.engine, "steady");
    assert!(best.cell.batch_size <= largest && best.peak.unwrap() <= report.limit);
}

#[test]
fn where_nothing_fits_the_smallest_need_is_told() {
    let report = fit(&format!("1ms + hold {}", 200 * MIB), 100 * MIB);
    assert!(report.best().is_none() && report.ways[0].largest.is_none());
    let need = report.smallest_need.unwrap();
    assert_eq!(need.batch, 1);
    assert!(need.peak.0 > 200 * MIB && need.peak.0 < 300 * MIB, "{:?}", need.peak);
    assert!(need.enough.is_none_or(|enough| enough.0 > 200 * MIB), "{:?}", need.enough);
}
