//! From turns with and without instruments to where the time of an inference goes.
//!
//! A layer's time is its share of the inferences with instruments, laid on the median inference without any. So one slow
//! inference counts as little here as it does in a median, and the layers add up to what the closure says.
//!
//! A device's own records say how long it worked for each layer, and in inferences without instruments how long it did
//! nothing. These two add up to an inference; the host's time in a layer stands beside them, because it passes meanwhile.

use crate::{layer_tree::Tree, layers::place};
use std::collections::HashMap;
use types::{
    Bytes, Ceilings, DeviceTime, Estimate, Flops, Interval, LayerCost, LayerKind, LayerProfile,
    LayerReport, LayerTime, LayerTurn, LayerWork, Phase, Precision, Ratio, Rollup, Roofline,
    Seconds, Spent,
};

/// Seed of the bootstrap: fixed, so that the same turns always give the same interval.
const SEED: u64 = 0x6c61_7965_7273;

/// The machine's ceilings for one precision: FLOP/s and bytes per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Roof {
    flops: f64,
    bandwidth: f64,
}

impl Roof {
    fn of(ceilings: Option<&Ceilings>, precision: Precision) -> Option<Roof> {
        let ceilings = ceilings?;
        let flops = ceilings.flops_at(precision)?.value;
        Some(Roof { flops, bandwidth: ceilings.bandwidth?.value })
    }

    /// The place of work that took so long: the slower of computing it and moving its data is the bound.
    pub(crate) fn place(self, work: Work, seconds: f64) -> Option<Roofline> {
        let compute = work.flops.unwrap_or(0) as f64 / self.flops;
        let memory = work.bytes.unwrap_or(0) as f64 / self.bandwidth;
        if seconds <= 0.0 || compute.max(memory) <= 0.0 {
            return None;
        }
        let bound = if compute >= memory { types::Bound::Compute } else { types::Bound::Memory };
        Some(Roofline { bound, attained: Ratio(compute.max(memory) / seconds) })
    }
}

/// Operations and bytes; `None` if nothing was counted.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Work {
    pub(crate) flops: Option<u64>,
    pub(crate) bytes: Option<u64>,
}

impl Work {
    pub(crate) fn add(&mut self, flops: Option<Flops>, bytes: Option<Bytes>) {
        let plus = |sum: &mut Option<u64>, more: Option<u64>| {
            if let Some(more) = more {
                *sum = Some(sum.unwrap_or(0).saturating_add(more));
            }
        };
        plus(&mut self.flops, flops.map(|flops| flops.0));
        plus(&mut self.bytes, bytes.map(|bytes| bytes.0));
    }

    pub(crate) fn join(&mut self, other: Work) {
        self.add(other.flops.map(Flops), other.bytes.map(Bytes));
    }
}

/// A node or module with its place and its share of the time with instruments.
pub(crate) struct Part {
    pub(crate) module: String,
    pub(crate) operator: String,
    /// The part of a training step.
    pub(crate) phase: Option<Phase>,
    /// Calls in one inference.
    pub(crate) calls: f64,
    pub(crate) seconds: f64,
    /// The host's time, where `seconds` is a device's.
    pub(crate) host: Option<f64>,
}

/// Where the time goes; `None` if a turn is missing or took no time.
#[must_use]
pub fn layer_report(
    turns: &[LayerTurn],
    work: &[LayerWork],
    precision: Precision,
    ceilings: Option<&Ceilings>,
) -> Option<LayerReport> {
    let cost = cost(turns)?;
    let plain = cost.plain.0;
    let sum = plain * cost.closure.value;
    let idle = idle_share(turns);
    let busy = sum * (1.0 - idle.unwrap_or(0.0));
    let (parts, placed) = parts(turns, busy);
    let device = idle.map(|_| DeviceTime { busy: Seconds(busy), idle: Seconds(sum - busy) });
    let spend = Spend { whole: sum, roof: Roof::of(ceilings, precision) };
    Some(LayerReport {
        runs: turns.iter().map(|turn| turn.profiled.len() as u64).sum(),
        plain: cost.plain,
        instrumented: Seconds(plain * (1.0 + cost.overhead.value)),
        overhead: cost.overhead,
        sum: Seconds(sum),
        device,
        closure: cost.closure,
        placed: Ratio(placed),
        layers: Tree::of(&parts, work).layers(&spend),
        kinds: kinds(&parts, work, &spend),
        operators: operators(&parts, work, &spend),
        remarks: Vec::new(),
    })
}

