//! Checks the length fields of a file before it is decoded, so that a truncated or damaged file is named as such,
//! with the byte where it happens, instead of failing somewhere inside a decoder.

use super::ReadError;

/// Deeper nesting than this is not a model; the decoder's own limit is the same.
const DEEPEST: usize = 100;

/// A message we know how to descend into.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Model,
    Graph,
    Node,
    Attribute,
    Tensor,
    Value,
    Function,
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
            Part::Function => "a function",
            Part::Other => "a field",
        }
    }

    /// What a length-delimited field of this message holds.
    fn child(self, field: u64) -> Part {
        match (self, field) {
            (Part::Model, 7) | (Part::Attribute, 6 | 11) => Part::Graph,
            (Part::Model, 25) => Part::Function,
            (Part::Graph, 1) | (Part::Function, 7) => Part::Node,
            (Part::Graph, 5) | (Part::Attribute, 5 | 10) => Part::Tensor,
            (Part::Graph, 11..=13) => Part::Value,
            (Part::Node, 5) | (Part::Function, 11) => Part::Attribute,
            _ => Part::Other,
        }
    }
}

/// Walks all length fields of a model's bytes.
pub(crate) fn check(bytes: &[u8]) -> Result<(), ReadError> {
    Walk { bytes }.message(Part::Model, 0, bytes.len() as u64, 0)
}

struct Walk<'a> {
    bytes: &'a [u8],
}

impl Walk<'_> {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Walks one message whose parent says it lies from `at` to `end`; `end` may lie beyond the file.
    fn message(&self, part: Part, at: u64, end: u64, depth: usize) -> Result<(), ReadError> {
        let corrupt = |at, why| Err(ReadError::Corrupt { part: part.name(), at, why });
        if depth > DEEPEST {
            return corrupt(at, "the nesting is too deep");
        }
        let mut next = at;
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
        Ok(())
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
        assert!(check(&MODEL).is_ok());
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
