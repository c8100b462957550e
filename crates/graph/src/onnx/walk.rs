//! Checks the length fields of a file before it is decoded, so that a truncated or damaged file is named as such,
//! with the byte where it happens, instead of failing somewhere inside a decoder.
//!
//! It sees every tensor, also where nobody decodes it: in functions, in sparse weights, in what a training left. So the
//! places outside the file that they name are known before an engine opens it.

use super::{ReadError, proto::StringStringEntryProto};
use prost::Message;
use std::collections::BTreeMap;

/// Deeper nesting than this is not a model; the decoder's own limit is the same.
const DEEPEST: usize = 100;

/// More fields than this are not a model: a field of two bytes becomes up to a few hundred in memory, and the largest
/// language models have two million.
const MOST_FIELDS: u64 = 1 << 23;

/// A message we know how to descend into.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Model,
    Graph,
    Node,
    Attribute,
    Tensor,
    Value,
    Type,
    TensorType,
    Shape,
    Function,
    Sparse,
    Training,
    Other,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Part::Model => "the model's description",
            Part::Graph => "the graph",
            Part::Node => "a node",
            Part::Attribute => "a node's attribute",
            Part::Tensor => "a tensor",
            Part::Value => "a value's declaration",
            Part::Type | Part::TensorType | Part::Shape => "a value's type",
            Part::Function => "a function",
            Part::Sparse => "a sparse tensor",
            Part::Training => "the training's description",
            Part::Other => "a field",
        }
    }

    /// What a length-delimited field of this message holds.
    fn child(self, field: u64) -> Part {
        match (self, field) {
            (Part::Model, 7) | (Part::Attribute, 6 | 11) => Part::Graph,
            (Part::Training, 1 | 2) => Part::Graph,
            (Part::Model, 20) => Part::Training,
            (Part::Model, 25) => Part::Function,
            (Part::Graph, 1) | (Part::Function, 7) => Part::Node,
            (Part::Graph, 5) | (Part::Attribute, 5 | 10) | (Part::Sparse, 1 | 2) => Part::Tensor,
            (Part::Graph, 15) | (Part::Attribute, 22 | 23) => Part::Sparse,
            (Part::Graph, 11..=13) | (Part::Function, 12) => Part::Value,
            (Part::Value, 2) => Part::Type,
            (Part::Type, 1) => Part::TensorType,
            (Part::TensorType, 2) => Part::Shape,
            (Part::Node, 5) | (Part::Function, 11) => Part::Attribute,
            _ => Part::Other,
        }
    }
}

/// The other files that tensors name, each with one of the tensors.
pub(crate) type Locations = BTreeMap<String, String>;

/// Walks all length fields of a model's bytes and gathers where its tensors say that their bytes are.
pub(crate) fn check(bytes: &[u8]) -> Result<Locations, ReadError> {
    let mut walk = Walk { bytes, fields: 0, locations: Locations::new() };
    walk.message(Part::Model, 0, bytes.len() as u64, 0)?;
    Ok(walk.locations)
}

struct Walk<'a> {
    bytes: &'a [u8],
    fields: u64,
    locations: Locations,
}

impl<'a> Walk<'a> {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Walks one message whose parent says it lies from `at` to `end`; `end` may lie beyond the file.
    fn message(&mut self, part: Part, at: u64, end: u64, depth: usize) -> Result<(), ReadError> {
        let corrupt = |at, why| Err(ReadError::Corrupt { part: part.name(), at, why });
        if depth > DEEPEST {
            return corrupt(at, "the nesting is too deep");
        }
        let mut next = at;
        let (mut name, mut locations) = (String::new(), Vec::new());
        while next < end {
            let start = next;
            let key = self.varint(part, &mut next, end)?;
            let field = key >> 3;
            if field == 0 {
                return corrupt(start, "a field has the number 0");
            }
            match key & 7 {
                0 => {
                    self.varint(part, &mut next, end)?;
                }
                1 => next += 8,
                5 => next += 4,
                2 => {
                    let length = self.varint(part, &mut next, end)?;
                    let child = part.child(field);
                    let child_end = next.saturating_add(length);
                    self.fields += 1;
                    if self.fields > MOST_FIELDS {
                        return corrupt(start, "it has more than 8388608 fields");
                    }
                    // Beyond the parent is damage; beyond the file, at the outermost level, is truncation.
                    if child_end > end && !(part == Part::Model && end == self.size()) {
                        return corrupt(start, "a field reaches beyond its message");
                    }
                    if child != Part::Other {
                        self.message(child, next, child_end, depth + 1)?;
                    }
                    if child_end > self.size() {
                        let inner = if child == Part::Other { part } else { child };
                        return Err(self.truncated(inner, child_end));
                    }
                    match (part, field) {
                        (Part::Tensor, 8) => name = self.text(next, child_end),
                        (Part::Tensor, 13) => locations.extend(self.location(next, child_end)),
                        _ => {}
                    }
                    next = child_end;
                }
                _ => return corrupt(start, "a field has a wire type that ONNX does not use"),
            }
            if next > self.size() {
                return Err(self.truncated(part, end.max(next)));
            }
            if next > end {
                return corrupt(start, "a field reaches beyond its message");
            }
        }
        for location in locations {
            self.locations.entry(location).or_insert_with(|| name.clone());
        }
        Ok(())
    }

