//! How many replicas a rate takes: one row for every way to serve the model.

use crate::clean::clean;
use crate::document::to_json;
use crate::result::{Block, DataTable, Note, ResultDocument, Tone};
use crate::sheet::Grid;
use crate::table::Column;
use number::{MISSING, count, percent, seconds, significant};
use schemars::JsonSchema;
use serde::Serialize;
use types::{CapacityOption, CapacityProof, CapacityReport, Device};

/// The name and version of the document.
pub const CAPACITY_SCHEMA: &str = "modelmeter.capacity/1";

/// How many replicas a rate takes. Simulated from measured times of service: predicted, not measured.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CapacityDocument<'a> {
    #[schemars(extend("const" = CAPACITY_SCHEMA))]
    schema: &'static str,
    #[serde(flatten)]
    report: &'a CapacityReport,
}

/// How many replicas a rate takes.
#[must_use]
pub fn capacity_document(report: &CapacityReport) -> ResultDocument {
    let mut facts = vec![
        format!("{}/s {}", significant(report.rate, 4), report.arrivals),
        format!("{} ≤ {}", report.limit.key(), seconds(report.limit.seconds)),
        format!("routing {}", report.routing),
    ];
    if let Some(most) = report.batch_max.filter(|most| *most > 1) {
        facts.push(format!("batches of at most {most}"));
    }
    if report.batch_wait.0 > 0.0 {
        facts.push(format!("batches wait at most {}", seconds(report.batch_wait.0)));
    }
    if let Some(length) = one_length(&report.options) {
        facts.push(format!("length {}", count(length as u64)));
    }
    if let (Some(prompt), Some(tokens)) = (&report.prompt, &report.new_tokens) {
        facts.push(format!("prompts of {prompt} tokens, answers of {tokens}"));
    }
    let mut notes: Vec<Note> = report
        .left_out
        .iter()
        .map(|one| {
            let precision =
                one.precision.map(|precision| format!(" {precision}")).unwrap_or_default();
            Note::warning(format!("{}{precision}: {}", clean(&one.engine), clean(&one.why)))
        })
        .collect();
    if let Some(proof) = &report.proof {
        notes.push(proved(proof));
    }
    if report.prompt.is_some() {
        notes.push(Note::new(
            "a language model: a waiting prompt is read whole before running answers go on, and every answer leaves its batch when it ends",
        ));
    }
    notes.push(Note::new(
        "simulated from measured times of service: every replica is taken to have a machine like this one for itself",
    ));
    let mut blocks = Vec::new();
    if !report.options.is_empty() {
        blocks.push(Block::table("replicas", table(&report.options)));
    }
    blocks.push(Block::Notes(notes));
    ResultDocument {
        title: vec![clean(&report.model), "capacity".into()],
        facts,
        verdict: Some(verdict(report)),
        blocks,
        json: to_json(&CapacityDocument { schema: CAPACITY_SCHEMA, report }),
        data: Some(data(&report.options)),
        ..ResultDocument::default()
    }
}

fn proved(proof: &CapacityProof) -> Note {
    let word = if proof.replicas == 1 { "replica" } else { "replicas" };
    let found = format!(
        "{} scripted {word} answered {} requests: {} where the simulation of the same schedule says {}",
        count(proof.replicas),
        count(proof.requests),
        seconds(proof.measured.0),
        seconds(proof.simulated.0)
    );
    match proof.agrees {
        Some(true) => Note::of(Tone::Good, format!("proved: {found}")),
        Some(false) => Note::of(Tone::Bad, format!("not proved: {found}")),
        None => {
            let why: Vec<String> = proof.reasons.iter().map(|reason| clean(reason)).collect();
            Note::warning(format!("cannot tell: {found}, but {}", why.join("; ")))
        }
    }
}

fn replicas(option: &CapacityOption) -> String {
    let word = if option.replicas == 1 { "replica" } else { "replicas" };
    format!(
        "{} {word} (95 %: {} to {})",
        count(option.replicas),
        count(option.low),
        count(option.high)
    )
}

