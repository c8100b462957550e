//! For each model the best device, engine, precision and batch, out of valid measured runs.

use super::{
    Cells, Selection,
    candidates::{invalid, rank},
    gaps::Ways,
    pooling::pooled,
};
use number::percent;
use std::collections::{BTreeMap, BTreeSet};
use types::{
    Candidate, LeftOut, Mode, Objective, PooledCell, Precision, Recommendation, Remark, RemarkCode,
    Wish,
};

/// A model at one length in one mode, with the test of generating or the load: cells that do the same work.
type Work = (String, bool, Mode, Option<u64>, String);

/// What to run each model on. The selection decides which cells may be chosen; what was not measured is found among all.
///
/// Predicted runs are never recommended, imported ones only where the wish says so, those that are not valid only where they
/// were asked for and marked as that.
#[must_use]
pub fn recommend(cells: &Cells, selection: &Selection, wish: &Wish) -> Vec<Recommendation> {
    let machines = cells.machines();
    let mut works: BTreeMap<Work, (Vec<PooledCell>, Vec<LeftOut>)> = BTreeMap::new();
    let mut others: Vec<PooledCell> = Vec::new();
    for (key, runs) in cells.iter() {
        let taken = selection.takes(&key);
        if taken {
            let (model, test) = (key.model.clone(), key.work().canonical());
            let work = (model, key.random_weights, key.mode, key.sequence_length, test);
            let (pools, left_out) = works.entry(work).or_default();
            left_out.extend(invalid(&key, runs));
            pools.extend(pooled(key, runs));
        } else {
            others.extend(pooled(key, runs));
        }
    }
    let known = works.values().flat_map(|(pools, _)| pools);
    let ways = Ways::of(known.chain(&others));
    let each = works.into_iter().map(|(work, (mut pools, mut left_out))| {
        let (model, random_weights, mode, sequence_length, _) = work;
        pools.sort_by(|a, b| a.key.cmp(&b.key));
        let gaps = ways.gaps(mode, &pools, &left_out);
        let mut remarks = files(&model, &pools);
        let candidates = rank(pools, wish, &machines, &mut left_out);
        left_out.sort_by(|a, b| a.cell.cmp(&b.cell));
        remarks.extend(remarks_on(&candidates, wish.objective));
        Recommendation {
            model,
            random_weights,
            mode,
            sequence_length,
            wish: wish.clone(),
            candidates,
            left_out,
            gaps,
            machines: machines.clone(),
            again: None,
            remarks,
        }
    });
    each.collect()
}

/// That several files have this name, where they do.
fn files(model: &str, cells: &[PooledCell]) -> Vec<Remark> {
    let measured = cells.iter().filter(|cell| !cell.key.imported);
    let files: BTreeSet<&str> = measured.map(|cell| cell.fingerprint.as_str()).collect();
    if files.len() < 2 {
        return Vec::new();
    }
    let many = files.len();
    let text = format!(
        "{many} models of different content are called `{model}`; their cells are listed together"
    );
    vec![Remark::new(RemarkCode::SameName, text)]
}

/// What a reader of the choice must know.
fn remarks_on(candidates: &[Candidate], objective: Objective) -> Vec<Remark> {
    let mut remarks = Vec::new();
    let Some(best) = candidates.first() else { return remarks };
    let shown = &candidates[..candidates.len().min(2)];
    if shown.iter().any(|one| one.cell.key.imported) {
        remarks.push(Remark::new(
            RemarkCode::Imported,
            "what is marked `imported` was measured by another tool and was not checked here",
        ));
    }
    if best.cell.key.precision != Precision::Fp32 {
        remarks.push(Remark::new(RemarkCode::OutputsNotCompared, format!(
            "whether outputs in {} agree with those in fp32 is not stored; `modelmeter compare` compares them",
            best.cell.key.precision
        )));
    }
    if candidates.iter().any(|one| one.cell.invalid.is_some()) {
        remarks.push(Remark::new(
            RemarkCode::InvalidIncluded,
            "what is marked `not valid` is shown because of --include-invalid: do not rely on it",
        ));
    }
    if best.cell.runs.len() == 1 {
        remarks.push(Remark::new(
            RemarkCode::SingleRun,
            "the best has a single run: the variance between processes is unknown",
        ));
    }
    if let [_, next] = shown
        && let Some(behind) = next.behind.filter(|behind| behind.allowance > 0.0)
    {
        let why = match objective {
            Objective::Memory => "one of the first two is a single run",
            _ => "the first two were not interleaved",
        };
        let share = percent(behind.allowance);
        remarks.push(Remark::new(
            RemarkCode::NotInterleaved,
            format!(
                "{why}: a difference below {share} is not reported; `modelmeter compare` decides"
            ),
        ));
    }
    remarks
}
