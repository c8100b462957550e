//! A question in SQL from outside; it can only read.

use crate::{Store, StoreError, connection::Connection, failure::DatabaseError, file};
use rusqlite::types::ValueRef;
use serde::Serialize;
use std::error::Error;
use tokio_postgres::types::{FromSql, Type};

/// A value of a query's result.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Datum {
    /// Nothing.
    Null,
    /// A whole number; a truth value is 0 or 1.
    Whole(i64),
    /// Any other number.
    Real(f64),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// What a question was answered with.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows, a value for each column.
    pub rows: Vec<Vec<Datum>>,
    /// Whether there were more rows than were wanted.
    pub is_cut: bool,
}

impl Store {
    /// Asks the database one question, which cannot change anything; at most `limit` rows are read.
    ///
    /// # Errors
    /// [`StoreError::Writes`] where it would change something, [`StoreError::BadQuery`] where it is not understood.
    pub fn query(&self, sql: &str, limit: Option<usize>) -> Result<Answer, StoreError> {
        let limit = limit.unwrap_or(usize::MAX);
        match &self.connection {
            Connection::File(_) => self.query_file(sql, limit),
            // Nobody knows how long a question of somebody else takes.
            Connection::Server(_) => self.connection.unhurried(|| self.query_server(sql, limit)),
        }
    }

    fn query_file(&self, sql: &str, limit: usize) -> Result<Answer, StoreError> {
        let refused = |error| self.refused(DatabaseError::Sqlite(error));
        // A connection of its own that cannot write, whatever the statement says.
        let connection = file::open_to_read(&self.path, self.reading, crate::BUSY_TIMEOUT)?;
        let mut statement = connection.prepare(sql).map_err(refused)?;
        if statement.column_count() == 0 || !statement.readonly() {
            return Err(StoreError::Writes);
        }
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let mut answer = Answer { columns, rows: Vec::new(), is_cut: false };
        let mut rows = statement.query([]).map_err(refused)?;
        while let Some(row) = rows.next().map_err(refused)? {
            if answer.rows.len() == limit {
                answer.is_cut = true;
                break;
            }
            let datum = |column| row.get_ref(column).map(Datum::from);
            let values = (0..answer.columns.len()).map(datum).collect::<Result<_, _>>();
            answer.rows.push(values.map_err(refused)?);
        }
        Ok(answer)
    }

    fn query_server(&self, sql: &str, limit: usize) -> Result<Answer, StoreError> {
        let refused = |error| self.refused(error);
        // The server refuses to write in it; that it takes one statement at a time keeps anybody from ending it.
        let view = self.view("run the query")?;
        let Connection::Server(server) = &*view else { return Err(StoreError::Writes) };
        let mut server = server.borrow_mut();
        let statement = server.prepared(sql).map_err(refused)?;
        if statement.columns().is_empty() {
            return Err(StoreError::Writes);
        }
        if let Some(column) = statement.columns().iter().find(|column| !is_shown(column.type_())) {
            return Err(StoreError::BadColumn {
                column: column.name().to_owned(),
                kind: column.type_().name().to_owned(),
            });
        }
        let columns: Vec<String> =
            statement.columns().iter().map(|column| column.name().to_owned()).collect();
        let mut answer = Answer { columns, rows: Vec::new(), is_cut: false };
        let mut rows = server.query(sql, &[]).map_err(refused)?;
        while let Some(row) = rows.next().map_err(refused)? {
            if answer.rows.len() == limit {
                answer.is_cut = true;
                break;
            }
            let datum = |column| row.try_get::<_, Datum>(column);
            let values = (0..answer.columns.len()).map(datum).collect::<Result<_, _>>();
            answer.rows.push(values.map_err(|error| refused(error.into()))?);
        }
        Ok(answer)
    }

    /// Tells a question that is wrong from a database that is.
    fn refused(&self, error: DatabaseError) -> StoreError {
        let detail = error.to_string();
        match error.at(&self.path, "run the query") {
            StoreError::ReadOnly { .. } => StoreError::Writes,
            StoreError::Query { .. } => StoreError::BadQuery { detail },
            other => other,
        }
    }
}

