//! Which cells may be recommended, what each is worth, and which is best.

use super::{cells::Runs, margin::behind};
use std::{cmp::Ordering, collections::BTreeMap};
use types::{
    Behind, Bytes, Candidate, CellKey, Exclusion, Interval, LeftOut, Objective, Pooled, PooledCell,
    Slo, Wish,
};

/// Runs that are named where many are left out.
const NAMED: usize = 3;

/// Seconds in an hour, which prices are for.
const HOUR: f64 = 3600.0;

/// A cell that passed, and its value.
type Passed = (PooledCell, Pooled);

/// The best batch of each way to run, the best way first; what fails is told to `leave_out`.
pub(super) fn rank(
    cells: Vec<PooledCell>,
    wish: &Wish,
    machines: &BTreeMap<String, String>,
    leave_out: &mut Vec<LeftOut>,
) -> Vec<Candidate> {
    let mut best: BTreeMap<CellKey, Passed> = BTreeMap::new();
    for cell in cells {
        match value(&cell, wish, machines) {
            Ok(value) => {
                let way = CellKey { batch_size: 0, ..cell.key.clone() };
                match best.get_mut(&way) {
                    Some(known) => {
                        let next = (cell, value);
                        if order(wish.objective, &next, known).is_lt() {
                            *known = next;
                        }
                    }
                    None => {
                        best.insert(way, (cell, value));
                    }
                }
            }
            Err(why) => leave_out.push(LeftOut {
                count: cell.runs.len() as u64,
                runs: cell.runs.iter().take(NAMED).cloned().collect(),
                cell: cell.key,
                why,
            }),
        }
    }
    let mut ranked: Vec<Passed> = best.into_values().collect();
    ranked.sort_by(|left, right| order(wish.objective, left, right));
    let first = ranked.first().cloned();
    let each = ranked.into_iter().enumerate().map(|(place, (cell, value))| Candidate {
        behind: first.as_ref().filter(|_| place > 0).map(|(best, best_value)| {
            let behind = behind(wish.objective, (best, best_value), (&cell, &value));
            let believed = best.invalid.is_none() && cell.invalid.is_none();
            Behind { told_apart: behind.told_apart && believed, ..behind }
        }),
        cell,
        value,
    });
    each.collect()
}

/// What was not valid in a cell, if anything.
pub(super) fn invalid(key: &CellKey, runs: &Runs) -> Option<LeftOut> {
    let (_, newest) = runs.newest_invalid.as_ref()?;
    // Where they were asked for and there is nothing else, they are not left out.
    if runs.kept.is_empty() && !runs.kept_invalid.is_empty() {
        return None;
    }
    Some(LeftOut {
        cell: key.clone(),
        why: Exclusion::Invalid { reasons: runs.invalid.clone() },
        count: runs.invalid.total(),
        runs: vec![newest.clone()],
    })
}

/// What the cell is worth, or why it will not do.
fn value(
    cell: &PooledCell,
    wish: &Wish,
    machines: &BTreeMap<String, String>,
) -> Result<Pooled, Exclusion> {
    if cell.key.imported && !wish.imported {
        return Err(Exclusion::Imported);
    }
    wish.slos.iter().try_for_each(|slo| hold(cell, *slo))?;
    if let Some(limit) = wish.memory_limit {
        let Some(found) = cell.memory.value else { return Err(Exclusion::NoMemory) };
        if found > limit {
            return Err(Exclusion::Memory { found, limit });
        }
    }
    match wish.objective {
        Objective::Latency => Ok(cell.latency),
        Objective::Throughput => cell.throughput.value.ok_or(Exclusion::NoValue),
        Objective::Memory => cell.memory_spread.value.ok_or(Exclusion::NoValue),
        Objective::Energy => cell.energy.value.ok_or(Exclusion::NoValue),
        Objective::Cost => {
            let key = &cell.key;
            let host = machines.get(&key.machine).map_or("", String::as_str);
            let hour = wish.prices.per_hour(&key.machine, host, key.device);
            let hour = hour.ok_or(Exclusion::NoPrice)?;
            let rate = cell.throughput.value.ok_or(Exclusion::NoValue)?;
            let cost = |rate: f64| hour / HOUR / rate;
            let ends = |Interval { low, high }| Interval { low: cost(high), high: cost(low) };
            Ok(Pooled { value: cost(rate.value), interval: rate.interval.map(ends) })
        }
    }
}

/// Whether a service level holds in every pooled run, with samples enough to say so.
fn hold(cell: &PooledCell, slo: Slo) -> Result<(), Exclusion> {
    let needs = slo.percentile.floor();
    let Some(found) = slo.percentile.of(cell) else { return Err(Exclusion::NoPercentile { slo }) };
    if found.is_nan() || found > slo.limit.0 {
        return Err(Exclusion::Slo { slo, found });
    }
    if cell.fewest_samples < needs {
        return Err(Exclusion::TooFewSamples { slo, samples: cell.fewest_samples, needs });
    }
    Ok(())
}

/// The better one first. What the objective leaves equal is decided by latency, throughput and memory, so that nothing
/// which is worse in one of them and better in none is ever chosen. What is not valid comes after everything that is.
fn order(objective: Objective, left: &Passed, right: &Passed) -> Ordering {
    let own = |passed: &Passed| match objective {
        Objective::Throughput => -passed.1.value,
        _ => passed.1.value,
    };
    let rate = |passed: &Passed| passed.0.throughput.value.map_or(0.0, |rate| -rate.value);
    let memory = |passed: &Passed| passed.0.memory.value.unwrap_or(Bytes(u64::MAX));
    let not_valid = |passed: &Passed| passed.0.invalid.is_some();
    not_valid(left)
        .cmp(&not_valid(right))
        .then_with(|| own(left).total_cmp(&own(right)))
        .then_with(|| left.0.latency.value.total_cmp(&right.0.latency.value))
        .then_with(|| rate(left).total_cmp(&rate(right)))
        .then_with(|| memory(left).cmp(&memory(right)))
        .then_with(|| left.0.key.cmp(&right.0.key))
}
