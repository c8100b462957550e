//! A result as rows for spreadsheets and programs, quoted as runs are.

use super::{Block, DataTable, ResultDocument};
use crate::csv::text;
use crate::sheet::Grid;
use number::MISSING;

impl ResultDocument {
    /// As CSV, header first. Where there are several tables, an empty line stands between them.
    #[must_use]
    pub fn csv(&self) -> String {
        if let Some(data) = &self.data {
            return data.text();
        }
        let tables = self.blocks.iter().filter_map(|block| match block {
            Block::Table { grid, .. } => Some(as_shown(grid).text()),
            _ => None,
        });
        tables.collect::<Vec<_>>().join("\r\n")
    }
}

/// A table as people see it, cell by cell.
fn as_shown(grid: &Grid) -> DataTable {
    let cell = |cell: &String| if cell == MISSING { None } else { text(cell) };
    let columns = grid.columns.iter().map(|column| text(column.name()).unwrap_or_default());
    let mut name = None;
    let has_headings = grid.rows.iter().any(|row| row.is_heading);
    let mut rows = Vec::new();
    for row in &grid.rows {
        if row.is_heading {
            name = row.cells.first().cloned();
            continue;
        }
        let whose = has_headings.then(|| name.as_deref().and_then(text));
        rows.push(whose.into_iter().chain(row.cells.iter().map(cell)).collect());
    }
    let whose = has_headings.then(|| "of".to_owned());
    DataTable::new(whose.into_iter().chain(columns), rows)
}
