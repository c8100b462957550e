//! A small table of strings for every command that lists something: aligned, and fitted to the width.

use crate::clean::clean;
use crate::sheet::Side;
use crate::style::{Colour, Style};
use crate::wrap::{cut, pad_left, pad_right, shorten, text_width, wrap};
use std::borrow::Cow;

const GAP: usize = 2;
/// Behind a number that needs a remark.
const MARK: char = '*';
/// A shrinking column keeps at least so much, or its cells say nothing.
const LEAST: usize = 12;
/// A wrapping column keeps at least so much, or its sentences become a list of words.
const LEAST_PROSE: usize = 24;

/// What is left of both where nothing else can give way.
const LAST_RESORT: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Align {
    Left,
    Right,
}

/// What the cells of a column do when there is too little room for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Overflow {
    Stays,
    Shrinks,
    Wraps,
}

/// When a column may be left out: those before come first, within each the highest rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Leaves {
    AfterShrinking(u8),
    BeforeShrinking(u8),
}

/// One column: its header, its alignment, and what it does when there is too little room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    header: String,
    align: Align,
    overflow: Overflow,
    leaves: Option<Leaves>,
    /// What stands between the two numbers of a cell.
    sign: Option<char>,
}

impl Column {
    /// A column of words.
    #[must_use]
    pub fn left(header: &str) -> Column {
        let header = clean(header);
        Column { header, align: Align::Left, overflow: Overflow::Stays, leaves: None, sign: None }
    }

    /// A column of numbers.
    #[must_use]
    pub fn right(header: &str) -> Column {
        Column { align: Align::Right, ..Column::left(header) }
    }

    /// A column of two numbers with a sign between them, which stands below itself in every row.
    #[must_use]
    pub fn pair(header: &str, sign: char) -> Column {
        Column { sign: Some(sign), ..Column::right(header) }
    }

    /// Its cells may be shortened in the middle, once every column that `leaves` is gone.
    #[must_use]
    pub fn shrinks(mut self) -> Column {
        self.overflow = Overflow::Shrinks;
        self
    }

    /// Its cells continue on further lines, in the same column.
    #[must_use]
    pub fn wraps(mut self) -> Column {
        self.overflow = Overflow::Wraps;
        self
    }

    /// It may be left out, those with the highest rank first; the table then names what it left out.
    #[must_use]
    pub fn leaves(mut self, rank: u8) -> Column {
        self.leaves = Some(Leaves::BeforeShrinking(rank));
        self
    }

    /// It may be left out too, but only where shortening other cells is not enough.
    #[must_use]
    pub fn leaves_late(mut self, rank: u8) -> Column {
        self.leaves = Some(Leaves::AfterShrinking(rank));
        self
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.header
    }

    /// Which side its cells stand on.
    #[must_use]
    pub fn side(&self) -> Side {
        match self.align {
            Align::Left => Side::Left,
            Align::Right => Side::Right,
        }
    }

    /// The narrowest it can be, given how wide it would like to be.
    fn least(&self, natural: usize) -> usize {
        match self.overflow {
            Overflow::Stays => natural,
            Overflow::Shrinks => natural.min(LEAST),
            Overflow::Wraps => natural.min(LEAST_PROSE),
        }
    }
}

/// A table of strings.
#[derive(Debug, Clone)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
    /// Which rows are headings.
    headings: Vec<usize>,
    /// Which rows go across all columns.
    across: Vec<usize>,
    style: Style,
}

impl Table {
    /// An empty table with these columns.
    #[must_use]
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Table {
        let columns = columns.into_iter().collect();
        Table {
            columns,
            rows: Vec::new(),
            headings: Vec::new(),
            across: Vec::new(),
            style: Style::default(),
        }
    }

