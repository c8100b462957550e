//! Writes what counts of a run.

use super::{INVALID, UNTIMED, VALID};
use crate::{
    connection::Transaction,
    failure::DatabaseError,
    insert::key,
    value::{values, whole},
};
use types::{Measured, Percentiles, Provenance, ReasonCode};

/// Writes a run's row and the question it answers.
pub(crate) fn insert(
    transaction: &Transaction<'_>,
    run: &Measured,
    model: i64,
    engine: i64,
) -> Result<(), DatabaseError> {
    let question = insert_question(transaction, run)?;
    let is_timed = run.median.is_some_and(|median| median > 0.0 && median.is_finite());
    let standing = match (run.valid, is_timed) {
        (false, _) => INVALID,
        (true, true) => VALID,
        (true, false) => UNTIMED,
    };
    let finite = |number: Option<f64>| number.filter(|number| number.is_finite());
    let Percentiles { p90, p95, p99, p999 } = run.percentiles;
    transaction.execute(
        "INSERT INTO measured (run, question, standing, started_at, model, engine, samples, median,
         low, high, p90, p95, p99, p999, samples_per_second, memory_peak, joules_per_sample,
         ceiling_share, reason)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
         $19)",
        values![
            &run.id.0,
            question,
            standing,
            run.started_at,
            model,
            engine,
            run.samples,
            finite(run.median),
            finite(run.interval.map(|interval| interval.low)),
            finite(run.interval.map(|interval| interval.high)),
            finite(p90),
            finite(p95),
            finite(p99),
            finite(p999),
            finite(run.samples_per_second),
            run.memory_peak.map(|peak| peak.0 as f64),
            finite(run.joules_per_sample),
            finite(run.ceiling_share),
            run.reason.map(ReasonCode::name),
        ],
    )?;
    Ok(())
}

/// The question's key.
fn insert_question(transaction: &Transaction<'_>, run: &Measured) -> Result<i64, DatabaseError> {
    let imported = run.provenance == Provenance::Imported;
    let (device, precision, mode) = (run.device.to_string(), run.precision.name(), run.mode.name());
    // Codes and canonical JSON, never words for people. Line breaks cannot be in a part and between two as well: parts
    // are quoted.
    let whole_question = format!(
        "{:?}\n{:?}\n{:?}\n{:?}\n{}\n{imported}\n{device}\n{precision}\n{}\n{:?}\n{mode}\n{}",
        run.model,
        run.machine,
        run.engine,
        run.variant,
        run.random_weights,
        run.batch_size,
        run.sequence_length,
        run.threads
    );
    let key = key(&whole_question);
    transaction.execute(
        "INSERT INTO question (key, model, random_weights, imported, machine, device, engine,
         precision, batch_size, sequence_length, mode, threads, variant)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT DO NOTHING",
        values![
            key,
            &*run.model,
            run.random_weights,
            imported,
            &*run.machine,
            device,
            &*run.engine,
            precision,
            run.batch_size,
            run.sequence_length.map(whole),
            mode,
            run.threads,
            &*run.variant,
        ],
    )?;
    Ok(key)
}
