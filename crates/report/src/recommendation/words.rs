//! Choices, leads and reasons in the fewest words.

use crate::analysis::words::{Machines, Unlike, engine, extras, factor, money};
use crate::clean::clean;
use crate::comparison::words::bracketed;
use crate::invalid::not_valid;
use number::{bytes, count, joules, rate, seconds};
use types::{
    Behind, Candidate, CellKey, Exclusion, Gap, Interval, LeftOut, Objective, Pooled, PooledCell,
    Slo, Wish,
};

/// Samples that money is shown for: one alone costs nothing anybody has a coin for.
const MILLION: f64 = 1e6;

/// `for throughput, p95 within 50.0 ms, memory within 2.00 GB`.
pub(super) fn wish(wish: &Wish) -> String {
    let mut words = vec![format!("for {}", wish.objective)];
    words.extend(
        wish.slos.iter().map(|one| format!("{} within {}", one.percentile.name(), limit(one))),
    );
    words.extend(wish.memory_limit.map(|limit| format!("memory within {}", bytes(limit.0))));
    words.join(", ")
}

/// `onnxruntime 1.31 on cuda:0 of bench · fp16 · batch 32`.
pub(super) fn choice(cell: &PooledCell, machines: &Machines<'_>, unlike: Unlike) -> Vec<String> {
    let name = engine(cell, unlike);
    let mut words = vec![format!("{name} on {}", place(&cell.key, machines, unlike))];
    words.push(cell.key.precision.to_string());
    words.push(format!("batch {}", cell.key.batch_size));
    words.extend(cell.key.imported.then(|| "imported".to_owned()));
    words.extend(cell.invalid.as_ref().map(not_valid));
    words
}

/// `cuda:0`, or `cuda:0 of bench` where there are several machines.
fn place(key: &CellKey, machines: &Machines<'_>, unlike: Unlike) -> String {
    match unlike.machines {
        true => format!("{} of {}", key.device, machines.name(&key.machine)),
        false => key.device.to_string(),
    }
}

/// What the objective is about: `800 samples/s [792, 808]`.
pub(super) fn worth(wish: &Wish, value: &Pooled) -> String {
    let show = |amount: f64| match wish.objective {
        Objective::Throughput => format!("{} samples/s", rate(amount)),
        Objective::Energy => format!("{} a sample", joules(amount)),
        Objective::Cost => {
            format!("{} a million samples", money(MILLION * amount, &wish.prices.currency))
        }
        Objective::Latency | Objective::Memory => bare(wish, amount),
    };
    let short = |amount: f64| bare(wish, amount);
    match value.interval {
        Some(Interval { low, high }) => {
            format!("{} [{}, {}]", show(value.value), short(low), short(high))
        }
        None => show(value.value),
    }
}

/// A column of what the objective is about: its heading has the unit where every number has the same.
pub(super) fn heading(wish: &Wish) -> String {
    match wish.objective {
        Objective::Throughput => "samples/s".into(),
        Objective::Energy => "a sample".into(),
        Objective::Cost => format!("{} a million", clean(&wish.prices.currency)),
        other => other.name().into(),
    }
}

/// A number in that column.
pub(super) fn bare(wish: &Wish, amount: f64) -> String {
    match wish.objective {
        Objective::Latency => seconds(amount),
        Objective::Throughput => rate(amount),
        Objective::Memory => bytes(amount.max(0.0) as u64),
        Objective::Energy => joules(amount),
        Objective::Cost => money(MILLION * amount, ""),
    }
}

/// The other numbers of a cell, those that the objective is not about.
pub(super) fn further_numbers(cell: &PooledCell, objective: Objective) -> Vec<String> {
    let mut words = Vec::new();
    if objective != Objective::Latency {
        words.push(format!("median {}", seconds(cell.latency.value)));
    }
    words.extend(cell.percentiles.p95.map(|p95| format!("p95 {}", seconds(p95))));
    if objective != Objective::Throughput {
        let rate = cell.throughput.value.map(|found| format!("{} samples/s", rate(found.value)));
        words.extend(rate);
    }
    if objective != Objective::Memory {
        words.extend(cell.memory.value.map(|peak| format!("peak {}", bytes(peak.0))));
    }
    words
}

/// What something is that is behind.
fn worse(objective: Objective) -> &'static str {
    match objective {
        Objective::Latency | Objective::Throughput => "slower",
        Objective::Memory => "larger",
        Objective::Energy => "hungrier",
        Objective::Cost => "dearer",
    }
}

