//! Whole models: written, read back, damaged, inferred, counted.

mod control;
mod counts;
mod damage;
mod differentiate;
mod files;
mod lifetimes;
mod models;
mod operators;
mod precision;
mod unsound;
mod weights;
