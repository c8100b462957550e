//! The words of a proof, the same on a screen and in a document.

use crate::clean::clean;
use crate::comparison::words::{ratio, short_version};
use number::{MISSING, bytes, count, fixed, flops, percent, seconds, significant};
use types::{
    Interval, ModelFacts, Optimisation, Outcome, OutputDrift, ProofReport, SpeedProof,
    SpeedVerdict, WeightFacts, Weights,
};

/// What was done, in a few words.
pub(super) fn done(change: &Optimisation) -> String {
    let how = |calibrated: bool, steps: u32| {
        let mut words = String::new();
        if calibrated {
            words.push_str(", weighted by activations");
        }
        if steps > 1 {
            words.push_str(&format!(", in {steps} steps"));
        }
        words
    };
    match change {
        Optimisation::Zeroed { method, pattern, calibrated, steps, .. } => {
            let pattern =
                pattern.as_ref().map(|text| format!(" {}", clean(text))).unwrap_or_default();
            format!("pruned by {}{pattern}{}", clean(method), how(*calibrated, *steps))
        }
        Optimisation::Structured { calibrated, steps, .. } => {
            format!("heads and neurons removed{}", how(*calibrated, *steps))
        }
        Optimisation::Quantised { to, how, per_channel } => {
            let how = how.as_ref().map(|how| format!(", {}", clean(how))).unwrap_or_default();
            let scale = if *per_channel { ", a scale for each channel" } else { "" };
            format!("converted to {to}{how}{scale}")
        }
        Optimisation::Together { changes } => {
            let words: Vec<String> = changes.iter().map(done).collect();
            words.join(", then ")
        }
    }
}

/// The share that was asked for and the one that was reached.
pub(super) fn reached(change: &Optimisation) -> Option<String> {
    let said = |asked: f64, reached: f64, of: &str| {
        format!("{} % requested, {} % reached of the {of}", points(asked), points(reached))
    };
    match change {
        Optimisation::Zeroed { asked, reached, .. } => {
            Some(said(*asked, *reached, "chosen weights"))
        }
        Optimisation::Structured { asked, reached, .. } => {
            Some(said(*asked, *reached, "heads and neurons"))
        }
        Optimisation::Quantised { .. } => None,
        Optimisation::Together { changes } => changes.iter().find_map(reached),
    }
}

fn points(share: f64) -> String {
    fixed(100.0 * share, 1)
}

/// The model, its weights and what was done.
pub(super) fn title(report: &ProofReport) -> Vec<String> {
    let random = matches!(report.model.weights, Weights::Random { .. });
    let mut title = vec![clean(&report.model.name)];
    title.extend(random.then(|| "random weights".to_owned()));
    title.push(done(&report.optimisation));
    title
}

/// Where it was measured and where it lies.
pub(super) fn place(report: &ProofReport) -> Vec<String> {
    let length = report.sequence_length.map(|n| format!(" × {}", report.model.length_words(n)));
    let mut facts = vec![format!("batch {}{}", report.batch_size, length.unwrap_or_default())];
    facts.extend(reached(&report.optimisation));
    let took = seconds(report.changed_in.0);
    facts.push(match &report.folder {
        Some(folder) => format!("written to {} in {took}", clean(&folder.to_string_lossy())),
        None => format!("made in {took}"),
    });
    facts
}

/// Rows of sizes: the name, before, after, and what that is.
pub(super) fn sizes(report: &ProofReport) -> Vec<[String; 4]> {
    let (a, b) = (&report.before, &report.after);
    let packed = |facts: &ModelFacts| facts.compressed.map(|size| bytes(size.0));
    let share = |before: u64, after: u64| match before {
        0 => String::new(),
        _ if before == after => "the same".into(),
        _ => percent(after as f64 / before as f64),
    };
    let mut rows = vec![
        [
            "parameters".into(),
            count(a.parameters),
            count(b.parameters),
            share(a.parameters, b.parameters),
        ],
        ["not zero".into(), count(a.nonzeros), count(b.nonzeros), share(a.nonzeros, b.nonzeros)],
        ["sparsity".into(), zeros(a), zeros(b), String::new()],
        ["files".into(), bytes(a.size.0), bytes(b.size.0), share(a.size.0, b.size.0)],
    ];
    if let (Some(before), Some(after)) = (a.compressed, b.compressed) {
        let text = |facts| packed(facts).unwrap_or_default();
        rows.push(["compressed".into(), text(a), text(b), share(before.0, after.0)]);
    }
    let work = |facts: &ModelFacts| flops(facts.flops.0);
    rows.push(["work".into(), work(a), work(b), share(a.flops.0, b.flops.0)]);
    if a.precision != b.precision {
        rows.push([
            "format".into(),
            a.precision.to_string(),
            b.precision.to_string(),
            String::new(),
        ]);
    }
    rows
}

