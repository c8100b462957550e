//! The labelled rows around the latency table: cold numbers, throughput, compute, memory, energy, probes.

use super::{imported, traffic, training};
use crate::clean::clean;
use crate::energy::{Energy, Scope, energy};
use crate::lookup::{Reading, reading, told};
use crate::result::Fact;
use analysis::watching_share;
use number::{
    bytes, count, duration, flops_per_second, joules, percent, plus_minus, rate, significant,
};
use std::time::Duration;
use types::{LimitedBy, MemoryLimit, Mode, Run, StopReason, key};

/// What happened before the first number that counts, and how long it was counted.
pub(super) fn cold(run: &Run) -> Vec<Fact> {
    rows(cold_rows(run))
}

/// Everything that is derived from the warm runs.
pub(super) fn warm(run: &Run) -> Vec<Fact> {
    rows(warm_rows(run))
}

/// Rows without any facts are left out.
fn rows(rows: Vec<(&'static str, Vec<String>)>) -> Vec<Fact> {
    let told = rows.into_iter().filter(|(_, pieces)| !pieces.is_empty());
    told.map(|(label, pieces)| Fact { label: label.into(), pieces, ..Fact::default() }).collect()
}

/// Every labelled row with its facts one by one; rows without any are left out.
pub(crate) fn labelled(run: &Run) -> Vec<(&'static str, Vec<String>)> {
    let rows = cold_rows(run).into_iter().chain(warm_rows(run));
    rows.filter(|(_, facts)| !facts.is_empty()).collect()
}

fn cold_rows(run: &Run) -> Vec<(&'static str, Vec<String>)> {
    let warm = match run.imported {
        None => vec![format!("{}, {}", warmup(run), sampling(run))],
        Some(_) => imported::warm(run),
    };
    vec![("imported", imported::source(run)), ("cold", cold_items(run)), ("warm", warm)]
}

fn warm_rows(run: &Run) -> Vec<(&'static str, Vec<String>)> {
    let mut speed = throughput_items(run);
    speed.extend(error_of_throughput(run));
    let mut rows = vec![
        ("throughput", speed),
        ("compute", compute(run)),
        ("phases", training::phases(run)),
        ("cache", crate::generation::cache(run)),
        ("growth", crate::generation::growth(run).into_iter().collect()),
        ("training", training::how(run)),
        ("held", training::held(run)),
        ("world", training::world(run)),
        ("memory", memory(run)),
        ("disk", traffic::disk(run)),
        ("network", traffic::network(run)),
        ("energy", energy_facts(run)),
        ("cpu", processor(run)),
        ("probes", probes(run)),
        ("also", imported::further_numbers(run)),
    ];
    rows.extend(run.load.as_deref().into_iter().flat_map(crate::load::labelled));
    rows
}

/// Process, load and the first inference.
fn cold_items(run: &Run) -> Vec<String> {
    let first = format!("first {}", training::sample_word(run));
    let cold = [
        ("cold.process_start", "process", run.cold.process_start),
        ("cold.load", "load", run.cold.load),
        ("cold.first_inference", first.as_str(), run.cold.first_inference),
    ];
    let steps = load_steps(run);
    let parts = |path: &str| match path == "cold.load" && !steps.is_empty() {
        true => format!(" ({})", steps.join(", ")),
        false => String::new(),
    };
    cold.into_iter()
        .filter_map(|(path, word, time)| {
            told(run, path, format!("{word} {}{}", duration(time), parts(path)))
        })
        .collect()
}

/// The parts of loading, where the engine tells them: `runtime download 79 ms`.
fn load_steps(run: &Run) -> Vec<String> {
    let step = |metric: &types::Metric| {
        let name = metric.key.strip_prefix("cold.load.")?.replace('-', " ");
        let time = Duration::try_from_secs_f64(metric.value?).ok()?;
        Some(format!("{name} {}", duration(time)))
    };
    run.metrics.iter().filter_map(step).collect()
}

fn warmup(run: &Run) -> String {
    match (run.warmup.runs, run.warmup.settled) {
        (0, _) => "no warm-up".into(),
        (1, true) => "after 1 run".into(),
        (runs, true) => format!("after {} runs", count(runs)),
        (runs, false) => format!("did not settle in {} runs", count(runs)),
    }
}

fn sampling(run: &Run) -> String {
    let until = match run.stop {
        StopReason::Settled => " until the median was precise enough",
        StopReason::RunsDone => " as requested",
        StopReason::DurationCap => " until the time limit",
        StopReason::RunsCap => " (the limit)",
    };
    format!("then {} measured{until}", count(runs(run)))
}

/// Samples of the main phase.
fn runs(run: &Run) -> u64 {
    run.summaries.get(&run.main_phase()).map_or(0, |summary| summary.count)
}

/// Half the 95 % interval of the mean, which throughput rests on, as a share of it.
fn half_width(run: &Run) -> Option<f64> {
    let summary = run.summaries.get(&run.main_phase())?;
    let half = summary.ci95_mean.relative_half_width(summary.mean)?;
    half.is_finite().then_some(half)
}

/// `± 1.0 % (95 %, 212 runs)`. Not of a load: the interval is one of the latency, and its rate does not follow from that.
fn error_of_throughput(run: &Run) -> Option<String> {
    half_width(run)
        .filter(|_| run.cell.mode != Mode::Load)
        .map(|half| format!("{} (95 %, {} runs)", plus_minus(half), count(runs(run))))
}

fn throughput_items(run: &Run) -> Vec<String> {
    let of = |key: &str| reading(run, key);
    let (samples, images) = (of("throughput.samples"), of("throughput.images"));
    let tokens = of("throughput.tokens");
    // For a vision model both are the same number; the better word is enough.
    let samples = if samples == images { None } else { samples };
    [(samples, "samples"), (images, "images"), (tokens, "tokens")]
        .into_iter()
        .filter_map(|(reading, word)| Some(per_second(&reading?, word)))
        .collect()
}

fn per_second(reading: &Reading, word: &str) -> String {
    match reading {
        Reading::Known(value) => format!("{} {word}/s", rate(*value)),
        Reading::Missing(why) => format!("{word}/s {}", unavailable(why)),
    }
}

fn compute(run: &Run) -> Vec<String> {
    let Some(speed) = reading(run, "compute.flops_per_second") else { return Vec::new() };
    let mut items = Vec::new();
    match speed {
        Reading::Known(speed) => {
            let mut text = flops_per_second(speed);
            match reading(run, "compute.ceiling_share") {
                Some(Reading::Known(share)) => {
                    let precision = run.cell.precision;
                    text += &format!(", {} of this machine's {precision} ceiling", percent(share));
                    items.push(text);
                }
                Some(Reading::Missing(why)) => {
                    items.push(text);
                    items.push(format!("ceiling {}", unavailable(&why)));
                }
                None => items.push(text),
            }
        }
        Reading::Missing(why) => items.push(unavailable(&why)),
    }
    let coverage = told(run, "work.coverage", run.work.coverage.0).unwrap_or(1.0);
    if coverage < 1.0 {
        items.push(format!("{} of operators counted: a lower bound", percent(coverage)));
    }
    items
}

fn memory(run: &Run) -> Vec<String> {
    let of = |key: &str, word: &str| match reading(run, key)? {
        Reading::Known(value) => Some(format!("{word} {}", bytes(value.max(0.0) as u64))),
        Reading::Missing(why) => Some(format!("{word} {}", unavailable(&why))),
    };
    let activations = run.work.activation_peak.map(|peak| format!("activations {}", bytes(peak.0)));
    let facts = match run.cell.device.has_own_memory() {
        true => {
            let peak = format!("peak on {}", run.cell.device);
            vec![
                of(key::MEMORY_PEAK, &peak),
                activations,
                of(key::MEMORY_HOST_PEAK, "host peak"),
                of(key::MEMORY_HOST_AVERAGE, "host average"),
                limit(run),
            ]
        }
        false => vec![
            of(key::MEMORY_PEAK, "peak"),
            of(key::MEMORY_AVERAGE, "average"),
            activations,
            limit(run),
        ],
    };
    facts.into_iter().flatten().collect()
}

/// What the worker was held to: in MiB, as it was asked for.
fn limit(run: &Run) -> Option<String> {
    let MemoryLimit { bytes, by } = run.environment.memory_limit?;
    let mebibytes = count(bytes.0 >> 20);
    Some(match by {
        LimitedBy::Nobody => format!("a limit of {mebibytes} MiB was not enforced"),
        by => format!("limited to {mebibytes} MiB by {}", by.words()),
    })
}

fn energy_facts(run: &Run) -> Vec<String> {
    let show = |entry: &Energy| {
        let scope = match entry.scope {
            Scope::AboveIdle => "above idle",
            Scope::Total => "idle included",
        };
        format!("{} {} {scope}", entry.whose, joules(entry.joules)).trim().to_string()
    };
    match energy(run) {
        Ok(known) => {
            let each = known.first().and_then(|own| each(run, own));
            known.iter().map(show).chain(each).collect()
        }
        // Nobody looked; that a file of another tool says nothing is no news.
        Err(_) if run.imported.is_some() => Vec::new(),
        Err(why) => vec![unavailable(&why)],
    }
}

/// What one step or one sample took of it.
fn each(run: &Run, energy: &Energy) -> Option<String> {
    let (share, what) = match run.cell.mode {
        Mode::Training => (runs(run), "step"),
        Mode::Generate => (runs(run), "sample"),
        Mode::Load => (runs(run), "request"),
        Mode::Inference => (runs(run) * run.cell.batch_size as u64, "sample"),
    };
    (share > 0).then(|| format!("{} a {what}", joules(energy.joules / share as f64)))
}

fn processor(run: &Run) -> Vec<String> {
    let known = |key: &str| reading(run, key).and_then(|reading| reading.known());
    let used = reading(run, "cpu.process.utilisation").map(|used| match used {
        Reading::Known(share) => {
            let cores = known("cpu.process.cores");
            let cores = cores.map(|cores| format!("{} cores busy, ", significant(cores, 3)));
            format!("{}{} of the machine", cores.unwrap_or_default(), percent(share))
        }
        Reading::Missing(why) => unavailable(&why),
    });
    let others = known("cpu.others.utilisation");
    let others = others.map(|share| format!("other work {}", percent(share)));
    used.into_iter().chain(others).collect()
}

fn probes(run: &Run) -> Vec<String> {
    let share = watching_share(run);
    share.map(|share| format!("overhead {} of the time", percent(share))).into_iter().collect()
}

/// The first clause of the reason; the advice after it stands in `modelmeter devices` and in the JSON.
fn unavailable(why: &str) -> String {
    let why = clean(why);
    let clause = why.split("; ").next().unwrap_or_default();
    format!("unavailable: {}", clause.trim_end_matches(';'))
}
