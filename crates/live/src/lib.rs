//! What measurements of this user say while they run, from one process to another.
//!
//! Every command that measures keeps a journal: one file of JSON lines in a folder of this user, locked as long as the
//! process lives. Whoever wants to see reads the folder. A journal that nobody holds any more and that does not say how it
//! ended belongs to a process that died. Nothing here draws, and no run is kept here.

mod activity;
mod journal;
mod line;
mod listener;
mod samples;

pub use activity::{Activity, CellNow, FirstNow, LoadNow, PercentilesNow, PlanNow, RunNow, State};
pub use journal::{Journal, make_folder};
pub use line::Line;
pub use listener::Listener;
pub use samples::{Point, SamplesNow};
