//! What engines that others have installed are found by: whether a library file can be loaded, where Python's packages
//! lie, which of several libraries comes first; and how an engine gets into our own folder.
//!
//! Only files are looked at, and at most an interpreter is asked where it looks; nothing is loaded. Which file to look
//! for, and what its version means, is each engine's own affair.

mod archive;
mod install;
mod library;
mod npm;
mod python;
mod search;

pub use archive::{unpack_archive, unpack_package};
pub use install::{Unpacked, install_error, install_into, is_version, unwritable};
pub use library::{Defect, defect};
pub use npm::{fetch_package, is_whole_version};
pub use python::{ISOLATE, SAFE_PATH, folders_beside, isolated, package_folders, run_module};
pub use search::{
    Absent, Library, by_number, entries, file_name, first_usable, installed_versions,
};
