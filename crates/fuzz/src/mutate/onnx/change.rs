//! One change of one message.

use super::{
    wire::{Kind, Message, Wire},
    words::{ARGUMENTS, DIMS, OPERATORS, TEXTS},
};
use crate::Random;

/// A body inside so many others is too deep for every reader.
const DEEPEST: usize = 60;

/// Changes a message; `graft` is one of another model, `names` those that this model knows.
pub(super) fn change(
    random: &mut Random,
    message: &mut Message,
    graft: Option<&Message>,
    names: &[Vec<u8>],
) {
    if random.percent(15) {
        return change_fields(random, message);
    }
    if random.percent(10)
        && let Some(graft) = graft.filter(|graft| graft.kind == message.kind)
    {
        *message = graft.clone();
        return;
    }
    match message.kind {
        Kind::Node => change_node(random, message, graft, names),
        Kind::Attribute => change_argument(random, message, graft),
        Kind::Tensor => change_tensor(random, message, names),
        Kind::Dim => {
            let value = match random.percent(50) {
                true => (1, Wire::Number(random.edge() as u64)),
                false => (2, text(random, &DIMS)),
            };
            message.fields = vec![value];
        }
        Kind::Value if random.percent(50) => set(message, 1, name(random, names)),
        Kind::TensorType => set(message, 1, Wire::Number(random.below(26) as u64)),
        Kind::Opset => set(message, 2, Wire::Number(random.edge() as u64)),
        _ => change_fields(random, message),
    }
}

/// Fields lost, repeated, swapped, or with another number.
fn change_fields(random: &mut Random, message: &mut Message) {
    let fields = &mut message.fields;
    let (at, other) = (random.below(fields.len()), random.below(fields.len()));
    if fields.is_empty() {
        return;
    }
    match random.below(7) {
        0 | 1 => {
            fields.remove(at);
        }
        2 => {
            let times = if random.percent(10) { 200 } else { 1 };
            let field = fields[at].clone();
            fields.splice(at..at, std::iter::repeat_n(field, times));
        }
        3 | 4 => fields.swap(at, other),
        5 => fields[at].0 = 1 + random.below(26) as u64,
        _ => match &mut fields[at].1 {
            Wire::Number(value) => *value = random.edge() as u64,
            Wire::Four(bytes) => *bytes = float(random).to_le_bytes(),
            Wire::Eight(bytes) => *bytes = random.edge().to_le_bytes(),
            Wire::Bytes(bytes) => bytes.truncate(random.below(bytes.len())),
            Wire::Message(inner) => inner.fields.clear(),
        },
    }
}

fn change_node(
    random: &mut Random,
    node: &mut Message,
    graft: Option<&Message>,
    names: &[Vec<u8>],
) {
    let places = |field: u64, node: &Message| -> Vec<usize> {
        node.fields.iter().enumerate().filter(|(_, f)| f.0 == field).map(|(at, _)| at).collect()
    };
    match random.below(10) {
        0 | 1 => set(node, 4, text(random, &OPERATORS)),
        // Any value may be read here, one that is made later too.
        2 | 3 => {
            let name = name(random, names);
            match random.pick(&places(1, node)) {
                Some(place) => node.fields[*place].1 = name,
                None => node.fields.push((1, name)),
            }
        }
        4 => {
            let name = name(random, names);
            if let Some(place) = random.pick(&places(2, node)) {
                node.fields[*place].1 = name;
            }
        }
        5 => node.fields.push((1, name(random, names))),
        6 => {
            let made = Message { kind: Kind::Attribute, fields: Vec::new() };
            node.fields.push((5, Wire::Message(made)));
            if let Some((_, Wire::Message(made))) = node.fields.last_mut() {
                set(made, 1, text(random, &ARGUMENTS));
                change_argument(random, made, graft);
            }
        }
        7 => {
            if let Some(place) = random.pick(&places(1, node)) {
                node.fields.remove(*place);
            }
        }
        8 => set(node, 7, text(random, &["", "com.microsoft", "ai.onnx", "local", "x"])),
        // A call of one of the model's own functions, its own caller among them.
        _ => {
            set(node, 4, name(random, names));
            set(node, 7, text(random, &["local"]));
        }
    }
}

