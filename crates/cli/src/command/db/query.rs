//! `modelmeter db query`: a question in SQL, answered as a table, JSON or CSV.

use crate::{
    Failure,
    arguments::{DbQuery, Global},
    command::{open_existing_store, style, table_width},
    output,
};
use modelmeter::{
    report::{self, Field},
    store::Datum,
};

pub(super) fn run(arguments: &DbQuery, global: &Global) -> Result<(), Failure> {
    let store = open_existing_store(global)?;
    let answer = store.query(&arguments.sql, (arguments.limit > 0).then_some(arguments.limit))?;
    let rows: Vec<Vec<Field>> =
        answer.rows.into_iter().map(|row| row.into_iter().map(field).collect()).collect();
    let columns = &answer.columns;
    let text = if arguments.json {
        format!("{:#}\n", report::answer_json(columns, &rows, answer.is_cut))
    } else if arguments.csv {
        report::answer_csv(columns, &rows)
    } else {
        report::answer_table(columns, &rows, &style(global), table_width())
    };
    output::data(&text)?;
    if answer.is_cut {
        let limit = report::count(arguments.limit as u64);
        output::complain(&format!("there are more than {limit} rows; `--limit 0` shows all\n"));
    }
    Ok(())
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
