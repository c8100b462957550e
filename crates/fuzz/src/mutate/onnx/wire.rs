//! Protobuf as a tree: enough of ONNX's messages to know what a field holds.

/// A message of ONNX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Model,
    Opset,
    Entry,
    Graph,
    Node,
    Attribute,
    Tensor,
    Value,
    Type,
    TensorType,
    Shape,
    Dim,
    Function,
}

impl Kind {
    /// The message in a field of this one.
    fn child(self, field: u64) -> Option<Kind> {
        Some(match (self, field) {
            (Kind::Model, 7) | (Kind::Attribute, 6) => Kind::Graph,
            (Kind::Model, 8) | (Kind::Function, 9) => Kind::Opset,
            (Kind::Model, 14) | (Kind::Tensor, 13) => Kind::Entry,
            (Kind::Model, 25) => Kind::Function,
            (Kind::Graph, 1) | (Kind::Function, 7) => Kind::Node,
            (Kind::Graph, 5) | (Kind::Attribute, 5) => Kind::Tensor,
            (Kind::Graph, 11..=13) => Kind::Value,
            (Kind::Node, 5) | (Kind::Function, 11) => Kind::Attribute,
            (Kind::Value, 2) => Kind::Type,
            (Kind::Type, 1) => Kind::TensorType,
            (Kind::TensorType, 2) => Kind::Shape,
            (Kind::Shape, 1) => Kind::Dim,
            _ => return None,
        })
    }
}

/// What a field holds.
#[derive(Debug, Clone)]
pub(super) enum Wire {
    Number(u64),
    Eight([u8; 8]),
    Four([u8; 4]),
    Bytes(Vec<u8>),
    Message(Message),
}

/// A message: its fields in order.
#[derive(Debug, Clone)]
pub(super) struct Message {
    pub(super) kind: Kind,
    pub(super) fields: Vec<(u64, Wire)>,
}

impl Message {
    /// The tree of a message; `None` if it is no whole one.
    pub(super) fn parse(kind: Kind, mut bytes: &[u8], depth: usize) -> Option<Message> {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let key = number(&mut bytes)?;
            let field = key >> 3;
            let value = match key & 7 {
                0 => Wire::Number(number(&mut bytes)?),
                1 => {
                    let (head, rest) = bytes.split_first_chunk::<8>()?;
                    bytes = rest;
                    Wire::Eight(*head)
                }
                5 => {
                    let (head, rest) = bytes.split_first_chunk::<4>()?;
                    bytes = rest;
                    Wire::Four(*head)
                }
                2 => {
                    let length = usize::try_from(number(&mut bytes)?).ok()?;
                    let (inner, rest) = bytes.split_at_checked(length)?;
                    bytes = rest;
                    let child = kind.child(field).filter(|_| depth < 60);
                    child
                        .and_then(|child| Message::parse(child, inner, depth + 1))
                        .map_or_else(|| Wire::Bytes(inner.to_vec()), Wire::Message)
                }
                _ => return None,
            };
            fields.push((field, value));
        }
        Some(Message { kind, fields })
    }

    /// The bytes of the message.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        for (field, value) in &self.fields {
            match value {
                Wire::Number(value) => {
                    put(field << 3, out);
                    put(*value, out);
                }
                Wire::Eight(bytes) => {
                    put(field << 3 | 1, out);
                    out.extend(bytes);
                }
                Wire::Four(bytes) => {
                    put(field << 3 | 5, out);
                    out.extend(bytes);
                }
                Wire::Bytes(bytes) => out.extend(self::field(*field, bytes)),
                Wire::Message(message) => {
                    let mut inner = Vec::new();
                    message.write(&mut inner);
                    out.extend(self::field(*field, &inner));
                }
            }
        }
    }

    fn inner(&self) -> impl Iterator<Item = &Message> {
        self.fields.iter().filter_map(|(_, value)| match value {
            Wire::Message(message) => Some(message),
            _ => None,
        })
    }

    /// How many messages, itself included.
    pub(super) fn count(&self) -> usize {
        1 + self.inner().map(Message::count).sum::<usize>()
    }

    /// The message at a place, counted from itself downwards.
    pub(super) fn at(&self, place: usize) -> &Message {
        let Some(mut rest) = place.checked_sub(1) else { return self };
        for message in self.inner() {
            let count = message.count();
            if rest < count {
                return message.at(rest);
            }
            rest -= count;
        }
        self
    }

    pub(super) fn at_mut(&mut self, place: usize) -> &mut Message {
        let Some(mut rest) = place.checked_sub(1) else { return self };
        let mut found = None;
        for (index, (_, value)) in self.fields.iter().enumerate() {
            let Wire::Message(message) = value else { continue };
            let count = message.count();
            if rest < count {
                found = Some(index);
                break;
            }
            rest -= count;
        }
        let Some(index) = found else { return self };
        match &mut self.fields[index].1 {
            Wire::Message(message) => message.at_mut(rest),
            // It was one when its messages were counted.
            _ => unreachable!("the place of a message"),
        }
    }

    /// The names of values, weights and functions.
    pub(super) fn names(&self, names: &mut Vec<Vec<u8>>) {
        for (field, value) in &self.fields {
            let is_name = match self.kind {
                Kind::Node => matches!(field, 1 | 2),
                Kind::Tensor => *field == 8,
                Kind::Value | Kind::Function => *field == 1,
                _ => false,
            };
            match value {
                Wire::Bytes(name) if is_name => names.push(name.clone()),
                Wire::Message(message) => message.names(names),
                _ => {}
            }
        }
    }
}

/// A field with these bytes.
pub(crate) fn field(number: u64, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + 6);
    put(number << 3 | 2, &mut out);
    put(bytes.len() as u64, &mut out);
    out.extend(bytes);
    out
}

fn put(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}
