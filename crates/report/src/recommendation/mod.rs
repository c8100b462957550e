//! What to run models on.

mod csv;
mod document;
mod overview;
mod result;
mod words;

pub use document::RECOMMENDATIONS_SCHEMA;
pub(crate) use document::RecommendationsDocument;
pub use result::{recommendations_document, recommendations_with_capacity};