fn zeros(facts: &ModelFacts) -> String {
    format!("{} %", points(facts.sparsity()))
}

/// Engine, before, after, ratio, verdict, memory before and after.
pub(super) fn speed(one: &SpeedProof) -> [String; 6] {
    let time = |summary: &Option<types::Summary>| {
        summary.as_ref().map_or_else(|| MISSING.to_owned(), |s| seconds(s.median))
    };
    let memory = match (one.memory_before, one.memory_after) {
        (Some(before), Some(after)) => format!("{} → {}", bytes(before.0), bytes(after.0)),
        _ => MISSING.to_owned(),
    };
    let engine = format!("{} {}", clean(&one.engine), short_version(&clean(&one.version)));
    [
        engine.trim().to_owned(),
        time(&one.before),
        time(&one.after),
        factor(one),
        verdict(one),
        memory,
    ]
}

/// The ratio with its interval: `1.38 × [1.31, 1.45]`.
pub(super) fn factor(one: &SpeedProof) -> String {
    let Some(found) = &one.speed_up else { return MISSING.to_owned() };
    let interval =
        found.interval.map(|Interval { low, high }| format!(" [{}, {}]", ratio(low), ratio(high)));
    format!("{} ×{}", ratio(found.ratio), interval.unwrap_or_default())
}

/// `faster`, `no faster`, `slower`; marked where the numbers cannot be believed.
pub(super) fn verdict(one: &SpeedProof) -> String {
    let word = match one.verdict {
        SpeedVerdict::Faster => "faster",
        SpeedVerdict::NoFaster => "not faster",
        SpeedVerdict::Slower => "slower",
        SpeedVerdict::CannotTell => "cannot tell",
        SpeedVerdict::Unmeasured => "not measured",
    };
    let doubtful = one.verdicts.iter().any(|verdict| !verdict.valid);
    if doubtful { format!("{word} (doubtful)") } else { word.to_owned() }
}

/// The sentences at the end: what it means, and what would help.
pub(super) fn sentences(report: &ProofReport) -> Vec<(SpeedVerdict, String)> {
    let mut said: Vec<(SpeedVerdict, String, Vec<String>)> = Vec::new();
    for one in &report.speed {
        let mut text = String::new();
        if let (Outcome::CannotTell, Some(seen)) =
            (&one.outcome, one.speed_up.as_ref().and_then(|found| found.detectable))
        {
            text = match seen < 1.0 {
                true => format!(" (a difference of {} would have been detected)", percent(seen)),
                false => " (not even a doubled time would have been detected)".into(),
            };
        }
        let why = one.why.as_ref().map(|why| format!(": {}", clean(why))).unwrap_or_default();
        let instead =
            one.instead.as_ref().map(|text| format!("; {}", clean(text))).unwrap_or_default();
        let engine = format!("{}{text}", clean(&one.engine));
        let tail = format!("{why}{instead}");
        match said.iter_mut().find(|(verdict, known, _)| *verdict == one.verdict && *known == tail)
        {
            Some((_, _, engines)) => engines.push(engine),
            None => said.push((one.verdict, tail, vec![engine])),
        }
    }
    said.into_iter()
        .map(|(verdict, tail, engines)| {
            let word = match verdict {
                SpeedVerdict::Faster => "faster",
                SpeedVerdict::NoFaster => "not faster",
                SpeedVerdict::Slower => "slower",
                SpeedVerdict::CannotTell => "cannot tell whether it is faster",
                SpeedVerdict::Unmeasured => "not measured",
            };
            (verdict, format!("{word} on {}{tail}", engines.join(", ")))
        })
        .collect()
}

