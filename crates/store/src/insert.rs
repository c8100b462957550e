//! A run goes in whole or not at all.

use crate::{
    Store, StoreError, codec,
    connection::Transaction,
    document,
    failure::DatabaseError,
    measured,
    value::{Value, values, whole},
};
use serde::Serialize;
use types::{
    Cell, EngineInfo, Machine, Measured, Metric, ModelInfo, Phase, Run, Weights, key as metric_key,
};

/// The name under which warm-up samples lie beside those of the phases.
pub(crate) const WARMUP: &str = "warmup";

/// Metrics in one statement.
const METRICS: usize = 32;

/// Everything slow, done before the lock is taken.
struct Prepared {
    body: String,
    cell: KeyedDocument,
    model: KeyedDocument,
    machine: String,
    series: Vec<(&'static str, codec::Packed)>,
}

/// A JSON text and the key it is stored under.
struct KeyedDocument {
    key: i64,
    document: String,
}

impl KeyedDocument {
    fn of(value: &impl Serialize) -> Result<KeyedDocument, serde_json::Error> {
        let document = serde_json::to_string(value)?;
        Ok(KeyedDocument { key: key(&document), document })
    }
}

/// The first 63 bits of the hash: among a million things two share a key with a chance of one in ten million.
pub(crate) fn key(text: &str) -> i64 {
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
        let run = &*run.with_settled_memory();
        let prepared =
            prepare(run).map_err(|why| StoreError::Unstorable { id: run.id.0.clone(), why })?;
        let transaction = self.add("store a run")?;
        if !insert(&transaction, run, &prepared).map_err(self.fail("store a run"))? {
            return Err(StoreError::Duplicate { id: run.id.0.clone() });
        }
        transaction.commit().map_err(self.fail("store a run"))
    }
}

impl Store {
    /// Stores many runs in one transaction, all or none; faster than one by one, which waits for the disk each time.
    ///
    /// # Errors
    /// As [`Store::insert_run`].
    pub fn insert_runs(&self, runs: &[Run]) -> Result<(), StoreError> {
        let fail = self.fail("store runs");
        let transaction = self.add("store runs")?;
        for run in runs {
            let run = &*run.with_settled_memory();
            let unstorable = |why| StoreError::Unstorable { id: run.id.0.clone(), why };
            if !insert(&transaction, run, &prepare(run).map_err(unstorable)?).map_err(&fail)? {
                return Err(StoreError::Duplicate { id: run.id.0.clone() });
            }
        }
        transaction.commit().map_err(&fail)
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
        cell: KeyedDocument::of(&run.cell).map_err(plain)?,
        model: KeyedDocument::of(&run.model).map_err(plain)?,
        machine: serde_json::to_string(&run.environment.machine).map_err(plain)?,
        series: series?,
    })
}

/// Whether the run is new; otherwise nothing of it may be kept.
fn insert(
    transaction: &Transaction<'_>,
    run: &Run,
    prepared: &Prepared,
) -> Result<bool, DatabaseError> {
    // Always in this order, so that two processes wait for each other but never in a circle.
    insert_machine(transaction, &run.environment.machine, &prepared.machine)?;
    insert_model(transaction, &run.model, &prepared.model)?;
    let engine = insert_engine(transaction, &run.engine)?;
    insert_cell(transaction, &run.cell, &prepared.cell)?;
    if insert_row(transaction, run, prepared, engine)? == 0 {
        return Ok(false);
    }
    transaction.execute(
        "INSERT INTO document (run, body) VALUES ($1, $2)",
        values![&run.id.0, &prepared.body],
    )?;
    measured::insert(transaction, &Measured::from(run), prepared.model.key, engine)?;
    insert_metrics(transaction, &run.id.0, &run.metrics)?;
    if let Some(revision) = &run.environment.revision {
        transaction.execute(
            "INSERT INTO revision (run, hash, branch) VALUES ($1, $2, $3)",
            values![&run.id.0, &revision.commit, revision.branch.as_deref()],
        )?;
    }
    for (place, (phase, packed)) in prepared.series.iter().enumerate() {
        transaction.execute(
            "INSERT INTO samples (run, place, phase, count, checksum, nanos)
             VALUES ($1, $2, $3, $4, $5, $6)",
            values![
                &run.id.0,
                place,
                *phase,
                packed.count,
                packed.checksum,
                packed.bytes.as_slice()
            ],
        )?;
    }
    for tag in &run.tags {
        transaction.execute(
            "INSERT INTO tag (run, tag) VALUES ($1, $2) ON CONFLICT DO NOTHING",
            values![&run.id.0, tag],
        )?;
    }
    Ok(true)
}

/// A machine is known by its key; its host name and other talk follow the latest run.
pub(crate) fn insert_machine(
    transaction: &Transaction<'_>,
    machine: &Machine,
    document: &str,
) -> Result<(), DatabaseError> {
    transaction.execute(
        "INSERT INTO machine (key, hostname, document) VALUES ($1, $2, $3)
         ON CONFLICT (key) DO UPDATE SET hostname = excluded.hostname, document = excluded.document
         WHERE machine.document <> excluded.document",
        values![&machine.key, &machine.hostname, document],
    )?;
    Ok(())
}

