//! A comparison in formatted pieces.

use super::grid::{Grid, Side};
use crate::clean::clean;
use crate::comparison::{rows, sentences};
use types::ComparisonReport;

/// A comparison in formatted pieces; nothing is escaped.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparisonSheet {
    /// What all sides did: the model and its size of work.
    pub title: String,
    /// A row per side, the fastest first.
    pub table: Grid,
    /// Remarks that limit or explain the result.
    pub remarks: Vec<String>,
}

/// The pieces of a comparison.
#[must_use]
pub fn comparison_sheet(report: &ComparisonReport) -> ComparisonSheet {
    let mut title = vec![clean(&report.model.name), report.mode.to_string()];
    title.push(match report.sequence_length {
        Some(length) => {
            format!("batch {} × {}", report.batch_size, report.model.length_words(length))
        }
        None => format!("batch {}", report.batch_size),
    });
    let against = format!("against {}", clean(&report.baseline));
    let mut table = Grid::new(&[
        ("engine", Side::Left),
        ("median", Side::Right),
        (against.as_str(), Side::Left),
        ("memory", Side::Right),
        ("load", Side::Right),
        ("mean ± std", Side::Right),
        ("min … max", Side::Right),
        ("first run", Side::Right),
    ]);
    rows(report).into_iter().for_each(|row| table.row(row));
    let remarks = sentences(report).into_iter().map(|(_, text)| text).collect();
    ComparisonSheet { title: title.join(" · "), table, remarks }
}
