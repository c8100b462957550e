//! What ONNX Runtime tells of its memory: the sums of its arena, not its single allocations.

use crate::{
    session::OrtSession,
    statistics::{self, Statistics},
};
use engine::{AllocationTracker, EngineError, MemoryRecord, MemoryReporter, Session};
use std::time::Instant;
use types::{Bytes, MissingCode, Reading};

impl MemoryReporter for OrtSession<'_> {
    fn remember(
        &mut self,
        count: u64,
        _tracker: &dyn AllocationTracker,
    ) -> Result<MemoryRecord, EngineError> {
        let (mut run_nanos, mut levels, mut last) = (Vec::new(), Vec::new(), Err(String::new()));
        let model = self.model;
        let now = || statistics::of(model.runtime, &model.session);
        let before = now();
        for _ in 0..count.max(1) {
            let begin = Instant::now();
            self.infer()?;
            run_nanos.push(u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX));
            last = now();
            if let (Ok(loaded), Ok(after)) = (&model.loaded, &last) {
                levels.push(after.in_use as i64 - loaded.in_use as i64);
            }
        }
        let sums = "ONNX Runtime's arena reports totals, not single allocations";
        let mut record = MemoryRecord {
            source: "ONNX Runtime's arena".into(),
            allocations: Reading::missing(MissingCode::NotReported, sums),
            layers: Reading::missing(
                MissingCode::NotReported,
                format!("{sums}, so they cannot be assigned to nodes"),
            ),
            levels,
            ..MemoryRecord::default()
        };
        let known = (&model.loaded, &before, &last);
        match known {
            (Ok(loaded), Ok(before), Ok(after)) => {
                fill(&mut record, loaded, before, after, run_nanos.len())
            }
            (Err(why), _, _) | (_, Err(why), _) | (_, _, Err(why)) => {
                let silent = || Reading::missing(MissingCode::NotReported, why.clone());
                record.base = silent();
                record.peak = silent();
                record.in_use_peak = silent();
                record.reserved_peak = silent();
                record.asked = Reading::missing(MissingCode::NotReported, why.clone());
            }
        }
        record.run_nanos = run_nanos;
        Ok(record)
    }
}

fn fill(
    record: &mut MemoryRecord,
    loaded: &Statistics,
    before: &Statistics,
    after: &Statistics,
    runs: usize,
) {
    record.base = Reading::of(Bytes(loaded.in_use));
    // Its high-water mark cannot be set back; loading a model may reach higher than running it.
    let is_of_runs = after.most_in_use > loaded.most_in_use;
    let most = is_of_runs.then_some(after.most_in_use);
    let why = "loading used more than inferences do, and the arena keeps one mark for both";
    record.in_use_peak = Reading::or_missing(most.map(Bytes), MissingCode::NotSeparable, why);
    let above = most.map(|most| Bytes(most.saturating_sub(loaded.in_use)));
    record.peak = Reading::or_missing(above, MissingCode::NotSeparable, why);
    record.reserved_peak = Reading::of(Bytes(after.reserved));
    // The arena doubles its next block, so most of what no tensor uses is room ahead; it does not tell its free blocks.
    record.room_ahead = Some(
        "the rest is memory reserved in advance, scratch space or fragmentation: the arena does not report which".into(),
    );
    let asked = after.allocations.saturating_sub(before.allocations) as f64 / runs.max(1) as f64;
    record.asked = Reading::of(asked);
}
