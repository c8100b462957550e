//! What engines that others have installed are found by: whether a library file can be loaded, where Python's packages lie.
//!
//! Only files are looked at, and at most an interpreter is asked where it looks; nothing is loaded. Which file to look
//! for, and what its version means, is each engine's own affair.

mod library;
mod python;

pub use library::{Defect, defect};
pub use python::{ISOLATE, SAFE_PATH, folders_beside, isolated, package_folders, run_module};
