//! Sides that took turns: pairs of turns, the parity gate, the verdicts.

use crate::{
    Baseline, CompareError,
    baseline::{self, Candidate},
    disturbed::{disturbed_pairs, undisturbed},
    outcome::{LEVEL, Pending, Unseen, decide, invalid},
};
use number::{fixed, percent, scientific};
use stats::{Looks, RatioEstimate, SURE, log_ratio, looked_ratio, paired_ratio, summarise};
use types::{
    Agreement, Comparison, ComparisonReport, Design, Disturbed, Duel, Ended, LooksReport, Outcome,
    Parity, Remark, RemarkCode, Seconds, Side, SideReport, Turn,
};

/// What a duel says: each side against the baseline.
///
/// Turn j of a side in round k is paired with turn j of the baseline in round k: they are neighbours in time. A speed-up
/// is refused where the outputs of the two were not found equal.
///
/// # Errors
/// When there are fewer than two sides, two have one label, or the baseline is unknown or has no times.
pub fn compare_duel(duel: &Duel, baseline: Baseline<'_>) -> Result<ComparisonReport, CompareError> {
    // Where the gate let nobody be timed, the refusals are the result.
    let timed = duel.sides.iter().any(|side| !samples(side).is_empty());
    let candidates: Vec<Candidate<'_>> = duel
        .sides
        .iter()
        .map(|side| match timed {
            true => candidate(side),
            false => Candidate { missing: side.info.failed.clone(), ..candidate(side) },
        })
        .collect();
    let at = baseline::choose(&candidates, baseline)?;
    let base = &duel.sides[at];
    let others = || duel.sides.iter().enumerate().filter(|(place, _)| *place != at);
    let looks = duel.looks.map(|looks| Looks::new(looks.at_most, looks.scatter));
    let pending = others().map(|(place, side)| {
        let missing = candidates[place].missing.as_ref();
        let look = looks.map(|looks| (looks, side.rounds.len() as u32));
        pending(side, base, missing.map(String::as_str), &duel.parity, look, duel.seed)
    });
    let level = if looks.is_some() { SURE } else { LEVEL };
    let comparisons = decide(pending.collect(), &base.info.label, level);
    let found = comparisons.iter().filter_map(|one| one.speed_up.as_ref()?.detectable);
    let mut remarks = duel.remarks.clone();
    let design = design(duel);
    if let Design::Interleaved { rounds: 1, .. } = design {
        remarks.push(Remark::new(RemarkCode::OneProcess, format!(
            "one process per side does not show the variance between processes, so a difference below {} is not \
             reported; use three rounds or more",
            percent(Unseen::OtherProcesses.allowance())
        )));
    }
    Ok(ComparisonReport {
        started_at: duel.started_at,
        elapsed: duel.elapsed,
        model: duel.model.clone(),
        batch_size: duel.batch_size,
        sequence_length: duel.sequence_length,
        mode: duel.mode,
        seed: duel.seed,
        environment: duel.environment.clone(),
        design,
        baseline: base.info.label.clone(),
        sides: duel.sides.iter().map(|side| report(side, duel.seed)).collect(),
        detectable: found.reduce(f64::max),
        looks: looks.map(|looks| looked(&looks, duel, &comparisons)),
        comparisons,
        parity: duel.parity.clone(),
        remarks,
        layers: None,
    })
}

fn candidate(side: &Side) -> Candidate<'_> {
    let empty = || samples(side).is_empty().then(|| "it has no samples".to_owned());
    Candidate {
        label: &side.info.label,
        engine: &side.info.engine.id,
        missing: side.info.failed.clone().or_else(empty),
    }
}

