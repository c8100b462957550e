//! Limits, cells and winners in the fewest words.

use crate::analysis::words::{counted, half_width};
use crate::clean::clean;
use crate::comparison::words::short_version;
use crate::summary::processor;
use number::{MISSING, bytes, percent, rate, seconds};
use types::{
    Bytes, Confirmation, Device, FitCell, FitOutcome, FitReport, FitWay, Interval, Pooled,
    RefusalKind, SmallestNeed, Verdict, Weights,
};

const MEBIBYTE: u64 = 1 << 20;

/// `600 MiB`.
pub(super) fn mebibytes(bytes: Bytes) -> String {
    format!("{} MiB", number::fixed((bytes.0 / MEBIBYTE) as f64, 0))
}

/// The model and what is the same for all: `gpt2 · random weights · 124 M parameters · 128 tokens`.
pub(super) fn work(report: &FitReport) -> Vec<String> {
    let name = match clean(&report.model.name) {
        name if name.is_empty() => "unnamed model".into(),
        name => name,
    };
    let mut words = vec![name];
    if matches!(report.model.weights, Weights::Random { .. }) {
        words.push("random weights".into());
    }
    // A program is counted where it runs, not before.
    let parameters = Some(report.model.parameters).filter(|count| *count > 0);
    words.extend(parameters.map(|count| format!("{} parameters", number::count(count))));
    words.extend(report.generation.map(|generation| generation.name()));
    words.extend(report.sequence_length.map(|length| counted(length as u64, "token")));
    words
}

/// What a batch has so many of in a second.
pub(super) fn things(report: &FitReport) -> &'static str {
    match report.generation.map(|generation| generation.test) {
        Some(types::GenerationTest::Decode) => "tokens/s",
        Some(types::GenerationTest::Prefill) => "prompts/s",
        None => "samples/s",
    }
}

/// The limit, and who enforces it: `under 600 MiB (629 MB), enforced by a control group`.
pub(super) fn limit(report: &FitReport) -> String {
    let amount = format!("under {} ({})", mebibytes(report.limit), bytes(report.limit.0));
    match report.limited_by {
        Some(by) => format!("{amount}, enforced by {}", by.words()),
        None => format!("{amount}, not enforced"),
    }
}

/// Where it ran: `rten 0.27 on cpu (Xeon, 2 cores)`.
pub(super) fn place(report: &FitReport) -> Vec<String> {
    let hardware = match report.device {
        Device::Cpu => {
            let cpu = &report.machine.cpu;
            format!(" ({}, {})", processor(&cpu.model), counted(u64::from(cpu.cores), "core"))
        }
        _ => String::new(),
    };
    let mut engines: Vec<String> = Vec::new();
    for name in report.ways.iter().map(engine) {
        if !engines.contains(&name) {
            engines.push(name);
        }
    }
    let engines = engines.join(", ");
    vec![
        format!("{engines} on {}{hardware}", report.device).trim_start().to_owned(),
        counted(u64::from(report.threads), "thread"),
    ]
}

pub(super) fn several_engines(report: &FitReport) -> bool {
    let first = report.ways.first().map(|way| &way.engine);
    report.ways.iter().any(|way| Some(&way.engine) != first)
}

/// `rten 0.27`.
pub(super) fn engine(way: &FitWay) -> String {
    let version = way.engine_version.as_deref().unwrap_or_default();
    format!("{} {}", clean(&way.engine), short_version(&clean(version))).trim_end().to_owned()
}

/// A way among others: `int8`, or `rten int8` where there are several engines.
pub(super) fn way_name(engine: &str, precision: types::Precision, several: bool) -> String {
    match several {
        true => format!("{} {precision}", clean(engine)),
        false => precision.to_string(),
    }
}

pub(super) fn size(amount: Option<Bytes>) -> String {
    amount.map_or_else(|| MISSING.into(), |amount| bytes(amount.0))
}

pub(super) fn share(peak: Option<Bytes>, limit: Bytes) -> Option<f64> {
    peak.filter(|_| limit.0 > 0).map(|peak| peak.0 as f64 / limit.0 as f64)
}

/// `47 %` of the limit.
pub(super) fn of_limit(peak: Option<Bytes>, limit: Bytes) -> String {
    share(peak, limit).map_or_else(|| MISSING.into(), percent)
}

/// `15.2`, and `1.0 %` for a column of its own.
pub(super) fn throughput(found: Option<Pooled>) -> [String; 2] {
    match found {
        Some(found) => [rate(found.value), half_width(&found)],
        None => [MISSING.into(), String::new()],
    }
}