/// Cosine, relative error and agreement of an output.
pub(super) fn moved(one: &OutputDrift) -> [String; 4] {
    let cosine = one.cosine.map_or_else(|| MISSING.to_owned(), cosine);
    let error = one.relative_error.map_or_else(|| MISSING.to_owned(), share);
    let top1 = one.top1.map_or_else(|| MISSING.to_owned(), percent);
    [clean(&one.output), cosine, error, top1]
}

/// A cosine with as many nines as it has.
pub(super) fn cosine(value: f64) -> String {
    fixed(value, if value > 0.999 { 6 } else { 4 })
}

/// A share that may be above the whole.
fn share(value: f64) -> String {
    format!("{} %", significant(100.0 * value, 2))
}

/// One row per layer: what its weights lost, and how far its output moved.
pub(super) struct LayerRow {
    pub(super) name: String,
    pub(super) before: u64,
    pub(super) nonzeros: u64,
    pub(super) numbers: u64,
    pub(super) drift: Option<OutputDrift>,
}

/// The layers of the model in order: modules that end in a number, with all weights inside; weights outside of any
/// such module stand for themselves.
pub(super) fn layers(report: &ProofReport) -> Vec<LayerRow> {
    let mut rows: Vec<LayerRow> = Vec::new();
    for weight in &report.weights {
        let name = layer_of(&weight.name);
        let row = match rows.iter().position(|row| row.name == name) {
            Some(place) => &mut rows[place],
            None => {
                let drift = report.drift.as_ref().and_then(|drift| {
                    // What leaves a layer leaves the last module in it.
                    let inside = |one: &&OutputDrift| {
                        let rest = one.output.strip_prefix(name.as_str());
                        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
                    };
                    drift.layers.iter().rev().find(inside).cloned()
                });
                rows.push(LayerRow { name, before: 0, nonzeros: 0, numbers: 0, drift });
                let last = rows.len() - 1;
                &mut rows[last]
            }
        };
        let WeightFacts { before, after, .. } = weight;
        row.before += before[0];
        row.numbers += after[0];
        row.nonzeros += after[1];
    }
    if rows.is_empty() {
        let drifts = report.drift.iter().flat_map(|drift| &drift.layers);
        let is_layer =
            |name: &str| layer_of(name) == name && name.ends_with(|c: char| c.is_ascii_digit());
        rows.extend(drifts.filter(|one| is_layer(&one.output)).map(|one| LayerRow {
            name: one.output.clone(),
            before: 0,
            nonzeros: 0,
            numbers: 0,
            drift: Some(one.clone()),
        }));
    }
    rows
}

/// The path up to its first number: `encoder.layer.0` of `encoder.layer.0.output.dense.weight`.
fn layer_of(name: &str) -> String {
    let mut end = 0;
    for part in name.split('.') {
        end += part.len();
        if !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) {
            return name[..end].to_owned();
        }
        end += 1;
    }
    let cut = name.rsplit_once('.').filter(|(_, last)| matches!(*last, "weight" | "bias"));
    cut.map_or(name, |(module, _)| module).to_owned()
}

/// A row of the table of layers.
pub(super) fn layer_cells(row: &LayerRow) -> [String; 5] {
    let some = |text: String| if row.before == 0 { String::new() } else { text };
    let zero = 1.0 - row.nonzeros as f64 / row.before.max(1) as f64;
    let [_, cosine, error, _] = row.drift.as_ref().map(moved).unwrap_or_default();
    [clean(&row.name), some(count(row.before)), some(format!("{} %", points(zero))), cosine, error]
}

/// Heads and neurons, each kind and size once: `8 of 12 heads in 12 blocks`.
pub(super) fn blocks(report: &ProofReport) -> Vec<String> {
    let mut said: Vec<(String, usize)> = Vec::new();
    for block in &report.blocks {
        let text = format!("{} of {} {}", block.after, block.before, clean(&block.what));
        match said.iter_mut().find(|(known, _)| *known == text) {
            Some((_, times)) => *times += 1,
            None => said.push((text, 1)),
        }
    }
    let many = |times: usize| if times == 1 { "1 block".into() } else { format!("{times} blocks") };
    said.into_iter().map(|(text, times)| format!("{text} stay in {}", many(times))).collect()
}
