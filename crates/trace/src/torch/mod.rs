//! The trace of PyTorch's profiler, as TensorBoard's plugin `torch-tb-profiler` reads it.
//!
//! The plugin wants a file name of its own, a schema version, categories by which it knows operators from kernels, and
//! steps; it loads anything else as an empty profile and says nothing. It joins a kernel to its operator through the
//! launch: all three carry one `External id`, launch and kernel one `correlation`. Modules become its module view.

mod places;
mod steps;
mod write;

pub use write::write_torch_trace;

use std::path::Path;

/// The ending by which the plugin knows its files.
const ENDING: &str = ".pt.trace.json";

/// Whether a file of this name is one for TensorBoard's torch profiler plugin.
#[must_use]
pub fn is_torch_trace(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(ENDING))
}
