//! A pool that keeps every buffer until the end and gives the smallest that is large enough.

use super::{Step, place::keeps_any_dims};
use crate::{
    DataType, Graph,
    lifetimes::{Reuse, inside},
    shapes::{Shapes, Value},
};
use std::collections::HashMap;

/// Buffers below this many bytes are not pooled: they come from the system and go back to it.
const LEAST: u64 = 128;

/// One buffer: how wide its elements are, and its bytes. It is only given to elements of the same width.
#[derive(Clone, Copy)]
struct Buffer {
    width: u64,
    bytes: u64,
}

#[derive(Default)]
struct Pool {
    free: Vec<Buffer>,
    /// All that was ever taken from the system for the pool.
    held: u64,
    /// What is live beside the pool.
    small: u64,
    peak: u64,
}

impl Pool {
    fn take(&mut self, wanted: Buffer) -> Option<Buffer> {
        let given = if wanted.bytes < LEAST {
            self.small = self.small.checked_add(wanted.bytes)?;
            wanted
        } else {
            let fits =
                |buffer: &Buffer| buffer.width == wanted.width && buffer.bytes >= wanted.bytes;
            let fitting = self.free.iter().enumerate().filter(|(_, buffer)| fits(buffer));
            match fitting.min_by_key(|(_, buffer)| buffer.bytes).map(|(at, _)| at) {
                Some(at) => self.free.remove(at),
                None => {
                    self.held = self.held.checked_add(wanted.bytes)?;
                    wanted
                }
            }
        };
        self.peak = self.peak.max(self.held.checked_add(self.small)?);
        Some(given)
    }

    fn give_back(&mut self, buffer: Buffer) {
        if buffer.bytes < LEAST {
            self.small = self.small.saturating_sub(buffer.bytes);
        } else {
            self.free.push(buffer);
        }
    }
}

/// The most that the pool and what lives beside it come to; `None` if a size is unknown.
pub(super) fn peak(graph: &Graph, shapes: &Shapes, steps: &[Step<'_>]) -> Option<u64> {
    let mut waiting: HashMap<&str, usize> = HashMap::new();
    let kept = graph.outputs.iter().map(|output| output.name.as_str());
    for name in steps.iter().flat_map(|step| &step.reads).copied().chain(kept) {
        *waiting.entry(name).or_default() += 1;
    }
    let value = |name: &str| shapes.values.get(name);
    let mut pool = Pool::default();
    let mut live: HashMap<&str, Buffer> = HashMap::new();
    let mut bodies = 0u64;
    for step in steps {
        let node = &graph.nodes[step.node];
        let outputs = node.outputs.iter().map(String::as_str);
        let mut over = overwritten(step, &live, &waiting, value);
        for name in outputs.filter(|name| waiting.contains_key(name)) {
            let wanted = buffer_of(value(name)?)?;
            let fits = |over: &&str| {
                let same = value(over)
                    .is_some_and(|input| input.dims == value(name).and_then(|v| v.dims.clone()));
                let width = live.get(over).map(|buffer| buffer.width);
                width == Some(wanted.width) && (same || keeps_any_dims(node))
            };
            let given = match over.take().filter(fits).and_then(|over| live.remove(over)) {
                Some(buffer) => buffer,
                None => pool.take(wanted)?,
            };
            live.insert(name, given);
        }
        bodies = bodies.max(inside(graph, shapes, step.node, Reuse::InPlace)?);
        for name in &step.reads {
            let left = waiting.get_mut(name).map_or(0, |left| {
                *left -= 1;
                *left
            });
            if left == 0
                && let Some(buffer) = live.remove(name)
            {
                pool.give_back(buffer);
            }
        }
    }
    pool.peak.checked_add(bodies)
}

/// The value a step would write over: of those it may, the largest that is the graph's own, the last of equals; none where
/// somebody still waits for that one.
fn overwritten<'a, 'v>(
    step: &Step<'a>,
    live: &HashMap<&str, Buffer>,
    waiting: &HashMap<&str, usize>,
    value: impl Fn(&str) -> Option<&'v Value>,
) -> Option<&'a str> {
    let elements = |name: &&str| match live.contains_key(name) {
        true => value(name).and_then(Value::elements).unwrap_or(0),
        false => 0,
    };
    let largest = step.over.iter().copied().max_by_key(elements)?;
    (live.contains_key(largest) && waiting.get(largest) == Some(&1)).then_some(largest)
}

/// What a value takes: bytes as bytes, all else in four, whatever the model says.
fn buffer_of(value: &Value) -> Option<Buffer> {
    let width = match value.dtype {
        DataType::Undefined | DataType::String => return None,
        DataType::Int8 | DataType::Uint8 => 1,
        _ => 4,
    };
    Some(Buffer { width, bytes: value.elements()?.checked_mul(width)? })
}
