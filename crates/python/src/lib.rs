//! The native part of the Python package: what must give the same numbers as the program, and Arrow streams.
//!
//! Everything that people type is Python (`python/modelmeter`). Nothing here measures, formats, prints or starts threads, so
//! a fork after the import leaves nothing behind.

mod columns;
mod stream;

use pyo3::prelude::*;

/// The module `modelmeter._native`; `python/modelmeter/_native.pyi` has its types.
#[pymodule]
mod _native {
    use super::{columns::Column, stream};
    use pyo3::{exceptions::PyValueError, prelude::*, types::PyCapsule};
    use stats::Evidence;

    /// What the samples say: `types::Summary` as JSON, in seconds.
    #[pyfunction]
    fn summarise(py: Python<'_>, nanoseconds: Vec<u64>, seed: u64) -> PyResult<String> {
        let summary = py.detach(|| stats::summarise(&nanoseconds, seed));
        let summary = summary.ok_or_else(|| PyValueError::new_err("there are no samples"))?;
        serde_json::to_string(&summary).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The logarithm of the time of one list of samples over that of another, by their medians; `None` where one has none.
    #[pyfunction]
    fn log_ratio(baseline: Vec<u64>, side: Vec<u64>) -> Option<f64> {
        stats::log_ratio(&side, &baseline)
    }

    /// What rounds say of a change: ratio, the interval that misses at either end with `miss`, the chance of this if nothing
    /// had changed for the worse, the change that would be found, and the rounds that would tell it from `alert`. `None`
    /// below two rounds.
    #[pyfunction]
    fn judge(
        rounds: Vec<f64>,
        alert: f64,
        miss: f64,
    ) -> Option<(f64, f64, f64, f64, f64, Option<u64>)> {
        let evidence = Evidence::of(&rounds)?;
        let interval = evidence.interval(miss);
        let distance = alert.ln_1p() - evidence.centre;
        Some((
            evidence.ratio(),
            interval.low,
            interval.high,
            evidence.chance_if_below(0.0),
            evidence.detectable(miss),
            evidence.units_to_tell(distance, miss),
        ))
    }

    /// The fewest samples that support each percentile.
    #[pyfunction]
    fn percentile_floors() -> Vec<(&'static str, u64)> {
        types::PERCENTILE_FLOORS.iter().map(|floor| (floor.name, floor.samples)).collect()
    }

    /// One table as an Arrow stream: name, kind (`text`, `integer`, `number`, `truth`, `integers`) and values of each column.
    #[pyfunction]
    fn arrow_stream(
        py: Python<'_>,
        columns: Vec<(String, String, Bound<'_, PyAny>)>,
    ) -> PyResult<Py<PyCapsule>> {
        let columns = columns
            .into_iter()
            .map(|(name, kind, values)| Column::of(name, &kind, &values))
            .collect::<PyResult<Vec<_>>>()?;
        stream::capsule(py, columns)
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
