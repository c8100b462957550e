//! Cells pooled and put beside each other, with numbers worked out by hand.

use crate::rows::{at, cells, cpu, cuda, disturbed};
use modelmeter_analysis::{Cells, MOST_RUNS, Selection, analyse};
use types::{Analysis, Bytes, Device, Measured, Provenance, ReasonCode, RunId, Tally};

fn analysed(rows: impl IntoIterator<Item = Measured>) -> Analysis {
    analyse(&cells(rows), &Selection::default())
}

fn close(left: f64, right: f64) -> bool {
    (left / right - 1.0).abs() < 1e-9
}

#[test]
fn runs_of_a_cell_are_pooled_into_the_median_of_their_medians() {
    let found = analysed([
        cpu("a", "rten", 4, 100.0),
        cpu("b", "rten", 4, 121.0),
        cpu("c", "rten", 4, 110.0),
    ]);
    let [only] = found.cells.as_slice() else { panic!("{found:?}") };
    assert!(close(only.cell.latency.value, 0.110));
    // Logarithms ln 0.1, ln 0.11, ln 0.121 lie ln 1.1 apart: deviation ln 1.1, t(2) = 4.302652729749462.
    let half = 4.302_652_729_749_462 * 1.1f64.ln() / 3f64.sqrt();
    let interval = only.cell.latency.interval.unwrap();
    assert!(close(interval.low, 0.110 * (-half).exp()) && close(interval.high, 0.110 * half.exp()));
    assert!(close(only.cell.throughput.value.unwrap().value, 4.0 / 0.110));
    assert!(close(only.cell.percentiles.p95.unwrap(), 0.121 * 1.2), "the worst of them");
    assert_eq!((only.cell.samples, only.cell.fewest_samples), (600, 200));
    assert_eq!(only.cell.runs.len(), 3);
}

#[test]
fn a_single_run_keeps_its_own_interval_and_that_is_said() {
    let found = analysed([cpu("a", "rten", 4, 100.0)]);
    let interval = found.cells[0].cell.latency.interval.unwrap();
    assert!(close(interval.low, 0.099) && close(interval.high, 0.101));
    assert!(
        found.remarks[0].text.contains("1 of 1 cells have a single run"),
        "{:?}",
        found.remarks
    );
}

#[test]
fn only_the_newest_version_and_file_is_pooled() {
    let old = at(1, Measured { engine_version: "0.9".into(), ..cpu("a", "rten", 4, 900.0) });
    let other = at(2, Measured { fingerprint: "f0".into(), ..cpu("b", "rten", 4, 900.0) });
    let new = at(3, cpu("c", "rten", 4, 100.0));
    let found = analysed([new, old, other]);
    assert_eq!(found.cells.len(), 1);
    assert_eq!(found.cells[0].cell.runs, [RunId("c".into())]);
    assert_eq!(found.cells[0].cell.older, 2);
    assert_eq!(found.tally, Tally { seen: 3, pooled: 1, older: 2, ..Tally::default() });
}

#[test]
fn the_newest_few_are_kept_whatever_the_order() {
    let rows: Vec<Measured> =
        (0..20).map(|i| at(i, cpu(&format!("r{i:02}"), "rten", 4, 100.0 + i as f64))).collect();
    let forward = analysed(rows.clone());
    assert_eq!(forward, analysed(rows.into_iter().rev()));
    let cell = &forward.cells[0].cell;
    assert_eq!((cell.runs.len(), cell.older), (MOST_RUNS, 20 - MOST_RUNS as u64));
    assert_eq!(cell.runs[0], RunId("r19".into()));
    assert_eq!(cell.began, (12 * 60_000_000, 19 * 60_000_000));
}

#[test]
fn what_cannot_be_believed_is_counted_and_never_pooled() {
    let invalid = disturbed(cpu("a", "rten", 4, 1.0));
    let predicted = Measured { provenance: Provenance::Predicted, ..cpu("b", "rten", 4, 1.0) };
    let untimed = Measured { median: None, ..cpu("c", "rten", 4, 1.0) };
    let found = analysed([invalid, predicted, untimed, cpu("d", "rten", 4, 100.0)]);
    assert_eq!(found.cells.len(), 1);
    assert_eq!(found.cells[0].cell.runs, [RunId("d".into())]);
    assert_eq!(found.tally.invalid_reasons.by_count(), [(ReasonCode::BusyMachine, 1)]);
    let invalid_reasons = found.tally.invalid_reasons.clone();
    let tally = Tally {
        seen: 4,
        pooled: 1,
        invalid: 1,
        predicted: 1,
        untimed: 1,
        older: 0,
        invalid_reasons,
    };
    assert_eq!(found.tally, tally);
    assert!(found.not_valid.is_empty(), "the cell has a valid run");
}

