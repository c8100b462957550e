//! Allocated bytes over one inference, as a small chart.

use super::INDENT;
use crate::number::{bytes, seconds};
use crate::style::Style;
use crate::wrap::{pad_left, text_width};
use types::MemoryReport;

const HEIGHT: usize = 5;
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The chart with its peak on the left and its length below; empty without a timeline.
pub(super) fn timeline(report: &MemoryReport, style: &Style) -> String {
    let points = &report.timeline;
    let length = points.last().map_or(0, |point| point.at);
    let peak = points.iter().map(|point| point.bytes).max().unwrap_or(0);
    if length == 0 || peak <= 0 {
        return String::new();
    }
    let label = bytes(peak.unsigned_abs());
    let columns = style.columns() - 2 * INDENT.len() - text_width(&label);
    let mut heights = vec![0i64; columns];
    let place = |at: u64| {
        let share = at as f64 / length as f64;
        ((share * columns as f64) as usize).min(columns - 1)
    };
    // A column shows the most of its stretch; between two events the level is that of the first.
    let mut level = 0;
    for (index, point) in points.iter().enumerate() {
        let until = points.get(index + 1).map_or(length, |next| next.at);
        level = point.bytes.max(0).max(if until == point.at { level } else { 0 });
        for height in &mut heights[place(point.at)..=place(until)] {
            *height = (*height).max(level);
        }
        level = 0;
    }
    let eighths: Vec<usize> = heights
        .iter()
        .map(|height| {
            let share = *height as f64 / peak as f64;
            // What is there is never invisible.
            let least = usize::from(*height > 0);
            ((share * (HEIGHT * 8) as f64).round() as usize).max(least)
        })
        .collect();
    let mut text = String::new();
    for row in (0..HEIGHT).rev() {
        let drawn: String =
            eighths.iter().map(|all| EIGHTHS[all.saturating_sub(row * 8).min(8)]).collect();
        let side = match row {
            _ if row == HEIGHT - 1 => label.as_str(),
            0 => "0",
            _ => "",
        };
        let side = pad_left(side, text_width(&label));
        text.push_str(format!("{INDENT}{side}{INDENT}{drawn}").trim_end());
        text.push('\n');
    }
    let unit = super::word(report);
    let caption = format!("one {unit}, {}, above the base", seconds(length as f64 / 1e9));
    text.push_str(&format!("{INDENT}{}{INDENT}{caption}\n\n", " ".repeat(text_width(&label))));
    text
}