pub(super) fn latency(found: Option<Pooled>) -> String {
    found.map_or_else(|| MISSING.into(), |found| seconds(found.value))
}

/// What became of a cell.
pub(super) fn remark(cell: &FitCell) -> String {
    match &cell.outcome {
        FitOutcome::Fits if cell.valid == Some(false) => "disturbed".into(),
        FitOutcome::Fits => "fits".into(),
        FitOutcome::Refused(refusal) => refused(refusal.kind).into(),
        FitOutcome::NotTimed { .. } => "not timed".into(),
    }
}

pub(super) fn refused(kind: RefusalKind) -> &'static str {
    match kind {
        RefusalKind::OutOfMemory => "out of memory",
        RefusalKind::OverLimit => "over limit",
        RefusalKind::Timeout => "timed out",
        RefusalKind::Crash => "crashed",
    }
}

/// How a way ended at its top: the largest that fits, what does not, how that was found, and why larger ones were not
/// timed.
pub(super) fn top(way: &FitWay, most: usize) -> String {
    let fits = match (way.largest, way.refused) {
        (None, _) => "not even the smallest batch fits".to_owned(),
        (Some(largest), Some(refused)) => format!("batch {largest} fits, {refused} does not"),
        (Some(largest), None) if largest == most => {
            format!("batch {largest} fits, the largest that was tried")
        }
        (Some(largest), None) => format!("batch {largest} fits, the only possible one"),
    };
    let tries = way.tries.len();
    let tries = if tries == 1 { "1 try".into() } else { format!("{tries} tries") };
    let timed = way.stopped.as_ref().map(|why| {
        let last = way.cells.iter().rev().find(|cell| cell.throughput.is_some());
        let batch = last.map_or(0, |cell| cell.batch);
        format!("; timed up to {batch}: {}", clean(why))
    });
    format!("{fits} ({tries} from {}){}", way.start, timed.unwrap_or_default())
}

/// `rten · int8 · batch 8`.
pub(super) fn choice(one: &Confirmation) -> String {
    let cell = &one.cell;
    format!("{} · {} · batch {}", clean(&cell.engine), cell.precision, cell.batch_size)
}

/// The numbers of a whole measurement.
pub(super) fn numbers(one: &Confirmation, report: &FitReport) -> Vec<String> {
    let limit = report.limit;
    let mut words = Vec::new();
    words.extend(one.throughput.map(|found| {
        let value = format!("{} {}", rate(found.value), things(report));
        match found.interval {
            Some(Interval { low, high }) => format!("{value} [{}, {}]", rate(low), rate(high)),
            None => value,
        }
    }));
    words.extend(one.latency.map(|found| format!("median {}", seconds(found.value))));
    words.extend(one.peak.map(|peak| {
        let share = of_limit(Some(peak), limit);
        format!("peak {}, {share} of the limit", bytes(peak.0))
    }));
    words
}

/// `valid, with one remark`, or why not.
pub(super) fn verdict(verdict: &Verdict) -> String {
    let reasons: Vec<String> = verdict
        .reasons
        .iter()
        .filter(|reason| reason.invalidates)
        .map(|reason| clean(&reason.text))
        .collect();
    match (verdict.valid, verdict.remarks()) {
        (true, 0) => "valid".into(),
        (true, 1) => "valid, with one remark".into(),
        (true, remarks) => format!("valid, with {remarks} remarks"),
        (false, _) => format!("NOT VALID: {}", reasons.join("; ")),
    }
}

/// What would be enough: `int8 at batch 1 takes 47 MB without a limit and runs under 48 MiB`.
pub(super) fn need(need: &SmallestNeed) -> String {
    let SmallestNeed { engine, precision, batch, peak, enough } = need;
    let takes = format!(
        "{} {precision} at batch {batch} takes {} without a limit",
        clean(engine),
        bytes(peak.0)
    );
    match enough {
        Some(enough) => format!("{takes} and runs under {}", mebibytes(*enough)),
        None => takes,
    }
}

/// Confirmed ones that cannot be told from the winner.
pub(super) fn equals(report: &FitReport) -> Vec<&Confirmation> {
    let Some(best) = report.best() else { return Vec::new() };
    let overlaps = |one: &&Confirmation| match (one.throughput, best.throughput) {
        (Some(one), Some(best)) => match (one.interval, best.interval) {
            (Some(one), Some(best)) => one.high >= best.low,
            _ => true,
        },
        _ => false,
    };
    let others = report.confirmations.iter().enumerate();
    let others = others.filter(|(index, _)| Some(*index) != report.winner).map(|(_, one)| one);
    others.filter(|one| one.refused.is_none()).filter(overlaps).collect()
}
