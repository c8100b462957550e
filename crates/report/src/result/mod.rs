//! A result as one neutral value: title, facts, tables, notes, verdict, pictures. Every format renders this value, so that a
//! result is put into words once and a new format is one file.
//!
//! Cells and sentences are words already, numbers formatted; nothing is escaped. What programs read (JSON, CSV) stands
//! beside the words, with every digit.

mod csv;
mod markdown;
mod terminal;
mod text_chart;

pub use text_chart::TextChart;

use crate::csv::write_rows;
use crate::sheet::Grid;
use serde_json::Value;

/// How good news is. Colour and signs follow from it; the words say it too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    /// Neither good nor bad.
    #[default]
    Plain,
    /// As hoped.
    Good,
    /// To be noted.
    Warning,
    /// Not as hoped.
    Bad,
}

/// A label and what it stands for: `floor  2.1 %`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fact {
    /// The label.
    pub label: String,
    /// Short pieces, joined by dots where they fit on a line.
    pub pieces: Vec<String>,
    /// How good it is.
    pub tone: Tone,
    /// Whether it is a command line that can be run as it stands.
    pub is_command: bool,
}

impl Fact {
    /// A plain fact.
    #[must_use]
    pub fn new(label: &str, text: impl Into<String>) -> Fact {
        Fact { label: label.to_owned(), pieces: vec![text.into()], ..Fact::default() }
    }

    /// A command line.
    #[must_use]
    pub fn command(label: &str, command: impl Into<String>) -> Fact {
        Fact { is_command: true, ..Fact::new(label, command) }
    }
}

/// A sentence beside the numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Note {
    /// The sentence.
    pub text: String,
    /// How good it is.
    pub tone: Tone,
    /// The sign in a table that it explains.
    pub mark: Option<&'static str>,
}

impl Note {
    /// A sentence with a tone.
    #[must_use]
    pub fn of(tone: Tone, text: impl Into<String>) -> Note {
        Note { text: text.into(), tone, mark: None }
    }

    /// A plain sentence.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Note {
        Note::of(Tone::Plain, text)
    }

    /// A sentence that a reader should not miss.
    #[must_use]
    pub fn warning(text: impl Into<String>) -> Note {
        Note::of(Tone::Warning, text)
    }

    /// What a sign in a table means.
    #[must_use]
    pub fn marked(mark: &'static str, tone: Tone, text: impl Into<String>) -> Note {
        Note { mark: Some(mark), ..Note::of(tone, text) }
    }
}

/// A drawing, as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct ResultPicture {
    /// What it shows, for those who cannot see it.
    pub title: String,
    /// The drawing as SVG without anything active in it; the crate that drew it escaped what came from outside.
    pub svg: String,
    /// The same for phones, if its words would be too small there.
    pub narrow: Option<String>,
}

/// A part of a result, in the order in which it is read.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// The name of what follows.
    Heading(String),
    /// Labels and what they stand for.
    Facts(Vec<Fact>),
    /// A table and what it is called.
    Table {
        /// Its name, for those who cannot see it.
        name: String,
        /// The table.
        grid: Grid,
        /// What a terminal shows where the table does not fit, the best first: tables below each other.
        narrower: Vec<Vec<Grid>>,
    },
    /// Sentences.
    Notes(Vec<Note>),
    /// A chart of characters; only a terminal shows it.
    Chart(TextChart),
    /// A picture; only formats that can show it do.
    Picture(ResultPicture),
    /// Parts under a name that a document opens when they are wanted.
    Details {
        /// What they are about.
        title: String,
        /// The parts.
        blocks: Vec<Block>,
    },
}

impl Block {
    /// A table that gives way by itself where it does not fit.
    #[must_use]
    pub fn table(name: &str, grid: Grid) -> Block {
        Block::Table { name: name.to_owned(), grid, narrower: Vec::new() }
    }
}

/// Rows for programs: names with units, every digit, an empty cell where there is nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DataTable {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

impl DataTable {
    /// A table; `None` is an empty cell.
    #[must_use]
    pub fn new<S: Into<String>>(
        columns: impl IntoIterator<Item = S>,
        rows: impl IntoIterator<Item = Vec<Option<String>>>,
    ) -> DataTable {
        let whole = |row: Vec<Option<String>>| row.into_iter().map(Option::unwrap_or_default);
        DataTable {
            columns: columns.into_iter().map(Into::into).collect(),
            rows: rows.into_iter().map(|row| whole(row).collect()).collect(),
        }
    }

