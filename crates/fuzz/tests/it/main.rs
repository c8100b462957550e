//! Damaged files and messages end in an answer: read, or refused with an error.

mod edge;

use modelmeter_fuzz::{Hunt, TARGETS, Tally, hunt, replay};
use std::path::Path;

const PROGRAM: &str = env!("CARGO_BIN_EXE_modelmeter-fuzz");

/// Findings that were made once, one folder a target.
const KEPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/cases");

#[test]
fn two_thousand_seeded_cases_of_every_target_end_in_an_answer() {
    let asked = Hunt {
        program: PROGRAM.into(),
        targets: Vec::new(),
        cases: 2_000,
        seed: 20_260_101,
        keep: None,
        jobs: std::thread::available_parallelism().map_or(1, usize::from),
    };
    let tallies = hunt(&asked, &|_| {}).unwrap();
    assert_eq!(tallies.len(), TARGETS.len());
    let findings: Vec<String> = tallies
        .iter()
        .flat_map(|tally| &tally.findings)
        .filter(|finding| finding.expected.is_none())
        .map(|finding| format!("{}, case {}: {}", finding.target, finding.case, finding.what))
        .collect();
    assert!(findings.is_empty(), "{}", findings.join("\n"));
    for tally in &tallies {
        let share = tally.accepted as f64 / tally.run as f64;
        // Damage that is always refused at the door, or never, would test nothing.
        assert!((0.005..0.995).contains(&share), "{}: {share} of the cases are read", tally.target);
    }
}

#[test]
fn kept_findings_end_in_an_answer() {
    let (count, findings) = replay(Path::new(PROGRAM), Path::new(KEPT)).unwrap();
    assert!(count > 0, "no case is kept");
    let lines: Vec<&str> = findings.iter().map(|finding| finding.what.as_str()).collect();
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}

#[test]
fn the_same_seed_finds_the_same() {
    let asked = |seed| Hunt {
        program: PROGRAM.into(),
        targets: vec!["description".into()],
        cases: 300,
        seed,
        keep: None,
        jobs: 1,
    };
    let read = |seed| hunt(&asked(seed), &|_: &Tally| {}).unwrap()[0].accepted;
    assert_eq!(read(1), read(1));
    assert!((2..12).any(|seed| read(seed) != read(1)));
}
