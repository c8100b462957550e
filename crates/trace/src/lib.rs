//! What happened when, as files that other people's viewers open: Perfetto, chrome://tracing, TensorBoard, speedscope.
//!
//! A file is written event by event as it goes; beside the timeline itself only a few numbers a span are held. What a
//! format cannot show is counted and said in the file's own metadata.

mod arrows;
mod chrome;
mod document;
mod grid;
mod info;
mod rows;
mod speedscope;
mod torch;

pub use chrome::write_chrome_trace;
pub use info::TraceInfo;
pub use speedscope::write_speedscope;
pub use torch::{is_torch_trace, write_torch_trace};
