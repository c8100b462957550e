//! What happened when, as files that other people's viewers open: Perfetto, chrome://tracing, TensorBoard, speedscope.
//!
//! A file is written event by event as it goes; beside the timeline itself only a few numbers a span are held. What a
//! format cannot show is counted and said in the file's own metadata.

mod arrows;
mod chrome;
mod document;
mod grid;
mod info;
mod layers;
mod perfetto;
mod rows;
mod speedscope;
mod torch;

pub use chrome::write_chrome_trace;
pub use info::TraceInfo;
pub use layers::layers_timeline;
pub use perfetto::{is_perfetto_trace, write_perfetto_trace};
pub use speedscope::write_speedscope;
pub use torch::{is_torch_trace, write_torch_trace};

/// Writes the timeline in the format that the file's name asks for; give a buffered writer.
///
/// # Errors
/// Where the writer fails.
pub fn write_trace(
    path: &std::path::Path,
    timeline: &types::Timeline,
    info: &TraceInfo,
    out: &mut dyn std::io::Write,
) -> std::io::Result<()> {
    match () {
        () if is_perfetto_trace(path) => write_perfetto_trace(timeline, info, out),
        () if is_torch_trace(path) => write_torch_trace(timeline, info, out),
        () => write_chrome_trace(timeline, info, out),
    }
}
