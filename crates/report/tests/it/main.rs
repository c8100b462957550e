//! What people and programs read, tested on runs built by hand.

mod advice;
mod bout;
mod comparison;
mod csv;
mod documents;
mod formats;
mod json;
mod lists;
mod properties;
mod sample;
mod summary;
