//! Several sides compared with one.

mod csv;
mod document;
mod generation;
mod layers;
mod layers_document;
mod modes;
mod remarks;
mod result;
mod tables;
pub(crate) mod words;

pub use csv::comparison_csv_columns;
pub use document::{COMPARISON_SCHEMA, COMPARISONS_SCHEMA, comparison_json, comparisons_json};
pub(crate) use document::{ComparisonDocument, ComparisonsDocument};
pub use generation::generation_comparisons_document;
pub use modes::modes_document;
pub(crate) use remarks::sentences;
pub use result::comparison_document;
pub(crate) use tables::rows;
