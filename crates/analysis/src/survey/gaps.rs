//! What was not measured: ways to run that others were measured with.

use std::collections::{BTreeMap, BTreeSet};
use types::{CellKey, Device, Gap, LeftOut, Mode, PooledCell, Precision};

/// A machine, a device on it, an engine and a precision.
type Way = (String, Device, String, Precision);

/// Every way that a model was measured in, whichever model, by mode.
pub(super) struct Ways(BTreeMap<Mode, BTreeSet<Way>>);

impl Ways {
    pub(super) fn of<'a>(cells: impl Iterator<Item = &'a PooledCell>) -> Ways {
        let mut ways: BTreeMap<Mode, BTreeSet<Way>> = BTreeMap::new();
        for cell in cells.filter(|cell| !cell.key.imported) {
            ways.entry(cell.key.mode).or_default().insert(way(&cell.key));
        }
        Ways(ways)
    }

    /// The ways and batches of others, or of the model itself in another way, that these cells lack. What is `invalid` was
    /// measured too, and is no gap.
    pub(super) fn gaps(&self, mode: Mode, cells: &[PooledCell], invalid: &[LeftOut]) -> Vec<Gap> {
        let own: Vec<&CellKey> =
            cells.iter().map(|cell| &cell.key).filter(|key| !key.imported).collect();
        let batches: BTreeSet<u64> = own.iter().map(|key| key.batch_size).collect();
        let measured = own.into_iter().chain(invalid.iter().map(|one| &one.cell));
        let has: BTreeSet<(Way, u64)> = measured.map(|key| (way(key), key.batch_size)).collect();
        let ways = self.0.get(&mode).into_iter().flatten();
        let gaps = ways.filter_map(|way| {
            let lacks = |batch: &&u64| !has.contains(&(way.clone(), **batch));
            let batch_sizes: Vec<u64> = batches.iter().filter(lacks).copied().collect();
            let (machine, device, engine, precision) = way.clone();
            let gap = Gap { machine, device, engine, precision, batch_sizes };
            (!gap.batch_sizes.is_empty()).then_some(gap)
        });
        gaps.collect()
    }
}

fn way(key: &CellKey) -> Way {
    (key.machine.clone(), key.device, key.engine.clone(), key.precision)
}