/// All turns of one side as one profile, to be joined with others; `None` if a turn is missing or took no time.
#[must_use]
pub fn layer_profile(label: &str, turns: &[LayerTurn]) -> Option<LayerProfile> {
    Some(LayerProfile {
        label: label.to_owned(),
        runs: turns.iter().map(|turn| turn.profiled.len() as u64).sum(),
        total_nanos: turns.iter().flat_map(|turn| &turn.profiled).sum(),
        layers: merge(turns).0,
        cost: Some(cost(turns)?),
    })
}

fn cost(turns: &[LayerTurn]) -> Option<LayerCost> {
    let instrumented = |turn: &LayerTurn| {
        Some(stats::median(&turn.profiled)?.ln() - stats::median(&turn.plain)?.ln())
    };
    let ratio = estimate(turns, instrumented)?;
    let closure = estimate(turns, |turn| Some(covered(turn)?.ln() + instrumented(turn)?))?;
    let all: Vec<u64> = turns.iter().flat_map(|turn| turn.plain.iter().copied()).collect();
    let Interval { low, high } = ratio.interval;
    Some(LayerCost {
        plain: Seconds(stats::median(&all)?),
        overhead: Estimate {
            value: ratio.value - 1.0,
            interval: Interval { low: low - 1.0, high: high - 1.0 },
        },
        closure,
    })
}

/// The share of the time with instruments that its parts cover.
///
/// A device's work takes as long with instruments as without. What grows with them is the time in which it waits for the
/// host, so that is taken from inferences without.
fn covered(turn: &LayerTurn) -> Option<f64> {
    if let Some(device) = &turn.device {
        let (busy, idle) = (stats::median(&device.busy)?, stats::median(&device.idle)?);
        return (busy > 0.0).then_some((busy + idle) / stats::median(&turn.profiled)?);
    }
    let inside: u64 = turn.layers.iter().map(|layer| layer.nanos).sum();
    let outside: u64 = turn.profiled.iter().sum();
    (inside > 0 && outside > 0).then(|| inside as f64 / outside as f64)
}

/// The share of an inference in which the device did nothing; `None` unless every turn has its records.
fn idle_share(turns: &[LayerTurn]) -> Option<f64> {
    let share = |turn: &LayerTurn| {
        let device = turn.device.as_ref()?;
        let (busy, idle) = (stats::median(&device.busy)?, stats::median(&device.idle)?);
        Some(idle / (busy + idle).max(f64::MIN_POSITIVE))
    };
    let mut shares: Vec<f64> = turns.iter().map(share).collect::<Option<_>>()?;
    shares.sort_by(f64::total_cmp);
    shares.get(shares.len() / 2).copied()
}

/// A ratio from its logarithm in every turn: the median turn, so that a disturbed one does not decide, and an interval
/// over the turns that holds it.
fn estimate(turns: &[LayerTurn], log: impl Fn(&LayerTurn) -> Option<f64>) -> Option<Estimate> {
    let rounds: Vec<Vec<f64>> =
        turns.iter().map(|turn| log(turn).map(|log| vec![log])).collect::<Option<_>>()?;
    let mut logs: Vec<f64> = rounds.iter().flatten().copied().collect();
    logs.sort_by(f64::total_cmp);
    let middle = logs.len() / 2;
    let median = if logs.len() % 2 == 1 {
        *logs.get(middle)?
    } else {
        (logs.get(middle.checked_sub(1)?)? + logs.get(middle)?) / 2.0
    };
    let value = median.exp();
    let found = stats::paired_ratio(&rounds, SEED)?;
    // A single turn says nothing of the next.
    let interval = found.interval.unwrap_or(Interval { low: 0.0, high: f64::MAX });
    let interval = Interval { low: interval.low.min(value), high: interval.high.max(value) };
    Some(Estimate { value, interval })
}

