//! Charts of characters, for terminals.

use crate::invalid::NOT_VALID;
use crate::wrap::{pad_left, text_width};

const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Lines of a filled chart.
const AREA: usize = 5;

/// Lines of a chart of points.
const POINTS: usize = 7;

/// Columns that are left for a chart at least.
const NARROWEST: usize = 20;

/// A chart of characters.
#[derive(Debug, Clone, PartialEq)]
pub enum TextChart {
    /// A level over time, filled: `(moment, level)` in order. The highest level has a label, and the whole a caption below.
    Area {
        /// When the level changed, and to what.
        points: Vec<(u64, i64)>,
        /// The highest level in words.
        label: String,
        /// What stands below.
        caption: String,
    },
    /// Values in order on a logarithmic scale.
    Points {
        /// The values, and whether each is valid.
        values: Vec<(f64, bool)>,
        /// Before which of them the level changed.
        changes: Vec<usize>,
        /// The ends of the scale.
        ends: [f64; 2],
        /// The same in words.
        labels: [String; 2],
    },
}

impl TextChart {
    /// The chart in at most so many columns; no line where there is nothing to draw.
    #[must_use]
    pub fn lines(&self, width: usize) -> Vec<String> {
        match self {
            TextChart::Area { points, label, caption } => area(points, label, caption, width),
            TextChart::Points { values, changes, ends, labels } => {
                self::points(values, changes, *ends, labels, width)
            }
        }
    }
}

fn area(points: &[(u64, i64)], label: &str, caption: &str, width: usize) -> Vec<String> {
    let length = points.last().map_or(0, |(at, _)| *at);
    let peak = points.iter().map(|(_, level)| *level).max().unwrap_or(0);
    if length == 0 || peak <= 0 {
        return Vec::new();
    }
    let side = text_width(label);
    let columns = width.saturating_sub(side + 2).max(NARROWEST);
    let mut heights = vec![0i64; columns];
    let place = |at: u64| {
        let share = at as f64 / length as f64;
        ((share * columns as f64) as usize).min(columns - 1)
    };
    // A column shows the most of its stretch; between two events the level is that of the first.
    let mut before = 0;
    for (index, (at, level)) in points.iter().enumerate() {
        let until = points.get(index + 1).map_or(length, |(next, _)| *next);
        let highest = (*level).max(0).max(if until == *at { before } else { 0 });
        for height in &mut heights[place(*at)..=place(until)] {
            *height = (*height).max(highest);
        }
        before = if until == *at { highest } else { 0 };
    }
    let eighths: Vec<usize> = heights
        .iter()
        .map(|height| {
            let share = *height as f64 / peak as f64;
            // What is there is never invisible.
            let least = usize::from(*height > 0);
            ((share * (AREA * 8) as f64).round() as usize).max(least)
        })
        .collect();
    let mut lines = Vec::new();
    for row in (0..AREA).rev() {
        let drawn: String =
            eighths.iter().map(|all| EIGHTHS[all.saturating_sub(row * 8).min(8)]).collect();
        let name = match row {
            _ if row == AREA - 1 => label,
            0 => "0",
            _ => "",
        };
        lines.push(format!("{}  {}", pad_left(name, side), drawn.trim_end()).trim_end().to_owned());
    }
    lines.push(format!("{}  {caption}", " ".repeat(side)));
    lines
}

fn points(
    values: &[(f64, bool)],
    changes: &[usize],
    [low, high]: [f64; 2],
    labels: &[String; 2],
    width: usize,
) -> Vec<String> {
    if values.len() < 2 {
        return Vec::new();
    }
    let side = labels.iter().map(|label| text_width(label)).max().unwrap_or(0);
    let room = width.saturating_sub(side + 2).max(NARROWEST);
    let columns = room.min((values.len() * 2).max(NARROWEST));
    let column = |place: usize| place * (columns - 1) / (values.len() - 1).max(1);
    let row = |value: f64| {
        let share = (value / low).ln() / (high / low).ln();
        ((1.0 - share) * (POINTS - 1) as f64).round().clamp(0.0, (POINTS - 1) as f64) as usize
    };
    let mut grid = vec![vec![' '; columns]; POINTS];
    for change in changes {
        let at = column(*change).saturating_sub(usize::from(columns > values.len()));
        grid.iter_mut().for_each(|line| line[at] = '┆');
    }
    for (place, (value, valid)) in values.iter().enumerate() {
        grid[row(*value)][column(place)] = if *valid { '•' } else { NOT_VALID };
    }
    let label = |at: usize| match at {
        0 => labels[1].as_str(),
        at if at == POINTS - 1 => labels[0].as_str(),
        _ => "",
    };
    let line = |(at, line): (usize, Vec<char>)| {
        let drawn: String = line.into_iter().collect();
        let edge = if label(at).is_empty() { '│' } else { '┤' };
        format!("{} {edge}{}", pad_left(label(at), side), drawn.trim_end())
    };
    grid.into_iter().enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(values: &[f64]) -> TextChart {
        TextChart::Points {
            values: values.iter().map(|value| (*value, true)).collect(),
            changes: Vec::new(),
            ends: [0.9, 7.5],
            labels: ["0.9 ms".into(), "7.5 ms".into()],
        }
    }

    #[test]
    fn every_history_fits_and_its_ends_are_on_the_chart() {
        for count in [2, 3, 40, 5000] {
            let values: Vec<f64> = (0..count).map(|at| 1.0 + f64::from(at % 7)).collect();
            let lines = history(&values).lines(80);
            assert_eq!(lines.len(), POINTS);
            assert!(lines.iter().all(|line| text_width(line) <= 80), "{lines:#?}");
            assert!(lines[0].starts_with("7.5 ms ┤"), "{lines:#?}");
            assert!(lines[POINTS - 1].starts_with("0.9 ms ┤"), "{lines:#?}");
        }
        assert!(history(&[1.0]).lines(80).is_empty());
    }

    #[test]
    fn a_filled_chart_shows_what_is_there() {
        let chart = TextChart::Area {
            points: vec![(0, 0), (10, 100), (20, 1), (30, 0)],
            label: "100 B".into(),
            caption: "one step".into(),
        };
        let lines = chart.lines(40);
        assert_eq!(lines.len(), AREA + 1);
        assert!(lines[0].starts_with("100 B  ") && lines[0].contains('█'), "{lines:#?}");
        assert!(lines[AREA - 1].contains('▁'), "{lines:#?}");
        assert!(lines.iter().all(|line| text_width(line) <= 40), "{lines:#?}");
        let empty =
            TextChart::Area { points: vec![], label: String::new(), caption: String::new() };
        assert!(empty.lines(40).is_empty());
    }
}
