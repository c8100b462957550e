//! A table whose cells are words already; whoever shows it decides how.

use crate::markdown::plain;
use crate::table::{Column, Table};

/// Which side the cells of a column stand on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// One row of a table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GridRow {
    /// How many rows above it lies in, in a tree.
    pub depth: usize,
    /// Its share of the whole, where a bar can show it.
    pub share: Option<f64>,
    /// Whether its only cell names the rows below it, across all columns.
    pub is_heading: bool,
    /// Its cells, one per column; not escaped.
    pub cells: Vec<String>,
}

/// A table whose cells are words already.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Grid {
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows.
    pub rows: Vec<GridRow>,
}

impl Grid {
    /// A table without rows whose columns are wide enough everywhere.
    #[must_use]
    pub fn new(columns: &[(&str, Side)]) -> Grid {
        Grid::of(columns.iter().map(|(name, side)| match side {
            Side::Left => Column::left(name),
            Side::Right => Column::right(name),
        }))
    }

    /// A table without rows.
    #[must_use]
    pub fn of(columns: impl IntoIterator<Item = Column>) -> Grid {
        Grid { columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn push(&mut self, row: GridRow) {
        self.rows.push(row);
    }

    /// Adds a row that is no branch of a tree.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        let cells = cells.into_iter().map(Into::into).collect();
        self.rows.push(GridRow { cells, ..GridRow::default() });
    }

    /// Adds a row that names those below it.
    pub fn heading(&mut self, name: impl Into<String>) {
        self.rows.push(GridRow {
            is_heading: true,
            cells: vec![name.into()],
            ..GridRow::default()
        });
    }

    /// The table as a terminal lays it out.
    pub(crate) fn table(&self) -> Table {
        let mut table = Table::new(self.columns.iter().cloned());
        for row in &self.rows {
            match row.is_heading {
                true => table.push_across(row.cells.first().map_or("", String::as_str)),
                false => table.push_branch(row.depth, &row.cells),
            }
        }
        table
    }

    /// Columns of the terminal that it needs to show everything whole.
    #[must_use]
    pub fn full_width(&self) -> usize {
        self.table().full_width()
    }

    /// The numbers of the columns in which any row says anything.
    #[must_use]
    pub fn telling(&self) -> Vec<usize> {
        let says = |cell: &String| !cell.is_empty() && cell != number::MISSING;
        let tells = |at: &usize| {
            *at == 0 || self.rows.iter().any(|row| row.cells.get(*at).is_some_and(says))
        };
        (0..self.columns.len()).filter(tells).collect()
    }

    /// The table without the columns in which no row says anything.
    pub(crate) fn without_silent_columns(&self) -> Grid {
        let shown = self.telling();
        let cells = |row: &GridRow| match row.is_heading {
            true => row.cells.clone(),
            false => shown.iter().filter_map(|at| row.cells.get(*at).cloned()).collect(),
        };
        let row = |row: &GridRow| GridRow { cells: cells(row), ..row.clone() };
        Grid {
            columns: shown.iter().map(|at| self.columns[*at].clone()).collect(),
            rows: self.rows.iter().map(row).collect(),
        }
    }

    /// The table as Markdown; branches are set in.
    #[must_use]
    pub(crate) fn markdown(&self) -> String {
        let shown = self.telling();
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut text = line(shown.iter().map(|at| plain(self.columns[*at].name())).collect());
        let rule = |at: &usize| match self.columns[*at].side() {
            Side::Left => "---".to_owned(),
            Side::Right => "---:".to_owned(),
        };
        text.push_str(&line(shown.iter().map(rule).collect()));
        for row in &self.rows {
            if row.is_heading {
                let name = row.cells.first().map(|cell| plain(cell)).unwrap_or_default();
                let blanks = shown.iter().skip(1).map(|_| String::new());
                text.push_str(&line(
                    std::iter::once(format!("**{name}**")).chain(blanks).collect(),
                ));
                continue;
            }
            let cell = |at: &usize| {
                let depth = if *at == 0 { row.depth } else { 0 };
                let words = row.cells.get(*at).map(|cell| plain(cell)).unwrap_or_default();
                format!("{}{words}", "&emsp;".repeat(depth))
            };
            text.push_str(&line(shown.iter().map(cell).collect()));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_leaves_out_what_nobody_says_and_sets_branches_in() {
        let mut grid =
            Grid::new(&[("layer", Side::Left), ("time", Side::Right), ("x", Side::Left)]);
        grid.row(["a|b", "1 ms", "–"]);
        grid.push(GridRow {
            depth: 1,
            share: None,
            cells: vec!["q_lin".into(), "2 ms".into()],
            ..GridRow::default()
        });
        assert_eq!(
            grid.markdown(),
            "| layer | time |\n| --- | ---: |\n| a\\|b | 1 ms |\n| &emsp;q\\_lin | 2 ms |\n"
        );
    }
}
