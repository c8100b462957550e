//! Contenders side by side, scripted.

use crate::bench::{bench, job, scripted};
use modelmeter_meter::{Contender, Depth, DuelRule, Record, SoFar, duel};
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
        samples: None,
        repeats: None,
        joins_turns: false,
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
    fight_by(&rule(), scripts, gate)
}

fn fight_by(
    rule: &DuelRule,
    scripts: &[&str],
    gate: impl Fn(usize) -> bool,
) -> (Vec<Record>, Seen) {
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
    let records =
        duel(&contenders, rule, folder.path(), &mut open, &mut |_, _| Vec::new(), &mut |_| {});
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
            assert!(bout.turns.iter().all(|turn| (3..=5).contains(&turn.samples.len())));
            let counted: usize = bout.turns.iter().map(|turn| turn.samples.len()).sum();
            assert_eq!(bout.run.summaries[&types::Phase::Inference].count, counted as u64);
        }
        assert!(record.loaded.is_some());
    }
    // No run ends before what its script asks; how much later it ends is the machine's affair.
    for (record, least) in records.iter().zip([1, 2].map(Duration::from_millis)) {
        let runs =
            record.bouts.iter().flat_map(|bout| bout.turns.iter().flat_map(|turn| &turn.samples));
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

/// As many processes as there are processors, which do nothing but burn them.
#[cfg(target_os = "linux")]
struct Burners(Vec<std::process::Child>);

#[cfg(target_os = "linux")]
impl Burners {
    fn start() -> Burners {
        let processors = std::thread::available_parallelism().unwrap().get();
        let burn = |_| {
            let mut shell = std::process::Command::new("sh");
            shell.args(["-c", "while :; do :; done"]).spawn().unwrap()
        };
        Burners((0..processors).map(burn).collect())
    }
}

#[cfg(target_os = "linux")]
impl Drop for Burners {
    fn drop(&mut self) {
        for burner in &mut self.0 {
            let _ = burner.kill();
            let _ = burner.wait();
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn turns_beside_burning_processes_are_repeated_within_bounds_and_known_as_disturbed() {
    let burners = Burners::start();
    let rule = DuelRule {
        turns: 2,
        turn: Duration::from_millis(150),
        most: u64::MAX,
        repeats: Some(3),
        ..rule()
    };
    // It computes: an engine that sleeps would hardly notice.
    let (records, _) = fight_by(&rule, &["work 2000000", "work 2000000"], |_| true);
    drop(burners);
    for record in &records {
        assert!(record.failed.is_none(), "{:?}", record.failed);
        let turns: Vec<_> = record.bouts.iter().flat_map(|bout| &bout.turns).collect();
        assert_eq!(turns.len(), 2 * 2 + 3, "two rounds of two turns, and three repeated sweeps");
        for turn in turns {
            assert_eq!(turn.disturbed, Some(types::ReasonCode::BusyMachine), "{turn:?}");
        }
        for bout in &record.bouts {
            assert!(!bout.run.verdict.valid, "{:?}", bout.run.verdict);
            assert_eq!(bout.run.verdict.main_reason(), Some(types::ReasonCode::BusyMachine));
            let kept = bout.run.summaries[&types::Phase::Inference].count;
            assert!(kept > 0, "what was measured is kept, and is not valid");
        }
    }
}

#[test]
fn sides_that_are_answered_are_let_go_and_the_duel_ends_with_the_last_question() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let make = || job(file.path());
    let contender = |script: &str| Contender {
        label: script.to_owned(),
        job: &make,
        launch: scripted(script),
        bench: bench(),
    };
    let contenders = ["1ms", "2ms", "3ms"].map(contender);
    let rule = DuelRule { rounds: 8, turns: 2, joins_turns: true, ..rule() };
    let mut all = |outputs: &[Option<Vec<HostTensor>>]| vec![true; outputs.len()];
    let mut seen: Vec<(u32, Option<u32>, Vec<usize>)> = Vec::new();
    let mut watch = |so_far: &SoFar, _: &mut dyn FnMut(types::Event)| {
        let rounds = so_far.rounds.iter().map(Vec::len).collect();
        seen.push((so_far.finished, so_far.sweeps, rounds));
        assert_eq!(so_far.failed, [false; 3]);
        // An answer in the middle of a round has no effect.
        match (so_far.finished, so_far.sweeps) {
            (2, None) => vec![true, false, true],
            (3, None) => vec![false; 3],
            (_, Some(_)) => vec![false; 3],
            _ => vec![true; 3],
        }
    };
    let records = duel(&contenders, &rule, folder.path(), &mut all, &mut watch, &mut |_| {});
    let rounds: Vec<usize> = records.iter().map(|record| record.bouts.len()).collect();
    assert_eq!(rounds, [3, 2, 3]);
    assert!(records.iter().all(|record| record.failed.is_none()));
    assert_eq!(seen[0], (0, Some(0), vec![1, 1, 1]), "a round that has begun counts");
    assert_eq!(seen[1].1, Some(1));
    assert_eq!(seen[2], (1, None, vec![1, 1, 1]));
    assert_eq!(seen.last(), Some(&(3, None, vec![3, 2, 3])));
}
