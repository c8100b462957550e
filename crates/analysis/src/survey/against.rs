//! Today's cells against the rows of a file: what summaries alone can decide.

use crate::outcome::Unseen;
use stats::quotient;
use std::collections::{BTreeMap, BTreeSet};
use types::{
    Against, AgainstCell, AgainstOutcome, AnalysedCell, Analysis, CellKey, FileCell, Interval,
};

/// Between two sittings of one machine 95 % lie within so many deviations of one sitting: 1.96 · √2.
const BETWEEN_TWO: f64 = 2.772;

/// Each cell of the analysis against its row of the file.
///
/// The file was written at another time, so drift is not seen: either end of an interval is allowed as much as the cell's own
/// history scatters from sitting to sitting (`noise`), and where it has none, as much as an idle machine was seen to drift.
/// `allowance` replaces both.
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
        let own = noise.get(*key).map(|noise| (BETWEEN_TWO * noise).exp_m1());
        let share = allowance.or(own).unwrap_or_else(|| Unseen::Drift.allowance());
        found.cells.push(held(one, row, share, own.is_some() && allowance.is_none(), accepted));
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

fn anywhere(key: &CellKey) -> CellKey {
    CellKey { machine: String::new(), ..key.clone() }
}

fn held(
    one: &AnalysedCell,
    row: &FileCell,
    allowance: f64,
    allowance_from_history: bool,
    accepted: f64,
) -> AgainstCell {
    let cell = &one.cell;
    let ratio = quotient(&cell.latency, &row.latency);
    let are_same = row.run_ids.len() == cell.runs.len()
        && cell.runs.iter().all(|id| row.run_ids.contains(&id.0));
    let outcome = match ratio.interval {
        _ if are_same => AgainstOutcome::Same,
        Some(interval) => judge(interval, allowance, accepted),
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
        allowance_from_history,
        outcome,
    }
}

fn judge(Interval { low, high }: Interval, allowance: f64, accepted: f64) -> AgainstOutcome {
    let (low, high) = (low / (1.0 + allowance), high * (1.0 + allowance));
    if low > 1.0 + accepted {
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
        ] {
            let found = judge(Interval { low, high }, allowance, 0.1);
            assert_eq!(found, outcome, "{low} {high} {allowance}");
        }
    }
}
