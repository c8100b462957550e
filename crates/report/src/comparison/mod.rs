//! Several sides held against one: on a screen, as JSON, as CSV.

mod csv;
mod document;
mod layers;
mod modes;
mod page;
mod remarks;
mod tables;
pub(crate) mod words;

pub use csv::{comparison_csv, comparison_csv_columns, comparisons_csv};
pub use document::{COMPARISON_SCHEMA, comparison_json, comparisons_json};
pub use layers::layers;
pub use modes::modes;
pub use page::comparison;
pub(crate) use remarks::sentences;
pub(crate) use tables::rows;
