//! Profiles for speedscope: the tree of layers, and every track of the timeline as it ran.
//!
//! Its format knows spans only; counters and arrows are in the other traces.

use crate::{
    document::EXPORTER,
    info::TraceInfo,
    rows::{Rows, end},
};
use analysis::TimeTree;
use report::{DOT, clean};
use serde::Serialize;
use std::{
    collections::HashMap,
    io::{self, Write},
};
use types::{LayerReport, Span, Timeline};

const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

/// Something that takes time, named once for all profiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
struct Frame<'a> {
    name: &'a str,
    /// The module it belongs to; the viewer shows it where a source file would stand.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
}

#[derive(Default)]
struct Frames<'a> {
    list: Vec<Frame<'a>>,
    known: HashMap<Frame<'a>, u32>,
}

impl<'a> Frames<'a> {
    fn number(&mut self, frame: Frame<'a>) -> u32 {
        *self.known.entry(frame).or_insert_with(|| {
            self.list.push(frame);
            self.list.len() as u32 - 1
        })
    }
}

/// The edge of a span: `O` opens it, `C` closes it.
#[derive(Serialize)]
struct Edge {
    r#type: &'static str,
    frame: u32,
    at: u64,
}

/// Writes profiles for speedscope: one of the layers, then one for each track; give a buffered writer.
///
/// # Errors
/// Where the writer fails.
pub fn write_speedscope(
    layers: Option<&LayerReport>,
    timeline: Option<&Timeline>,
    info: &TraceInfo,
    out: &mut dyn Write,
) -> io::Result<()> {
    let tree = layers.map(|layers| TimeTree::of(layers, &info.title(), clean));
    let nothing = Timeline::default();
    let timeline = timeline.unwrap_or(&nothing);
    let rows = Rows::of(timeline);
    let mut frames = Frames::default();
    let of_tree: Vec<u32> = tree
        .iter()
        .flat_map(|tree| &tree.nodes)
        .map(|node| {
            let name = node.path.as_str();
            frames.number(Frame {
                name: if name.is_empty() { &node.label } else { name },
                file: None,
            })
        })
        .collect();
    let of_spans: Vec<u32> = timeline.spans.iter().map(|span| frames.number(frame(span))).collect();

    let mut name = vec![info.title(), info.setting.clone()];
    if of_tree.is_empty() && of_spans.is_empty() {
        name.push("empty: no layers and no spans were recorded".into());
    }
    write_pair(out, "{\n", "$schema", &SCHEMA)?;
    write_pair(out, ",\n", "exporter", &EXPORTER)?;
    name.retain(|part| !part.is_empty());
    write_pair(out, ",\n", "name", &name.join(DOT))?;
    out.write_all(b",\n\"shared\": {\"frames\": [")?;
    write_list(out, frames.list.iter())?;
    out.write_all(b"]},\n\"profiles\": [")?;
    let mut separator = "\n";
    if let Some(tree) = &tree {
        write_tree(tree, &of_tree, out)?;
        separator = ",\n";
    }
    let of_row = rows.order.chunk_by(|a, b| rows.row(*a) == rows.row(*b));
    for spans in of_row {
        let row = &rows.rows[rows.row(spans[0])];
        out.write_all(separator.as_bytes())?;
        separator = ",\n";
        let name = format!("{}{DOT}{}", rows.groups[row.group], row.name);
        write_row(&name, timeline, &rows, spans, &of_spans, out)?;
    }
    out.write_all(b"\n]\n}\n")?;
    out.flush()
}

fn frame(span: &Span) -> Frame<'_> {
    let file = (!span.path.is_empty() && span.path != span.name).then_some(span.path.as_str());
    Frame { name: &span.name, file }
}

/// Every node of the tree as a stack that weighs its own time.
fn write_tree(tree: &TimeTree<'_>, frames: &[u32], out: &mut dyn Write) -> io::Result<()> {
    let weighty: Vec<usize> =
        (0..tree.nodes.len()).filter(|node| tree.nodes[*node].own > 0.0).collect();
    let total: f64 = weighty.iter().map(|node| tree.nodes[*node].own).sum();
    write_pair(out, "\n{", "type", &"sampled")?;
    write_pair(out, ", ", "name", &"layers of one inference")?;
    write_pair(out, ", ", "unit", &"seconds")?;
    write_pair(out, ", ", "startValue", &0)?;
    write_pair(out, ", ", "endValue", &(total + 0.0))?;
    let stack = |node: usize| {
        let mut stack: Vec<u32> = tree.up_from(node).map(|node| frames[node]).collect();
        stack.reverse();
        stack
    };
    out.write_all(b",\n\"samples\": [")?;
    write_list(out, weighty.iter().map(|node| stack(*node)))?;
    out.write_all(b"],\n\"weights\": [")?;
    write_list(out, weighty.iter().map(|node| tree.nodes[*node].own))?;
    out.write_all(b"]}")
}

/// Every span of a row opened and closed in order.
fn write_row(
    name: &str,
    timeline: &Timeline,
    rows: &Rows,
    spans: &[u32],
    frames: &[u32],
    out: &mut dyn Write,
) -> io::Result<()> {
    let at = |index: u32| &timeline.spans[index as usize];
    let last = spans.iter().map(|index| end(at(*index))).max().unwrap_or(0);
    write_pair(out, "{", "type", &"evented")?;
    write_pair(out, ", ", "name", &name)?;
    write_pair(out, ", ", "unit", &"nanoseconds")?;
    write_pair(out, ", ", "startValue", &0)?;
    write_pair(out, ", ", "endValue", &last)?;
    out.write_all(b",\n\"events\": [")?;
    let edge = |r#type: &'static str, index: u32, at: u64| Edge {
        r#type,
        frame: frames[index as usize],
        at,
    };
    let mut open: Vec<u32> = Vec::new();
    let mut any = false;
    for index in spans {
        // What the span does not lie in has ended before it began.
        while open.last().is_some_and(|top| Some(*top) != rows.parent(*index)) {
            if let Some(top) = open.pop() {
                write_item(out, &mut any, &edge("C", top, end(at(top))))?;
            }
        }
        write_item(out, &mut any, &edge("O", *index, at(*index).start))?;
        open.push(*index);
    }
    while let Some(top) = open.pop() {
        write_item(out, &mut any, &edge("C", top, end(at(top))))?;
    }
    out.write_all(b"]}")
}

fn write_pair(
    out: &mut dyn Write,
    before: &str,
    key: &str,
    value: &impl Serialize,
) -> io::Result<()> {
    write!(out, "{before}\"{key}\": ")?;
    serde_json::to_writer(&mut *out, value)?;
    Ok(())
}

fn write_list(out: &mut dyn Write, items: impl Iterator<Item = impl Serialize>) -> io::Result<()> {
    let mut any = false;
    for item in items {
        write_item(out, &mut any, &item)?;
    }
    Ok(())
}

fn write_item(out: &mut dyn Write, any: &mut bool, item: &impl Serialize) -> io::Result<()> {
    out.write_all(if *any { b",\n" } else { b"\n" })?;
    *any = true;
    serde_json::to_writer(&mut *out, item)?;
    Ok(())
}
