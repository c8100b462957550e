//! Many cells beside each other: on a screen, as JSON, CSV and Markdown.

mod against;
mod csv;
mod document;
mod markdown;
mod page;
mod tables;
pub(crate) mod words;

pub use against::{against, against_json};
pub use csv::{analysis_csv, analysis_csv_columns};
pub use document::{ANALYSIS_SCHEMA, analysis_json};
pub use markdown::analysis_markdown;
pub use page::analysis;

pub(crate) use crate::wrap::{hanging_indent, joined};
pub(crate) use document::{cell, finite, interval, key, pooled};
