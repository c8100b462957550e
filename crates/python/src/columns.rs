//! Columns in the layout of Arrow: one list of bytes for each buffer.

use pyo3::{exceptions::PyValueError, prelude::*};

/// A column: the buffers that Arrow's columnar format describes.
pub(crate) struct Column {
    pub(crate) name: String,
    /// Arrow's word for the type of the column.
    pub(crate) format: &'static str,
    pub(crate) length: usize,
    pub(crate) nulls: usize,
    pub(crate) buffers: Vec<Vec<u8>>,
    /// The values of lists.
    pub(crate) items: Option<Box<Column>>,
}

impl Column {
    /// A column from a list of Python's values, in which `None` is a missing one.
    pub(crate) fn of(name: String, kind: &str, values: &Bound<'_, PyAny>) -> PyResult<Column> {
        match kind {
            "integer" => {
                let values: Vec<Option<i64>> = values.extract()?;
                Ok(fixed(name, "l", &values, |value, out| {
                    out.extend(value.unwrap_or(0).to_ne_bytes());
                }))
            }
            "number" => {
                let values: Vec<Option<f64>> = values.extract()?;
                Ok(fixed(name, "g", &values, |value, out| {
                    out.extend(value.unwrap_or(0.0).to_ne_bytes());
                }))
            }
            "truth" => {
                let values: Vec<Option<bool>> = values.extract()?;
                let set: Vec<bool> = values.iter().map(|value| value.unwrap_or(false)).collect();
                Ok(Column {
                    buffers: vec![validity(&values), bits(&set)],
                    ..plain(name, "b", &values)
                })
            }
            "text" => {
                let values: Vec<Option<String>> = values.extract()?;
                let lengths = values.iter().map(|value| value.as_ref().map_or(0, String::len));
                let buffers = vec![
                    validity(&values),
                    offsets(lengths),
                    values.iter().flatten().flat_map(|value| value.bytes()).collect(),
                ];
                Ok(Column { buffers, ..plain(name, "U", &values) })
            }
            "integers" => {
                let values: Vec<Option<Vec<u64>>> = values.extract()?;
                let lengths = values.iter().map(|value| value.as_ref().map_or(0, Vec::len));
                let buffers = vec![validity(&values), offsets(lengths)];
                let items: Vec<Option<u64>> =
                    values.iter().flatten().flatten().map(|&item| Some(item)).collect();
                let items = fixed("item".into(), "L", &items, |value, out| {
                    out.extend(value.unwrap_or(0).to_ne_bytes());
                });
                Ok(Column { buffers, items: Some(Box::new(items)), ..plain(name, "+L", &values) })
            }
            other => Err(PyValueError::new_err(format!("`{other}` is no kind of column"))),
        }
    }
}

/// A column without its buffers.
fn plain<T>(name: String, format: &'static str, values: &[Option<T>]) -> Column {
    let nulls = values.iter().filter(|value| value.is_none()).count();
    Column { name, format, length: values.len(), nulls, buffers: Vec::new(), items: None }
}

/// A column whose values all take the same room.
fn fixed<T: Copy>(
    name: String,
    format: &'static str,
    values: &[Option<T>],
    write: impl Fn(Option<T>, &mut Vec<u8>),
) -> Column {
    let mut data = Vec::with_capacity(values.len() * 8);
    values.iter().for_each(|&value| write(value, &mut data));
    Column { buffers: vec![validity(values), data], ..plain(name, format, values) }
}

fn validity<T>(values: &[Option<T>]) -> Vec<u8> {
    bits(&values.iter().map(Option::is_some).collect::<Vec<_>>())
}

/// Eight truths in a byte, the first in the lowest bit.
fn bits(values: &[bool]) -> Vec<u8> {
    let byte = |eight: &[bool]| eight.iter().rev().fold(0, |byte, &bit| byte << 1 | u8::from(bit));
    values.chunks(8).map(byte).collect()
}

/// Where each value begins, and where the last one ends.
fn offsets(lengths: impl Iterator<Item = usize>) -> Vec<u8> {
    let mut at = 0_i64;
    let ends = lengths.map(|length| {
        at += length as i64;
        at
    });
    std::iter::once(0).chain(ends).flat_map(i64::to_ne_bytes).collect()
}
