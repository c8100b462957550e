//! What fits under a limit of memory: on a screen, as JSON, CSV and Markdown.

mod csv;
mod document;
mod markdown;
mod page;
mod words;

pub use csv::{fit_csv, fit_csv_columns};
pub use document::{FIT_SCHEMA, fit_json};
pub use markdown::fit_markdown;
pub use page::fit;
