//! Runs that were stored before: what can still be said when nobody took turns.

use crate::{
    Baseline, CompareError,
    baseline::{self, Candidate},
    duel::median,
    likeness::{Meaning, differences},
    outcome::{LEVEL, Pending, Unseen, decide, invalid},
};
use number::percent;
use stats::{summarise, unpaired_ratio};
use std::time::Duration;
use types::{
    Bytes, ComparisonReport, Design, Phase, Remark, RemarkCode, Run, SideInfo, SideReport, Verdict,
};

/// One side of a comparison of stored runs: every run is a process.
#[derive(Debug, Clone, Copy)]
pub struct StoredSide<'a> {
    /// Its name in this comparison.
    pub label: &'a str,
    /// Its runs.
    pub runs: &'a [Run],
}

/// What stored runs say: each side against the baseline.
///
/// Nobody took turns, so drift of the machine looks like a difference; outputs are not stored, so parity is not known.
/// Both are said in the remarks, and a verdict needs a difference beyond what an idle machine was seen to drift, unless
/// the sides' runs alternate in time. Runs of different work (batch, length, mode, inputs) are not compared at all, nor are
/// runs that another tool measured: too little is known of how it did.
///
/// # Errors
/// When there are fewer than two sides, two have one label, one has no runs or imported ones, or the baseline is unknown
/// or has no times.
pub fn compare_runs(
    sides: &[StoredSide<'_>],
    baseline: Baseline<'_>,
) -> Result<ComparisonReport, CompareError> {
    if let Some(empty) = sides.iter().find(|side| side.runs.is_empty()) {
        return Err(CompareError::NoRuns(empty.label.into()));
    }
    for side in sides {
        if let Some(import) = side.runs.iter().find_map(|run| run.imported.as_ref()) {
            let (label, tool) = (side.label.into(), import.tool.clone());
            return Err(CompareError::Imported { label, tool });
        }
    }
    let phase = phase(sides);
    let candidates: Vec<Candidate<'_>> = sides.iter().map(|side| candidate(side, phase)).collect();
    let at = baseline::choose(&candidates, baseline)?;
    let base = sides[at];
    let first = base.runs.first().ok_or_else(|| CompareError::NoRuns(base.label.into()))?;
    let infos: Vec<SideInfo> = sides.iter().filter_map(info).collect();
    let reports = sides.iter().filter_map(|side| report(side, phase)).collect();
    let mut pending = Vec::new();
    for (place, side) in sides.iter().enumerate().filter(|(place, _)| *place != at) {
        let missing = candidates[place].missing.clone();
        pending.push(hold_against(&base, side, missing, phase, &infos));
    }
    let comparisons = decide(pending, base.label, LEVEL);
    let found = comparisons.iter().filter_map(|one| one.speed_up.as_ref()?.detectable);
    let detectable = found.reduce(f64::max);
    let all = || sides.iter().flat_map(|side| side.runs);
    let mut remarks = vec![
        Remark::new(
            RemarkCode::NotInterleaved,
            "stored runs were not interleaved: drift of the machine between them looks like a difference",
        ),
        Remark::new(
            RemarkCode::OutputsNotCompared,
            "stored runs have no outputs: parity is unknown",
        ),
    ];
    remarks.extend(sides.iter().flat_map(inner_differences));
    Ok(ComparisonReport {
        started_at: all().map(|run| run.started_at).min().unwrap_or(first.started_at),
        elapsed: all().map(|run| run.elapsed).fold(Duration::ZERO, Duration::saturating_add),
        model: first.model.clone(),
        batch_size: first.cell.batch_size,
        sequence_length: first.cell.sequence_length,
        mode: first.cell.mode,
        seed: first.cell.seed,
        environment: first.environment.clone(),
        design: Design::Stored,
        baseline: base.label.into(),
        sides: reports,
        comparisons,
        parity: Vec::new(),
        detectable,
        remarks,
        layers: None,
        looks: None,
    })
}

/// A label for each group of runs: the engine, and as much more as tells it from the others.
#[must_use]
pub fn labels(groups: &[&[Run]]) -> Vec<String> {
    type Name = fn(&Run) -> String;
    let engine: Name = |run| run.engine.id.clone();
    let names: [Name; 6] = [
        engine,
        |run| format!("{} {}", run.engine.id, run.cell.options).trim_end().to_owned(),
        |run| format!("{} {}", run.engine.id, run.engine.version),
        |run| format!("{} {}", run.engine.id, run.cell.precision),
        |run| format!("{} {}", run.engine.id, run.cell.device),
        |run| format!("{} on {}", run.model.name, run.engine.id),
    ];
    let named = |name: &Name| -> Vec<String> {
        groups.iter().map(|runs| runs.first().map_or_else(String::new, name)).collect()
    };
    let is_unlike =
        |labels: &Vec<String>| (1..labels.len()).all(|at| !labels[..at].contains(&labels[at]));
    names.iter().map(named).find(is_unlike).unwrap_or_else(|| {
        let name: Name = |run| format!("{} {}", run.engine.id, run.id);
        let labels = named(&name);
        let numbered = labels.iter().enumerate().map(|(at, label)| {
            let again = labels[..at].contains(label);
            if again { format!("{label} ({})", at + 1) } else { label.clone() }
        });
        numbered.collect()
    })
}

/// The phase that all runs are compared in: everything where all were given text, the model alone otherwise.
fn phase(sides: &[StoredSide<'_>]) -> Phase {
    let every = |holds: fn(&Run) -> bool| sides.iter().flat_map(|side| side.runs).all(holds);
    let total = every(|run| run.samples_of(Phase::Total).is_some());
    let text = every(|run| run.cell.is_end_to_end());
    let inference = every(|run| run.samples_of(Phase::Inference).is_some());
    if total && (text || !inference) { Phase::Total } else { Phase::Inference }
}

fn samples<'a>(side: &StoredSide<'a>, phase: Phase) -> Vec<&'a [u64]> {
    let each = side.runs.iter().filter_map(|run| run.samples_of(phase));
    each.filter(|samples| !samples.is_empty()).collect()
}