    /// Paints the headers where the style has colour; the width is still told to `render`.
    #[must_use]
    pub fn painted(mut self, style: &Style) -> Table {
        self.style = *style;
        self
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

    /// Adds a row whose first cell is set in by so many steps: a tree's branch.
    pub fn push_branch<S: AsRef<str>>(&mut self, depth: usize, cells: impl IntoIterator<Item = S>) {
        self.push(cells);
        if let Some(first) = self.rows.last_mut().and_then(|row| row.first_mut()) {
            first.insert_str(0, &" ".repeat(GAP * depth));
        }
    }

    /// Adds a line across all columns, which names the rows below it; it may be shortened.
    pub fn push_across(&mut self, name: &str) {
        self.across.push(self.rows.len());
        self.push([name]);
    }

    /// Begins a part of the table under a heading of its own, in the same columns.
    pub fn push_heading(&mut self, heading: &str) {
        self.push([""; 0]);
        self.headings.push(self.rows.len());
        self.push([heading]);
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Columns of the terminal that it needs to show everything whole.
    #[must_use]
    pub fn full_width(&self) -> usize {
        total(&self.aligned().natural())
    }

    /// The table in at most `width` columns; `None`, if there is no terminal, shows everything whole.
    #[must_use]
    pub fn render(&self, width: Option<usize>) -> String {
        self.aligned().render_aligned(width)
    }

    /// The signs of all pairs below each other, and numbers with and without a mark too: cells stand right, so what
    /// follows the sign gets one width, and what has no mark a space.
    fn aligned(&self) -> Cow<'_, Table> {
        let mut table = Cow::Borrowed(self);
        for (at, column) in
            self.columns.iter().enumerate().filter(|(_, column)| column.align == Align::Right)
        {
            let cells = || self.rows.iter().filter_map(|row| row.get(at)).map(String::as_str);
            if cells().any(|cell| cell.ends_with(MARK)) {
                let unmarked = table.to_mut().rows.iter_mut().filter_map(|row| row.get_mut(at));
                unmarked.filter(|cell| !cell.ends_with(MARK)).for_each(|cell| cell.push(' '));
            }
            let Some(sign) = column.sign else { continue };
            let after =
                |text: &str| text.split_once(sign).map(|(_, after)| text_width(after.trim()));
            let wide = cells().chain([column.header.as_str()]).filter_map(after).max().unwrap_or(0);
            let align = |text: &mut String| {
                if let Some((before, after)) = text.split_once(sign) {
                    *text = format!("{before}{sign} {}", pad_left(after.trim(), wide));
                }
            };
            let table = table.to_mut();
            align(&mut table.columns[at].header);
            table.rows.iter_mut().filter_map(|row| row.get_mut(at)).for_each(align);
        }
        table
    }

    fn render_aligned(&self, width: Option<usize>) -> String {
        let natural = self.natural();
        let shown = self.choose(&natural, width);
        let widths = self.narrow(&shown, &natural, width);
        let headers: Vec<String> =
            self.columns.iter().map(|column| column.header.clone()).collect();
        let mut text = String::new();
        for line in self.lines(&headers, &shown, &widths, width) {
            text.push_str(&format!("{}\n", self.style.paint(&line, Colour::Title)));
        }
        for (at, row) in self.rows.iter().enumerate() {
            if self.across.contains(&at) {
                let name = row.first().map_or("", String::as_str);
                let name = width.map_or_else(|| name.to_owned(), |width| shorten(name, width));
                text.push_str(&format!("{}\n", self.style.paint(&name, Colour::Label)));
                continue;
            }
            for line in self.lines(row, &shown, &widths, width) {
                let is_heading = self.headings.contains(&at);
                let line = if is_heading { self.style.paint(&line, Colour::Title) } else { line };
                text.push_str(&format!("{line}\n"));
            }
        }
        text.push_str(&self.left_out(&shown, width));
        text
    }

    fn natural(&self) -> Vec<usize> {
        let widest = |at: usize| {
            let rows = self.rows.iter().enumerate().filter(|(row, _)| !self.across.contains(row));
            let cells = rows.filter_map(|(_, row)| row.get(at)).map(|cell| text_width(cell));
            cells.max().unwrap_or(0).max(text_width(&self.columns[at].header))
        };
        (0..self.columns.len()).map(widest).collect()
    }

    /// The columns that stay. A name is whole as long as a column can leave for it; what leaves late stays
    /// until names are as short as they get.
    fn choose(&self, natural: &[usize], width: Option<usize>) -> Vec<usize> {
        let mut shown: Vec<usize> = (0..self.columns.len()).collect();
        let Some(width) = width else { return shown };
        loop {
            let ranked = shown.iter().filter_map(|at| Some((self.columns[*at].leaves?, *at)));
            let Some((leaves, leaving)) = ranked.max() else { return shown };
            let needed = shown.iter().map(|at| {
                let column = &self.columns[*at];
                let early = matches!(leaves, Leaves::BeforeShrinking(_));
                let whole =
                    early && column.overflow == Overflow::Shrinks && column.leaves.is_none();
                if whole { natural[*at] } else { column.least(natural[*at]) }
            });
            if total(&needed.collect::<Vec<_>>()) <= width {
                return shown;
            }
            shown.retain(|at| *at != leaving);
        }
    }

    /// Takes from the widest column that can give until the line fits, from sentences before names.
    fn narrow(&self, shown: &[usize], natural: &[usize], width: Option<usize>) -> Vec<usize> {
        let mut widths: Vec<usize> = shown.iter().map(|at| natural[*at]).collect();
        let Some(width) = width else { return widths };
        // In the end a scrap of a name is better than half of a number.
        let passes = [
            (Overflow::Wraps, LEAST_PROSE),
            (Overflow::Shrinks, LEAST),
            (Overflow::Wraps, LAST_RESORT),
            (Overflow::Shrinks, LAST_RESORT),
        ];
        for (overflow, least) in passes {
            while total(&widths) > width {
                let giving = (0..shown.len()).filter(|place| {
                    self.columns[shown[*place]].overflow == overflow && widths[*place] > least
                });
                match giving.max_by_key(|place| widths[*place]) {
                    Some(place) => widths[place] -= 1,
                    None => break,
                }
            }
        }
        widths
    }

    /// One row: a line, or as many as its longest wrapped cell needs.
    fn lines(
        &self,
        cells: &[String],
        shown: &[usize],
        widths: &[usize],
        limit: Option<usize>,
    ) -> Vec<String> {
        let fitted: Vec<Vec<String>> = shown
            .iter()
            .zip(widths)
            .map(|(at, width)| match self.columns[*at].overflow {
                Overflow::Wraps => wrap(&cells[*at], *width),
                Overflow::Stays | Overflow::Shrinks => vec![shorten(&cells[*at], *width)],
            })
            .collect();
        let height = fitted.iter().map(Vec::len).max().unwrap_or(0);
        let line = |index: usize| {
            let padded = shown.iter().zip(widths).zip(&fitted).map(|((at, width), cell)| {
                let text = cell.get(index).map_or("", String::as_str);
                match self.columns[*at].align {
                    Align::Left => pad_right(text, *width),
                    Align::Right => pad_left(text, *width),
                }
            });
            let line = padded.collect::<Vec<_>>().join(&" ".repeat(GAP));
            // Only a table whose columns cannot give way is still too wide; cut at the end, columns stay columns.
            let line = limit.map_or_else(|| line.clone(), |limit| cut(line.trim_end(), limit));
            line.trim_end().to_string()
        };
        (0..height).map(line).collect()
    }

    fn left_out(&self, shown: &[usize], width: Option<usize>) -> String {
        let missing = (0..self.columns.len()).filter(|at| !shown.contains(at));
        let names: Vec<&str> = missing.map(|at| self.columns[at].header.as_str()).collect();
        if names.is_empty() {
            return String::new();
        }
        let text = format!("hidden columns (terminal too narrow): {}", names.join(", "));
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
    fn a_name_is_whole_as_long_as_a_column_can_leave() {
        let text = table().render(Some(42));
        assert!(text.contains("distilbert-base-uncased") && text.contains("device"), "{text}");
        assert!(text.contains("hidden columns (terminal too narrow): tags"), "{text}");
        let text = table().render(Some(30));
        assert!(text.contains("distilbert…e-uncased"), "{text}");
        let words = text.replace('\n', " ");
        assert!(words.contains("hidden columns (terminal too narrow): device, tags"), "{text}");
    }

    #[test]
    fn what_leaves_late_stays_until_names_are_short() {
        let columns = [Column::left("model").shrinks(), Column::right("batch").leaves_late(1)];
        let table = Table::new(columns).row(["distilbert-base-uncased", "4×128"]);
        let text = table.render(Some(20));
        assert!(text.contains("4×128") && text.contains('…'), "{text}");
        assert!(table.render(Some(18)).contains("hidden columns"), "{text}");
    }

    #[test]
    fn a_sentence_continues_in_its_own_column() {
        let columns = [Column::left("probe"), Column::left("what").wraps()];
        let table = Table::new(columns).row(["rapl", "no counter answers; load the module `x y`"]);
        assert_eq!(
            table.render(Some(32)),
            "probe  what\n\
             rapl   no counter answers; load\n       the module `x y`\n"
        );
        assert_eq!(table.render(None).lines().count(), 2);
    }

    #[test]
    fn a_table_that_cannot_give_way_keeps_its_columns_below_each_other() {
        let table = Table::new([Column::right("median"), Column::right("throughput")])
            .row(["1 ms", "12"])
            .row(["1,234.5 ms", "1,234"]);
        let text = table.render(Some(14));
        assert_eq!(text, "    median  t…\n      1 ms   …\n1,234.5 ms   …\n");
    }

    #[test]
    fn signs_of_a_pair_stand_below_each_other() {
        let columns = [Column::left("phase"), Column::pair("mean ± std", '±')];
        let table =
            Table::new(columns).row(["model", "12.5 ± 0.25"]).row(["load", "9.75 ± 10.125"]);
        assert_eq!(
            table.render(None),
            "phase  mean ±    std\n\
             model  12.5 ±   0.25\n\
             load   9.75 ± 10.125\n"
        );
    }

    #[test]
    fn a_mark_behind_a_number_does_not_move_the_number() {
        let table = Table::new([Column::right("p99")]).row(["12.5*"]).row(["9.75"]);
        assert_eq!(table.render(None), "  p99\n12.5*\n9.75\n");
    }

    #[test]
    fn colour_paints_headers_only() {
        let text = table().painted(&Style { colour: true, width: 80 }).render(None);
        let (header, rows) = text.split_once('\n').expect("a table has lines");
        assert!(header.starts_with("\u{1b}[1mmodel") && !rows.contains('\u{1b}'), "{text}");
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
