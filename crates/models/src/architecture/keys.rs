//! Reading a configuration key by key, with errors that name the key.

use super::{ArchitectureError, blocks::Activation};
use serde_json::{Map, Value};

/// ONNX files and engines count in 32 bits in places.
pub(super) const MOST_COUNT: usize = i32::MAX as usize;
/// Ten times the deepest network ever published; more only fills the memory with nodes.
pub(super) const MOST_LAYERS: usize = 10_000;
/// Fifty times the widest transformer ever published; a square weight of this width takes 4 TiB.
pub(super) const MOST_WIDTH: usize = 1 << 20;

/// What a size must be, in words.
pub(super) fn whole_number(most: usize) -> String {
    format!("a whole number from 1 to {most}")
}

/// A table of keys and where it lies in the configuration.
#[derive(Clone, Copy)]
pub(super) struct Keys<'a> {
    table: Option<&'a Map<String, Value>>,
    path: &'a str,
}

impl<'a> Keys<'a> {
    pub(super) fn new(config: &'a Value) -> Result<Keys<'a>, ArchitectureError> {
        let table = config.as_object().ok_or(ArchitectureError::NotAnObject)?;
        Ok(Keys { table: Some(table), path: "" })
    }

    /// The table under `key`; an absent one reads as empty, so that every default applies.
    pub(super) fn table(&self, key: &'static str) -> Result<Keys<'a>, ArchitectureError> {
        match self.find(key) {
            None => Ok(Keys { table: None, path: key }),
            Some(Value::Object(table)) => Ok(Keys { table: Some(table), path: key }),
            Some(other) => Err(self.invalid(key, other, "a table of keys")),
        }
    }

    /// A whole number above zero, without a default.
    pub(super) fn count(&self, key: &str) -> Result<usize, ArchitectureError> {
        self.optional_count(key)?.ok_or_else(|| self.missing(key))
    }

    /// A whole number above zero, `default` where the key is absent.
    pub(super) fn count_or(&self, key: &str, default: usize) -> Result<usize, ArchitectureError> {
        Ok(self.optional_count(key)?.unwrap_or(default))
    }

    /// A whole number above zero, if the key is there and not null.
    pub(super) fn optional_count(&self, key: &str) -> Result<Option<usize>, ArchitectureError> {
        self.find(key)
            .map(|value| match value.as_u64().and_then(|number| usize::try_from(number).ok()) {
                Some(number) if number > 0 && number <= MOST_COUNT => Ok(number),
                _ => Err(self.invalid(key, value, &whole_number(MOST_COUNT))),
            })
            .transpose()
    }

    /// The whole numbers above zero of a list, `default` where the key is absent; one number is a list of one.
    pub(super) fn counts_or(
        &self,
        key: &str,
        default: &[usize],
    ) -> Result<Vec<usize>, ArchitectureError> {
        let Some(value) = self.find(key) else { return Ok(default.to_vec()) };
        let wrong = || self.invalid(key, value, "a list of whole numbers above 0");
        let one = |value: &Value| {
            let number = value.as_u64().and_then(|number| usize::try_from(number).ok());
            number.filter(|number| *number > 0 && *number <= MOST_WIDTH)
        };
        let list = match value.as_array() {
            Some(list) => list.iter().map(one).collect::<Option<Vec<_>>>(),
            None => one(value).map(|number| vec![number]),
        };
        list.filter(|list| !list.is_empty() && list.len() <= MOST_LAYERS).ok_or_else(wrong)
    }

    /// The number of layers that was read under `key`, if it is one we build.
    pub(super) fn layers(&self, key: &str, layers: usize) -> Result<usize, ArchitectureError> {
        self.at_most(key, layers, MOST_LAYERS)
    }

    /// The width that was read under `key`, if it is one we build.
    pub(super) fn width(&self, key: &str, width: usize) -> Result<usize, ArchitectureError> {
        self.at_most(key, width, MOST_WIDTH)
    }

    fn at_most(&self, key: &str, value: usize, most: usize) -> Result<usize, ArchitectureError> {
        if value > most { Err(self.reject(key, value, &whole_number(most))) } else { Ok(value) }
    }

    /// A token id, `default` where the key is absent; the first of a list.
    pub(super) fn token_or(&self, key: &str, default: i64) -> Result<i64, ArchitectureError> {
        let Some(value) = self.find(key) else { return Ok(default) };
        let first = value.as_array().and_then(|list| list.first()).unwrap_or(value);
        first.as_i64().ok_or_else(|| self.invalid(key, value, "a token id"))
    }

    /// A number above zero, without a default.
    pub(super) fn number(&self, key: &str) -> Result<f64, ArchitectureError> {
        let value = self.find(key).ok_or_else(|| self.missing(key))?;
        match value.as_f64() {
            Some(number) if number > 0.0 && number.is_finite() => Ok(number),
            _ => Err(self.invalid(key, value, "a number above 0")),
        }
    }

    /// A number above zero, `default` where the key is absent.
    pub(super) fn number_or(&self, key: &str, default: f64) -> Result<f64, ArchitectureError> {
        if self.has(key) { self.number(key) } else { Ok(default) }
    }

    /// True or false, `default` where the key is absent.
    pub(super) fn flag_or(&self, key: &str, default: bool) -> Result<bool, ArchitectureError> {
        let Some(value) = self.find(key) else { return Ok(default) };
        value.as_bool().ok_or_else(|| self.invalid(key, value, "true or false"))
    }

    /// Text, if the key is there and not null.
    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>, ArchitectureError> {
        let Some(value) = self.find(key) else { return Ok(None) };
        value.as_str().map(Some).ok_or_else(|| self.invalid(key, value, "text"))
    }

    /// The texts of a list; none where the key is absent.
    pub(super) fn texts(&self, key: &str) -> Result<Vec<&'a str>, ArchitectureError> {
        let Some(value) = self.find(key) else { return Ok(Vec::new()) };
        value
            .as_array()
            .and_then(|list| list.iter().map(Value::as_str).collect())
            .ok_or_else(|| self.invalid(key, value, "a list of texts"))
    }

    /// An activation function by its transformers name.
    pub(super) fn activation_or(
        &self,
        key: &str,
        default: Activation,
    ) -> Result<Activation, ArchitectureError> {
        let Some(name) = self.text(key)? else { return Ok(default) };
        Activation::parse(name)
            .ok_or_else(|| self.reject(key, name, &format!("one of {}", Activation::NAMES)))
    }

    /// How many entries the table under `key` has.
    pub(super) fn entries(&self, key: &str) -> Option<usize> {
        self.find(key)?.as_object().map(Map::len)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.find(key).is_some()
    }

    /// The error for a value that was read but cannot be used.
    pub(super) fn reject(
        &self,
        key: &str,
        value: impl ToString,
        expected: &str,
    ) -> ArchitectureError {
        ArchitectureError::InvalidKey {
            key: self.full(key),
            value: value.to_string(),
            expected: expected.to_owned(),
        }
    }

    fn invalid(&self, key: &str, value: &Value, expected: &str) -> ArchitectureError {
        self.reject(key, value, expected)
    }

    fn missing(&self, key: &str) -> ArchitectureError {
        ArchitectureError::MissingKey { key: self.full(key) }
    }

    fn full(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn find(&self, key: &str) -> Option<&'a Value> {
        self.table?.get(key).filter(|value| !value.is_null())
    }
}
