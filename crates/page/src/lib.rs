//! One page about runs: whole in itself, without a network, light and dark, readable without scripts.
//!
//! Runs and what is told with them come in as a [`report::Dossier`], words and numbers are the report's, pictures are
//! drawn by `draw`; what is here is the layout. Everything from outside passes through one type that escapes it.
//! Equal runs give equal bytes. Nothing here reads a database or writes a file.

mod advice;
mod document;
mod figure;
mod fitting;
mod hero;
mod html;
mod overview;
mod result;
mod run;
mod table;
mod tabs;

pub use document::{SCRIPT, style_sheet};
pub use fitting::{LARGEST, page, page_part};
pub use html::{Attributes, Html};
pub use result::{result_page, result_part, result_section};
pub use tabs::Tab;

/// What stands inside a page, without the document around it: for whoever puts it into a document of their own.
#[derive(Debug)]
pub struct Part {
    /// The title.
    pub title: String,
    /// What belongs into the element `main`.
    pub body: Html,
}

/// What a page shows.
#[derive(Debug, Clone, Copy)]
pub struct Content<'a> {
    /// The runs and what is told with them.
    pub dossier: &'a report::Dossier,
    /// What pictures of several runs are drawn from, if there are several.
    pub material: Option<&'a draw::Material>,
    /// Whether there are pictures.
    pub pictures: Pictures,
    /// One more part of a page of one run, behind its layers.
    pub more: Option<&'a Tab>,
}

/// Whether a page has pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pictures {
    /// Drawn.
    Drawn,
    /// Left out.
    LeftOut,
}
