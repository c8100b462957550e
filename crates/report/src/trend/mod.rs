//! Histories: on a screen, as JSON and CSV, and for Prometheus.

mod csv;
mod document;
mod page;
mod plot;
mod prometheus;
mod words;

pub use csv::{trend_csv, trend_csv_columns};
pub use document::{TREND_SCHEMA, trend_json};
pub use page::{standings, trend};
pub use prometheus::prometheus;
pub use words::{trend_change, trend_name, trend_slide, trend_value};
