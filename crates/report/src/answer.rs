//! What a database answered to somebody's question: rows of whatever was asked for, as text, JSON and CSV.

use crate::csv::{number, text, write_rows};
use crate::number::MISSING;
use crate::style::Style;
use crate::table::{Column, Table};
use serde_json::{Value, json};

/// The name and version of an answer's JSON.
pub const ANSWER_SCHEMA: &str = "modelmeter.query/1";

/// Characters of a cell that a terminal is shown; a document in a cell would bury the rest.
const LONGEST: usize = 200;

/// A value of an answer.
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

    fn json(&self) -> Value {
        match self {
            Field::Missing => Value::Null,
            Field::Whole(number) => json!(number),
            // What is no number in JSON is null.
            Field::Real(number) => json!(number),
            Field::Text(text) => json!(text),
            Field::Bytes(bytes) => json!(hexadecimal(bytes)),
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

/// The answer as a table; columns of numbers stand right.
#[must_use]
pub fn answer_table(
    columns: &[String],
    rows: &[Vec<Field>],
    style: &Style,
    width: Option<usize>,
) -> String {
    let numeric = |at: usize| {
        let mut fields =
            rows.iter().filter_map(|row| row.get(at)).filter(|f| **f != Field::Missing);
        fields.clone().next().is_some() && fields.all(Field::is_number)
    };
    let header = columns.iter().enumerate().map(|(at, name)| {
        if numeric(at) { Column::right(name) } else { Column::left(name).shrinks() }
    });
    let mut table = Table::new(header).painted(style);
    for row in rows {
        table.push(row.iter().map(Field::shown));
    }
    table.render(width)
}

/// The answer as JSON: `modelmeter.query/1`.
#[must_use]
pub fn answer_json(columns: &[String], rows: &[Vec<Field>], is_cut: bool) -> Value {
    let rows: Vec<Vec<Value>> =
        rows.iter().map(|row| row.iter().map(Field::json).collect()).collect();
    json!({ "schema": ANSWER_SCHEMA, "columns": columns, "rows": rows, "is_cut": is_cut })
}

/// The answer as CSV, header first; missing is an empty cell.
#[must_use]
pub fn answer_csv(columns: &[String], rows: &[Vec<Field>]) -> String {
    let names: Vec<String> = columns.iter().map(|name| text(name).unwrap_or_default()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let rows = rows.iter().map(|row| row.iter().map(|f| f.cell().unwrap_or_default()).collect());
    let mut out = Vec::new();
    write_rows(&names, rows, &mut out).expect("a vector takes every write");
    String::from_utf8(out).expect("every cell is a string")
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let table = answer_table(&columns, &rows, &Style::default(), None);
        assert!(table.contains("=bert") && table.contains("0.25") && table.contains("00ff"));
        assert_eq!(
            answer_json(&columns, &rows, false)["rows"],
            json!([["=bert", 0.25, "00ff"], [null, 7, null]])
        );
        assert_eq!(answer_csv(&columns, &rows), "name,median,raw\r\n'=bert,0.25,00ff\r\n,7,\r\n");
    }

    #[test]
    fn a_cell_cannot_touch_the_terminal_or_bury_the_rest() {
        let columns = vec!["evil\u{1b}[2J".to_owned()];
        let rows = vec![vec![Field::Text(format!("\u{1b}[2J{}", "x".repeat(10_000)))]];
        let table = answer_table(&columns, &rows, &Style::default(), None);
        assert!(!table.contains('\u{1b}') && table.len() < 2_000, "{table:?}");
    }
}
