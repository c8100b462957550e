//! Kernel time by module and by range.

use super::{ranges::Ranges, seconds};
use std::collections::{HashMap, HashSet};
use types::GpuPart;

#[derive(Default)]
struct Sum {
    kernels: u64,
    time: u64,
    total: u64,
    calls: u64,
    host: u64,
}

/// By module; a module that is called in several places is one.
pub(super) fn modules(ranges: &Ranges, by_range: &HashMap<u32, (u64, u64)>) -> Vec<GpuPart> {
    if !ranges.has_modules() {
        return Vec::new();
    }
    let own = |node: u32| ranges.module(node).unwrap_or_default().to_owned();
    let around = |node: u32| {
        let modules = ranges.upwards(node).filter(|range| range.is_module);
        modules.map(|range| range.name.clone()).collect()
    };
    let mut sums = table(by_range, own, around);
    for node in ranges.nodes.iter().filter(|node| node.is_module) {
        if let Some(sum) = sums.get_mut(&node.name) {
            sum.calls += node.calls;
            sum.host = sum.host.saturating_add(node.host);
        }
    }
    rows(sums)
}

/// By ranges of the program.
pub(super) fn ranges(ranges: &Ranges, by_range: &HashMap<u32, (u64, u64)>) -> Vec<GpuPart> {
    if ranges.nodes.iter().skip(1).all(|node| node.is_module) {
        return Vec::new();
    }
    let around = |node: u32| {
        let path = ranges.path(node);
        let ends = path.match_indices(" / ").map(|(at, _)| at).chain([path.len()]);
        ends.filter(|end| *end > 0).map(|end| path[..end].to_owned()).collect()
    };
    let mut sums = table(by_range, |node| ranges.path(node), around);
    for (at, node) in (0_u32..).zip(&ranges.nodes).filter(|(_, node)| !node.is_module).skip(1) {
        if let Some(sum) = sums.get_mut(&ranges.path(at)) {
            sum.calls += node.calls;
            sum.host = sum.host.saturating_add(node.host);
        }
    }
    rows(sums)
}

fn table(
    by_range: &HashMap<u32, (u64, u64)>,
    own: impl Fn(u32) -> String,
    around: impl Fn(u32) -> Vec<String>,
) -> HashMap<String, Sum> {
    let mut sums: HashMap<String, Sum> = HashMap::new();
    for (node, (kernels, time)) in by_range {
        let sum = sums.entry(own(*node)).or_default();
        sum.kernels += kernels;
        sum.time = sum.time.saturating_add(*time);
        if own(*node).is_empty() {
            sum.total = sum.total.saturating_add(*time);
        }
        // A module inside itself counts once.
        let distinct: HashSet<String> = around(*node).into_iter().collect();
        for name in distinct {
            let sum = sums.entry(name).or_default();
            sum.total = sum.total.saturating_add(*time);
        }
    }
    sums
}

fn rows(sums: HashMap<String, Sum>) -> Vec<GpuPart> {
    let mut rows: Vec<(String, Sum)> = sums.into_iter().collect();
    rows.sort_by(|a, b| (b.1.time, b.1.total, &a.0).cmp(&(a.1.time, a.1.total, &b.0)));
    rows.truncate(super::MOST_ROWS);
    let row = |(path, sum): (String, Sum)| GpuPart {
        host: (sum.calls > 0).then(|| seconds(sum.host)),
        path,
        kernels: sum.kernels,
        time: seconds(sum.time),
        total: seconds(sum.total),
        calls: sum.calls,
    };
    rows.into_iter().map(row).collect()
}
