//! A small grid whose columns may have two aligned halves: `247.8 ± 9.9`, `231.2 … 289.4`.

use crate::wrap::{pad_left, pad_right, text_width};

/// Between columns; the same in every run, so that two summaries can be laid side by side.
const GAP: usize = 2;

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

    fn sign(&self) -> String {
        format!(" {} ", self.sign)
    }

    fn cell_width(&self) -> usize {
        let signs = text_width(&self.sign()) * (self.parts() - 1);
        (0..self.parts()).map(|part| self.part_width(part)).sum::<usize>() + signs
    }

    fn width(&self) -> usize {
        let header = self.header.iter().map(|part| text_width(part)).max().unwrap_or(0);
        self.cell_width().max(header)
    }

    fn show(&self, cell: &[String]) -> String {
        let parts = cell.iter().enumerate();
        let padded = parts.map(|(part, text)| pad_left(text, self.part_width(part)));
        let cell = padded.collect::<Vec<_>>().join(&self.sign());
        pad_left(&cell, self.width())
    }

    /// Numbers stand right; a header of two halves closes in on its sign, one over two halves stands in the middle.
    fn show_header(&self) -> String {
        let width = self.width();
        match self.header.as_slice() {
            [left, right] => {
                let left = pad_left(left, self.part_width(0));
                let right = pad_right(right, self.part_width(1));
                format!("{left}{}{right}", self.sign())
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
pub(super) fn grid_width(columns: &[GridColumn]) -> usize {
    columns.iter().map(|column| GAP + column.width()).sum()
}

/// The header, then one line a row; each begins with the gap before the first column.
pub(super) fn grid_lines(columns: &[GridColumn]) -> Vec<String> {
    let rows = columns.first().map_or(0, |column| column.cells.len());
    let gap = " ".repeat(GAP);
    let line = |show: &dyn Fn(&GridColumn) -> String| {
        columns.iter().map(|column| format!("{gap}{}", show(column))).collect::<String>()
    };
    let header = line(&|column| column.show_header());
    let body = (0..rows).map(|row| line(&|column| column.show(&column.cells[row])));
    std::iter::once(header).chain(body).collect()
}