fn insert_model(
    transaction: &Transaction<'_>,
    model: &ModelInfo,
    keyed: &KeyedDocument,
) -> Result<(), DatabaseError> {
    transaction.execute(
        "INSERT INTO model
         (key, fingerprint, name, category, architecture, parameters, size, random_weights,
         document)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING",
        values![
            keyed.key,
            &model.fingerprint,
            &model.name,
            model.category.name(),
            &model.architecture,
            model.parameters,
            model.size.0,
            matches!(model.weights, Weights::Random { .. }),
            &keyed.document,
        ],
    )?;
    Ok(())
}

/// The engine's key.
fn insert_engine(transaction: &Transaction<'_>, engine: &EngineInfo) -> Result<i64, DatabaseError> {
    let key = key(&format!("{}\n{}", engine.id, engine.version));
    transaction.execute(
        "INSERT INTO engine (key, id, version) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
        values![key, &engine.id, &engine.version],
    )?;
    Ok(key)
}

fn insert_cell(
    transaction: &Transaction<'_>,
    cell: &Cell,
    keyed: &KeyedDocument,
) -> Result<(), DatabaseError> {
    transaction.execute(
        "INSERT INTO cell (key, model, engine, device, precision, batch_size,
         sequence_length, mode, threads, document)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING",
        values![
            keyed.key,
            &cell.model,
            &cell.engine,
            cell.device.to_string(),
            cell.precision.name(),
            cell.batch_size,
            cell.sequence_length.map(|length| whole(length as u64)),
            cell.mode.name(),
            cell.threads,
            &keyed.document,
        ],
    )?;
    Ok(())
}

/// The narrow row that lists are made of; how many that made, none where the id is taken.
fn insert_row(
    transaction: &Transaction<'_>,
    run: &Run,
    prepared: &Prepared,
    engine: i64,
) -> Result<u64, DatabaseError> {
    let summary = run.summaries.get(&main_phase(run));
    let median = summary.map(|summary| summary.median);
    let error = summary.and_then(|s| s.ci95_median.relative_half_width(s.median));
    transaction.execute(
        "INSERT INTO run (id, started_at, cell, model, engine, machine, valid, remarks, median,
         median_error, samples_per_second, memory_peak, samples)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT DO NOTHING",
        values![
            &run.id.0,
            run.started_at,
            prepared.cell.key,
            prepared.model.key,
            engine,
            &run.environment.machine.key,
            run.verdict.valid,
            run.verdict.remarks() as u64,
            median,
            error,
            known(run, metric_key::THROUGHPUT_SAMPLES),
            known(run, metric_key::MEMORY_PEAK),
            summary.map_or(0, |summary| summary.count),
        ],
    )
}

/// Many to a statement: a server may be a while away.
fn insert_metrics(
    transaction: &Transaction<'_>,
    run: &str,
    metrics: &[Metric],
) -> Result<(), DatabaseError> {
    for (block, metrics) in metrics.chunks(METRICS).enumerate() {
        let mut values = Vec::with_capacity(8 * metrics.len());
        for (place, metric) in metrics.iter().enumerate() {
            let finite = metric.value.filter(|value| value.is_finite());
            // Missing is NULL with a reason, also where a probe divided by zero.
            let why = match (metric.value, finite) {
                (Some(value), None) => {
                    Value::from(format!("the value was {value}, not a finite number"))
                }
                _ => Value::from(metric.why.as_deref()),
            };
            values.extend([
                Value::from(run),
                Value::from(block * METRICS + place),
                Value::from(&metric.key),
                Value::from(word(&metric.unit)),
                Value::from(word(&metric.direction)),
                Value::from(finite),
                why,
                Value::from(word(&metric.provenance)),
            ]);
        }
        let sql = format!(
            "INSERT INTO metric (run, place, key, unit, direction, value, why, provenance)
             VALUES {}",
            placeholders(metrics.len(), 8)
        );
        transaction.execute(&sql, &values)?;
    }
    Ok(())
}

/// `($1, $2), ($3, $4)`: placeholders for so many rows of so many columns.
pub(crate) fn placeholders(rows: usize, columns: usize) -> String {
    let row = |row: usize| {
        let places = (1..=columns).map(|column| format!("${}", row * columns + column));
        format!("({})", places.collect::<Vec<_>>().join(", "))
    };
    (0..rows).map(row).collect::<Vec<_>>().join(", ")
}

/// The phase people mean by latency: everything where text was given, the model alone otherwise.
fn main_phase(run: &Run) -> Phase {
    let has = |phase| run.summaries.contains_key(&phase);
    if has(Phase::Total) && (run.cell.is_end_to_end() || !has(Phase::Inference)) {
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

/// The name that an enum has in JSON, without the quotes.
fn word(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).unwrap_or_default();
    text.trim_matches('"').to_owned()
}
