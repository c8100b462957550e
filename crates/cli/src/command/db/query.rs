//! `modelmeter db query`: a question in SQL, answered as a table, JSON or CSV.

use crate::{
    Exit, Failure, Sinks,
    arguments::{DbQuery, Global},
    command::{open_existing_store, table_width},
    output,
};
use report::Field;
use store::Datum;

pub(super) fn run(arguments: &DbQuery, global: &Global) -> Result<Exit, Failure> {
    arguments.result.check([])?;
    let store = open_existing_store(global)?;
    let answer = store.query(&arguments.sql, (arguments.limit > 0).then_some(arguments.limit))?;
    let rows: Vec<Vec<Field>> =
        answer.rows.into_iter().map(|row| row.into_iter().map(field).collect()).collect();
    let mut sinks = Sinks::new(global);
    let document = report::answer_document(&answer.columns, &rows, answer.is_cut);
    sinks.list(&document, &arguments.result, table_width());
    if answer.is_cut {
        let limit = report::count(arguments.limit as u64);
        output::complain(&format!("there are more than {limit} rows; `--limit 0` shows all\n"));
    }
    Ok(sinks.finish(Exit::Fine))
}

fn field(datum: Datum) -> Field {
    match datum {
        Datum::Null => Field::Missing,
        Datum::Whole(number) => Field::Whole(number),
        Datum::Real(number) => Field::Real(number),
        Datum::Text(text) => Field::Text(text),
        Datum::Bytes(bytes) => Field::Bytes(bytes),
    }
}
