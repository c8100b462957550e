//! Contenders side by side, scripted.

use crate::bench::{bench, job, scripted};
use modelmeter_meter::{Contender, Depth, DuelRule, Record, duel};
use std::time::Duration;
use types::{Elements, HostTensor, StoppingRule, Warmup};

fn rule() -> DuelRule {
    DuelRule {
        first: 0,
        rounds: 2,
        turns: 4,
        turn: Duration::from_millis(1),
        least: 3,
        most: 5,
        show: Depth::Outputs,
        stopping: StoppingRule {
            warmup: Warmup::Runs { count: 2 },
            timeout: Duration::from_secs(20),
            ..StoppingRule::default()
        },
    }
}

type Seen = Vec<Option<Vec<HostTensor>>>;

fn fight(scripts: &[&str], gate: impl Fn(usize) -> bool) -> (Vec<Record>, Seen) {
    let file = tempfile::NamedTempFile::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let make = || job(file.path());
    let contenders: Vec<Contender<'_>> = scripts
        .iter()
        .map(|script| Contender {
            label: (*script).to_owned(),
            job: &make,
            launch: scripted(script),
            bench: bench(),
        })
        .collect();
    let mut seen = Vec::new();
    let mut open = |outputs: &[Option<Vec<HostTensor>>]| {
        seen = outputs.to_vec();
        (0..outputs.len()).map(&gate).collect()
    };
    let records = duel(&contenders, &rule(), folder.path(), &mut open, &mut |_| {});
    (records, seen)
}

#[test]
fn every_side_has_fresh_processes_and_all_its_turns() {
    let (records, seen) = fight(&["1ms", "2ms"], |_| true);
    for record in &records {
        assert!(record.failed.is_none(), "{:?}", record.failed);
        assert_eq!(record.bouts.len(), 2);
        for bout in &record.bouts {
            assert_eq!(bout.turns.len(), 4);
            assert!(bout.turns.iter().all(|turn| (3..=5).contains(&turn.len())));
            let counted: usize = bout.turns.iter().map(Vec::len).sum();
            assert_eq!(bout.run.summaries[&types::Phase::Inference].count, counted as u64);
        }
        assert!(record.loaded.is_some());
    }
    // No run ends before what its script asks; how much later it ends is the machine's affair.
    for (record, least) in records.iter().zip([1, 2].map(Duration::from_millis)) {
        let runs = record.bouts.iter().flat_map(|bout| bout.turns.iter().flatten());
        assert!(u128::from(*runs.min().unwrap()) >= least.as_nanos());
    }
    let y = seen[0].as_ref().unwrap();
    assert_eq!(y[0].elements, Elements::F32(vec![2.0; 3]));
}

#[test]
fn one_that_crashes_drops_out_and_the_others_go_on() {
    let (records, _) = fight(&["1ms", "1ms, 1ms, 1ms, 1ms, crash", "1ms"], |_| true);
    assert!(records[1].failed.as_ref().unwrap().to_string().contains("SIGABRT"));
    assert!(records[1].bouts.is_empty());
    for record in [&records[0], &records[2]] {
        assert_eq!(record.bouts.len(), 2);
        assert!(record.failed.is_none());
    }
}

#[test]
fn nobody_is_timed_while_the_gate_is_shut() {
    let (records, seen) = fight(&["1ms", "nan"], |place| place == 0);
    assert!(records.iter().all(|record| record.bouts.is_empty() && record.failed.is_none()));
    let Elements::F32(values) = &seen[1].as_ref().unwrap()[0].elements else { panic!("not f32") };
    assert!(values.iter().all(|value| value.is_nan()));
}