    fn text(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(String::as_str).collect();
        let mut out = Vec::new();
        write_rows(&names, self.rows.iter().cloned(), &mut out)
            .expect("a vector takes every write");
        String::from_utf8(out).expect("every cell is a string")
    }
}

/// A result as every format renders it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResultDocument {
    /// What it is about, in short pieces.
    pub title: Vec<String>,
    /// Whether it is a list: a terminal then shows its tables alone, as pipes expect them.
    pub is_list: bool,
    /// What holds for all of it, in short pieces.
    pub facts: Vec<String>,
    /// What it comes to, where it comes to something.
    pub verdict: Option<Note>,
    /// Its parts.
    pub blocks: Vec<Block>,
    /// What is said last, in short pieces: where the result is kept.
    pub footer: Vec<String>,
    /// The same for programs; its field `schema` says what it is.
    pub json: Value,
    /// The same as rows for programs; where there is none, the tables are written as they are shown.
    pub data: Option<DataTable>,
    /// A page that shows more than these parts, if there is one.
    pub page: Option<String>,
}

impl ResultDocument {
    /// As indented JSON.
    #[must_use]
    pub fn json_text(&self) -> String {
        format!("{:#}\n", self.json)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::sheet::Side;
    use crate::style::Style;
    use serde_json::json;

    pub(crate) fn document() -> ResultDocument {
        let mut grid = Grid::new(&[("engine", Side::Left), ("median", Side::Right)]);
        grid.row(["rten|x", "1.5 ms"]);
        grid.row(["=torch", "–"]);
        ResultDocument {
            title: vec!["distil_bert".into(), "random weights".into()],
            is_list: false,
            facts: vec!["batch 4".into()],
            verdict: Some(Note::of(Tone::Good, "2 held")),
            blocks: vec![
                Block::Heading("Engines".into()),
                Block::table("engines", grid),
                Block::Facts(vec![
                    Fact::new("floor", "2 %"),
                    Fact::command("again", "modelmeter noise"),
                ]),
                Block::Notes(vec![Note::warning("other work <b> disturbed it")]),
            ],
            json: json!({ "schema": "modelmeter.test/1" }),
            ..ResultDocument::default()
        }
    }

    #[test]
    fn a_terminal_shows_every_part() {
        assert_eq!(
            document().terminal(&Style::plain(60), None),
            "distil_bert · random weights\nbatch 4\n\nEngines\nengine  median\nrten|x  1.5 ms\n=torch       –\n\n\
             floor  2 %\nagain  modelmeter noise\n\n- other work <b> disturbed it\n\n2 held\n"
        );
    }

    #[test]
    fn markdown_says_the_verdict_first_and_escapes() {
        assert_eq!(
            document().markdown(),
            "# distil\\_bert · random weights\n\n**✅ 2 held**\n\nbatch 4\n\n## Engines\n\n| engine | median |\n| --- | ---: |\n\
             | rten\\|x | 1.5 ms |\n| =torch | – |\n\n- floor: 2 %\n- again: `modelmeter noise`\n\n\
             - other work &lt;b> disturbed it\n"
        );
    }

    #[test]
    fn rows_are_those_for_programs_or_the_tables_as_shown() {
        assert_eq!(document().csv(), "engine,median\r\nrten|x,1.5 ms\r\n'=torch,\r\n");
        let data = DataTable::new(["a_ms"], [vec![Some("1.25".into())], vec![None]]);
        let whole = ResultDocument { data: Some(data), ..document() };
        assert_eq!(whole.csv(), "a_ms\r\n1.25\r\n\"\"\r\n");
    }

    #[test]
    fn no_line_of_a_terminal_is_too_long() {
        let mut long = document();
        long.facts = vec!["word ".repeat(40)];
        long.blocks.push(Block::Facts(vec![Fact::new(&"label".repeat(30), "word ".repeat(60))]));
        for line in long.terminal(&Style::plain(60), Some(60)).lines() {
            assert!(crate::wrap::text_width(line) <= 60, "{line}");
        }
    }
}
