//! What must hold whatever the runs.

use crate::rows::{cells, row};
use modelmeter_analysis::{Selection, analyse, parse_memory, recommend};
use proptest::prelude::*;
use types::{Bytes, Device, Measured, Objective, PooledCell, Precision, Price, Prices, Wish};

/// Few different values, so that cells are shared and ties happen.
fn measured() -> impl Strategy<Value = Measured> {
    let where_and_how = (0..3u32, 0..2usize, 0..2usize, 0..3u32);
    let numbers = (1..6u32, 1..4u64, proptest::option::of(1..4u32), 0..9u32, 0..1000i64);
    (where_and_how, numbers).prop_map(
        |((device, engine, precision, batch), (time, memory, joules, noise, when))| {
            let device = [Device::Cpu, Device::Cuda(0), Device::Cuda(1)][device as usize];
            let batch = 1 << batch;
            let time = f64::from(time) * 10.0 * (1.0 + f64::from(noise / 8) / 100.0);
            let id = format!("{when:04}{batch}{noise}{memory}");
            Measured {
                started_at: when,
                precision: [Precision::Fp32, Precision::Bf16][precision],
                memory_peak: Some(Bytes(memory * 100_000_000)),
                joules_per_sample: joules.map(f64::from),
                ..row(&id, device, ["rten", "ort"][engine], batch, time)
            }
        },
    )
}

fn wish() -> impl Strategy<Value = Wish> {
    (0..5usize, proptest::option::of(Just(()))).prop_map(|(objective, limit)| {
        let price =
            |device: &str, per_hour| Price { machine: None, device: Some(device.into()), per_hour };
        Wish {
            objective: Objective::ALL[objective],
            memory_limit: limit.map(|()| parse_memory("250MB").unwrap()),
            prices: Prices {
                currency: "EUR".into(),
                prices: vec![price("cpu", 1.0), price("cuda", 3.0)],
            },
            ..Wish::default()
        }
    })
}

/// Whether `other` is at least as good in all four, and better in one.
fn is_beaten(best: (&PooledCell, f64), other: (&PooledCell, f64)) -> bool {
    let numbers = |(cell, own): (&PooledCell, f64)| {
        let rate = cell.throughput.value.unwrap().value;
        [own, cell.latency.value, -rate, cell.memory.value.unwrap().0 as f64]
    };
    let (best, other) = (numbers(best), numbers(other));
    let pairs = || best.iter().zip(&other);
    pairs().all(|(best, other)| other <= best) && pairs().any(|(best, other)| other < best)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_recommendation_is_never_dominated(
        rows in proptest::collection::vec(measured(), 1..40),
        wish in wish(),
    ) {
        let cells = cells(rows);
        let found = recommend(&cells, &Selection::default(), &wish).remove(0);
        let all = analyse(&cells, &Selection::default()).cells;
        let worth = |cell: &PooledCell| match wish.objective {
            Objective::Latency => Some(cell.latency.value),
            Objective::Throughput => Some(-cell.throughput.value.unwrap().value),
            Objective::Memory => Some(cell.memory.value.unwrap().0 as f64),
            Objective::Energy => cell.energy.value.map(|energy| energy.value),
            Objective::Cost => {
                let price = if cell.key.device == Device::Cpu { 1.0 } else { 3.0 };
                Some(price / 3600.0 / cell.throughput.value.unwrap().value)
            }
        };
        let fits = |cell: &PooledCell| {
            wish.memory_limit.is_none_or(|limit| cell.memory.value.unwrap() <= limit)
        };
        let able = all.iter().map(|one| &one.cell).filter(|cell| fits(cell) && worth(cell).is_some());
        let able: Vec<&PooledCell> = able.collect();
        match found.best() {
            None => prop_assert!(able.is_empty()),
            Some(best) => {
                prop_assert!(fits(&best.cell));
                let own = worth(&best.cell).unwrap();
                for other in able {
                    prop_assert!(!is_beaten((&best.cell, own), (other, worth(other).unwrap())), "{other:?}");
                }
            }
        }
        for next in found.candidates.iter().skip(1) {
            prop_assert!(next.behind.unwrap().factor.value > 1.0 - 1e-9);
        }
    }

    #[test]
    fn an_invalid_run_changes_nothing(
        rows in proptest::collection::vec(measured(), 1..30),
        bad in proptest::collection::vec(measured(), 1..10),
        wish in wish(),
    ) {
        let bad = bad.into_iter().map(|row| Measured {
            valid: false,
            median: row.median.map(|median| median / 1000.0),
            ..row
        });
        let (clean, spoilt) = (cells(rows.clone()), cells(bad.chain(rows)));
        let all = Selection::default();
        let (before, after) = (recommend(&clean, &all, &wish), recommend(&spoilt, &all, &wish));
        prop_assert_eq!(before.len(), after.len());
        for (before, after) in before.iter().zip(&after) {
            // It is counted with its cell, and that is all.
            let uncounted = |found: &types::Recommendation| -> Vec<_> {
                let mut candidates = found.candidates.clone();
                for one in &mut candidates {
                    one.cell.invalid_runs = types::InvalidRuns::default();
                    one.cell.newest_is_valid = true;
                }
                candidates
            };
            prop_assert_eq!(uncounted(before), uncounted(after));
            // What was measured without success is not called unmeasured.
            let batches = |found: &types::Recommendation| -> usize {
                found.gaps.iter().map(|gap| gap.batch_sizes.len()).sum()
            };
            prop_assert!(batches(after) <= batches(before));
            prop_assert_eq!(&before.remarks, &after.remarks);
        }
        let (before, mut after) = (analyse(&clean, &all), analyse(&spoilt, &all));
        for (one, other) in after.cells.iter_mut().zip(&before.cells) {
            one.cell.invalid_runs = other.cell.invalid_runs.clone();
            one.cell.newest_is_valid = other.cell.newest_is_valid;
        }
        prop_assert_eq!(before.cells, after.cells);
        prop_assert_eq!(before.batches, after.batches);
        prop_assert_eq!(before.tally.pooled, after.tally.pooled);
    }

    #[test]
    fn the_order_of_rows_means_nothing(rows in proptest::collection::vec(measured(), 1..40)) {
        // Two runs of one name are one run twice, which no store has.
        let mut rows = rows;
        rows.sort_by(|a, b| a.id.cmp(&b.id));
        rows.dedup_by(|a, b| a.id == b.id);
        let forward = analyse(&cells(rows.clone()), &Selection::default());
        rows.reverse();
        prop_assert_eq!(forward, analyse(&cells(rows), &Selection::default()));
    }

    #[test]
    fn the_best_batch_is_at_least_as_large_as_the_one_that_is_enough(
        rows in proptest::collection::vec(measured(), 1..40),
    ) {
        let found = analyse(&cells(rows), &Selection::default());
        for series in &found.batches {
            prop_assert!(series.enough <= series.best.batch_size);
        }
        prop_assert!(found.cells.iter().any(|one| one.on_front.value == Some(true)));
    }
}
