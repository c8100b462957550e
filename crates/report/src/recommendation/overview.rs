//! Recommendations for many models: a row each.

use super::result::{is_only_invalid, test};
use super::words::{bare, brief, heading};
use crate::analysis::words::{Machines, Unlike, engine, work};
use crate::invalid::{NOT_VALID, not_valid};
use crate::result::{Block, Note};
use crate::sheet::Grid;
use crate::table::Column;
use number::{MISSING, count};
use types::{CellKey, Exclusion, InvalidRuns, Recommendation};

/// What to use for each, and how far the next is behind.
pub(super) fn overview(found: &[Recommendation]) -> Vec<Block> {
    let bests: Vec<&CellKey> = found.iter().filter_map(|one| Some(&one.best()?.cell.key)).collect();
    let unlike = Unlike::of(bests.iter().copied());
    let objective = found[0].wish.objective;
    let has_length = found.iter().any(|one| one.sequence_length.is_some());
    let mut columns = vec![Column::left("model").shrinks()];
    columns.extend(has_length.then(|| Column::right("tokens")));
    columns.extend(unlike.machines.then(|| Column::left("machine").shrinks()));
    columns.extend([
        Column::left("device"),
        Column::left("engine").shrinks(),
        Column::left("format"),
        Column::right("batch"),
        Column::right(&heading(&found[0].wish)),
        Column::left("the next is").leaves(1),
    ]);
    let mut grid = Grid::of(columns);
    for one in found {
        let mut row = vec![name(one, found)];
        let length = one.sequence_length.map_or_else(|| MISSING.into(), count);
        row.extend(has_length.then_some(length));
        match one.best() {
            Some(best) => {
                let machines = Machines::new(&one.machines);
                let key = &best.cell.key;
                row.extend(unlike.machines.then(|| machines.name(&key.machine)));
                let behind = one.runner_up().and_then(|next| next.behind.as_ref());
                row.extend([
                    key.device.to_string(),
                    engine(&best.cell, unlike),
                    key.precision.to_string(),
                    key.batch_size.to_string(),
                    match best.cell.invalid {
                        Some(_) => format!("{} {NOT_VALID}", bare(&one.wish, best.value.value)),
                        None => bare(&one.wish, best.value.value),
                    },
                    behind.map_or_else(|| MISSING.into(), |behind| brief(objective, behind)),
                ]);
            }
            None => row.resize(row.len() + 6 + usize::from(unlike.machines), MISSING.into()),
        }
        grid.row(row);
    }
    let mut notes = Vec::new();
    if found.iter().filter_map(Recommendation::best).any(|best| best.cell.invalid.is_some()) {
        notes.push(Note::warning(format!("{NOT_VALID} not valid: do not rely on it")));
    }
    let helpless = || found.iter().filter(|one| one.best().is_none());
    let (invalid, others): (Vec<_>, Vec<_>) = helpless().partition(|one| is_only_invalid(one));
    let all = found.len();
    if !others.is_empty() {
        let wish = &found[0].wish;
        let has_limits = !wish.slos.is_empty() || wish.memory_limit.is_some();
        let lack = if has_limits { "meets the limits" } else { "has what is asked for" };
        notes.push(Note::new(format!(
            "for {} of {all} no measured configuration {lack}",
            others.len()
        )));
    }
    if !invalid.is_empty() {
        let mut reasons = InvalidRuns::default();
        for one in invalid.iter().flat_map(|one| &one.left_out) {
            if let Exclusion::Invalid { reasons: own } = &one.why {
                reasons.merge(own);
            }
        }
        notes.push(Note::warning(format!(
            "for {} of {all} no run is valid ({}); `--include-invalid` shows what was measured",
            invalid.len(),
            not_valid(&reasons)
        )));
    }
    notes.push(Note::new(
        "give a model to see its runner-up, the runs used and what was not measured",
    ));
    vec![Block::table("recommendations", grid), Block::Notes(notes)]
}

/// The model with its mode; its weights where the name alone would not tell.
fn name(one: &Recommendation, all: &[Recommendation]) -> String {
    let is_twin = |other: &Recommendation| {
        other.model == one.model && other.random_weights != one.random_weights
    };
    let random_weights = one.random_weights && all.iter().any(is_twin);
    let mut words = work(&one.model, random_weights, one.mode, None);
    words.extend(test(one));
    words.join(" · ")
}
