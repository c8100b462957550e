//! A JSON value that is put together only as long as it fits into memory: `{},` is a hundred times larger there.

use crate::bounds;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::{cell::Cell, fmt};

/// Bytes of a value in a list, with the crate that a growing list keeps free.
const VALUE: usize = 160;
/// Bytes of an entry in an object, with the same.
const ENTRY: usize = 240;
/// Bytes of an object with its first entry.
const OBJECT: usize = 640;

/// Reads one value and refuses it when it has become too large.
pub(crate) struct Weighed {
    left: Cell<usize>,
}

impl Weighed {
    pub(crate) fn new() -> Weighed {
        Weighed { left: Cell::new(bounds::VALUES) }
    }

    fn take<E: Error>(&self, bytes: usize) -> Result<(), E> {
        let left = self.left.get().checked_sub(bytes).ok_or_else(|| {
            let most = number::mebibytes(bounds::VALUES as u64);
            E::custom(format!("would take more than {most} of memory, the most for one record"))
        })?;
        self.left.set(left);
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Weighed {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        (&self).deserialize(from)
    }
}

impl<'de> DeserializeSeed<'de> for &Weighed {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &Weighed {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        Ok(Number::from_f64(number).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        self.take(text.len())?;
        Ok(Value::String(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(self)? {
            self.take(VALUE)?;
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        self.take(OBJECT)?;
        let mut map = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            self.take(ENTRY + name.len())?;
            map.insert(name, entries.next_value_seed(self)?);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_what_it_would_be_and_too_many_are_refused() {
        let text = r#"{"a": [1, -2, 0.1, "x", null, true], "b": {"c": 18446744073709551615}}"#;
        let mut reader = serde_json::Deserializer::from_str(text);
        let plain: Value = serde_json::from_str(text).unwrap();
        assert_eq!(Weighed::new().deserialize(&mut reader).unwrap(), plain);

        let many = format!("[{}{{}}]", "{},".repeat(1_000_000));
        let mut reader = serde_json::Deserializer::from_str(&many);
        let error = Weighed::new().deserialize(&mut reader).unwrap_err();
        assert!(error.to_string().contains("more than 512 MiB of memory"), "{error}");
    }
}
