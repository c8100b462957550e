//! A small grid whose columns may have two aligned halves: `247.8 ± 9.9`, `231.2 … 289.4`.

use crate::wrap::{pad_left, pad_right, text_width};

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
    /// As many parts as the cells have, or one that stands over all of them.
    pub(super) header: Vec<String>,
    pub(super) cells: Vec<Vec<String>>,
}

impl GridColumn {
    fn parts(&self) -> usize {
        self.cells.first().map_or(1, Vec::len)
    }

    fn part_width(&self, part: usize) -> usize {
        let header = Some(&self.header).filter(|header| header.len() == self.parts());
        let cells = self.cells.iter().chain(header);
        cells.filter_map(|cell| cell.get(part)).map(|text| text_width(text)).max().unwrap_or(0)
    }

    fn sign(&self, spacing: Spacing) -> String {
        if spacing.loose { format!(" {} ", self.sign) } else { self.sign.to_string() }
    }

    fn cell_width(&self, spacing: Spacing) -> usize {
        let signs = text_width(&self.sign(spacing)) * (self.parts() - 1);
        (0..self.parts()).map(|part| self.part_width(part)).sum::<usize>() + signs
    }

    fn width(&self, spacing: Spacing) -> usize {
        let header = self.header.iter().map(|part| text_width(part)).max().unwrap_or(0);
        self.cell_width(spacing).max(header)
    }

    fn show(&self, cell: &[String], spacing: Spacing) -> String {
        let parts = cell.iter().enumerate();
        let padded = parts.map(|(part, text)| pad_left(text, self.part_width(part)));
        let cell = padded.collect::<Vec<_>>().join(&self.sign(spacing));
        pad_left(&cell, self.width(spacing))
    }

    /// Numbers stand right; a header of two halves closes in on its sign, one over two halves stands in the middle.
    fn show_header(&self, spacing: Spacing) -> String {
        let width = self.width(spacing);
        match self.header.as_slice() {
            [left, right] => {
                let left = pad_left(left, self.part_width(0));
                let right = pad_right(right, self.part_width(1));
                format!("{left}{}{right}", self.sign(spacing))
            }
            [whole] if self.parts() == 2 => {
                let before = (width - text_width(whole)) / 2;
                pad_right(&format!("{}{whole}", " ".repeat(before)), width)
            }
            parts => pad_left(&parts.concat(), width),
        }
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
    let line = |show: &dyn Fn(&GridColumn) -> String| {
        columns.iter().map(|column| format!("{gap}{}", show(column))).collect::<String>()
    };
    let header = line(&|column| column.show_header(spacing));
    let body = (0..rows).map(|row| line(&|column| column.show(&column.cells[row], spacing)));
    std::iter::once(header).chain(body).collect()
}
