//! A run in formatted pieces: words and tables that a page, a pull request or another medium lays out in its own way.
//!
//! Numbers are formatted here and escaped there.

mod advice;
mod comparison;
mod document;
mod dossier;
mod environment;
mod figures;
mod grid;
mod latency;
mod overview;
mod run;

pub use advice::{AdviceSheet, advice_sheet};
pub use comparison::{ComparisonSheet, comparison_sheet};
pub use document::dossier_document;
pub use dossier::{Dossier, Subject};
pub use figures::Figure;
pub use grid::{Grid, GridRow, Side};
pub use overview::overview_grid;
pub use run::{Inner, ReasonLine, Sheet};