/// By how much something is behind, for a column: `20.0 × slower`, or that nobody can tell.
pub(super) fn brief(objective: Objective, behind: &Behind) -> String {
    match behind.told_apart {
        true => {
            let factor = factor(&Pooled { interval: None, ..behind.factor });
            format!("{factor} {}", worse(objective))
        }
        false => "not distinguishable".into(),
    }
}

/// By how much something is behind: `20.0 × slower [19.7, 20.3]`, or that nobody can tell.
pub(super) fn lead(objective: Objective, behind: &Behind) -> String {
    let word = worse(objective);
    if behind.told_apart {
        let text = format!("{} {word}", factor(&Pooled { interval: None, ..behind.factor }));
        bracketed(&text, behind.factor.interval)
    } else {
        format!("cannot be told apart: {} {word}", factor(&behind.factor))
    }
}

/// The lead of the first over the second: a candidate without one is the first.
pub(super) fn lead_of(objective: Objective, candidate: &Candidate) -> String {
    candidate.behind.as_ref().map_or_else(String::new, |behind| lead(objective, behind))
}

/// Which cell was left out: `rten on cpu · int8 · batch 8`.
pub(super) fn cell(key: &CellKey, machines: &Machines<'_>, unlike: Unlike) -> String {
    let mut name = vec![clean(&key.engine)];
    name.extend(extras(key, unlike));
    let place = place(key, machines, unlike);
    let batch = key.batch_size;
    format!("{} on {place} · {} · batch {batch}", name.join(", "), key.precision)
}

/// Why a cell was left out.
pub(super) fn why(why: &Exclusion) -> String {
    let of = |slo: &Slo| slo.percentile.name();
    match why {
        Exclusion::Slo { slo, found } => {
            format!("{} is {}, above {}", of(slo), seconds(*found), limit(slo))
        }
        Exclusion::TooFewSamples { slo, samples, needs } => {
            format!("{} needs {} samples, a run has {}", of(slo), count(*needs), count(*samples))
        }
        Exclusion::NoPercentile { slo } => format!("{} is not known", of(slo)),
        Exclusion::Memory { found, limit } => {
            format!("needs {}, more than {}", bytes(found.0), bytes(limit.0))
        }
        Exclusion::NoMemory => "its memory was not measured".into(),
        Exclusion::NoValue => "the objective was not measured".into(),
        Exclusion::NoPrice => "its device has no price".into(),
        Exclusion::Imported => "another tool measured it".into(),
        Exclusion::Invalid { reasons } => match reasons.by_count().as_slice() {
            [(reason, _)] => format!("not valid: {}", reason.words()),
            _ => not_valid(reasons),
        },
    }
}

/// The reason's name in documents.
pub(super) fn reason(why: &Exclusion) -> &'static str {
    match why {
        Exclusion::Slo { .. } => "slo",
        Exclusion::TooFewSamples { .. } => "too-few-samples",
        Exclusion::NoPercentile { .. } => "no-percentile",
        Exclusion::Memory { .. } => "memory",
        Exclusion::NoMemory => "no-memory",
        Exclusion::NoValue => "no-value",
        Exclusion::NoPrice => "no-price",
        Exclusion::Imported => "imported",
        Exclusion::Invalid { .. } => "invalid",
    }
}

/// `why (2 runs, 7f3a09c4)`.
pub(super) fn left_out(one: &LeftOut) -> String {
    let runs = crate::analysis::words::counted(one.count, "run");
    let newest = one.runs.first().map(|id| short_id(&id.0));
    match newest {
        Some(id) if one.count == 1 => format!("{} (run {id})", why(&one.why)),
        Some(id) => format!("{} ({runs}, newest {id})", why(&one.why)),
        None => format!("{} ({runs})", why(&one.why)),
    }
}

/// Enough of an id to find its run.
pub(super) fn short_id(id: &str) -> String {
    clean(id).chars().take(8).collect()
}

/// What was not measured: `torch on cuda:0 · fp32`, and the batches.
pub(super) fn gap(gap: &Gap, machines: &Machines<'_>, several: bool) -> (String, String) {
    let place = match several {
        true => format!("{} of {}", gap.device, machines.name(&gap.machine)),
        false => gap.device.to_string(),
    };
    let batches: Vec<String> = gap.batch_sizes.iter().map(ToString::to_string).collect();
    let way = format!("{} on {place} · {}", clean(&gap.engine), gap.precision);
    (way, format!("batch {}", batches.join(", ")))
}

fn limit(slo: &Slo) -> String {
    seconds(slo.limit.0)
}