fn candidate<'a>(side: &StoredSide<'a>, phase: Phase) -> Candidate<'a> {
    let empty = samples(side, phase).is_empty();
    Candidate {
        label: side.label,
        engine: side.runs.first().map_or("", |run| run.engine.id.as_str()),
        missing: empty.then(|| format!("it has no samples of the phase `{}`", phase.name())),
    }
}

fn hold_against(
    base: &StoredSide<'_>,
    side: &StoredSide<'_>,
    missing: Option<String>,
    phase: Phase,
    infos: &[SideInfo],
) -> Pending {
    let (mut work, mut remarks) = (Vec::new(), Vec::new());
    for unlike in differences(base.runs, side.runs) {
        match unlike.meaning {
            Meaning::OtherWork => work.push(unlike.text),
            Meaning::Remark("") => remarks
                .push(Remark::new(RemarkCode::SidesDiffer, between(base, side, &unlike.text))),
            Meaning::Remark(note) => {
                remarks.push(Remark::new(
                    RemarkCode::SidesDiffer,
                    format!("{}: {note}", between(base, side, &unlike.text)),
                ));
            }
        }
    }
    let refused = if work.is_empty() {
        None
    } else {
        let text = format!("not the same work: {}", work.join("; "));
        Some(Remark::new(RemarkCode::SidesDiffer, text))
    };
    let seed = base.runs.first().map_or(0, |run| run.cell.seed);
    let missing = missing.map(|why| Remark::new(RemarkCode::NotMeasured, why));
    let estimate = match missing.or(refused) {
        Some(why) => Err(why),
        None => unpaired_ratio(&samples(base, phase), &samples(side, phase), seed)
            .ok_or_else(|| Remark::new(RemarkCode::NotComparable, "a time of 0 has no ratio")),
    };
    if estimate.is_ok() && base.runs.len().min(side.runs.len()) < 2 {
        remarks.push(Remark::new(RemarkCode::OneProcess, "one process on a side does not show the variance between processes; use several runs per side"));
    }
    let unseen = if alternate(base.runs, side.runs) { Unseen::Nothing } else { Unseen::Drift };
    if estimate.is_ok() && unseen == Unseen::Drift {
        remarks.push(Remark::new(RemarkCode::NotInterleaved, format!(
            "the sides ran at different times: a difference below {} is not reported, since an idle machine may \
             drift by that much",
            percent(unseen.allowance())
        )));
    }
    let both = infos.iter().filter(|info| [base.label, side.label].contains(&info.label.as_str()));
    Pending {
        side: side.label.into(),
        estimate,
        unseen,
        invalid: both.filter_map(invalid).collect(),
        disturbed: None,
        remarks,
    }
}

