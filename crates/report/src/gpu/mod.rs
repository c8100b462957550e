//! What programs did on GPUs: where the time of every device went.

mod document;
mod group;
mod result;

pub use document::GPU_SCHEMA;
pub(crate) use document::GpuDocument;
pub use result::{GpuView, gpu_document};
pub(crate) use result::{grids, inner_blocks};
