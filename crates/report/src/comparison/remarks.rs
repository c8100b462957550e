//! What stands around the tables: parity, the design, and what a reader must know.

use super::words::name;
use crate::clean::clean;
use crate::result::{Fact, Note, Tone};
use number::{percent, scientific};
use types::{Agreement, ComparisonReport, Design, LooksReport, Outcome, Parity};

/// Who could only have seen a difference of more than this share, eleven times as long, could have seen nothing.
const MOST_DETECTABLE: f64 = 10.0;

/// Which outputs are equal, and how it was measured and what that could have seen.
pub(super) fn facts(report: &ComparisonReport) -> Vec<Fact> {
    let parity: Vec<String> = report.parity.iter().map(pair).collect();
    let mut facts = Vec::new();
    if !parity.is_empty() {
        facts.push(Fact { label: "parity".into(), pieces: parity, ..Fact::default() });
    }
    // Where nobody was let through to be timed, the reasons are all there is to show.
    if report.sides.iter().any(|side| side.latency.is_some()) {
        facts.push(Fact { label: "design".into(), pieces: design(report), ..Fact::default() });
    }
    facts
}

/// `torch = rten (max 3.1e-6)`, `torch = rten (identical)`.
fn pair(parity: &Parity) -> String {
    let (reference, side) = (clean(&parity.reference), clean(&parity.side));
    let sign = parity.agreement().sign();
    match parity.max_abs() {
        Some(0.0) if parity.holds => format!("{reference} {sign} {side} (identical)"),
        Some(found) => format!("{reference} {sign} {side} (max {})", scientific(found)),
        None => format!("{reference} {sign} {side}"),
    }
}

/// How it was measured and what that could have seen.
pub(super) fn design(report: &ComparisonReport) -> Vec<String> {
    let mut facts = vec![match report.design {
        Design::Interleaved { rounds, .. } => {
            let order = order(report.sides.len());
            match &report.looks {
                Some(looks) => {
                    let LooksReport { used, at_most, ended, .. } = looks;
                    // A side that is answered is not measured further.
                    let used = match rounds < u64::from(*used) {
                        true => format!("{rounds} to {used}"),
                        false => used.to_string(),
                    };
                    let ended = ended.words();
                    format!("{order}, {used} of at most {at_most} processes per side, {ended}")
                }
                None => format!("{order}, {} per side", counted(rounds, "process")),
            }
        }
        Design::Stored => format!("stored runs, {} per side", runs(report)),
    }];
    let mut threads: Vec<u32> = report.sides.iter().map(|side| side.info.threads).collect();
    threads.dedup();
    facts.extend(match threads.as_slice() {
        // A server does not tell how many it has.
        [0] => None,
        [all] => Some(format!("{} each", counted(u64::from(*all), "thread"))),
        each => {
            let each: Vec<String> = each.iter().map(u32::to_string).collect();
            Some(format!("threads {}", each.join(", ")))
        }
    });
    facts.extend(report.detectable.map(|share| match share > MOST_DETECTABLE {
        true => "could have detected nothing".into(),
        false => format!("could have detected {}", percent(share)),
    }));
    facts
}

/// `ABBA`, `ABCCBA`: the order of turns.
fn order(sides: usize) -> String {
    const LETTERS: [char; 5] = ['A', 'B', 'C', 'D', 'E'];
    match LETTERS.get(..sides) {
        Some(letters) => letters.iter().chain(letters.iter().rev()).collect(),
        None => "turns forward and backward".into(),
    }
}

fn runs(report: &ComparisonReport) -> String {
    let counts = || report.sides.iter().map(|side| side.processes);
    match (counts().min(), counts().max()) {
        (Some(low), Some(high)) if low != high => format!("{low} to {high}"),
        (_, most) => most.unwrap_or(0).to_string(),
    }
}

fn counted(count: u64, thing: &str) -> String {
    let many = if thing.ends_with('s') { "es" } else { "s" };
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}{many}") }
}

/// Refusals first, then everything a reader must know, each once.
pub(super) fn notes(report: &ComparisonReport) -> Vec<Note> {
    let note = |(is_refusal, text): (bool, String)| {
        Note::of(if is_refusal { Tone::Bad } else { Tone::Warning }, text)
    };
    sentences(report).into_iter().map(note).collect()
}

/// The same in sentences, and whether each is a refusal.
pub(crate) fn sentences(report: &ComparisonReport) -> Vec<(bool, String)> {
    let mut said: Vec<(bool, String)> = Vec::new();
    let mut say = |is_refusal: bool, text: String| {
        if said.iter().all(|(_, known)| *known != text) {
            said.push((is_refusal, text));
        }
    };
    for comparison in &report.comparisons {
        if let Outcome::Refused { why, .. } = &comparison.outcome {
            let info = report.side(&comparison.side).map(|side| &side.info);
            let failed = info.is_some_and(|info| info.failed.is_some());
            let what = if failed { "could not be measured" } else { "no speed-up is claimed" };
            let name = info.map_or_else(|| clean(&comparison.side), name);
            say(true, format!("{name}: {what}: {}", clean(why)));
        }
    }
    for comparison in &report.comparisons {
        comparison.remarks.iter().for_each(|remark| say(false, clean(&remark.text)));
    }
    for entry in report.parity.iter().filter(|entry| entry.agreement() == Agreement::Equal) {
        for output in &entry.outputs {
            if let Some(note) = &output.note {
                let (side, name) = (clean(&entry.side), clean(&output.output));
                say(false, format!("{side}: output `{name}`: {}", clean(note)));
            }
        }
    }
    report.remarks.iter().for_each(|remark| say(false, clean(&remark.text)));
    for side in &report.sides {
        for remark in &side.info.remarks {
            say(false, format!("{}: {}", clean(&side.info.label), clean(&remark.text)));
        }
    }
    said
}
