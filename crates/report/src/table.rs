//! A small table of strings for every command that lists something: aligned, and fitted to the width.

use crate::clean::clean;
use crate::wrap::{pad_left, pad_right, shorten, text_width, wrap};

const GAP: usize = 2;
/// A shrinking column keeps at least so much, or its cells say nothing.
const LEAST: usize = 12;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Align {
    Left,
    Right,
}

/// One column: its header, its alignment, and what it does when there is too little room.
#[derive(Debug, Clone)]
pub struct Column {
    header: String,
    align: Align,
    shrinks: bool,
    leaves: Option<u8>,
}

impl Column {
    /// A column of words.
    #[must_use]
    pub fn left(header: &str) -> Column {
        Column { header: clean(header), align: Align::Left, shrinks: false, leaves: None }
    }

    /// A column of numbers.
    #[must_use]
    pub fn right(header: &str) -> Column {
        Column { align: Align::Right, ..Column::left(header) }
    }

    /// Its cells may be shortened in the middle.
    #[must_use]
    pub fn shrinks(mut self) -> Column {
        self.shrinks = true;
        self
    }

    /// It may be left out, those with the highest rank first; the table then names what it left out.
    #[must_use]
    pub fn leaves(mut self, rank: u8) -> Column {
        self.leaves = Some(rank);
        self
    }
}

/// A table of strings.
#[derive(Debug, Clone)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table with these columns.
    #[must_use]
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Table {
        Table { columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    /// Adds a row; cells are cleaned, missing ones are empty, those beyond the last column are dropped.
    #[must_use]
    pub fn row<S: AsRef<str>>(mut self, cells: impl IntoIterator<Item = S>) -> Table {
        self.push(cells);
        self
    }

    /// Adds a row in place.
    pub fn push<S: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = S>) {
        let mut row: Vec<String> = cells.into_iter().map(|cell| clean(cell.as_ref())).collect();
        row.resize(self.columns.len(), String::new());
        self.rows.push(row);
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table in at most `width` columns; `None`, where there is no terminal, shows everything whole.
    #[must_use]
    pub fn render(&self, width: Option<usize>) -> String {
        let natural: Vec<usize> = (0..self.columns.len()).map(|at| self.natural(at)).collect();
        let shown = self.choose(&natural, width);
        let widths = self.shrink(&shown, &natural, width);
        let mut text = String::new();
        let headers: Vec<&str> = self.columns.iter().map(|column| column.header.as_str()).collect();
        text.push_str(&self.line(&headers, &shown, &widths, width));
        for row in &self.rows {
            let cells: Vec<&str> = row.iter().map(String::as_str).collect();
            text.push_str(&self.line(&cells, &shown, &widths, width));
        }
        text.push_str(&self.left_out(&shown, width));
        text
    }

    fn natural(&self, at: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(at)).map(|cell| text_width(cell));
        cells.max().unwrap_or(0).max(text_width(&self.columns[at].header))
    }

    fn least(&self, at: usize, natural: &[usize]) -> usize {
        if self.columns[at].shrinks { natural[at].min(LEAST) } else { natural[at] }
    }

    /// The columns that stay: the lowest ranks that fit when everything that shrinks has shrunk.
    fn choose(&self, natural: &[usize], width: Option<usize>) -> Vec<usize> {
        let mut shown: Vec<usize> = (0..self.columns.len()).collect();
        let Some(width) = width else { return shown };
        loop {
            let least: Vec<usize> = shown.iter().map(|at| self.least(*at, natural)).collect();
            if total(&least) <= width {
                return shown;
            }
            let ranked = shown.iter().filter_map(|at| Some((self.columns[*at].leaves?, *at)));
            let Some((_, leaving)) = ranked.max() else { return shown };
            shown.retain(|at| *at != leaving);
        }
    }

    /// Takes columns away from the widest shrinking column until the line fits.
    fn shrink(&self, shown: &[usize], natural: &[usize], width: Option<usize>) -> Vec<usize> {
        let mut widths: Vec<usize> = shown.iter().map(|at| natural[*at]).collect();
        let Some(width) = width else { return widths };
        while total(&widths) > width {
            let shrinking = (0..shown.len()).filter(|place| {
                self.columns[shown[*place]].shrinks
                    && widths[*place] > LEAST.min(natural[shown[*place]])
            });
            match shrinking.max_by_key(|place| widths[*place]) {
                Some(place) => widths[place] -= 1,
                None => break,
            }
        }
        widths
    }

    fn line(
        &self,
        cells: &[&str],
        shown: &[usize],
        widths: &[usize],
        limit: Option<usize>,
    ) -> String {
        let fitted: Vec<String> = shown
            .iter()
            .zip(widths)
            .map(|(at, width)| {
                let cell = shorten(cells[*at], *width);
                match self.columns[*at].align {
                    Align::Left => pad_right(&cell, *width),
                    Align::Right => pad_left(&cell, *width),
                }
            })
            .collect();
        let line = fitted.join(&" ".repeat(GAP));
        let line = line.trim_end();
        // Only a table whose columns cannot give way is still too wide here.
        format!("{}\n", limit.map_or_else(|| line.to_string(), |limit| shorten(line, limit)))
    }

    fn left_out(&self, shown: &[usize], width: Option<usize>) -> String {
        let missing = (0..self.columns.len()).filter(|at| !shown.contains(at));
        let names: Vec<&str> = missing.map(|at| self.columns[at].header.as_str()).collect();
        if names.is_empty() {
            return String::new();
        }
        let text = format!("no room here for: {}", names.join(", "));
        let lines = wrap(&text, width.unwrap_or(usize::MAX));
        format!("{}\n", lines.join("\n"))
    }
}

fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let columns = [
            Column::left("model").shrinks(),
            Column::right("median"),
            Column::left("device").leaves(1),
            Column::left("tags").leaves(2),
        ];
        Table::new(columns)
            .row(["distilbert-base-uncased", "245.1 ms", "cpu", "nightly"])
            .row(["gpt2", "31.2 ms", "cuda:0", ""])
    }

    #[test]
    fn words_stand_left_and_numbers_right() {
        let text = table().render(None);
        assert_eq!(
            text,
            "model                      median  device  tags\n\
             distilbert-base-uncased  245.1 ms  cpu     nightly\n\
             gpt2                      31.2 ms  cuda:0\n"
        );
    }

    #[test]
    fn a_shrinking_column_gives_way_before_a_column_leaves() {
        let text = table().render(Some(42));
        assert!(text.contains("distilb…uncased"), "{text}");
        assert!(text.contains("nightly"), "{text}");
    }

    #[test]
    fn the_highest_rank_leaves_first_and_is_named() {
        let text = table().render(Some(32));
        assert!(text.contains("device") && !text.contains("nightly"), "{text}");
        assert!(text.contains("no room here for: tags"), "{text}");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for width in 5..80 {
            for line in table().render(Some(width)).lines() {
                assert!(text_width(line) <= width, "{width}: {line}");
            }
        }
    }

    #[test]
    fn cells_from_outside_cannot_paint() {
        let text = Table::new([Column::left("name")]).row(["\u{1b}[31mred\nline"]).render(None);
        assert_eq!(text, "name\nred line\n");
    }
}
