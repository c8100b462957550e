//! Flat columns as CSV: one header, one row per run, quoted by RFC 4180, every digit of a number.
//!
//! Names come from outside. Text that a spreadsheet would take for a formula gets an apostrophe in front, and so does
//! text that begins with one, so that reading can take it away again. Numbers are left alone.

use super::flat::{Cell, columns};
use crate::WriteError;
use std::io::Write;
use types::Run;

/// What makes a spreadsheet calculate.
const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// The header.
pub(crate) fn header<W: Write>(out: &mut csv::Writer<W>) -> Result<(), WriteError> {
    out.write_record(columns().iter().map(|column| column.name)).map_err(std::io::Error::from)?;
    Ok(())
}

/// A row.
pub(crate) fn row<W: Write>(run: &Run, out: &mut csv::Writer<W>) -> Result<(), WriteError> {
    let cells = columns().iter().map(|column| (column.cell)(run).map_or_else(String::new, spell));
    out.write_record(cells).map_err(std::io::Error::from)?;
    Ok(())
}

fn spell(cell: Cell) -> String {
    match cell {
        Cell::Text(text) => guard(text),
        Cell::Whole(count) => count.to_string(),
        Cell::Real(number) => number.to_string(),
        Cell::Flag(flag) => flag.to_string(),
        Cell::Moment(micros) => clock::rfc3339(micros),
    }
}

fn guard(text: String) -> String {
    if text.starts_with(FORMULA) || text.starts_with('\'') { format!("'{text}") } else { text }
}

/// The text without the apostrophe that was put in front of it.
pub(crate) fn unguard(text: &str) -> &str {
    match text.strip_prefix('\'') {
        Some(rest) if rest.starts_with(FORMULA) || rest.starts_with('\'') => rest,
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_formula_is_guarded_and_comes_back() {
        for text in ["=1+1", "+x", "-x", "@x", "'x", "''=", "plain", "", "\tx"] {
            let guarded = guard(text.to_owned());
            assert!(!guarded.starts_with(FORMULA));
            assert_eq!(unguard(&guarded), text);
        }
        assert_eq!(spell(Cell::Real(-0.5)), "-0.5");
    }
}
