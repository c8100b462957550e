//! trtexec: `--exportTimes` has every query, `--exportProfile` the time of every layer.

use super::{agree, stem};
use crate::{
    Problem,
    draft::Draft,
    import::Found,
    node::{self, Node},
};
use types::{Device, LayerProfile, LayerTime, Phase, ReasonCode, Stated};

/// Milliseconds as a share of a second.
const MILLI: f64 = 1e-3;
/// How long trtexec warms up unless told otherwise (`--warmUp`), in milliseconds.
const WARM_UP: f64 = 200.0;

/// One query.
struct Query {
    /// Host to device, compute and device to host together, in seconds.
    latency: f64,
    /// Compute alone, in seconds.
    compute: f64,
    /// When its data began to move, its kernels began and its results were there; in milliseconds, where the file says it.
    span: Option<(f64, f64, f64)>,
}

fn new_draft(name: &str) -> Draft {
    Draft {
        tool: "trtexec".into(),
        model: Some(stem(name).to_owned()),
        engine: "tensorrt".into(),
        placement: Some("TensorRT".into()),
        device: Some(Device::Tensorrt(0)),
        ..Draft::default()
    }
}

/// Every query with its times.
pub(crate) fn trtexec_times(text: &str, name: &str) -> Result<Found, Problem> {
    let mut found = Found::default();
    let mut queries = Vec::new();
    let mut has_end_to_end = false;
    node::each(text, |at, record| {
        let record = Node::new(&record, format!("[{at}]"));
        has_end_to_end |= record.maybe("endToEndMs").is_some();
        match query(&record) {
            Ok(query) => queries.push(query),
            Err(problem) => found.problem(problem),
        }
        !found.is_full()
    })?;
    if queries.is_empty() {
        return Ok(found);
    }
    let mut draft = new_draft(name);
    if has_end_to_end {
        drop_warmup(&mut draft, &mut queries);
    }
    draft.sample(Phase::Inference, &queries.iter().map(|query| query.latency).collect::<Vec<_>>());
    draft.sample(Phase::Device, &queries.iter().map(|query| query.compute).collect::<Vec<_>>());
    // Queries overlap, so the rate is not one over the latency: it is counted over the time from first to last.
    let begin = queries.first().and_then(|query| query.span).map(|span| span.0);
    let end = queries.iter().filter_map(|query| query.span).map(|span| span.2).reduce(f64::max);
    if let (Some(begin), Some(end)) = (begin, end)
        && end > begin
    {
        draft.rate("throughput.queries", queries.len() as f64 / ((end - begin) * MILLI));
    }
    found.drafts.push(draft);
    Ok(found)
}

fn query(record: &Node<'_>) -> Result<Query, Problem> {
    let latency = record.need("latencyMs")?;
    let compute = record.need("computeMs")?.seconds(MILLI)?;
    let total = latency.seconds(MILLI)?;
    let copies = [record.amount_of("h2dMs")?, record.amount_of("d2hMs")?];
    let sum = compute + copies.iter().flatten().sum::<f64>() * MILLI;
    if copies.iter().all(Option::is_some) && !agree(sum, total) {
        let what = format!(
            "is {} ms, but its parts add up to {} ms: wrong units?",
            total / MILLI,
            sum / MILLI
        );
        return Err(latency.complain(what));
    }
    let span = match (
        record.amount_of("startH2dMs")?,
        record.amount_of("startComputeMs")?,
        record.amount_of("endD2hMs")?,
    ) {
        (Some(begin), Some(compute), Some(end)) => Some((begin, compute, end)),
        _ => None,
    };
    Ok(Query { latency: total, compute, span })
}

/// Versions that still wrote `endToEndMs` put the queries of the warm-up into the file as well.
fn drop_warmup(draft: &mut Draft, queries: &mut Vec<Query>) {
    let before = queries.len();
    let is_warm = |query: &Query| query.span.is_none_or(|(_, compute, _)| compute >= WARM_UP);
    if !queries.iter().any(is_warm) {
        return;
    }
    queries.retain(is_warm);
    let dropped = before - queries.len();
    draft.warmup_runs = Some(dropped as u64);
    if dropped > 0 {
        let why = "this version of trtexec includes the queries of its warm-up, the first 200 ms";
        draft.correct("samples", before as f64, Some(queries.len() as f64), why);
    }
}

/// The time of every layer, without the time of a whole query.
pub(crate) fn trtexec_profile(text: &str, name: &str) -> Result<Found, Problem> {
    let mut found = Found::default();
    let mut runs = Ok(None);
    let mut layers = Vec::new();
    node::each(text, |at, record| {
        let record = Node::new(&record, format!("[{at}]"));
        if let Some(count) = record.maybe("count") {
            runs = count.whole().map(Some);
            return runs.is_ok();
        }
        match layer(&record, runs.as_ref().ok().copied().flatten().unwrap_or(0)) {
            Ok(layer) => layers.push(layer),
            Err(problem) => found.problem(problem),
        }
        !found.is_full()
    })?;
    let runs =
        runs?.filter(|runs| *runs > 0).ok_or_else(|| Problem::field("[0].count", "is missing"))?;
    if layers.is_empty() {
        return Ok(found);
    }
    let total = layers.iter().fold(0_u64, |all, layer| all.saturating_add(layer.nanos));
    let mut draft = new_draft(name);
    let mean = total as f64 * 1e-9 / runs as f64;
    draft
        .stated
        .insert(Phase::Device, Stated { count: Some(runs), mean: Some(mean), ..Stated::default() });
    draft.remark(
        ReasonCode::Imported,
        "the profiler was on, which makes layers run one after the other; only their sum is known",
    );
    let label = "tensorrt".to_owned();
    draft.profile = Some(LayerProfile { label, runs, total_nanos: total, layers, cost: None });
    found.drafts.push(draft);
    Ok(found)
}

fn layer(record: &Node<'_>, runs: u64) -> Result<LayerTime, Problem> {
    let path = record.need("name")?.text()?;
    let time = record.need("timeMs")?;
    let total = time.amount()?;
    if let Some(average) = record.amount_of("averageMs")?
        && runs > 0
        && average > 0.0
        && !agree(total / runs as f64, average)
    {
        let what = format!(
            "is {total} ms over {runs} runs, which is not the average of {average} ms: wrong units?"
        );
        return Err(time.complain(what));
    }
    let nanos = (total * 1e6).round() as u64;
    Ok(LayerTime { path, kind: String::new(), calls: runs, nanos, phase: None })
}
