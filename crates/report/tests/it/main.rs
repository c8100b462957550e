//! What people and programs read, tested on runs built by hand.

mod advice;
mod analysis;
mod bout;
mod ceilings;
mod comparison;
mod csv;
mod documents;
mod encoder;
mod fit;
mod flame;
mod fleet;
mod formats;
mod imported;
mod inside;
mod json;
mod lists;
mod memory;
mod properties;
mod readers;
mod recommendations;
mod sample;
mod summary;
mod traces;
