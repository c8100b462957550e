//! Histories, also for Prometheus.

mod alert;
mod csv;
mod document;
mod prometheus;
mod result;
mod words;

pub(crate) use alert::AlertDocument;
pub use alert::{ALERT_SCHEMA, alert_json, blind_alert_json};
pub use csv::trend_csv_columns;
pub(crate) use document::TrendDocument;
pub use document::{TREND_SCHEMA, trend_json};
pub use prometheus::prometheus;
pub use result::{TrendGate, trend_document};
pub use words::{trend_change, trend_name, trend_slide, trend_value};
