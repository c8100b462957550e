//! Pictures of what was measured: numbers in, SVG out, and PNG from the same SVG.
//!
//! One file draws one picture; [`PICTURES`] is the list of them. What they share, from the colours to the row of labels, stands
//! in files of its own, so that all have one look. Nothing here reads a database or writes a file.

mod axis;
mod batch_scaling;
mod canvas;
mod choose;
mod dodge;
mod font;
mod heat_map;
mod latency;
mod legend;
mod look;
mod marker;
mod material;
mod memory;
mod page;
mod picture;
mod png;
mod roofline;
mod rows;
mod scale;
mod throughput;
mod training;
mod words;

pub use choose::{wanted_details, wanted_samples};
pub use look::Theme;
pub use material::{Detail, MOST_SAMPLES, Material, thin};
pub use picture::{Absent, PICTURES, Picture};
pub use png::{PngError, png};