fn verdict(report: &CapacityReport) -> Note {
    match report.options.first() {
        Some(best) => {
            let precision =
                best.precision.map(|precision| format!(" {precision}")).unwrap_or_default();
            let batch = match best.batch_max {
                1 => String::new(),
                most => format!(", batches of up to {}", count(most)),
            };
            let cost = match (best.cost_per_hour, best.cost_per_million) {
                (Some(hour), Some(million)) => format!(
                    ": {} an hour, {} a million requests",
                    significant(hour, 3),
                    significant(million, 3)
                ),
                _ => String::new(),
            };
            Note::of(
                Tone::Good,
                format!(
                    "{} with {}{precision}{}{batch}{cost}",
                    replicas(best),
                    clean(&best.engine),
                    device(best).map(|device| format!(" on {device}")).unwrap_or_default()
                ),
            )
        }
        None => Note::of(Tone::Bad, "nothing that was measured keeps the limit"),
    }
}

/// The device, where a server does not keep it to itself.
fn device(option: &CapacityOption) -> Option<String> {
    (option.device != Device::Auto).then(|| option.device.to_string())
}

/// The length of a request, where all rows have the same.
fn one_length(options: &[CapacityOption]) -> Option<usize> {
    let first = options.first()?.sequence_length?;
    options.iter().all(|option| option.sequence_length == Some(first)).then_some(first)
}

/// One row a way to serve the model; a column about which no row says anything is left out.
fn table(options: &[CapacityOption]) -> Grid {
    let mut grid = Grid::of([
        Column::left("engine").shrinks(),
        Column::left("format").leaves(1),
        Column::left("device").leaves(2),
        Column::right("threads").leaves(3),
        Column::right("length").leaves(3),
        Column::right("replicas"),
        Column::right("95 %"),
        Column::right("busy"),
        Column::right("percentile"),
        Column::right("one less").leaves(5),
        Column::right("batch").leaves(6),
        Column::right("cost/h").leaves(4),
    ]);
    let same_length = one_length(options).is_some();
    let any_price = options.iter().any(|option| option.cost_per_hour.is_some());
    for option in options {
        let length = option.sequence_length.filter(|_| !same_length);
        grid.row([
            clean(&option.engine),
            option.precision.map_or_else(|| MISSING.into(), |precision| precision.to_string()),
            device(option).unwrap_or_else(|| MISSING.into()),
            option.threads.map_or_else(|| MISSING.into(), |threads| count(threads.into())),
            length.map_or_else(|| MISSING.into(), |length| count(length as u64)),
            count(option.replicas),
            format!("{} to {}", count(option.low), count(option.high)),
            percent(option.utilisation.0),
            seconds(option.percentile.0),
            option.one_less.map_or_else(|| MISSING.into(), |less| seconds(less.0)),
            format!("{} of {}", significant(option.mean_batch, 3), count(option.batch_max)),
            match option.cost_per_hour {
                Some(cost) => significant(cost, 3),
                None if any_price => "no price given".into(),
                None => MISSING.into(),
            },
        ]);
    }
    grid.without_silent_columns()
}

fn data(options: &[CapacityOption]) -> DataTable {
    let columns = [
        "engine",
        "precision",
        "device",
        "threads",
        "sequence_length",
        "replicas",
        "replicas_low",
        "replicas_high",
        "utilisation",
        "percentile_s",
        "one_less_s",
        "mean_batch",
        "batch_max",
        "cost_per_hour",
        "cost_per_million",
    ];
    let rows = options.iter().map(|option| {
        vec![
            Some(option.engine.clone()),
            option.precision.map(|precision| precision.to_string()),
            Some(option.device.to_string()),
            option.threads.map(|threads| threads.to_string()),
            option.sequence_length.map(|length| length.to_string()),
            Some(option.replicas.to_string()),
            Some(option.low.to_string()),
            Some(option.high.to_string()),
            Some(option.utilisation.0.to_string()),
            Some(option.percentile.0.to_string()),
            option.one_less.map(|less| less.0.to_string()),
            Some(option.mean_batch.to_string()),
            Some(option.batch_max.to_string()),
            option.cost_per_hour.map(|cost| cost.to_string()),
            option.cost_per_million.map(|cost| cost.to_string()),
        ]
    });
    DataTable::new(columns, rows)
}