impl From<ValueRef<'_>> for Datum {
    fn from(value: ValueRef<'_>) -> Datum {
        match value {
            ValueRef::Null => Datum::Null,
            ValueRef::Integer(value) => Datum::Whole(value),
            ValueRef::Real(value) => Datum::Real(value),
            ValueRef::Text(text) => Datum::Text(String::from_utf8_lossy(text).into_owned()),
            ValueRef::Blob(bytes) => Datum::Bytes(bytes.to_owned()),
        }
    }
}

/// Types of PostgreSQL that are text as they come.
const TEXTS: [Type; 8] = [
    Type::TEXT,
    Type::VARCHAR,
    Type::BPCHAR,
    Type::NAME,
    Type::UNKNOWN,
    Type::JSON,
    Type::XML,
    Type::JSONB,
];

/// Types of PostgreSQL that are numbers, truth values or bytes.
const NUMBERS: [Type; 9] = [
    Type::BOOL,
    Type::INT2,
    Type::INT4,
    Type::INT8,
    Type::OID,
    Type::FLOAT4,
    Type::FLOAT8,
    Type::NUMERIC,
    Type::BYTEA,
];

fn is_shown(kind: &Type) -> bool {
    TEXTS.contains(kind) || NUMBERS.contains(kind)
}

impl<'a> FromSql<'a> for Datum {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Datum, Box<dyn Error + Sync + Send>> {
        Ok(match *kind {
            Type::BOOL => Datum::Whole(bool::from_sql(kind, raw)?.into()),
            Type::INT2 => Datum::Whole(i16::from_sql(kind, raw)?.into()),
            Type::INT4 => Datum::Whole(i32::from_sql(kind, raw)?.into()),
            Type::INT8 => Datum::Whole(i64::from_sql(kind, raw)?),
            Type::OID => Datum::Whole(u32::from_sql(kind, raw)?.into()),
            Type::FLOAT4 => Datum::Real(f32::from_sql(kind, raw)?.into()),
            Type::FLOAT8 => Datum::Real(f64::from_sql(kind, raw)?),
            Type::NUMERIC => decimal(raw).ok_or("a decimal number ends too soon")?,
            Type::BYTEA => Datum::Bytes(raw.to_owned()),
            // A byte for the version comes first.
            Type::JSONB => Datum::Text(String::from_utf8_lossy(raw.get(1..).unwrap_or(&[])).into()),
            _ => Datum::Text(String::from_utf8_lossy(raw).into()),
        })
    }

    fn from_sql_null(_: &Type) -> Result<Datum, Box<dyn Error + Sync + Send>> {
        Ok(Datum::Null)
    }

    fn accepts(kind: &Type) -> bool {
        is_shown(kind)
    }
}

/// A decimal number, which sums and means of counts are: digits to the base 10,000, the first of the given weight.
fn decimal(raw: &[u8]) -> Option<Datum> {
    let short = |index: usize| {
        let bytes = raw.get(2 * index..2 * index + 2)?;
        Some(u16::from_be_bytes([bytes[0], bytes[1]]))
    };
    let (count, weight) = (usize::from(short(0)?), i32::from(short(1)? as i16));
    let sign = match short(2)? {
        0 => 1.0,
        0x4000 => -1.0,
        0xd000 => return Some(Datum::Real(f64::INFINITY)),
        0xf000 => return Some(Datum::Real(f64::NEG_INFINITY)),
        _ => return Some(Datum::Real(f64::NAN)),
    };
    let digits: Vec<u16> = (0..count).map(|index| short(4 + index)).collect::<Option<_>>()?;
    // Written out and read again: the nearest number is then found, however many digits there are.
    let mut text = String::from("0");
    for digit in &digits {
        text += &format!("{digit:04}");
    }
    let exponent = 4 * (i64::from(weight) + 1 - count as i64);
    // The places to be shown; a sum of whole numbers has none.
    if short(3)? == 0 {
        let whole = text.parse::<i64>().ok();
        let scale = u32::try_from(exponent).ok().and_then(|power| 10i64.checked_pow(power));
        if let Some(value) = whole.zip(scale).and_then(|(whole, scale)| whole.checked_mul(scale)) {
            return Some(Datum::Whole(if sign < 0.0 { -value } else { value }));
        }
    }
    format!("{text}e{exponent}").parse::<f64>().ok().map(|value| Datum::Real(sign * value))
}
