//! What people and programs read, tested on runs built by hand.

mod advice;
mod analysis;
mod bout;
mod ceilings;
mod comparison;
mod csv;
mod documents;
mod dossier;
mod encoder;
mod fit;
mod fleet;
mod gate;
mod imported;
mod inside;
mod json;
mod junit;
mod lists;
mod memory;
mod proof;
mod properties;
mod recommendations;
mod sample;
mod schemas;
mod shown;
mod summary;
mod trend;
