//! Allocated bytes over the inference that holds the peak.

use crate::{
    Absent, axis,
    canvas::{Ink, Stroke},
    picture::{Drawn, RunMaterial},
    plot::{Plot, SIZE},
    scale::Scale,
};
use types::{MemoryPoint, Unit};

/// Columns of the picture that are told apart.
const COLUMNS: usize = 300;

pub(crate) fn draw(material: &RunMaterial<'_>) -> Result<Drawn, Absent> {
    const HINT: &str = "modelmeter profile MODEL --memory";
    let Some(memory) = &material.run.memory else {
        return Err(Absent::new("the allocations were not recorded", HINT));
    };
    let points = &memory.timeline;
    let length = points.iter().map(|point| point.at).max().unwrap_or(0);
    let peak = points.iter().map(|point| point.bytes).max().unwrap_or(0);
    if length == 0 || peak <= 0 {
        let why = memory.allocator.peak.why.as_deref();
        let why = why.unwrap_or("the engine reports totals, not single allocations");
        return Err(Absent::new(report::clean(why), format!("{HINT} --engine ENGINE")));
    }
    let low = points.iter().map(|point| point.bytes).min().unwrap_or(0).min(0);
    let mut plot = Plot::new(material.paper);
    let (low, high) = (low as f64, peak as f64 * 1.05);
    let field = plot.field(&Scale::between(low, high, 1.0, 0.0), Unit::Bytes, 30.0);
    let y = Scale::between(low, high, field.bottom(), field.y);
    let x = Scale::between(0.0, length as f64 / 1e9, field.x, field.right());
    let look = plot.canvas.look;
    axis::left(&mut plot.canvas, field, &y, Unit::Bytes, "");
    axis::below(&mut plot.canvas, field, &x, Unit::Seconds, "time since the inference began");
    let mut line: Vec<(f64, f64)> = vec![(field.x, y.at(0.0))];
    for (at, bytes) in steps(points, length) {
        let next = (x.at(at as f64 / 1e9), y.at(bytes as f64));
        // Upright to the new level: between two events nothing changes.
        let before = line.last().map_or(next.1, |last| last.1);
        line.push((next.0, before));
        line.push(next);
    }
    let last = line.last().map_or(field.bottom(), |last| last.1);
    line.push((field.right(), last));
    let mut shape = line.clone();
    shape.extend([(field.right(), y.at(0.0)), (field.x, y.at(0.0))]);
    plot.canvas.polygon(&shape, look.series(2), 0.3);
    plot.canvas.polyline(&line, Stroke::new(look.series(2), 1.2));
    let top = y.at(peak as f64);
    let stroke = Stroke::new(look.text, 1.0).dashed("4 3");
    plot.canvas.line((field.x, top), (field.right(), top), stroke);
    let words = format!("peak {}", report::bytes(peak.unsigned_abs()));
    plot.canvas.text(field.right(), field.y - 8.0, &words, Ink::new(SIZE, look.text).end());
    let node = report::clean(&memory.allocator.node);
    let notes = vec![
        "Bytes above what was allocated before the inference.".to_owned(),
        if node.is_empty() { String::new() } else { format!("`{node}` ran at the peak.") },
    ];
    let about = format!("{words} above the base in {}", report::seconds(length as f64 / 1e9));
    Ok(plot.finish("Allocated memory over one inference", &about, notes))
}

/// The lowest and the highest level of each column, in their order.
fn steps(points: &[MemoryPoint], length: u64) -> Vec<(u64, i64)> {
    let column = |at: u64| (at as u128 * COLUMNS as u128 / (u128::from(length) + 1)) as usize;
    let mut kept: Vec<(u64, i64)> = Vec::new();
    for part in points.chunk_by(|one, other| column(one.at) == column(other.at)) {
        let low = part.iter().enumerate().min_by_key(|(_, point)| point.bytes);
        let high = part.iter().enumerate().max_by_key(|(_, point)| point.bytes);
        let end = part.len() - 1;
        let mut ends: Vec<usize> =
            low.into_iter().chain(high).map(|(place, _)| place).chain([end]).collect();
        ends.sort_unstable();
        ends.dedup();
        kept.extend(ends.into_iter().map(|place| (part[place].at, part[place].bytes)));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_the_floor_and_the_end_stay() {
        let level = |at: u64| if at == 4_321 { 900 } else { (at % 50) as i64 };
        let points: Vec<MemoryPoint> =
            (0..10_000).map(|at| MemoryPoint { at, bytes: level(at) - 3 }).collect();
        let kept = steps(&points, 9_999);
        assert!(kept.len() <= 3 * COLUMNS, "{}", kept.len());
        assert!(kept.contains(&(4_321, 897)) && kept.iter().any(|(_, bytes)| *bytes == -3));
        assert_eq!(kept.last(), Some(&(9_999, 46)));
        assert!(kept.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    }
}
