//! A small grid whose columns may have two aligned halves: `247.8 ± 9.9`, `231.2 … 289.4`.

use crate::wrap::{pad_left, text_width};

/// How close together columns and halves stand.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spacing {
    pub(super) gap: usize,
    /// Whether spaces surround the sign between two halves.
    pub(super) loose: bool,
}

/// One column: a header and a cell a row, each of one or two parts with a sign between them.
pub(super) struct GridColumn {
    pub(super) sign: &'static str,
    pub(super) header: Vec<String>,
    pub(super) cells: Vec<Vec<String>>,
}

impl GridColumn {
    fn part_width(&self, part: usize) -> usize {
        let cells = self.cells.iter().chain(std::iter::once(&self.header));
        cells.filter_map(|cell| cell.get(part)).map(|text| text_width(text)).max().unwrap_or(0)
    }

    fn sign(&self, spacing: Spacing) -> String {
        if spacing.loose { format!(" {} ", self.sign) } else { self.sign.to_string() }
    }

    pub(super) fn width(&self, spacing: Spacing) -> usize {
        let parts = self.header.len();
        let signs = text_width(&self.sign(spacing)) * (parts - 1);
        (0..parts).map(|part| self.part_width(part)).sum::<usize>() + signs
    }

    fn show(&self, cell: &[String], spacing: Spacing) -> String {
        let padded: Vec<String> = cell
            .iter()
            .enumerate()
            .map(|(part, text)| pad_left(text, self.part_width(part)))
            .collect();
        padded.join(&self.sign(spacing))
    }
}

/// Columns of all columns together, gaps before each included.
pub(super) fn grid_width(columns: &[GridColumn], spacing: Spacing) -> usize {
    columns.iter().map(|column| spacing.gap + column.width(spacing)).sum()
}

/// The header, then one line a row; each begins with the gap before the first column.
pub(super) fn grid_lines(columns: &[GridColumn], spacing: Spacing) -> Vec<String> {
    let rows = columns.first().map_or(0, |column| column.cells.len());
    let gap = " ".repeat(spacing.gap);
    let line = |cell_of: &dyn Fn(&GridColumn) -> Vec<String>| {
        columns
            .iter()
            .map(|column| format!("{gap}{}", column.show(&cell_of(column), spacing)))
            .collect::<String>()
    };
    let header = line(&|column| column.header.clone());
    let body = (0..rows).map(|row| line(&|column| column.cells[row].clone()));
    std::iter::once(header).chain(body).collect()
}
