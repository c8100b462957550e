//! Today's cells against the rows of a file: what summaries alone can decide.

use crate::{
    outcome::Unseen,
    scatter::{Scatter, drift_between},
};
use stats::{quotient, run_deviation};
use std::collections::{BTreeMap, BTreeSet};
use types::{
    Against, AgainstCell, AgainstOutcome, AllowanceFrom, AnalysedCell, Analysis, CellKey, FileCell,
    Interval, Pooled,
};

/// Between two sessions of one machine 95 % lie within so many deviations of one session: 1.96 · √2.
const BETWEEN_TWO: f64 = 2.772;

/// Each cell of the analysis against its row of the file.
///
/// The file was written at another time, so drift is not seen: either end of an interval is allowed for it. `allowance` where
/// the caller knows it, else as much as the cell's own history scatters from session to session (`noise`), else as much as the
/// runs of both sides scatter, and where those are too few, as much as an idle machine was seen to drift.
#[must_use]
pub fn against(
    now: &Analysis,
    file: &[FileCell],
    noise: &BTreeMap<CellKey, f64>,
    allowance: Option<f64>,
    accepted: f64,
) -> Against {
    let rows: BTreeMap<&CellKey, &FileCell> = file.iter().map(|row| (&row.key, row)).collect();
    let mut found = Against { accepted, ..Against::default() };
    let mut met: BTreeSet<&CellKey> = BTreeSet::new();
    for one in &now.cells {
        let Some((key, row)) = rows.get_key_value(&one.cell.key) else {
            found.only_now.push(one.cell.key.clone());
            continue;
        };
        met.insert(*key);
        let allowed = allowed(one, row, noise.get(*key).copied(), allowance);
        found.cells.push(held(one, row, allowed, accepted));
    }
    let elsewhere: BTreeSet<CellKey> =
        now.cells.iter().map(|one| anywhere(&one.cell.key)).collect();
    for row in file.iter().filter(|row| !met.contains(&row.key)) {
        match elsewhere.contains(&anywhere(&row.key)) {
            true => found.other_machines += 1,
            false => found.only_file += 1,
        }
    }
    found
}

/// The share that drift may make, and how that is known.
fn allowed(
    one: &AnalysedCell,
    row: &FileCell,
    noise: Option<f64>,
    given: Option<f64>,
) -> (f64, AllowanceFrom) {
    if let Some(given) = given {
        return (given, AllowanceFrom::Given);
    }
    if let Some(noise) = noise {
        return ((BETWEEN_TWO * noise).exp_m1(), AllowanceFrom::History);
    }
    let scatter = |pooled: &Pooled, runs: u64| {
        let deviation = run_deviation(pooled, runs)?;
        Some(Scatter { runs: usize::try_from(runs).unwrap_or(usize::MAX), deviation })
    };
    let base = scatter(&row.latency, row.runs);
    let side = scatter(&one.cell.latency, one.cell.runs.len() as u64);
    match base.zip(side).and_then(|(base, side)| drift_between(base, side)) {
        Some(share) => (share, AllowanceFrom::Runs),
        None => (Unseen::Drift.allowance(), AllowanceFrom::Drift),
    }
}

fn anywhere(key: &CellKey) -> CellKey {
    CellKey { machine: String::new(), ..key.clone() }
}

fn held(
    one: &AnalysedCell,
    row: &FileCell,
    (allowance, allowance_from): (f64, AllowanceFrom),
    accepted: f64,
) -> AgainstCell {
    let cell = &one.cell;
    let ratio = quotient(&cell.latency, &row.latency);
    let are_same = cell.runs.iter().all(|id| row.run_ids.contains(&id.0));
    let outcome = match ratio.interval {
        _ if are_same => AgainstOutcome::Same,
        Some(interval) => judge(ratio.value, interval, allowance, accepted),
        // One number each, and nothing that says how far it scatters.
        None => AgainstOutcome::CannotTell,
    };
    AgainstCell {
        key: cell.key.clone(),
        file: row.latency,
        file_runs: row.runs,
        now: cell.latency,
        now_runs: cell.runs.len() as u64,
        ratio,
        allowance,
        allowance_from,
        outcome,
    }
}

/// Worse: surely slower, and by as much as the alert as far as anyone can say; as a gate rules (docs/CI.md).
fn judge(
    ratio: f64,
    Interval { low, high }: Interval,
    allowance: f64,
    accepted: f64,
) -> AgainstOutcome {
    let (low, high) = (low / (1.0 + allowance), high * (1.0 + allowance));
    if low > 1.0 && ratio >= 1.0 + accepted {
        AgainstOutcome::Worse
    } else if high < 1.0 {
        AgainstOutcome::Better
    } else if high <= 1.0 + accepted {
        AgainstOutcome::Held
    } else {
        AgainstOutcome::CannotTell
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_with_its_allowance_decides() {
        use AgainstOutcome::{Better, CannotTell, Held, Worse};
        for (low, high, allowance, outcome) in [
            (1.6, 1.7, 0.3, Worse),
            (1.2, 1.3, 0.3, CannotTell),
            (1.2, 1.3, 0.03, Worse),
            (0.99, 1.01, 0.3, CannotTell),
            (0.99, 1.01, 0.05, Held),
            (0.6, 0.7, 0.3, Better),
            (1.05, 1.12, 0.02, CannotTell),
            // Surely slower, and by 15 % as far as anyone can say.
            (1.12, 1.18, 0.05, Worse),
        ] {
            let ratio = f64::sqrt(low * high);
            let found = judge(ratio, Interval { low, high }, allowance, 0.1);
            assert_eq!(found, outcome, "{low} {high} {allowance}");
        }
    }
}