/// The times of all turns together, and beside each the host's.
fn merge(turns: &[LayerTurn]) -> (Vec<LayerTime>, Vec<u64>) {
    let mut merged: Vec<LayerTime> = Vec::new();
    let mut hosts: Vec<u64> = Vec::new();
    let mut places: HashMap<(Option<Phase>, &str, &str), usize> = HashMap::new();
    let host = |turn: &LayerTurn, at: usize| {
        turn.device.as_ref().and_then(|one| one.host.get(at).copied())
    };
    let layers = turns.iter().flat_map(|turn| {
        turn.layers.iter().enumerate().map(move |(at, layer)| (layer, host(turn, at).unwrap_or(0)))
    });
    for (layer, host) in layers {
        let key = (layer.phase, layer.path.as_str(), layer.kind.as_str());
        let place = *places.entry(key).or_insert_with(|| {
            merged.push(LayerTime { calls: 0, nanos: 0, ..layer.clone() });
            hosts.push(0);
            merged.len() - 1
        });
        merged[place].calls += layer.calls;
        merged[place].nanos += layer.nanos;
        hosts[place] += host;
    }
    (merged, hosts)
}

/// Every part of all turns, scaled so that they add up to `sum`, and the share placed by neighbours.
fn parts(turns: &[LayerTurn], sum: f64) -> (Vec<Part>, f64) {
    let runs: usize = turns.iter().map(|turn| turn.profiled.len()).sum();
    let (merged, hosts) = merge(turns);
    let has_host = turns.iter().all(|turn| turn.device.is_some());
    let total: f64 = merged.iter().map(|layer| layer.nanos as f64).sum();
    let (modules, by_neighbours) = place(&merged);
    let part = |((layer, host), module): ((&LayerTime, &u64), String)| Part {
        module,
        operator: layer.kind.clone(),
        phase: layer.phase,
        calls: layer.calls as f64 / runs.max(1) as f64,
        seconds: layer.nanos as f64 / total.max(1.0) * sum,
        host: has_host.then(|| *host as f64 / 1e9 / runs.max(1) as f64),
    };
    let placed: f64 = by_neighbours.iter().map(|at| merged[*at].nanos as f64).sum();
    let parts = merged.iter().zip(&hosts).zip(modules).map(part).collect();
    (parts, placed / total.max(1.0))
}

/// Turns times and work into what is told of a part.
pub(crate) struct Spend {
    /// What all layers sum to, which shares are of.
    whole: f64,
    roof: Option<Roof>,
}

impl Spend {
    pub(crate) fn of(
        &self,
        calls: f64,
        total: f64,
        own: f64,
        work: Work,
        host: Option<f64>,
    ) -> Spent {
        Spent {
            calls,
            total: Seconds(total),
            own: Seconds(own),
            share: Ratio(if self.whole > 0.0 { total / self.whole } else { 0.0 }),
            flops: work.flops.map(Flops),
            bytes: work.bytes.map(Bytes),
            roofline: self.roof.and_then(|roof| roof.place(work, total)),
            host: host.map(Seconds),
        }
    }
}