#[test]
fn a_cell_without_a_valid_run_is_named_and_shown_only_where_that_was_asked_for() {
    let rows = || [disturbed(cpu("a", "ort", 4, 1.0)), cpu("b", "rten", 4, 100.0)];
    let found = analysed(rows());
    assert_eq!((found.cells.len(), found.not_valid.len()), (1, 1));
    assert_eq!(found.not_valid[0].newest, RunId("a".into()));
    let mut cells = Cells::with_invalid();
    cells.extend(rows());
    let found = analyse(&cells, &Selection::default());
    assert_eq!((found.cells.len(), found.not_valid.len()), (2, 1));
    let marked = found.cells.iter().find(|one| one.cell.invalid.is_some()).unwrap();
    assert_eq!(marked.cell.key.engine, "ort");
    assert!(marked.on_front.value.is_none());
    let other = found.cells.iter().find(|one| one.cell.invalid.is_none()).unwrap();
    assert_eq!(other.on_front.value, Some(true), "what cannot be believed beats nobody");
}

#[test]
fn valid_and_other_runs_of_a_cell_are_never_mixed() {
    let mut cells = Cells::with_invalid();
    cells.extend([at(1, cpu("a", "rten", 4, 100.0)), at(2, disturbed(cpu("b", "rten", 4, 1.0)))]);
    let found = analyse(&cells, &Selection::default());
    let [one] = found.cells.as_slice() else { panic!("{found:?}") };
    assert_eq!(one.cell.runs, [RunId("a".into())]);
    assert!(one.cell.invalid.is_none() && !one.cell.newest_is_valid);
    assert_eq!(one.cell.invalid_runs.total(), 1);
}

#[test]
fn imported_runs_have_cells_of_their_own() {
    let imported = Measured { provenance: Provenance::Imported, ..cpu("a", "rten", 4, 50.0) };
    let found = analysed([imported.clone(), cpu("b", "rten", 4, 100.0)]);
    assert_eq!(found.cells.len(), 2);
    assert_eq!(found.cells.iter().filter(|one| one.cell.key.imported).count(), 1);
    assert!(found.remarks.iter().any(|remark| remark.code == types::RemarkCode::Imported));
    let own = Selection { measured_only: true, ..Selection::default() };
    assert_eq!(analyse(&cells([imported, cpu("b", "rten", 4, 100.0)]), &own).cells.len(), 1);
}

#[test]
fn other_settings_are_other_cells() {
    let threads = Measured { threads: 1, ..cpu("a", "rten", 4, 150.0) };
    let variant = Measured { variant: "compiled".into(), ..cpu("b", "rten", 4, 80.0) };
    let drawn = Measured { random_weights: true, ..cpu("c", "rten", 4, 100.0) };
    assert_eq!(analysed([threads, variant, drawn, cpu("d", "rten", 4, 100.0)]).cells.len(), 4);
}

#[test]
fn a_speed_up_stands_against_the_fastest_cell_of_the_same_cpu() {
    let single = Measured { threads: 1, ..cpu("a", "ort", 4, 190.0) };
    let found = analysed([single, cpu("b", "ort", 4, 100.0), cuda("c", "ort", 4, 10.0)]);
    let gpu = found.cells.iter().find(|one| one.cell.key.device == Device::Cuda(0)).unwrap();
    let speed_up = gpu.speed_up.value.unwrap();
    assert!(close(speed_up.value, 10.0));
    // Down: the cpu's lower end and the gpu's upper; up: the other two.
    let (down, up) =
        ((1f64 / 0.99).ln().hypot(1.01f64.ln()), 1.01f64.ln().hypot((1f64 / 0.99).ln()));
    let interval = speed_up.interval.unwrap();
    assert!(close(interval.low, 10.0 * (-down).exp()) && close(interval.high, 10.0 * up.exp()));
    for other in found.cells.iter().filter(|one| one.cell.key.device == Device::Cpu) {
        assert_eq!(other.speed_up.why.as_deref(), Some("it runs on the cpu itself"));
    }
}