fn pending(
    side: &Side,
    base: &Side,
    missing: Option<&str>,
    parity: &[Parity],
    look: Option<(Looks, u32)>,
    seed: u64,
) -> Pending {
    let label = side.info.label.clone();
    let mut remarks = Vec::new();
    // Why it was not timed says more than that it has no times.
    let refusal = match (&side.info.failed, missing) {
        (Some(why), _) => Err(not_measured(why)),
        (None, Some(why)) => gate(parity, &label, &base.info.label).and(Err(not_measured(why))),
        (None, None) => gate(parity, &label, &base.info.label),
    };
    let Ratios { rounds, disturbed } = Ratios::of(&base.rounds, &side.rounds);
    if is_uneven(base, side, look.is_some()) {
        remarks.push(Remark::new(
            RemarkCode::UnevenTurns,
            format!(
                "`{label}` and `{}` have different numbers of turns; unpaired turns are left out",
                base.info.label
            ),
        ));
    }
    let estimate = refusal.and_then(|()| {
        estimate(&rounds, look, seed)
            .ok_or_else(|| Remark::new(RemarkCode::NotComparable, "none of its turns has a pair"))
    });
    Pending {
        side: label,
        estimate,
        unseen: unseen(&rounds),
        invalid: [&base.info, &side.info].into_iter().filter_map(invalid).collect(),
        disturbed,
        remarks,
    }
}

/// What the turns of two sides say, round by round.
pub(crate) struct Ratios {
    /// The logarithms of the ratios of each sweep.
    pub(crate) rounds: Vec<Vec<f64>>,
    pub(crate) disturbed: Option<Disturbed>,
}

impl Ratios {
    pub(crate) fn of(base: &[Vec<Turn>], side: &[Vec<Turn>]) -> Ratios {
        let disturbed = disturbed_pairs(base, side);
        let sweeps = base.iter().zip(side);
        // Where too much was disturbed the verdict says so; what the turns show all the same stands beside it.
        let rounds = match &disturbed {
            Some(found) if found.is_too_much() => {
                sweeps.map(|(base, side)| ratios(base.iter().zip(side))).collect()
            }
            _ => sweeps.map(|(base, side)| ratios(undisturbed(base, side))).collect(),
        };
        Ratios { rounds, disturbed }
    }
}

/// The ratio with what may be said of it: at the look after so many rounds, or with a number of rounds that was fixed.
pub(crate) fn estimate(
    rounds: &[Vec<f64>],
    look: Option<(Looks, u32)>,
    seed: u64,
) -> Option<RatioEstimate> {
    match look {
        Some((looks, round)) => looked_ratio(rounds, &looks, round, seed),
        None => paired_ratio(rounds, seed),
    }
}

/// What the times of so many rounds cannot show.
pub(crate) fn unseen(rounds: &[Vec<f64>]) -> Unseen {
    let processes = rounds.iter().filter(|pairs| !pairs.is_empty()).count();
    if processes > 1 { Unseen::Nothing } else { Unseen::OtherProcesses }
}

/// How it was looked at, and why it ended.
fn looked(looks: &Looks, duel: &Duel, comparisons: &[Comparison]) -> LooksReport {
    let is_open = |one: &Comparison| one.outcome == Outcome::CannotTell;
    LooksReport {
        after: looks.rounds(),
        used: duel.sides.iter().map(|side| side.rounds.len() as u32).max().unwrap_or(0),
        at_most: looks.at_most(),
        ended: match comparisons.iter().any(is_open) {
            true => Ended::LimitReached,
            false => Ended::Answered,
        },
        chance: SURE,
    }
}

/// The logarithms of the ratios of one round, sweep by sweep.
fn ratios<'t>(sweeps: impl Iterator<Item = (&'t Turn, &'t Turn)>) -> Vec<f64> {
    sweeps.filter_map(|(base, side)| log_ratio(&base.samples, &side.samples)).collect()
}

/// Whether turns have no partner. A side that was answered early has fewer rounds, and lacks none.
fn is_uneven(base: &Side, side: &Side, ends_early: bool) -> bool {
    let rounds = if ends_early { side.rounds.len() } else { usize::MAX };
    let turns = |side: &Side| side.rounds.iter().take(rounds).map(Vec::len).collect::<Vec<_>>();
    turns(base) != turns(side)
}

fn not_measured(why: &str) -> Remark {
    Remark::new(RemarkCode::NotMeasured, why)
}