/// Another value: a number, a list, a text, a tensor, a body.
fn change_argument(random: &mut Random, argument: &mut Message, graft: Option<&Message>) {
    const KIND: u64 = 20;
    if random.percent(15) {
        return set(argument, 1, text(random, &ARGUMENTS));
    }
    argument.fields.retain(|(field, _)| !matches!(field, 2..=10 | 20));
    let (kind, values): (u64, Vec<(u64, Wire)>) = match random.below(8) {
        0 | 1 => (2, vec![(3, Wire::Number(random.edge() as u64))]),
        2 => (1, vec![(2, Wire::Four(float(random).to_le_bytes()))]),
        3 | 4 => {
            let count = random.below(7);
            (7, (0..count).map(|_| (8, Wire::Number(random.edge() as u64))).collect())
        }
        5 => (3, vec![(4, text(random, &TEXTS))]),
        6 => {
            let mut tensor = Message { kind: Kind::Tensor, fields: Vec::new() };
            change_tensor(random, &mut tensor, &[]);
            (4, vec![(5, Wire::Message(tensor))])
        }
        _ => {
            let empty = Message { kind: Kind::Graph, fields: Vec::new() };
            let graph = graft.filter(|graft| graft.kind == Kind::Graph).unwrap_or(&empty);
            let depth = if random.percent(20) { random.below(DEEPEST) } else { 0 };
            (5, vec![(6, Wire::Message(nest(graph.clone(), depth)))])
        }
    };
    argument.fields.extend(values);
    let kind = if random.percent(10) { random.below(16) as u64 } else { kind };
    argument.fields.push((KIND, Wire::Number(kind)));
}

/// The graph inside so many branches.
fn nest(graph: Message, depth: usize) -> Message {
    (0..depth).fold(graph, |inner, _| {
        let branch = vec![
            (1, Wire::Bytes(b"then_branch".to_vec())),
            (6, Wire::Message(inner)),
            (20, Wire::Number(5)),
        ];
        let node = vec![
            (2, Wire::Bytes(b"y".to_vec())),
            (4, Wire::Bytes(b"If".to_vec())),
            (5, Wire::Message(Message { kind: Kind::Attribute, fields: branch })),
        ];
        let node = Wire::Message(Message { kind: Kind::Node, fields: node });
        Message { kind: Kind::Graph, fields: vec![(1, node)] }
    })
}

fn change_tensor(random: &mut Random, tensor: &mut Message, names: &[Vec<u8>]) {
    const RAW: u64 = 9;
    match random.below(8) {
        0 | 1 => {
            let dims: Vec<usize> = tensor
                .fields
                .iter()
                .enumerate()
                .filter(|(_, field)| field.0 == 1)
                .map(|(at, _)| at)
                .collect();
            let value = Wire::Number(random.edge() as u64);
            match random.pick(&dims) {
                Some(place) => tensor.fields[*place].1 = value,
                None => tensor.fields.insert(0, (1, value)),
            }
        }
        2 => tensor.fields.insert(0, (1, Wire::Number([0, 1, 1, 2][random.below(4)]))),
        3 => set(tensor, 2, Wire::Number(random.below(26) as u64)),
        // Shapes, axes and counts are numbers of eight bytes: a small list that fits its dims.
        4 | 5 => {
            let count = 1 + random.below(5);
            let numbers = (0..count).flat_map(|_| random.edge().to_le_bytes()).collect();
            tensor.fields.retain(|(field, _)| !matches!(field, 1 | 2 | 4..=7 | 9..=14));
            tensor.fields.push((1, Wire::Number(count as u64)));
            tensor.fields.push((2, Wire::Number(7)));
            tensor.fields.push((RAW, Wire::Bytes(numbers)));
        }
        6 => set(tensor, 8, name(random, names)),
        _ => {
            let entry = |key: &str, value: &str| {
                let fields = vec![
                    (1, Wire::Bytes(key.as_bytes().to_vec())),
                    (2, Wire::Bytes(value.as_bytes().to_vec())),
                ];
                (13, Wire::Message(Message { kind: Kind::Entry, fields }))
            };
            let place = ["model.data", "../x", "/etc/hostname", ""][random.below(4)];
            let offset = (random.edge() as u64).to_string();
            let length = (random.edge() as u64).to_string();
            tensor.fields.retain(|(field, _)| *field != RAW);
            tensor.fields.extend([entry("location", place), entry("offset", &offset)]);
            if random.percent(50) {
                tensor.fields.push(entry("length", &length));
            }
            tensor.fields.push((14, Wire::Number(1)));
        }
    }
}

/// The only value of a field, or one more where it has none.
fn set(message: &mut Message, field: u64, value: Wire) {
    match message.fields.iter_mut().find(|(number, _)| *number == field) {
        Some((_, old)) => *old = value,
        None => message.fields.push((field, value)),
    }
}

fn name(random: &mut Random, names: &[Vec<u8>]) -> Wire {
    match random.percent(10) {
        true => text(random, &["", "x", "\u{0}", "a.b.c", "é"]),
        false => Wire::Bytes(random.pick(names).cloned().unwrap_or_default()),
    }
}

fn text(random: &mut Random, words: &[&str]) -> Wire {
    Wire::Bytes(random.pick(words).map(|word| word.as_bytes().to_vec()).unwrap_or_default())
}

fn float(random: &mut Random) -> f32 {
    const EDGES: [f32; 10] =
        [0.0, -0.0, 1.0, -1.0, 0.5, 1e30, 1e-30, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    EDGES[random.below(EDGES.len())]
}
