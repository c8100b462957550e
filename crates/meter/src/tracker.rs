//! The recorder of allocations that a worker is handed: the probe's, behind the engine's interface.

use engine::{AllocationTracker, EventCount};
use probe::Recording;
use types::{Bytes, MissingCode, Reading, Recorded};

/// The most events that one recording keeps: 160 MiB of pages if all of them come, and none that stay empty.
const ROOM: usize = 4 << 20;

/// Records the allocations of a process whose global allocator is [`probe::TrackingAllocator`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Tracker;

impl AllocationTracker for Tracker {
    fn record(
        &self,
        mark: fn() -> u64,
        work: &mut dyn FnMut(EventCount<'_>),
    ) -> Result<Recorded, String> {
        let recording = Recording::start(ROOM, mark).map_err(|error| error.to_string())?;
        work(&|| recording.count());
        Ok(recording.stop())
    }

    fn allocated(&self) -> Reading<Bytes> {
        match probe::allocated() {
            Ok(bytes) => Reading::of(Bytes(bytes)),
            Err(why) => Reading::missing(MissingCode::NotReported, why),
        }
    }
}
