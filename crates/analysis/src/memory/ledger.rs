//! Allocations and frees added up: how much was allocated when, by whom, and what was live at the worst moment.

use std::collections::{BTreeMap, HashMap};
use types::{
    Allocations, Bytes, LayerMemory, LayerTime, LiveBlocks, MemoryPoint, Names, TIMELINE_POINTS,
    module_of,
};

/// What a list of allocations says.
#[derive(Debug, Clone, PartialEq)]
pub struct Ledger {
    /// The most that was allocated above what was there before, in bytes.
    pub peak: Bytes,
    /// What ran at that moment, as the engine calls it.
    pub node: String,
    /// What was live at that moment, the largest first.
    pub live: Vec<LiveBlocks>,
    /// Who asked for how much, in the order they ran first.
    pub layers: Vec<LayerMemory>,
    /// Bytes above what was there before, after each inference.
    pub levels: Vec<i64>,
    /// Allocations in one inference.
    pub allocations: f64,
    /// Frees in one inference.
    pub frees: f64,
    /// The inference that holds the peak, at most [`TIMELINE_POINTS`] points.
    pub timeline: Vec<MemoryPoint>,
}

/// Adds up allocations whose columns fit together; `None` if there is no event or no inference.
#[must_use]
pub fn read_ledger(all: &Allocations) -> Option<Ledger> {
    let whole = all.ends.last().copied().map_or(0, |end| end as usize).min(all.len());
    if whole == 0 || !all.is_whole() {
        return None;
    }
    let runs = all.ends.len() as f64;
    let levels = running(&all.sizes[..whole]);
    let (at, peak) = levels
        .iter()
        .enumerate()
        .fold((0, i64::MIN), |best, (at, level)| if *level > best.1 { (at, *level) } else { best });
    let modules = modules(all);
    let live = live_at(all, at);
    let after = |end: &u64| end.checked_sub(1).map_or(0, |last| levels[last as usize]);
    let made = all.sizes[..whole].iter().filter(|size| **size > 0).count();
    Some(Ledger {
        peak: Bytes(u64::try_from(peak).unwrap_or(0)),
        node: all.names[all.layers[at] as usize].name.clone(),
        layers: by_layer(all, whole, &modules, &live),
        live: group(all, &modules, &live),
        levels: all.ends.iter().map(after).collect(),
        allocations: made as f64 / runs,
        frees: (whole - made) as f64 / runs,
        timeline: timeline(all, &levels, at),
    })
}

fn running(sizes: &[i64]) -> Vec<i64> {
    let mut level = 0i64;
    let add = |size: &i64| {
        level = level.saturating_add(*size);
        level
    };
    sizes.iter().map(add).collect()
}

/// The module behind every name.
fn modules(all: &Allocations) -> Vec<String> {
    let layers: Vec<LayerTime> = all
        .names
        .iter()
        .map(|name| LayerTime {
            path: name.name.clone(),
            kind: name.kind.clone(),
            calls: 1,
            nanos: 0,
            phase: None,
        })
        .collect();
    let names = Names::of(&layers);
    layers.iter().map(|layer| module_of(&layer.path, &layer.kind, names)).collect()
}

/// The blocks that live after an event: size and layer.
fn live_at(all: &Allocations, at: usize) -> Vec<(i64, usize)> {
    let mut live: HashMap<u64, (i64, usize)> = HashMap::new();
    for index in 0..=at {
        match all.sizes[index] {
            // What was there before is freed without having been seen.
            ..0 => live.remove(&all.blocks[index]),
            size => live.insert(all.blocks[index], (size, all.layers[index] as usize)),
        };
    }
    live.into_values().collect()
}

fn group(all: &Allocations, modules: &[String], live: &[(i64, usize)]) -> Vec<LiveBlocks> {
    let mut counts: BTreeMap<(i64, usize), u64> = BTreeMap::new();
    for block in live {
        *counts.entry(*block).or_default() += 1;
    }
    let mut blocks: Vec<LiveBlocks> = counts
        .into_iter()
        .map(|((size, layer), count)| LiveBlocks {
            module: modules[layer].clone(),
            node: all.names[layer].name.clone(),
            bytes: Bytes(size.unsigned_abs()),
            count,
        })
        .collect();
    blocks.sort_by(|a, b| {
        let weight = |blocks: &LiveBlocks| blocks.bytes.0.saturating_mul(blocks.count);
        weight(b).cmp(&weight(a)).then_with(|| a.node.cmp(&b.node))
    });
    blocks
}

fn by_layer(
    all: &Allocations,
    whole: usize,
    modules: &[String],
    live: &[(i64, usize)],
) -> Vec<LayerMemory> {
    #[derive(Default)]
    struct Sum {
        bytes: u64,
        count: u64,
        at_peak: u64,
    }
    let mut order: Vec<&str> = Vec::new();
    let mut sums: HashMap<&str, Sum> = HashMap::new();
    for (size, layer) in all.sizes[..whole].iter().zip(&all.layers) {
        if *size <= 0 {
            continue;
        }
        let module = modules[*layer as usize].as_str();
        let sum = sums.entry(module).or_insert_with(|| {
            order.push(module);
            Sum::default()
        });
        sum.bytes = sum.bytes.saturating_add(size.unsigned_abs());
        sum.count += 1;
    }
    for (size, layer) in live {
        if let Some(sum) = sums.get_mut(modules[*layer].as_str()) {
            sum.at_peak = sum.at_peak.saturating_add(size.unsigned_abs());
        }
    }
    let runs = all.ends.len() as u64;
    let layer = |path: &str| LayerMemory {
        path: path.to_owned(),
        allocated: Bytes(sums[path].bytes / runs),
        count: (sums[path].count + runs / 2) / runs,
        at_peak: Bytes(sums[path].at_peak),
    };
    order.into_iter().map(layer).collect()
}

