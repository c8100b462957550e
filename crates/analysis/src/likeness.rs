//! In what stored runs differ, and what that does to a comparison.

use types::{Cell, Run, Text, stable_hash};

/// What a difference means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The work is not the same, so times cannot be compared with each other.
    OtherWork,
    /// Worth knowing; the text says what is then really compared.
    Remark(&'static str),
}

/// Something two runs may differ in.
pub(crate) struct Fact {
    /// What it is called: `batch size`.
    pub(crate) name: &'static str,
    pub(crate) meaning: Meaning,
    of: fn(&Run) -> String,
}

const fn work(name: &'static str, of: fn(&Run) -> String) -> Fact {
    Fact { name, meaning: Meaning::OtherWork, of }
}

const fn remark(name: &'static str, note: &'static str, of: fn(&Run) -> String) -> Fact {
    Fact { name, meaning: Meaning::Remark(note), of }
}

/// Everything that is looked at, what matters most first.
const FACTS: &[Fact] = &[
    work("batch size", |run| run.cell.batch_size.to_string()),
    work("sequence length", |run| {
        run.cell.sequence_length.map_or_else(|| "none".into(), |length| length.to_string())
    }),
    work("mode", |run| run.cell.mode.to_string()),
    work("input shapes", |run| shapes(&run.cell)),
    work("text", |run| run.cell.text.as_ref().map_or_else(|| "none".into(), text_of)),
    remark("machine", "this compares machines, not engines", |run| {
        format!("{} {}", run.environment.machine.hostname, run.environment.machine.key)
    }),
    remark("model", "this compares models, not engines", |run| run.model.name.clone()),
    remark("weights fingerprint", "graph or weights are not the same", |run| {
        run.model.fingerprint.clone()
    }),
    remark("precision", "", |run| run.cell.precision.to_string()),
    remark("device", "", |run| run.cell.device.to_string()),
    remark("threads", "", |run| run.cell.threads.to_string()),
    remark("seed", "weights or inputs are not the same", |run| run.cell.seed.to_string()),
    remark("operating system", "", |run| run.environment.os.clone()),
    remark("kernel", "", |run| run.environment.kernel.clone()),
    remark("clock governor", "", |run| {
        run.environment.governor.clone().unwrap_or_else(|| "none".into())
    }),
    remark("version of Modelmeter", "", |run| {
        run.environment.versions.get("modelmeter").cloned().unwrap_or_else(|| "unknown".into())
    }),
];

fn shapes(cell: &Cell) -> String {
    let each = cell.inputs.iter().map(|input| {
        let dims: Vec<String> = input.dims.iter().map(usize::to_string).collect();
        format!("{} {}", input.name, dims.join("×"))
    });
    let all: Vec<String> = each.collect();
    if all.is_empty() { "the model's own".into() } else { all.join(", ") }
}

/// Two texts that differ anywhere differ in this.
fn text_of(text: &Text) -> String {
    // No line holds a line break, so joined lines differ wherever the lists do.
    let hash = stable_hash(text.lines.join("\n").into_bytes());
    let lines = if text.lines.len() == 1 { "line" } else { "lines" };
    format!("{} {lines} ({:08x})", text.lines.len(), hash as u32)
}

/// One thing in which two groups of runs differ.
pub(crate) struct Unlike {
    pub(crate) meaning: Meaning,
    /// What differs and how: `threads 2 and 4`.
    pub(crate) text: String,
}

/// In what runs of two groups differ. Engine versions count only where both ran one engine: otherwise the engine is
/// what is compared.
pub(crate) fn differences(left: &[Run], right: &[Run]) -> Vec<Unlike> {
    let engine: fn(&Run) -> String = |run| run.engine.id.clone();
    let mut found: Vec<Unlike> =
        FACTS.iter().filter_map(|fact| unlike(fact, left, right)).collect();
    if values(left, engine) == values(right, engine) {
        let version = remark("engine version", "", |run| run.engine.version.clone());
        let options = remark("engine options", "", |run| match run.cell.options.to_string() {
            said if said.is_empty() => "none".into(),
            said => said,
        });
        found.extend(unlike(&version, left, right));
        // Words may leave out what the options differ in.
        let same = has_options_of(left, right) && has_options_of(right, left);
        found.extend((!same).then(|| told(&options, left, right)));
    }
    found
}

fn unlike(fact: &Fact, left: &[Run], right: &[Run]) -> Option<Unlike> {
    (values(left, fact.of) != values(right, fact.of)).then(|| told(fact, left, right))
}

fn told(fact: &Fact, left: &[Run], right: &[Run]) -> Unlike {
    let [one, other] = [left, right].map(|runs| values(runs, fact.of).join(", "));
    Unlike { meaning: fact.meaning, text: format!("{} {one} and {other}", fact.name) }
}

/// Whether the engine options of each of these runs are among those of the others.
fn has_options_of(others: &[Run], runs: &[Run]) -> bool {
    let is_there = |run: &Run| others.iter().any(|other| other.cell.options == run.cell.options);
    runs.iter().all(is_there)
}

/// The values of a fact over several runs, each once.
fn values(runs: &[Run], of: fn(&Run) -> String) -> Vec<String> {
    let mut values: Vec<String> = runs.iter().map(of).collect();
    values.sort_unstable();
    values.dedup();
    values
}