/// Whether both compute the same: compared with each other, or both against a third.
fn gate(parity: &[Parity], side: &str, base: &str) -> Result<(), Remark> {
    let concerns = |entry: &&Parity| [side, base].contains(&entry.side.as_str());
    if let Some(broken) = parity.iter().filter(concerns).find(|entry| !entry.holds) {
        let code = match broken.agreement() {
            Agreement::CannotTell => RemarkCode::OutputsNotCompared,
            Agreement::Equal | Agreement::Different => RemarkCode::OutputsDiffer,
        };
        return Err(Remark::new(code, describe(broken)));
    }
    let held = |one: &str, other: &str| {
        parity.iter().any(|entry| {
            let names = (entry.side.as_str(), entry.reference.as_str());
            names == (one, other) || names == (other, one)
        })
    };
    let third = || {
        let references = parity.iter().map(|entry| entry.reference.as_str());
        references.into_iter().any(|reference| held(side, reference) && held(base, reference))
    };
    if held(side, base) || third() {
        Ok(())
    } else {
        let text = format!("its outputs were not compared with those of `{base}`");
        Err(Remark::new(RemarkCode::OutputsNotCompared, text))
    }
}

/// What is wrong, in the words of a table: which output, how far, and from which layer on.
fn describe(broken: &Parity) -> String {
    let Parity { side, reference, .. } = broken;
    let verb = match broken.agreement() {
        Agreement::CannotTell => "cannot be compared",
        Agreement::Equal | Agreement::Different => "differ",
    };
    let mut text = format!("outputs of `{side}` and `{reference}` {verb}");
    // What differs says more than what cannot be compared.
    let mut failed: Vec<_> = broken.outputs.iter().filter(|output| !output.holds).collect();
    failed.sort_by_key(|output| output.undecided);
    if let Some(output) = failed.first() {
        text.push_str(&format!(": `{}`", output.output));
        match (&output.why, output.max_abs, output.tolerance, output.cosine) {
            (Some(why), ..) => text.push_str(&format!(", {why}")),
            (None, Some(found), Some(allowed), _) if found > allowed => {
                let (found, allowed) = (scientific(found), scientific(allowed));
                text.push_str(&format!(" by {found}, the limit is {allowed}"));
                if let Some(explained) = output.rounding {
                    text.push_str(&format!("; rounding explains {}", scientific(explained)));
                }
            }
            (None, _, _, Some(cosine)) => text.push_str(&format!(", cosine {}", fixed(cosine, 4))),
            (None, ..) => {}
        }
        if let Some(note) = &output.note {
            text.push_str(&format!("; {note}"));
        }
    }
    if let Some(layer) = &broken.first_difference {
        text.push_str(&format!("; first in `{layer}`"));
    }
    text
}

fn design(duel: &Duel) -> Design {
    let measured = || duel.sides.iter().filter(|side| candidate(side).missing.is_none());
    let rounds = measured().map(processes).min().unwrap_or(0);
    let turns = measured().flat_map(|side| &side.rounds).map(Vec::len).filter(|&turns| turns > 0);
    Design::Interleaved { rounds, turns: turns.min().unwrap_or(0) as u64 }
}

fn processes(side: &Side) -> u64 {
    side.rounds.iter().filter(|turns| turns.iter().any(|turn| !turn.samples.is_empty())).count()
        as u64
}

/// The samples of the turns that nothing disturbed; of all of them where there are no others.
fn samples(side: &Side) -> Vec<u64> {
    let turns = || side.rounds.iter().flatten();
    let all = turns().all(|turn| turn.disturbed.is_some());
    let counted = turns().filter(|turn| all || turn.disturbed.is_none());
    counted.flat_map(|turn| &turn.samples).copied().collect()
}

fn report(side: &Side, seed: u64) -> SideReport {
    SideReport {
        info: side.info.clone(),
        processes: processes(side),
        latency: summarise(&samples(side), seed),
        load: median(&side.load),
        first: median(&side.first),
        runs: Vec::new(),
    }
}

/// The median of a few times; the mean of the middle two where their count is even.
pub(crate) fn median(times: &[Seconds]) -> Option<Seconds> {
    let mut sorted: Vec<f64> = times.iter().map(|time| time.0).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let (low, high) =
        (sorted.get(sorted.len().checked_sub(1)? / 2)?, sorted.get(sorted.len() / 2)?);
    Some(Seconds((low + high) / 2.0))
}