    /// Bytes that are known to lie in the file.
    fn part(&self, from: u64, to: u64) -> &'a [u8] {
        let range = usize::try_from(from).ok().zip(usize::try_from(to).ok());
        range.and_then(|(from, to)| self.bytes.get(from..to)).unwrap_or_default()
    }

    fn text(&self, from: u64, to: u64) -> String {
        String::from_utf8_lossy(self.part(from, to)).into_owned()
    }

    /// The file that an entry of a tensor names, where it names one.
    fn location(&self, from: u64, to: u64) -> Option<String> {
        let entry = StringStringEntryProto::decode(self.part(from, to)).ok()?;
        entry.value.filter(|_| entry.key.as_deref() == Some("location"))
    }

    fn truncated(&self, part: Part, of: u64) -> ReadError {
        ReadError::Truncated { part: part.name(), at: self.size(), of }
    }

    fn varint(&self, part: Part, next: &mut u64, end: u64) -> Result<u64, ReadError> {
        let start = *next;
        let mut value = 0u64;
        for shift in (0..70).step_by(7) {
            let Some(byte) = usize::try_from(*next).ok().and_then(|i| self.bytes.get(i)) else {
                return Err(self.truncated(part, end.max(*next + 1)));
            };
            *next += 1;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(ReadError::Corrupt { part: part.name(), at: start, why: "a number has no end" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A model with a graph (field 7) that holds one tensor (field 5) with 6 bytes of raw data (field 9).
    const MODEL: [u8; 14] = [0x08, 8, 0x3a, 10, 0x2a, 8, 0x4a, 6, 1, 2, 3, 4, 5, 6];

    #[test]
    fn whole_bytes_pass() {
        assert!(check(&MODEL).unwrap().is_empty());
    }

    #[test]
    fn places_that_tensors_name_are_found_wherever_the_tensor_is() {
        let entry = [0x0a, 8, b'l', b'o', b'c', b'a', b't', b'i', b'o', b'n', 0x12, 2, b'/', b'x'];
        let wrap = |field: u8, inner: &[u8]| {
            [&[field << 3 | 2, u8::try_from(inner.len()).unwrap()], inner].concat()
        };
        let wide = |field: u8, inner: &[u8]| {
            let length = u8::try_from(inner.len()).unwrap();
            // Field numbers above 15 take two bytes.
            [&[(field << 3 | 2) | 0x80, field >> 4, length], inner].concat()
        };
        let tensor = [wrap(8, b"w"), wrap(13, &entry)].concat();
        let attribute = wrap(5, &tensor);
        let node = wrap(5, &attribute);
        let sparse = wrap(15, &wrap(1, &tensor));
        for model in [
            wrap(7, &wrap(5, &tensor)),
            wrap(7, &wrap(1, &node)),
            wrap(7, &sparse),
            wide(25, &wrap(7, &node)),
            wide(20, &wrap(1, &wrap(5, &tensor))),
        ] {
            let found = check(&model).unwrap();
            assert_eq!(found.into_iter().collect::<Vec<_>>(), [("/x".into(), "w".into())]);
        }
        // An engine may take the last of two places where we take the first.
        let twice = [wrap(13, &entry), wrap(13, &entry)].concat();
        assert_eq!(check(&wrap(7, &wrap(5, &twice))).unwrap().len(), 1);
    }

    #[test]
    fn more_fields_than_a_model_has_are_refused_with_the_bound() {
        let fields = 8_388_700;
        let mut graph = Vec::with_capacity(2 * fields + 8);
        // A graph of empty nodes: two bytes each, which a decoder turns into hundreds.
        let mut length = 2 * fields;
        graph.push(0x3a);
        while length >= 0x80 {
            graph.push(length as u8 | 0x80);
            length >>= 7;
        }
        graph.push(length as u8);
        graph.extend([0x0a, 0].repeat(fields));
        let error = check(&graph).unwrap_err();
        assert!(error.to_string().contains("more than 8388608 fields"), "{error}");
    }

    #[test]
    fn a_cut_inside_a_tensor_says_so_with_positions() {
        let error = check(&MODEL[..11]).unwrap_err();
        assert_eq!(error.to_string(), "the file ends in the middle of a tensor (byte 11 of 14)");
    }

    #[test]
    fn a_field_longer_than_its_message_is_damage_not_truncation() {
        let mut bytes = MODEL;
        bytes[7] = 60;
        let error = check(&bytes).unwrap_err();
        assert!(matches!(error, ReadError::Corrupt { part: "a tensor", at: 6, .. }), "{error}");
    }

    #[test]
    fn a_number_without_end_is_damage() {
        let error = check(&[0xff; 16]).unwrap_err();
        assert!(matches!(error, ReadError::Corrupt { at: 0, .. }), "{error}");
    }
}
