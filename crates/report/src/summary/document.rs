//! A run as a result: the model, how it was measured, what came of it, whether it can be believed.

use super::{facts, header, latency, verdict};
use crate::clean::clean;
use crate::csv::runs_table;
use crate::inside::LayerView;
use crate::json::{JsonOptions, run_json};
use crate::lookup::told;
use crate::memory::MemoryView;
use crate::result::{Block, ResultDocument};
use crate::timestamp::minute;
use crate::{critical_path, inside, memory};
use types::Run;

/// Where a run is kept, as its last line says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Footer<'a> {
    /// Nothing is said: the run is not kept.
    #[default]
    None,
    /// The run was kept just now under this id.
    Stored(&'a str),
    /// The run was kept before under this id: when it was measured, and its tags.
    Shown(&'a str),
}

/// What is shown of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    /// Of its layers.
    pub layers: LayerView,
    /// Of its memory.
    pub memory: MemoryView,
    /// Whether layers, memory and the critical path stay away.
    pub is_brief: bool,
    /// What its JSON has.
    pub json: JsonOptions,
}

/// A run as a result.
#[must_use]
pub fn run_document(run: &Run, view: &View, footer: Footer<'_>) -> ResultDocument {
    let mut blocks = vec![Block::Facts(facts::cold(run))];
    blocks.extend(latency::blocks(run));
    blocks.push(Block::Facts(facts::warm(run)));
    if !view.is_brief {
        blocks.extend(inner_blocks(run, view));
    }
    blocks.push(Block::Notes(verdict::notes(run)));
    ResultDocument {
        title: header::title(run),
        facts: header::size(run).into_iter().chain(header::setting(run)).collect(),
        verdict: Some(verdict::note(run)),
        blocks,
        footer: last_line(run, footer),
        json: run_json(run, view.json),
        data: Some(runs_table(std::slice::from_ref(run))),
        ..ResultDocument::default()
    }
}

/// What was found inside the model.
pub(crate) fn inner_blocks(run: &Run, view: &View) -> Vec<Block> {
    let layers = run.layers.as_ref().map(|layers| inside::blocks(layers, &view.layers));
    let memory = run.memory.as_ref().map(|report| memory::blocks(report, &view.memory));
    let path = run.critical_path.as_ref().map(|path| critical_path::blocks(path));
    let gpu = run.gpu.as_ref().map(|profile| crate::gpu::inner_blocks(profile));
    let parts = [
        ("Where the time goes", layers),
        ("What the GPU did", gpu),
        ("Where the memory goes", memory),
        ("Critical path", path),
    ];
    let details = |(title, blocks): (&str, Option<Vec<Block>>)| {
        Some(Block::Details { title: title.into(), blocks: blocks? })
    };
    parts.into_iter().filter_map(details).collect()
}

fn last_line(run: &Run, footer: Footer<'_>) -> Vec<String> {
    match footer {
        Footer::None => Vec::new(),
        Footer::Stored(id) => {
            vec![format!("stored as run {id}"), format!("modelmeter runs show {id}")]
        }
        Footer::Shown(id) => {
            let mut facts = vec![format!("run {id}")];
            facts.extend(told(run, "started_at", format!("{} UTC", minute(run.started_at))));
            if !run.tags.is_empty() {
                facts.push(format!("tags {}", clean(&run.tags.join(" "))));
            }
            facts
        }
    }
}
