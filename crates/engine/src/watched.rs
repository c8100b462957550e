//! Inferences of an engine in this process, with every allocation written down.

use crate::{AllocationTracker, EngineError, MemoryRecord};
use std::{
    collections::{HashMap, HashSet},
    time::Instant,
};
use types::{Allocations, Bytes, LayerName, MissingCode, Reading, Recorded};

/// What was seen while an engine ran.
pub struct Watched {
    base: Reading<Bytes>,
    run_nanos: Vec<u64>,
    /// Events at the end of each inference.
    ends: Vec<u64>,
    recorded: Result<Recorded, String>,
}

/// Runs `infer` so often and records what it allocates; `mark` says at every event which part runs.
///
/// # Errors
/// When a run fails. A process in which nothing can be recorded is no error: the reason is kept.
pub fn watch_runs(
    count: u64,
    tracker: &dyn AllocationTracker,
    mark: fn() -> u64,
    infer: &mut dyn FnMut() -> Result<(), EngineError>,
) -> Result<Watched, EngineError> {
    let count = usize::try_from(count.max(1)).unwrap_or(usize::MAX);
    // Room for all of them at once: growing would be recorded too.
    let (mut run_nanos, mut ends) = (Vec::with_capacity(count), Vec::with_capacity(count));
    let mut outcome = Ok(());
    let base = tracker.allocated();
    let recorded = tracker.record(mark, &mut |events| {
        for _ in 0..count {
            let begin = Instant::now();
            outcome = infer();
            if outcome.is_err() {
                return;
            }
            run_nanos.push(u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX));
            ends.push(events());
        }
    });
    outcome?;
    Ok(Watched { base, run_nanos, ends, recorded })
}

impl Watched {
    /// A record of this, without the allocations, which only the engine can name.
    #[must_use]
    pub fn record(&self, source: &str) -> MemoryRecord {
        MemoryRecord {
            source: source.to_owned(),
            run_nanos: self.run_nanos.clone(),
            base: self.base.clone(),
            ..MemoryRecord::default()
        }
    }

    /// The events as columns. `layer` turns a mark into an index into `names`; what it has none for was allocated by the
    /// instruments and is left out, with its free.
    #[must_use]
    pub fn columns(
        &self,
        names: Vec<LayerName>,
        layer: impl FnMut(u64) -> Option<usize>,
    ) -> Reading<Allocations> {
        match &self.recorded {
            Ok(recorded) => Reading::of(columns(recorded, &self.ends, names, layer)),
            Err(why) => Reading::missing(MissingCode::Failed, why.clone()),
        }
    }
}

fn columns(
    recorded: &Recorded,
    ends: &[u64],
    names: Vec<LayerName>,
    mut layer: impl FnMut(u64) -> Option<usize>,
) -> Allocations {
    let mut columns = Allocations { names, dropped: recorded.dropped, ..Allocations::default() };
    let mut numbers: HashMap<u64, u64> = HashMap::new();
    let mut ours: HashSet<u64> = HashSet::new();
    let mut ends = ends.iter().copied().peekable();
    for (index, event) in recorded.events.iter().enumerate() {
        while ends.next_if(|end| *end <= index as u64).is_some() {
            columns.ends.push(columns.times.len() as u64);
        }
        let place = layer(event.mark);
        if event.bytes >= 0 && place.is_none() {
            ours.insert(event.address);
            continue;
        }
        if event.bytes < 0 && ours.remove(&event.address) {
            continue;
        }
        let next = numbers.len() as u64;
        columns.times.push(event.at);
        columns.blocks.push(*numbers.entry(event.address).or_insert(next));
        columns.sizes.push(event.bytes);
        columns.layers.push(place.unwrap_or(0) as u64);
        columns.threads.push(u64::from(event.thread));
    }
    // Inferences whose events found no room end where the record does.
    columns.ends.extend(ends.map(|_| columns.times.len() as u64));
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::AllocationEvent;

    fn event(at: u64, address: u64, bytes: i64, mark: u64) -> AllocationEvent {
        AllocationEvent { at, address, bytes, mark, thread: 1 }
    }

    #[test]
    fn what_the_instruments_allocate_is_left_out_with_its_free() {
        let recorded = Recorded {
            events: vec![
                event(1, 70, 10, 0),
                event(2, 80, 99, 7),
                event(3, 70, -10, 0),
                event(4, 80, -99, 0),
                event(5, 80, 20, 1),
                event(6, 70, -5, 7),
            ],
            dropped: 0,
        };
        let names = vec![LayerName::default(); 2];
        let layer = |mark| (mark < 2).then_some(mark as usize);
        let columns = columns(&recorded, &[3, 6], names, layer);
        assert_eq!(columns.sizes, [10, -10, 20, -5]);
        assert_eq!(columns.blocks, [0, 0, 1, 0]);
        assert_eq!(columns.layers, [0, 0, 1, 0]);
        assert_eq!(columns.ends, [2, 4]);
        assert!(columns.is_whole());
    }

    #[test]
    fn ends_beyond_what_was_kept_are_the_end() {
        let recorded = Recorded { events: vec![event(1, 1, 1, 0)], dropped: 9 };
        let columns = columns(&recorded, &[5, 10], vec![LayerName::default()], |_| Some(0));
        assert_eq!((columns.ends, columns.dropped), (vec![1, 1], 9));
    }
}
