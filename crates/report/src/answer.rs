//! What a database answered to somebody's question: rows of whatever was asked for, as text, JSON and CSV.

use crate::csv::{number, text};
use crate::document::to_json;
use crate::result::{Block, DataTable, ResultDocument};
use crate::sheet::Grid;
use crate::table::Column;
use number::MISSING;
use schemars::JsonSchema;
use serde::Serialize;

/// The name and version of an answer's JSON.
pub const ANSWER_SCHEMA: &str = "modelmeter.query/1";

/// Characters of a cell that a terminal is shown; a document in a cell would bury the rest.
const LONGEST: usize = 200;

/// A value of a query's result.
#[derive(Debug, Clone, PartialEq)]
pub enum Field {
    /// Nothing.
    Missing,
    /// A whole number.
    Whole(i64),
    /// Any other number, every digit of which is shown.
    Real(f64),
    /// Text.
    Text(String),
    /// Bytes, shown as hexadecimal digits.
    Bytes(Vec<u8>),
}

impl Field {
    fn is_number(&self) -> bool {
        matches!(self, Field::Whole(_) | Field::Real(_))
    }

    fn shown(&self) -> String {
        match self {
            Field::Missing => MISSING.into(),
            Field::Whole(number) => number.to_string(),
            Field::Real(number) => format!("{number:?}"),
            Field::Text(text) if text.chars().count() > LONGEST => {
                format!("{}…", text.chars().take(LONGEST).collect::<String>())
            }
            Field::Text(text) => text.clone(),
            Field::Bytes(bytes) if bytes.len() > LONGEST / 2 => {
                format!("{}…", hexadecimal(&bytes[..LONGEST / 2]))
            }
            Field::Bytes(bytes) => hexadecimal(bytes),
        }
    }

    fn json(&self) -> FieldDocument<'_> {
        match self {
            Field::Missing => FieldDocument::Missing,
            Field::Whole(number) => FieldDocument::Whole(*number),
            Field::Real(number) => FieldDocument::Real(*number),
            Field::Text(text) => FieldDocument::Text(text),
            Field::Bytes(bytes) => FieldDocument::Bytes(hexadecimal(bytes)),
        }
    }

    fn cell(&self) -> Option<String> {
        match self {
            Field::Missing => None,
            Field::Whole(whole) => Some(whole.to_string()),
            Field::Real(real) => number(*real),
            Field::Text(words) => text(words),
            Field::Bytes(bytes) => Some(hexadecimal(bytes)),
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The answer as a result: `modelmeter.query/1`.
#[must_use]
pub fn answer_document(columns: &[String], rows: &[Vec<Field>], is_cut: bool) -> ResultDocument {
    let names = columns.iter().map(|name| text(name).unwrap_or_default());
    let cells = rows.iter().map(|row| row.iter().map(Field::cell).collect());
    ResultDocument {
        title: vec!["Query".into()],
        is_list: true,
        blocks: vec![Block::table("rows", grid(columns, rows))],
        json: to_json(&AnswerDocument {
            schema: ANSWER_SCHEMA,
            columns,
            rows: rows.iter().map(|row| row.iter().map(Field::json).collect()).collect(),
            is_cut,
        }),
        data: Some(DataTable::new(names, cells)),
        ..ResultDocument::default()
    }
}

/// Columns of numbers stand right.
fn grid(columns: &[String], rows: &[Vec<Field>]) -> Grid {
    let numeric = |at: usize| {
        let mut fields =
            rows.iter().filter_map(|row| row.get(at)).filter(|f| **f != Field::Missing);
        fields.clone().next().is_some() && fields.all(Field::is_number)
    };
    let mut grid = Grid::of(columns.iter().enumerate().map(|(at, name)| {
        if numeric(at) { Column::right(name) } else { Column::left(name).shrinks() }
    }));
    for row in rows {
        grid.row(row.iter().map(Field::shown));
    }
    grid
}

/// The result of a database query.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AnswerDocument<'a> {
    #[schemars(extend("const" = ANSWER_SCHEMA))]
    schema: &'static str,
    columns: &'a [String],
    /// In the order of the result; each row has one value for each column.
    rows: Vec<Vec<FieldDocument<'a>>>,
    /// Whether there are more rows.
    is_cut: bool,
}

/// A value of a query's result.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Field")]
enum FieldDocument<'a> {
    Missing,
    Whole(i64),
    /// Null if it is not finite.
    #[schemars(with = "Option<f64>")]
    Real(f64),
    Text(&'a str),
    /// Hexadecimal digits.
    Bytes(String),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::Style;
    use serde_json::json;

    fn answer() -> (Vec<String>, Vec<Vec<Field>>) {
        let rows = vec![
            vec![Field::Text("=bert".into()), Field::Real(0.25), Field::Bytes(vec![0, 255])],
            vec![Field::Missing, Field::Whole(7), Field::Missing],
        ];
        (["name", "median", "raw"].map(str::to_owned).to_vec(), rows)
    }

    #[test]
    fn an_answer_is_the_same_in_every_form() {
        let (columns, rows) = answer();
        let answer = answer_document(&columns, &rows, false);
        let table = answer.terminal(&Style::default(), None);
        assert!(table.contains("=bert") && table.contains("0.25") && table.contains("00ff"));
        assert_eq!(answer.json["rows"], json!([["=bert", 0.25, "00ff"], [null, 7, null]]));
        assert_eq!(answer.csv(), "name,median,raw\r\n'=bert,0.25,00ff\r\n,7,\r\n");
    }

    #[test]
    fn a_cell_cannot_touch_the_terminal_or_bury_the_rest() {
        let columns = vec!["evil\u{1b}[2J".to_owned()];
        let rows = vec![vec![Field::Text(format!("\u{1b}[2J{}", "x".repeat(10_000)))]];
        let table = answer_document(&columns, &rows, false).terminal(&Style::default(), None);
        assert!(!table.contains('\u{1b}') && table.len() < 2_000, "{table:?}");
    }
}