#[test]
fn a_speed_up_needs_the_same_question_on_the_same_machine() {
    for stranger in [
        cpu("a", "ort", 8, 100.0),
        cpu("a", "rten", 4, 100.0),
        Measured { machine: "badcafe".into(), ..cpu("a", "ort", 4, 100.0) },
        Measured { sequence_length: Some(64), ..cpu("a", "ort", 4, 100.0) },
        Measured { valid: false, ..cpu("a", "ort", 4, 100.0) },
        Measured { provenance: Provenance::Imported, ..cpu("a", "ort", 4, 100.0) },
    ] {
        let found = analysed([stranger, cuda("b", "ort", 4, 10.0)]);
        let gpu = found.cells.iter().find(|one| one.cell.key.device == Device::Cuda(0)).unwrap();
        assert!(gpu.speed_up.why.as_ref().unwrap().contains("the cpu of this machine"), "{gpu:?}");
    }
}

#[test]
fn a_selection_hides_the_cpu_and_still_stands_against_it() {
    let all = cells([cpu("a", "ort", 4, 100.0), cuda("b", "ort", 4, 10.0)]);
    let gpus = Selection { devices: vec![Device::Cuda(0)], ..Selection::default() };
    let found = analyse(&all, &gpus);
    assert_eq!(found.cells.len(), 1);
    assert!(close(found.cells[0].speed_up.value.unwrap().value, 10.0));
}

#[test]
fn the_smallest_batch_within_a_twentieth_is_enough() {
    // 10, 30, 39 and 40 samples per second; 95 % of 40 is 38.
    let rows = [(1, 100.0), (3, 100.0), (8, 8000.0 / 39.0), (32, 800.0)];
    let found = analysed(rows.map(|(batch, time)| cpu(&format!("b{batch}"), "rten", batch, time)));
    let [series] = found.batches.as_slice() else { panic!("{found:?}") };
    assert_eq!((series.best.batch_size, series.enough), (32, 8));
    assert!(close(series.throughput.value, 40.0));
}

#[test]
fn time_as_the_root_of_the_batch_has_the_exponent_one_half() {
    let rows = [1u64, 4, 16]
        .map(|batch| cpu(&format!("b{batch}"), "rten", batch, 10.0 * (batch as f64).sqrt()));
    let found = analysed(rows);
    let scaling = found.batches[0].scaling.value.unwrap();
    assert!((scaling.exponent.value - 0.5).abs() < 1e-9);
    assert_eq!((scaling.from, scaling.to, scaling.points), (1, 16, 3));
    // Four times the time for sixteen times the samples: four times the rate, a quarter of the ideal.
    assert!(close(scaling.gain, 4.0) && close(scaling.efficiency, 0.25));
    let one = analysed([cpu("a", "rten", 1, 10.0)]);
    assert_eq!(one.batches[0].scaling.why.as_deref(), Some("one batch size was measured"));
}

#[test]
fn time_as_the_square_of_the_length_keeps_half_of_the_tokens() {
    let rows = [64u64, 128].map(|length| Measured {
        sequence_length: Some(length),
        ..cpu(&format!("l{length}"), "rten", 4, (length * length) as f64 / 1000.0)
    });
    let found = analysed(rows);
    let [series] = found.lengths.as_slice() else { panic!("{found:?}") };
    assert!((series.scaling.exponent.value - 2.0).abs() < 1e-9);
    assert_eq!(series.scaling.exponent.interval, None, "two points fit any law");
    assert!(close(series.scaling.efficiency, 0.5));
    assert_eq!(series.shortest.sequence_length, Some(64));
}

#[test]
fn the_front_holds_what_nobody_beats_in_everything() {
    let lean = |row: Measured, megabytes: u64| Measured {
        memory_peak: Some(Bytes(megabytes * 1_000_000)),
        ..row
    };
    let found = analysed([
        lean(cpu("a", "rten", 1, 50.0), 100),
        // Slower, but more at once.
        lean(cpu("b", "rten", 8, 200.0), 200),
        // As slow as the one before and larger.
        lean(cpu("c", "ort", 8, 200.0), 300),
        // The slowest of all, but the leanest.
        lean(cpu("d", "lean", 1, 900.0), 10),
        // Other work is not beaten by this one.
        lean(Measured { model: "gpt2".into(), ..cpu("e", "rten", 1, 999.0) }, 999),
        Measured { memory_peak: None, ..cpu("f", "torch", 1, 1.0) },
    ]);
    let on_front = |id: &str| {
        let one = found.cells.iter().find(|one| one.cell.runs[0].0 == id).unwrap();
        one.on_front.value
    };
    let each: Vec<Option<bool>> = ["a", "b", "c", "d", "e", "f"].map(on_front).into();
    assert_eq!(each, [Some(true), Some(true), Some(false), Some(true), Some(true), None]);
}
