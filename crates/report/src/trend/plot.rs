//! A small plot of a history in text: time to the right, the level upwards, changes as upright lines.

use crate::invalid::NOT_VALID;
use crate::wrap::{pad_left, text_width};
use types::TrendSeries;

/// Lines of the plot.
const HEIGHT: usize = 7;

/// Whose columns are left for points at least.
const NARROWEST: usize = 20;

/// The plot in at most `width` columns; `show` writes a number with its unit.
pub(super) fn plot(
    series: &TrendSeries,
    width: usize,
    show: impl Fn(f64) -> String,
) -> Vec<String> {
    let values: Vec<f64> = series.points.iter().map(|point| point.value.value).collect();
    let (low, high) = values
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(*value), high.max(*value)));
    if values.len() < 2 || !low.is_finite() || !high.is_finite() {
        return Vec::new();
    }
    // A history that hardly moves is drawn hardly moving: the plot shows at least a tenth.
    let middle = (low * high).sqrt();
    let (low, high) = (low.min(middle / 1.05), high.max(middle * 1.05));
    let labels = [show(high), show(low)];
    let label_width = labels.iter().map(|label| text_width(label)).max().unwrap_or(0);
    let room = width.saturating_sub(label_width + 4).max(NARROWEST);
    let columns = room.min((values.len() * 2).max(NARROWEST));
    let column = |place: usize| place * (columns - 1) / (values.len() - 1).max(1);
    let row = |value: f64| {
        let share = (value / low).ln() / (high / low).ln();
        ((1.0 - share) * (HEIGHT - 1) as f64).round().clamp(0.0, (HEIGHT - 1) as f64) as usize
    };
    let mut grid = vec![vec![' '; columns]; HEIGHT];
    for change in &series.changes {
        let at = column(change.at).saturating_sub(usize::from(columns > values.len()));
        grid.iter_mut().for_each(|line| line[at] = '┆');
    }
    for (place, value) in values.iter().enumerate() {
        let point = if series.points[place].valid { '•' } else { NOT_VALID };
        grid[row(*value)][column(place)] = point;
    }
    let label = |at: usize| match at {
        0 => labels[0].as_str(),
        at if at == HEIGHT - 1 => labels[1].as_str(),
        _ => "",
    };
    let line = |(at, line): (usize, Vec<char>)| {
        let drawn: String = line.into_iter().collect();
        let edge = if label(at).is_empty() { '│' } else { '┤' };
        format!("  {} {edge}{}", pad_left(label(at), label_width), drawn.trim_end())
    };
    grid.into_iter().enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{CellKey, Device, Mode, Pooled, Precision, TrendPoint};

    fn series(values: &[f64]) -> TrendSeries {
        let point = |value: &f64| TrendPoint {
            commit: None,
            branch: None,
            began: (0, 0),
            runs: Vec::new(),
            value: Pooled { value: *value, interval: None },
            valid: true,
        };
        TrendSeries {
            key: CellKey {
                model: "m".into(),
                random_weights: false,
                mode: Mode::Inference,
                sequence_length: None,
                imported: false,
                machine: "k".into(),
                device: Device::Cpu,
                engine: "rten".into(),
                precision: Precision::Fp32,
                threads: 1,
                variant: String::new(),
                batch_size: 1,
            },
            points: values.iter().map(point).collect(),
            changes: Vec::new(),
            noise: None,
            drift: None,
            needs: 0,
            suspicion: None,
        }
    }

    #[test]
    fn every_history_fits_and_its_ends_are_on_the_plot() {
        for count in [2, 3, 40, 5000] {
            let values: Vec<f64> = (0..count).map(|at| 1.0 + f64::from(at % 7)).collect();
            let lines = plot(&series(&values), 80, |value| format!("{value:.1} ms"));
            assert_eq!(lines.len(), HEIGHT);
            assert!(lines.iter().all(|line| text_width(line) <= 80), "{lines:#?}");
            assert!(lines[0].contains("ms ┤"), "{lines:#?}");
        }
        assert!(plot(&series(&[1.0]), 80, |_| String::new()).is_empty());
    }

    #[test]
    fn what_hardly_moves_is_drawn_hardly_moving() {
        let lines = plot(&series(&[1.0, 1.001, 0.999, 1.0]), 80, |_| String::new());
        assert_eq!(lines.iter().filter(|line| line.contains('•')).count(), 1, "{lines:#?}");
    }
}
