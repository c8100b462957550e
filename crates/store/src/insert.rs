//! A run goes in whole or not at all.

use crate::{Store, StoreError, codec, document};
use rusqlite::{Transaction, params};
use serde::Serialize;
use types::{Cell, EngineInfo, Machine, Metric, ModelInfo, Phase, Run, Weights};

/// The name under which warm-up samples lie beside those of the phases.
pub(crate) const WARMUP: &str = "warmup";

/// Everything slow, done before the lock is taken.
struct Prepared {
    body: String,
    cell: Named,
    model: Named,
    machine: String,
    series: Vec<(&'static str, codec::Packed)>,
}

/// A JSON text and the key it is stored under.
struct Named {
    key: i64,
    document: String,
}

impl Named {
    fn of(value: &impl Serialize) -> Result<Named, serde_json::Error> {
        let document = serde_json::to_string(value)?;
        Ok(Named { key: key(&document), document })
    }
}

/// The first 63 bits of the hash: among a million things two share a key with a chance of one in ten million.
fn key(text: &str) -> i64 {
    let mut bytes = [0; 8];
    blake3::Hasher::new().update(text.as_bytes()).finalize_xof().fill(&mut bytes);
    i64::from_be_bytes(bytes) & i64::MAX
}

impl Store {
    /// Stores a run, whole, in one transaction; when this returns it survives a crash.
    ///
    /// # Errors
    /// Where the disk is full, another process holds the file too long, or the id is taken; nothing is then stored.
    pub fn insert_run(&self, run: &Run) -> Result<(), StoreError> {
        let prepared =
            prepare(run).map_err(|why| StoreError::Unstorable { id: run.id.0.clone(), why })?;
        let transaction = self.write("store a run")?;
        let stored: Option<i64> = {
            let mut query = transaction
                .prepare_cached("SELECT COUNT(*) FROM run WHERE id = $1")
                .map_err(self.fail("store a run"))?;
            query.query_row([&run.id.0], |row| row.get(0)).map_err(self.fail("store a run"))?
        };
        if stored.is_some_and(|count| count > 0) {
            return Err(StoreError::Duplicate { id: run.id.0.clone() });
        }
        insert(&transaction, run, &prepared).map_err(self.fail("store a run"))?;
        transaction.commit().map_err(self.fail("store a run"))
    }
}

fn prepare(run: &Run) -> Result<Prepared, String> {
    if run.id.0.is_empty() {
        return Err("its id is empty".into());
    }
    let plain = |error: serde_json::Error| format!("a part of it cannot be read back: {error}");
    let mut series = Vec::with_capacity(run.samples.len() + 1);
    for samples in &run.samples {
        series.push((samples.phase.name(), &samples.nanos));
    }
    if !run.warmup.nanos.is_empty() {
        series.push((WARMUP, &run.warmup.nanos));
    }
    let series: Result<Vec<_>, String> = series
        .into_iter()
        .map(|(name, nanos)| Ok((name, codec::pack(nanos).map_err(|error| error.to_string())?)))
        .collect();
    Ok(Prepared {
        body: document::write(run).map_err(plain)?,
        cell: Named::of(&run.cell).map_err(plain)?,
        model: Named::of(&run.model).map_err(plain)?,
        machine: serde_json::to_string(&run.environment.machine).map_err(plain)?,
        series: series?,
    })
}

fn insert(transaction: &Transaction<'_>, run: &Run, prepared: &Prepared) -> rusqlite::Result<()> {
    insert_machine(transaction, &run.environment.machine, &prepared.machine)?;
    insert_model(transaction, &run.model, &prepared.model)?;
    let engine = insert_engine(transaction, &run.engine)?;
    insert_cell(transaction, &run.cell, &prepared.cell)?;
    insert_row(transaction, run, prepared, engine)?;
    transaction
        .prepare_cached("INSERT INTO document (run, body) VALUES ($1, $2)")?
        .execute([&run.id.0, &prepared.body])?;
    for (place, metric) in run.metrics.iter().enumerate() {
        insert_metric(transaction, &run.id.0, place, metric)?;
    }
    for (place, (phase, packed)) in prepared.series.iter().enumerate() {
        transaction
            .prepare_cached(
                "INSERT INTO samples (run, place, phase, count, checksum, nanos)
                 VALUES ($1, $2, $3, $4, $5, $6)",
            )?
            .execute(params![
                run.id.0,
                place,
                phase,
                packed.count,
                packed.checksum,
                packed.bytes
            ])?;
    }
    for tag in &run.tags {
        transaction
            .prepare_cached("INSERT INTO tag (run, tag) VALUES ($1, $2) ON CONFLICT DO NOTHING")?
            .execute([&run.id.0, tag])?;
    }
    Ok(())
}

/// A machine is known by its key; its host name and other talk follow the latest run.
pub(crate) fn insert_machine(
    transaction: &Transaction<'_>,
    machine: &Machine,
    document: &str,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO machine (key, hostname, document) VALUES ($1, $2, $3)
             ON CONFLICT (key) DO UPDATE SET hostname = excluded.hostname, document = excluded.document
             WHERE machine.document <> excluded.document",
        )?
        .execute([&machine.key, &machine.hostname, document])?;
    Ok(())
}

