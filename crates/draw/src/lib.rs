//! Pictures of what was measured: numbers in, SVG out, and PNG from the same SVG.
//!
//! One file draws one picture; [`PICTURES`] is the list of them, [`RUN_PICTURES`] that of pictures of one run for a page. What they share, from the colours to the row of labels, stands
//! in files of its own, so that all have one look. A flame graph ([`flamegraph`]) is a page of its own, with a script. Nothing here reads a database or writes a file.

mod advances;
mod axis;
mod batch_scaling;
mod canvas;
mod choose;
mod dodge;
mod flame;
mod font;
mod gpu_busy;
mod growth;
mod heat_map;
mod histogram;
mod history;
mod latency;
mod layer_roofline;
mod legend;
mod load;
mod load_curve;
mod look;
mod loss;
mod marker;
mod material;
mod matrix;
mod memory;
mod memory_timeline;
mod page;
mod phases;
mod picture;
mod plot;
#[cfg_attr(not(feature = "png"), path = "png_absent.rs")]
mod png;
mod roof;
mod roofline;
mod rows;
mod run_steps;
mod sample_order;
mod scale;
mod steps;
mod throughput;
mod training;
mod words;

pub use choose::{wanted_details, wanted_samples};
pub use flame::{FLAME_SCRIPT, flamegraph, flamegraph_for_page};
pub use gpu_busy::gpu_busy_for_page;
pub use history::{history, history_for_page};
pub use load_curve::{LoadPoint, load_curve_for_page};
pub use look::{Theme, variables, with_variables};
pub use material::{Detail, LoadDetail, MOST_SAMPLES, Material, thin};
pub use matrix::{MatrixCell, matrix};
pub use picture::{Absent, Drawn, PICTURES, Picture, RUN_PICTURES, RunMaterial, RunPicture};
pub use plot::Paper;
pub use png::{PngError, png};
pub use steps::Steps;
