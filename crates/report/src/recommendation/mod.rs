//! What to run models on: on a screen, as JSON, CSV and Markdown.

mod csv;
mod document;
mod markdown;
mod overview;
mod page;
mod words;

pub use csv::{recommendations_csv, recommendations_csv_columns};
pub use document::{RECOMMENDATIONS_SCHEMA, recommendations_json};
pub use markdown::recommendations_markdown;
pub use page::recommendations;
