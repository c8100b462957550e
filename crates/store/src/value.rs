//! What goes into a statement and what comes out of a row, alike for both databases.

use crate::failure::DatabaseError;
use rusqlite::types::{ToSqlOutput, Value as SqliteValue, ValueRef};
use std::borrow::Cow;
use tokio_postgres::types::ToSql;

/// A value for a placeholder; the four kinds that both databases share, each with its own nothing.
#[derive(Debug, Clone)]
pub(crate) enum Value<'a> {
    Whole(Option<i64>),
    Real(Option<f64>),
    Text(Option<Cow<'a, str>>),
    Bytes(Cow<'a, [u8]>),
}

/// The values of a statement, in the order of its placeholders.
macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$($crate::value::Value::from($value)),*] };
}
pub(crate) use values;

impl Value<'_> {
    /// The value as PostgreSQL's client takes it.
    pub(crate) fn for_server(&self) -> &(dyn ToSql + Sync) {
        match self {
            Value::Whole(value) => value,
            Value::Real(value) => value,
            Value::Text(value) => value,
            Value::Bytes(value) => value,
        }
    }
}

impl rusqlite::ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Value::Whole(Some(value)) => ToSqlOutput::Owned(SqliteValue::Integer(*value)),
            Value::Real(Some(value)) => ToSqlOutput::Owned(SqliteValue::Real(*value)),
            Value::Text(Some(value)) => ToSqlOutput::Borrowed(ValueRef::Text(value.as_bytes())),
            Value::Bytes(value) => ToSqlOutput::Borrowed(ValueRef::Blob(value)),
            Value::Whole(None) | Value::Real(None) | Value::Text(None) => {
                ToSqlOutput::Owned(SqliteValue::Null)
            }
        })
    }
}

/// A count as the databases hold it; one beyond 2⁶³ is held at the largest.
pub(crate) fn whole(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Value::Whole(Some(value))
    }
}

impl From<u64> for Value<'_> {
    fn from(value: u64) -> Self {
        Value::Whole(Some(whole(value)))
    }
}

impl From<usize> for Value<'_> {
    fn from(value: usize) -> Self {
        Value::from(value as u64)
    }
}

impl From<u32> for Value<'_> {
    fn from(value: u32) -> Self {
        Value::Whole(Some(value.into()))
    }
}

impl From<bool> for Value<'_> {
    fn from(value: bool) -> Self {
        Value::Whole(Some(value.into()))
    }
}

impl From<Option<i64>> for Value<'_> {
    fn from(value: Option<i64>) -> Self {
        Value::Whole(value)
    }
}

impl From<Option<f64>> for Value<'_> {
    fn from(value: Option<f64>) -> Self {
        Value::Real(value)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Value::Text(Some(Cow::Borrowed(value)))
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(value: &'a String) -> Self {
        Value::from(value.as_str())
    }
}

impl From<String> for Value<'_> {
    fn from(value: String) -> Self {
        Value::Text(Some(Cow::Owned(value)))
    }
}

impl<'a> From<Option<&'a str>> for Value<'a> {
    fn from(value: Option<&'a str>) -> Self {
        Value::Text(value.map(Cow::Borrowed))
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(value: &'a [u8]) -> Self {
        Value::Bytes(Cow::Borrowed(value))
    }
}

/// A row of an answer, while it is being read.
pub(crate) enum Row<'a> {
    File(&'a rusqlite::Row<'a>),
    Server(&'a tokio_postgres::Row),
}

impl Row<'_> {
    /// What stands in a column, counted from 0.
    pub(crate) fn get<T: Field>(&self, column: usize) -> Result<T, DatabaseError> {
        match self {
            Row::File(row) => T::from_file(row, column),
            Row::Server(row) => T::from_server(row, column),
        }
    }
}

/// What a column can be read as.
pub(crate) trait Field: Sized {
    fn from_file(row: &rusqlite::Row<'_>, column: usize) -> Result<Self, DatabaseError>;
    fn from_server(row: &tokio_postgres::Row, column: usize) -> Result<Self, DatabaseError>;
}

/// What both clients read by themselves.
macro_rules! native {
    ($($kind:ty),*) => {$(
        impl Field for $kind {
            fn from_file(row: &rusqlite::Row<'_>, column: usize) -> Result<Self, DatabaseError> {
                Ok(row.get(column)?)
            }

            fn from_server(row: &tokio_postgres::Row, column: usize) -> Result<Self, DatabaseError> {
                Ok(row.try_get(column)?)
            }
        }
    )*};
}

native!(i64, Option<i64>, Option<f64>, String, Option<String>, Vec<u8>);

/// Counts, which neither database has as such.
macro_rules! count {
    ($($kind:ty),*) => {$(
        impl Field for $kind {
            fn from_file(row: &rusqlite::Row<'_>, column: usize) -> Result<Self, DatabaseError> {
                narrow(i64::from_file(row, column)?)
            }

            fn from_server(row: &tokio_postgres::Row, column: usize) -> Result<Self, DatabaseError> {
                narrow(i64::from_server(row, column)?)
            }
        }
    )*};
}

count!(u32, u64);

fn narrow<T: TryFrom<i64>>(value: i64) -> Result<T, DatabaseError> {
    T::try_from(value).map_err(|_| DatabaseError::Shape(format!("{value} cannot be a count")))
}
