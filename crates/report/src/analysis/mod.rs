//! Many cells beside each other.

mod against;
mod cell;
mod csv;
mod document;
mod result;
mod tables;
pub(crate) mod words;

pub use csv::analysis_csv_columns;
pub use document::{ANALYSIS_SCHEMA, analysis_json};
pub use result::analysis_document;

pub(crate) use cell::{CellDocument, KeyDocument, RatioDocument};
pub(crate) use document::AnalysisDocument;