/// The inference that holds the peak: all of its events, or of every stretch the highest.
fn timeline(all: &Allocations, levels: &[i64], peak: usize) -> Vec<MemoryPoint> {
    let run = all.ends.partition_point(|end| *end <= peak as u64);
    let begin = run.checked_sub(1).map_or(0, |before| all.ends[before] as usize);
    let end = all.ends[run] as usize;
    let origin = all.times[begin];
    let point = |at: usize| MemoryPoint { at: all.times[at] - origin, bytes: levels[at] };
    let count = end - begin;
    if count <= TIMELINE_POINTS {
        return (begin..end).map(point).collect();
    }
    let bound = |at: usize| begin + at * count / TIMELINE_POINTS;
    (0..TIMELINE_POINTS)
        .filter_map(|at| (bound(at)..bound(at + 1)).max_by_key(|event| levels[*event]))
        .map(point)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::LayerName;

    fn name(name: &str, kind: &str) -> LayerName {
        LayerName { name: name.into(), kind: kind.into() }
    }

    /// Two inferences: a block of 100 that stays for the inference, two of 30, and one from before that is freed.
    fn two_runs() -> Allocations {
        let run = [(0, 100, 1), (1, 30, 2), (2, 30, 2), (1, -30, 2), (2, -30, 2), (0, -100, 0)];
        let mut all = Allocations {
            names: vec![
                LayerName::default(),
                name("encoder.layer.0/MatMul", "MatMul"),
                name("encoder.layer.1.Add", "Add"),
            ],
            ..Allocations::default()
        };
        for round in 0..2u64 {
            for (step, (block, size, layer)) in run.into_iter().enumerate() {
                all.times.push(round * 1000 + step as u64 * 10);
                all.blocks.push(block);
                all.sizes.push(size);
                all.layers.push(layer);
                all.threads.push(1);
            }
            if round == 0 {
                all.times.push(100);
                all.blocks.push(9);
                all.sizes.push(-7);
                all.layers.push(0);
                all.threads.push(1);
            }
            all.ends.push(all.len() as u64);
        }
        all
    }

    #[test]
    fn the_peak_and_what_lives_there_are_found() {
        let ledger = read_ledger(&two_runs()).unwrap();
        // In the second inference the 7 bytes from before are gone.
        assert_eq!((ledger.peak, ledger.node.as_str()), (Bytes(160), "encoder.layer.1.Add"));
        assert_eq!(ledger.levels, [-7, -7]);
        assert_eq!((ledger.allocations, ledger.frees), (3.0, 3.5));
        let live: Vec<(&str, u64, u64)> =
            ledger.live.iter().map(|l| (l.module.as_str(), l.bytes.0, l.count)).collect();
        assert_eq!(live, [("encoder.layer.0", 100, 1), ("encoder.layer.1", 30, 2)]);
        let layers: Vec<(&str, u64, u64, u64)> = ledger
            .layers
            .iter()
            .map(|l| (l.path.as_str(), l.allocated.0, l.count, l.at_peak.0))
            .collect();
        assert_eq!(layers, [("encoder.layer.0", 100, 1, 100), ("encoder.layer.1", 60, 2, 60)]);
        assert_eq!(ledger.timeline.len(), 7);
        assert_eq!(ledger.timeline[2], MemoryPoint { at: 20, bytes: 160 });
    }

    #[test]
    fn a_long_timeline_is_thinned_and_keeps_its_peak() {
        let count = 100_000u64;
        let mut all = Allocations { names: vec![LayerName::default()], ..Allocations::default() };
        for step in 0..count {
            all.times.push(step);
            all.blocks.push(step / 2);
            all.sizes.push(if step % 2 == 0 { 8 } else { -8 });
            all.layers.push(0);
            all.threads.push(1);
        }
        all.sizes[77_776] = 5000;
        all.sizes[77_777] = -5000;
        all.ends = vec![count];
        let ledger = read_ledger(&all).unwrap();
        assert!(ledger.timeline.len() <= TIMELINE_POINTS);
        let highest = ledger.timeline.iter().max_by_key(|point| point.bytes).unwrap();
        assert_eq!((highest.at, highest.bytes), (77_776, 5000));
        assert!(ledger.timeline.is_sorted_by_key(|point| point.at));
    }

    #[test]
    fn nothing_and_nonsense_have_no_ledger() {
        assert_eq!(read_ledger(&Allocations::default()), None);
        let mut all = two_runs();
        all.sizes.pop();
        assert_eq!(read_ledger(&all), None);
    }
}
