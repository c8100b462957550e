//! The sides of a duel: what they are called, and what became of each.

use crate::prepare::Prepared;
use meter::Record;
use std::time::Duration;
use types::{
    Bytes, EngineInfo, Environment, Parity, Phase, Reason, RemarkCode, Run, Seconds, Side,
    SideInfo, Verdict,
};

/// What tells the sides apart, in a few words: the engine, and whatever else differs.
pub(crate) fn labels(prepared: &[Prepared]) -> Vec<String> {
    let differs = |of: &dyn Fn(&Prepared) -> String| {
        let first = prepared.first().map(of);
        prepared.iter().any(|ready| Some(of(ready)) != first)
    };
    let parts: [&dyn Fn(&Prepared) -> String; 10] = [
        &|ready| ready.cell.engine.clone(),
        &|ready| ready.cell.mode.to_string(),
        &|ready| ready.cell.device.to_string(),
        &|ready| ready.cell.precision.to_string(),
        &|ready| ready.cell.options.to_string(),
        &|ready| format!("batch {}", ready.cell.batch_size),
        &|ready| match ready.cell.sequence_length {
            Some(length) => ready.cell.feed.length_unit.words(length),
            None => String::new(),
        },
        &|ready| match ready.cell.threads {
            1 => "1 thread".into(),
            threads => format!("{threads} threads"),
        },
        &|ready| ready.model_name(),
        // Two files may be called alike.
        &|ready| end_of_path(&ready.cell.model),
    ];
    let mut shown: Vec<_> = parts.into_iter().filter(|part| differs(part)).collect();
    if differs(parts[8]) {
        // The names tell the models apart; paths would only say it again.
        shown.pop();
    }
    if shown.is_empty() {
        shown.push(parts[0]);
    }
    let mut labels: Vec<String> = prepared
        .iter()
        .map(|ready| {
            let words: Vec<String> = shown.iter().map(|part| part(ready)).collect();
            words.into_iter().filter(|w| !w.is_empty()).collect::<Vec<_>>().join(" ")
        })
        .collect();
    // The same thing twice is a fair question too: how much does it differ from itself?
    for place in 1..labels.len() {
        let twins = labels[..place]
            .iter()
            .filter(|label| label.split(" #").next() == Some(labels[place].as_str()));
        let twins = twins.count();
        if twins > 0 {
            labels[place] = format!("{} #{}", labels[place], twins + 1);
        }
    }
    labels
}

/// The last two parts of a path: enough to tell files apart, short enough for a table.
fn end_of_path(path: &str) -> String {
    let parts: Vec<&str> = path.trim_end_matches('/').rsplit('/').take(2).collect();
    parts.into_iter().rev().collect::<Vec<_>>().join("/")
}

/// The duel as it was outcome.
pub(crate) fn assemble(
    prepared: &[Prepared],
    labels: &[String],
    baseline: usize,
    records: Vec<Record>,
    parity: Vec<Parity>,
    environment: Environment,
    (started_at, elapsed): (i64, Duration),
) -> types::Duel {
    let cell = &prepared[baseline].cell;
    types::Duel {
        started_at,
        elapsed,
        model: prepared[baseline].model_info().clone(),
        batch_size: cell.batch_size,
        sequence_length: cell.sequence_length,
        mode: cell.mode,
        seed: cell.seed,
        environment,
        sides: records
            .into_iter()
            .zip(prepared)
            .zip(labels)
            .map(|((record, ready), label)| side(record, ready, label))
            .collect(),
        parity,
        // Which side ran wider than its checkpoint is said at that side.
        remarks: {
            let remarks = prepared[baseline].remarks().into_iter();
            remarks.filter(|remark| remark.code != RemarkCode::CheckpointWidened).collect()
        },
        looks: None,
    }
}

fn side(record: Record, ready: &Prepared, label: &str) -> Side {
    let cell = &ready.cell;
    let runs: Vec<&Run> = record.bouts.iter().map(|bout| &bout.run).collect();
    let peak = runs
        .iter()
        .filter_map(|run| run.metric(types::key::MEMORY_PEAK)?.value)
        .reduce(f64::max)
        .map(|bytes| Bytes(bytes as u64));
    let loaded = record.loaded.as_ref();
    let info = SideInfo {
        label: label.to_owned(),
        engine: EngineInfo {
            id: cell.engine.clone(),
            version: loaded.map(|report| report.version.clone()).unwrap_or_default(),
            placement: loaded.map(|report| report.placement.clone()).unwrap_or_default(),
        },
        device: cell.device,
        precision: cell.precision,
        threads: cell.threads,
        options: cell.options.clone(),
        mode: cell.mode,
        training: cell.training,
        generation: cell.generation,
        phases: phases(&runs),
        peak_memory: peak,
        verdict: joint_verdict(&runs),
        remarks: loaded
            .map(|report| report.remarks.clone())
            .into_iter()
            .flatten()
            .chain(ready.widened())
            .collect(),
        failed: record.failed.as_ref().map(crate::error::spell),
    };
    Side {
        info,
        load: runs.iter().map(|run| Seconds(run.cold.load.as_secs_f64())).collect(),
        first: runs.iter().map(|run| Seconds(run.cold.first_inference.as_secs_f64())).collect(),
        rounds: record.bouts.into_iter().map(|bout| bout.turns).collect(),
    }
}

/// The phases of a training step, each with the median of its processes' medians.
fn phases(runs: &[&Run]) -> Vec<(Phase, Seconds)> {
    let steps = [Phase::Forward, Phase::Loss, Phase::Backward, Phase::Optimizer];
    let of = |phase: Phase| {
        let medians = runs.iter().filter_map(|run| Some(run.summaries.get(&phase)?.median));
        let mut medians: Vec<f64> = medians.collect();
        medians.sort_by(f64::total_cmp);
        medians.get(medians.len() / 2).map(|median| (phase, Seconds(*median)))
    };
    steps.into_iter().filter_map(of).collect()
}

/// What speaks against any of a side's runs, each thing once; the interval of a single round is not what is claimed.
///
/// A round that something else disturbed is left out of the comparison. It speaks against the side only where most rounds
/// were.
pub(crate) fn joint_verdict(runs: &[&Run]) -> Verdict {
    use types::ReasonCode as Code;
    let mut reasons: Vec<Reason> = Vec::new();
    for reason in runs.iter().flat_map(|run| &run.verdict.reasons) {
        let of_one_round = matches!(
            reason.code,
            Code::TooFewSamples | Code::UnsupportedPercentile | Code::WideInterval | Code::Drift
        );
        let known = |known: &Reason| {
            known.code == reason.code && (known.invalidates || !reason.invalidates)
        };
        if of_one_round || reasons.iter().any(known) {
            continue;
        }
        reasons.retain(|known| known.code != reason.code);
        reasons.push(reason.clone());
    }
    for reason in reasons.iter_mut().filter(|reason| reason.invalidates) {
        let is_it = |other: &&Reason| other.code == reason.code && other.invalidates;
        let struck =
            runs.iter().filter(|run| run.verdict.reasons.iter().any(|other| is_it(&other)));
        let (struck, all) = (struck.count(), runs.len());
        if reason.code.is_disturbance() && struck * 2 <= all {
            reason.invalidates = false;
            reason.text = format!("{struck} of {all} processes are left out: {}", reason.text);
        }
    }
    Verdict::from_reasons(reasons)
}
