//! What a frame says when it is pointed at.

use analysis::TimeNode;
use report::{DOT, clean, cut, flops_per_second, percent, seconds, shorten, significant, value};
use types::{Bound, Layer, LayerReport, Spent, Unit};

/// A path longer than this keeps its ends only.
const LONGEST_PATH: usize = 120;
/// A class or a list of operators longer than this is cut.
const LONGEST_CLASS: usize = 80;

/// Lines on the whole model.
pub(super) fn of_model(node: &TimeNode<'_>, report: &LayerReport) -> Vec<String> {
    let unit = if report.is_step() { "step" } else { "inference" };
    let runs =
        if report.runs == 1 { format!("1 {unit}") } else { format!("{} {unit}s", report.runs) };
    vec![
        shorten(&node.label, LONGEST_PATH),
        format!("{} in all layers, the median of {runs} with instruments", seconds(node.total)),
    ]
}

/// Lines on a module.
pub(super) fn of_layer(node: &TimeNode<'_>, layer: &Layer, whole: f64) -> Vec<String> {
    let mut lines = vec![name(node), what(layer)];
    lines.push(time(node.total, whole, &layer.spent));
    if node.own > 0.0 && node.own < node.total {
        lines.push(format!("{} of it outside the modules inside", seconds(node.own)));
    }
    lines.extend(work(&layer.spent));
    lines
}

/// Lines on the time that a module spends outside the modules inside it.
pub(super) fn of_own(node: &TimeNode<'_>, layer: &Layer, whole: f64) -> Vec<String> {
    vec![
        format!("{}, outside the modules inside", name(node)),
        what(layer),
        format!("{} of all layers", amount(node.own, whole)),
    ]
}

fn name(node: &TimeNode<'_>) -> String {
    let name = if node.path.is_empty() { &node.label } else { &node.path };
    let name = shorten(name, LONGEST_PATH);
    if node.modules > 1 { format!("{name} ({} modules)", node.modules) } else { name }
}

/// `74.6 ms · 28 %`.
pub(super) fn amount(time: f64, whole: f64) -> String {
    let share = if whole > 0.0 { time / whole } else { 0.0 };
    format!("{}{DOT}{}", seconds(time), percent(share))
}

/// `attention · BertSelfAttention`.
fn what(layer: &Layer) -> String {
    let class = cut(&clean(&layer.class), LONGEST_CLASS);
    if class.is_empty() { layer.kind.to_string() } else { format!("{}{DOT}{class}", layer.kind) }
}

/// `3.18 ms · 2.7 % of all layers · 1 call`.
fn time(total: f64, whole: f64, spent: &Spent) -> String {
    let calls = spent.calls;
    let word = if calls == 1.0 { "call" } else { "calls" };
    format!("{} of all layers{DOT}{} {word}", amount(total, whole), value(calls, Unit::Count))
}

/// `171 GFLOP/s · 12.3 FLOP/B`, then what bounds it.
fn work(spent: &Spent) -> Vec<String> {
    let rate = spent.flops_per_second().map(flops_per_second);
    let intensity = spent.intensity().filter(|intensity| *intensity > 0.0);
    let intensity = intensity.map(|intensity| format!("{} FLOP/B", significant(intensity, 3)));
    let mut lines = Vec::new();
    if rate.is_some() || intensity.is_some() {
        let facts: Vec<String> = rate.into_iter().chain(intensity).collect();
        lines.push(facts.join(DOT));
    }
    lines.extend(spent.roofline.map(|roofline| {
        let bound = match roofline.bound {
            Bound::Compute => "bound by compute",
            Bound::Memory => "bound by memory",
        };
        format!("{bound}{DOT}{} of attainable", percent(roofline.attained.0))
    }));
    lines
}