fn between(base: &StoredSide<'_>, side: &StoredSide<'_>, what: &str) -> String {
    format!("`{}` and `{}` differ in {what}", base.label, side.label)
}

/// Whether each side has a run before the other's last and after the other's first: only then does drift show as noise.
fn alternate(left: &[Run], right: &[Run]) -> bool {
    let ends = |runs: &[Run]| {
        let times = || runs.iter().map(|run| run.started_at);
        Some((times().min()?, times().max()?))
    };
    match (ends(left), ends(right)) {
        (Some((first, last)), Some((other_first, other_last))) => {
            left.len() > 1 && right.len() > 1 && first < other_last && other_first < last
        }
        _ => false,
    }
}

/// In what runs of one side differ among themselves.
fn inner_differences(side: &StoredSide<'_>) -> Vec<Remark> {
    let Some((first, rest)) = side.runs.split_first() else { return Vec::new() };
    let mut found: Vec<Remark> = Vec::new();
    for run in rest {
        for unlike in differences(std::slice::from_ref(first), std::slice::from_ref(run)) {
            let text = format!("runs of `{}` differ in {}", side.label, unlike.text);
            let remark = Remark::new(RemarkCode::RunsDiffer, text);
            if !found.contains(&remark) {
                found.push(remark);
            }
        }
    }
    found
}

fn info(side: &StoredSide<'_>) -> Option<SideInfo> {
    let first = side.runs.first()?;
    let mut reasons = Vec::new();
    for reason in side.runs.iter().flat_map(|run| &run.verdict.reasons) {
        if !reasons.contains(reason) {
            reasons.push(reason.clone());
        }
    }
    let valid = side.runs.iter().all(|run| run.verdict.valid);
    let peak = side.runs.iter().filter_map(peak_memory).max();
    Some(SideInfo {
        label: side.label.into(),
        engine: first.engine.clone(),
        device: first.cell.device,
        precision: first.cell.precision,
        threads: first.cell.threads,
        options: first.cell.options.clone(),
        mode: first.cell.mode,
        training: first.cell.training,
        generation: first.cell.generation,
        phases: Vec::new(),
        peak_memory: peak,
        verdict: Verdict { valid, ..Verdict::from_reasons(reasons) },
        remarks: Vec::new(),
        failed: None,
    })
}

fn peak_memory(run: &Run) -> Option<Bytes> {
    let probes = run.probes.iter().flat_map(|probe| &probe.metrics);
    let metric =
        run.metrics.iter().chain(probes).find(|metric| metric.key == types::key::MEMORY_PEAK)?;
    metric.value.filter(|bytes| bytes.is_finite()).map(|bytes| Bytes(bytes.max(0.0) as u64))
}

fn report(side: &StoredSide<'_>, phase: Phase) -> Option<SideReport> {
    let lists = samples(side, phase);
    let seed = side.runs.first()?.cell.seed;
    // A server was running before: nobody knows how long it took to start.
    let times = |path: &str, of: fn(&Run) -> Duration| {
        let told = side.runs.iter().filter(|run| run.tells(path));
        let each: Vec<_> = told.map(|run| of(run).into()).collect();
        median(&each)
    };
    Some(SideReport {
        info: info(side)?,
        processes: lists.len() as u64,
        latency: summarise(&lists.concat(), seed),
        load: times("cold.load", |run| run.cold.load),
        first: times("cold.first_inference", |run| run.cold.first_inference),
        runs: side.runs.iter().map(|run| run.id.clone()).collect(),
    })
}