/// Time and work by kind of layer, the kinds that have either.
fn kinds(parts: &[Part], work: &[LayerWork], spend: &Spend) -> Vec<Rollup> {
    // Loss and optimiser of a training step are no layers of the model, and no kind of them.
    let apart = [Phase::Loss.name(), Phase::Optimizer.name()];
    let is_step = parts.iter().any(|part| part.phase.is_some());
    let name = |module: &str, kind: LayerKind| match apart.into_iter().find(|n| *n == module) {
        Some(phase) if is_step => phase,
        _ => kind.name(),
    };
    let rollup = |wanted: &str| {
        let of = |part: &&Part| {
            name(&part.module, LayerKind::of(&part.module, &part.operator)) == wanted
        };
        let found: Vec<&Part> = parts.iter().filter(of).collect();
        let seconds: f64 = found.iter().map(|part| part.seconds).sum();
        let mut done = Work::default();
        let work = work.iter().filter(|work| name(&work.path, work.kind) == wanted);
        work.for_each(|w| done.add(w.flops, w.bytes));
        let calls = found.iter().map(|part| part.calls).sum();
        let host = host_of(found.iter().copied());
        (seconds > 0.0).then(|| Rollup {
            name: wanted.into(),
            spent: spend.of(calls, seconds, seconds, done, host),
        })
    };
    let all = LayerKind::ALL.into_iter().map(LayerKind::name).chain(apart);
    let mut kinds: Vec<Rollup> = all.filter_map(rollup).collect();
    kinds.sort_by(|a, b| b.spent.total.0.total_cmp(&a.spent.total.0));
    kinds
}

/// The host's time of parts, if they are told.
fn host_of<'a>(parts: impl IntoIterator<Item = &'a Part>) -> Option<f64> {
    parts.into_iter().map(|part| part.host).sum()
}

/// The operator of the graph in a name that an engine gave its fusion: `MatMul` in `FusedMatMul` and
/// `TransformInputs(MatMul)`.
fn plain_operator(name: &str) -> &str {
    let inner = name.split_once('(').map_or(name, |(_, inner)| inner.trim_end_matches(')'));
    inner.strip_prefix("Fused").unwrap_or(inner)
}

/// Time and work by operator, the slowest first. Work counts where the graph's node has the same operator and module: what
/// an engine fused under another name has time, and is unknown which part of the work is its.
fn operators(parts: &[Part], work: &[LayerWork], spend: &Spend) -> Vec<Rollup> {
    let known: HashMap<(&str, &str), Work> = work.iter().fold(HashMap::new(), |mut known, work| {
        let key = (work.path.as_str(), work.operator.as_str());
        known.entry(key).or_default().add(work.flops, work.bytes);
        known
    });
    // A framework times modules; their classes are no operators.
    let is_node =
        |part: &Part| known.contains_key(&(part.module.as_str(), plain_operator(&part.operator)));
    let seconds = |of: &dyn Fn(&Part) -> bool| -> f64 {
        parts.iter().filter(|part| of(part)).map(|part| part.seconds).sum()
    };
    // A class may be called like an operator (`Tanh`); most of the time is what tells.
    if seconds(&is_node) * 2.0 < seconds(&|_| true) {
        return Vec::new();
    }
    let mut sums: Vec<(&str, f64, f64, Work)> = Vec::new();
    let mut counted: Vec<(&str, &str)> = Vec::new();
    for part in parts {
        let at = sums.iter().position(|sum| sum.0 == part.operator).unwrap_or_else(|| {
            sums.push((&part.operator, 0.0, 0.0, Work::default()));
            sums.len() - 1
        });
        sums[at].1 += part.calls;
        sums[at].2 += part.seconds;
        let key = (part.module.as_str(), plain_operator(&part.operator));
        if let Some(work) = known.get(&key)
            && !counted.contains(&key)
        {
            counted.push(key);
            sums[at].3.join(*work);
        }
    }
    sums.sort_by(|a, b| b.2.total_cmp(&a.2));
    let rollup = |(name, calls, seconds, work): (&str, f64, f64, Work)| Rollup {
        name: name.to_owned(),
        spent: spend.of(
            calls,
            seconds,
            seconds,
            work,
            host_of(parts.iter().filter(|part| part.operator == name)),
        ),
    };
    sums.into_iter().map(rollup).collect()
}
