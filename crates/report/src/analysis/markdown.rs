//! An analysis as Markdown: a table a model, best batches below it, growth with the length at the end.

use super::words::{Machines, Unlike, engine, exponent, factor, work};
use crate::invalid::not_valid;
use crate::markdown::{Side, plain, table};
use crate::number::{bytes, joules, percent, rate, seconds};
use types::{AnalysedCell, Analysis, BatchSeries, CellKey, LengthSeries};

const CELLS: [(&str, Side); 13] = [
    ("machine", Side::Left),
    ("device", Side::Left),
    ("engine", Side::Left),
    ("format", Side::Left),
    ("batch", Side::Right),
    ("median", Side::Right),
    ("p95", Side::Right),
    ("samples/s", Side::Right),
    ("peak", Side::Right),
    ("energy a sample", Side::Right),
    ("of ceiling", Side::Right),
    ("against cpu", Side::Left),
    ("front", Side::Left),
];

const BATCHES: [(&str, Side); 8] = [
    ("machine", Side::Left),
    ("device", Side::Left),
    ("engine", Side::Left),
    ("format", Side::Left),
    ("best batch", Side::Right),
    ("samples/s", Side::Right),
    ("nearly from", Side::Right),
    ("time as batch to the", Side::Left),
];

const LENGTHS: [(&str, Side); 8] = [
    ("machine", Side::Left),
    ("device", Side::Left),
    ("engine", Side::Left),
    ("format", Side::Left),
    ("batch", Side::Right),
    ("tokens", Side::Right),
    ("time as length to the", Side::Left),
    ("tokens/s kept", Side::Right),
];

/// The analysis as Markdown.
#[must_use]
pub fn analysis_markdown(found: &Analysis) -> String {
    let machines = Machines::new(&found.machines);
    let mut text = String::from("# Analysis\n");
    let titles = |key: &CellKey| {
        let mut words = work(&key.model, key.random_weights, key.mode, key.sequence_length);
        words.extend(key.imported.then(|| "imported".to_owned()));
        words.join(" · ")
    };
    for group in found.cells.chunk_by(|a, b| titles(&a.cell.key) == titles(&b.cell.key)) {
        let heading = titles(&group[0].cell.key);
        let unlike = Unlike::of(group.iter().map(|one| &one.cell.key));
        let rows: Vec<Vec<String>> =
            group.iter().map(|one| cells(one, unlike, &machines)).collect();
        text.push_str(&format!("\n## {}\n\n{}", plain(&heading), table(&CELLS, &rows)));
        let series = found.batches.iter().filter(|one| titles(&one.best) == heading);
        let several = series.filter(|one| one.scaling.value.is_some());
        let rows: Vec<Vec<String>> = several.map(|one| batches(one, unlike, &machines)).collect();
        if !rows.is_empty() {
            text.push_str(&format!("\n{}", table(&BATCHES, &rows)));
        }
    }
    let bare = |key: &CellKey| titles(&CellKey { sequence_length: None, ..key.clone() });
    for group in found.lengths.chunk_by(|a, b| bare(&a.shortest) == bare(&b.shortest)) {
        let unlike = Unlike::of(group.iter().map(|one| &one.shortest));
        let rows: Vec<Vec<String>> =
            group.iter().map(|one| lengths(one, unlike, &machines)).collect();
        let heading = plain(&bare(&group[0].shortest));
        text.push_str(&format!("\n## {heading} · by length\n\n{}", table(&LENGTHS, &rows)));
    }
    if found.cells.is_empty() {
        text.push_str("\nNo valid run answers this question.\n");
    }
    let tally = super::page::tally(&found.tally, found.cells.len());
    text.push_str(&format!("\n- {}\n", tally.join(" · ")));
    for remark in found.remarks.iter().chain(&super::page::remedies_of(found)) {
        text.push_str(&format!("- {}\n", plain(remark)));
    }
    text
}

fn cells(one: &AnalysedCell, unlike: Unlike, machines: &Machines<'_>) -> Vec<String> {
    let (cell, key) = (&one.cell, &one.cell.key);
    let machine = if unlike.machines { machines.name(&key.machine) } else { String::new() };
    vec![
        machine,
        key.device.to_string(),
        engine(cell, unlike),
        key.precision.to_string(),
        key.batch_size.to_string(),
        seconds(cell.latency.value),
        cell.percentiles.p95.map(seconds).unwrap_or_default(),
        cell.throughput.value.map(|found| rate(found.value)).unwrap_or_default(),
        cell.memory.value.map(|peak| bytes(peak.0)).unwrap_or_default(),
        cell.energy.value.map(|found| joules(found.value)).unwrap_or_default(),
        cell.efficiency.value.map(percent).unwrap_or_default(),
        one.speed_up.value.as_ref().map(factor).unwrap_or_default(),
        match (&cell.invalid, one.on_front.value) {
            (Some(reasons), _) => not_valid(reasons),
            (None, Some(true)) => "yes".into(),
            (None, _) => String::new(),
        },
    ]
}

/// Machine, device, engine and format.
fn way(key: &CellKey, unlike: Unlike, machines: &Machines<'_>) -> Vec<String> {
    let machine = if unlike.machines { machines.name(&key.machine) } else { String::new() };
    let mut name = vec![key.engine.clone()];
    name.extend(super::words::extras(key, unlike));
    vec![machine, key.device.to_string(), name.join(", "), key.precision.to_string()]
}

fn batches(series: &BatchSeries, unlike: Unlike, machines: &Machines<'_>) -> Vec<String> {
    let grows = series.scaling.value.map(|scaling| exponent(&scaling.exponent));
    let mut row = way(&series.best, unlike, machines);
    row.extend([
        series.best.batch_size.to_string(),
        rate(series.throughput.value),
        series.enough.to_string(),
        grows.unwrap_or_default(),
    ]);
    row
}

fn lengths(series: &LengthSeries, unlike: Unlike, machines: &Machines<'_>) -> Vec<String> {
    let LengthSeries { shortest, scaling } = series;
    let mut row = way(shortest, unlike, machines);
    row.extend([
        shortest.batch_size.to_string(),
        format!("{} … {}", scaling.from, scaling.to),
        exponent(&scaling.exponent),
        percent(scaling.efficiency),
    ]);
    row
}
