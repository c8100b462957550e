//! Cells beside each other: pooled, compared with the processor, on the front or behind it.

use super::{Cells, Selection, front, pooling::pooled, scaling};
use stats::quotient;
use std::collections::HashMap;
use types::{
    AnalysedCell, Analysis, CellKey, Device, InvalidRuns, MissingCode, NotValidCell, Pooled,
    PooledCell, Reading, Remark, RemarkCode, Tally,
};

/// What the runs say together. The selection decides what is shown, not what it is compared with.
///
/// Cells hold the newest valid runs of one engine version; predicted ones never count, and imported ones have cells of their
/// own. Where runs that are not valid were asked for, they make the cells that have no valid one; nothing is compared with
/// those.
#[must_use]
pub fn analyse(cells: &Cells, selection: &Selection) -> Analysis {
    let mut pools: Vec<PooledCell> =
        cells.iter().filter_map(|(key, runs)| pooled(key, runs)).collect();
    pools.sort_by(|a, b| a.key.cmp(&b.key));
    let processors = Processors::of(&pools);
    let speed_ups: Vec<_> = pools.iter().map(|cell| processors.speed_up(cell)).collect();
    let fronts = front::fronts(&pools);
    let shown: Vec<&PooledCell> = pools.iter().filter(|cell| selection.takes(&cell.key)).collect();
    let mut invalid_reasons = InvalidRuns::default();
    let mut not_valid = Vec::new();
    for (key, runs) in cells.iter().filter(|(key, _)| selection.takes(key)) {
        invalid_reasons.merge(&runs.invalid);
        if let Some((began, newest)) = runs.newest_invalid.clone().filter(|_| runs.kept.is_empty())
        {
            not_valid.push(NotValidCell { key, reasons: runs.invalid.clone(), newest, began });
        }
    }
    not_valid.sort_by(|a, b| a.key.cmp(&b.key));
    let tally = Tally {
        pooled: shown.iter().map(|cell| cell.runs.len() as u64).sum(),
        older: shown.iter().map(|cell| cell.older).sum(),
        invalid: invalid_reasons.total(),
        invalid_reasons,
        ..cells.tally()
    };
    let believed: Vec<&PooledCell> =
        shown.iter().copied().filter(|cell| cell.invalid.is_none()).collect();
    let (batches, lengths) = (scaling::batches(&believed), scaling::lengths(&believed));
    let remarks = remarks(&shown);
    let each = pools.into_iter().zip(speed_ups).zip(fronts);
    let cells_shown = each
        .filter(|((cell, _), _)| selection.takes(&cell.key))
        .map(|((cell, speed_up), on_front)| AnalysedCell { cell, speed_up, on_front })
        .collect();
    Analysis {
        cells: cells_shown,
        not_valid,
        batches,
        lengths,
        machines: cells.machines(),
        tally,
        again: None,
        remarks,
    }
}

/// The fastest cell on the processor for each question, whatever its threads.
struct Processors<'a>(HashMap<CellKey, &'a PooledCell>);

impl<'a> Processors<'a> {
    fn of(cells: &'a [PooledCell]) -> Processors<'a> {
        let mut fastest: HashMap<CellKey, &PooledCell> = HashMap::new();
        let believed = cells.iter().filter(|cell| cell.invalid.is_none());
        for cell in believed.filter(|cell| cell.key.device == Device::Cpu) {
            let best = fastest.entry(question(&cell.key)).or_insert(cell);
            if cell.latency.value < best.latency.value {
                *best = cell;
            }
        }
        Processors(fastest)
    }

    fn speed_up(&self, cell: &PooledCell) -> Reading<Pooled> {
        if cell.key.device == Device::Cpu {
            return Reading::missing(MissingCode::NotApplicable, "it runs on the cpu itself");
        }
        match self.0.get(&question(&cell.key)) {
            Some(processor) => Reading::of(quotient(&processor.latency, &cell.latency)),
            None => Reading::missing(
                MissingCode::NoValidRun,
                "the cpu of this machine has no valid run with the same model, engine, precision, batch and length",
            ),
        }
    }
}

/// The key of the same question asked of the processor; how many threads it has is its own affair.
fn question(key: &CellKey) -> CellKey {
    CellKey { device: Device::Cpu, threads: 0, ..key.clone() }
}

/// What a reader of these cells must know.
fn remarks(cells: &[&PooledCell]) -> Vec<Remark> {
    let mut remarks = Vec::new();
    let count = |holds: fn(&PooledCell) -> bool| cells.iter().filter(|cell| holds(cell)).count();
    let single = count(|cell| cell.runs.len() == 1);
    if single > 0 {
        remarks.push(Remark::new(RemarkCode::SingleRun, format!(
            "{single} of {} cells have a single run: their intervals do not include the variance between processes",
            cells.len()
        )));
    }
    let not_valid = count(|cell| cell.invalid.is_some());
    if not_valid > 0 {
        remarks.push(Remark::new(RemarkCode::NoValidRun, format!(
            "{not_valid} of {} cells have no valid run: their numbers are marked and nothing is concluded from them",
            cells.len()
        )));
    }
    if count(|cell| cell.key.imported) > 0 {
        remarks.push(Remark::new(RemarkCode::Imported, "cells marked `imported` were measured by other tools; they are not mixed with other cells"));
    }
    if cells.len() > 1 {
        remarks.push(Remark::new(RemarkCode::NotInterleaved, "cells were measured at different times: drift of a machine looks like a difference; `modelmeter compare` \
             interleaves"));
    }
    remarks
}