fn insert_model(
    transaction: &Transaction<'_>,
    model: &ModelInfo,
    named: &Named,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO model
             (key, fingerprint, name, category, architecture, parameters, size, random_weights,
             document)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            named.key,
            model.fingerprint,
            model.name,
            model.category.name(),
            model.architecture,
            whole(model.parameters),
            whole(model.size.0),
            i64::from(matches!(model.weights, Weights::Random { .. })),
            named.document,
        ])?;
    Ok(())
}

/// The engine's key.
fn insert_engine(transaction: &Transaction<'_>, engine: &EngineInfo) -> rusqlite::Result<i64> {
    let key = key(&format!("{}\n{}", engine.id, engine.version));
    transaction
        .prepare_cached(
            "INSERT INTO engine (key, id, version) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
        )?
        .execute(params![key, engine.id, engine.version])?;
    Ok(key)
}

fn insert_cell(transaction: &Transaction<'_>, cell: &Cell, named: &Named) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO cell (key, model, engine, device, precision, batch_size,
             sequence_length, mode, threads, document)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            named.key,
            cell.model,
            cell.engine,
            cell.device.to_string(),
            cell.precision.name(),
            whole(cell.batch_size as u64),
            cell.sequence_length.map(|length| whole(length as u64)),
            cell.mode.name(),
            cell.threads,
            named.document,
        ])?;
    Ok(())
}

/// The narrow row that lists are made of.
fn insert_row(
    transaction: &Transaction<'_>,
    run: &Run,
    prepared: &Prepared,
    engine: i64,
) -> rusqlite::Result<()> {
    let summary = run.summaries.get(&main_phase(run));
    let median = summary.map(|summary| summary.median);
    let error = summary.and_then(|s| s.ci95_median.relative_half_width(s.median));
    transaction
        .prepare_cached(
            "INSERT INTO run (id, started_at, cell, model, engine, machine, valid, remarks, median,
             median_error, samples_per_second, memory_peak, samples)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
        )?
        .execute(params![
            run.id.0,
            run.started_at,
            prepared.cell.key,
            prepared.model.key,
            engine,
            run.environment.machine.key,
            i64::from(run.verdict.valid),
            run.verdict.remarks(),
            median,
            error,
            known(run, "throughput.samples"),
            known(run, "memory.peak"),
            summary.map_or(0, |summary| whole(summary.count)),
        ])?;
    Ok(())
}

fn insert_metric(
    transaction: &Transaction<'_>,
    run: &str,
    place: usize,
    metric: &Metric,
) -> rusqlite::Result<()> {
    let finite = metric.value.filter(|value| value.is_finite());
    // Missing is NULL with a reason, also where a probe divided by zero.
    let why = match (metric.value, finite) {
        (Some(value), None) => Some(format!("the value was {value}, not a finite number")),
        _ => metric.why.clone(),
    };
    transaction
        .prepare_cached(
            "INSERT INTO metric (run, place, key, unit, direction, value, why, provenance)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        )?
        .execute(params![
            run,
            place,
            metric.key,
            word(&metric.unit),
            word(&metric.direction),
            finite,
            why,
            word(&metric.provenance),
        ])?;
    Ok(())
}

/// The phase people mean by latency: everything where text was given, the model alone otherwise.
fn main_phase(run: &Run) -> Phase {
    let has = |phase| run.summaries.contains_key(&phase);
    if has(Phase::Total) && (run.cell.text.is_some() || !has(Phase::Inference)) {
        Phase::Total
    } else {
        Phase::Inference
    }
}

/// The number under this key, from the run itself or from one of its probes.
fn known(run: &Run, key: &str) -> Option<f64> {
    let probes = run.probes.iter().flat_map(|probe| &probe.metrics);
    let metric = run.metrics.iter().chain(probes).find(|metric| metric.key == key)?;
    metric.value.filter(|value| value.is_finite())
}

/// A count as the database holds it; one beyond 2⁶³ is held at the largest.
fn whole(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The name that an enum has in JSON, without the quotes.
fn word(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).unwrap_or_default();
    text.trim_matches('"').to_owned()
}
