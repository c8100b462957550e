//! Rows sorted into cells, of which only the newest runs are kept.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};
use types::{
    Bytes, CellKey, Device, Interval, Measured, Mode, Newest, Percentiles, Precision, Provenance,
    RunId, Tally,
};

/// The most runs of a cell that are pooled: the newest ones. Student's interval hardly narrows beyond, and a cell that is
/// measured every night shall show what it does now.
pub const MOST_RUNS: usize = 8;

/// What was asked, by counted references: looking up a cell copies no name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    model: Arc<str>,
    random_weights: bool,
    mode: Mode,
    sequence_length: Option<u64>,
    imported: bool,
    machine: Arc<str>,
    device: Device,
    engine: Arc<str>,
    precision: Precision,
    threads: u32,
    variant: Arc<str>,
    batch_size: u64,
}

/// A valid run of a cell.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub(super) started_at: i64,
    pub(super) id: RunId,
    pub(super) engine_version: Arc<str>,
    pub(super) fingerprint: Arc<str>,
    pub(super) samples: u64,
    pub(super) median: f64,
    pub(super) interval: Option<Interval>,
    pub(super) percentiles: Percentiles,
    pub(super) samples_per_second: Option<f64>,
    pub(super) memory_peak: Option<Bytes>,
    pub(super) joules_per_sample: Option<f64>,
    pub(super) ceiling_share: Option<f64>,
}

/// The cell that a run belongs to.
pub(crate) fn key_of(row: &Measured) -> CellKey {
    Key::of(row).to_key()
}

/// The runs of one cell.
#[derive(Debug, Clone, Default)]
pub(super) struct Runs {
    /// Valid ones, newest first, at most [`MOST_RUNS`].
    pub(super) kept: Vec<Kept>,
    /// Valid ones that were too old.
    pub(super) dropped: u64,
    /// Invalid ones.
    pub(super) invalid: u64,
    /// The newest invalid one.
    pub(super) newest_invalid: Option<(i64, RunId)>,
}

/// Runs, sorted into cells. Memory grows with the number of cells, not of runs.
#[derive(Debug, Clone, Default)]
pub struct Cells {
    cells: HashMap<Key, Runs>,
    machines: BTreeMap<Arc<str>, (i64, Arc<str>)>,
    tally: Tally,
}

impl Cells {
    /// Takes a run in. Predicted numbers and valid runs without a time are counted and go no further.
    pub fn add(&mut self, row: Measured) {
        self.tally.seen += 1;
        if row.provenance == Provenance::Predicted {
            self.tally.predicted += 1;
            return;
        }
        self.name_machine(&row);
        let key = Key::of(&row);
        if !row.valid {
            self.tally.invalid += 1;
            let runs = self.cells.entry(key).or_default();
            runs.invalid += 1;
            runs.newest_invalid = runs.newest_invalid.take().max(Some((row.started_at, row.id)));
            return;
        }
        let Some(median) = row.median.filter(|median| *median > 0.0 && median.is_finite()) else {
            self.tally.untimed += 1;
            return;
        };
        self.cells.entry(key).or_default().keep(Kept {
            started_at: row.started_at,
            id: row.id,
            engine_version: row.engine_version,
            fingerprint: row.fingerprint,
            samples: row.samples,
            median,
            interval: row.interval.filter(|interval| interval.low > 0.0),
            percentiles: row.percentiles,
            samples_per_second: row.samples_per_second,
            memory_peak: row.memory_peak,
            joules_per_sample: row.joules_per_sample,
            ceiling_share: row.ceiling_share,
        });
    }

    /// Takes a cell's newest runs in, and counts those that nobody needs to read.
    pub fn add_newest(&mut self, newest: Newest) {
        let Newest { runs, valid, invalid, untimed } = newest;
        let key = runs.first().map(Key::of);
        let read = |is_valid: bool| runs.iter().filter(|run| run.valid == is_valid).count() as u64;
        let older = valid.saturating_sub(read(true));
        let invalid = invalid.saturating_sub(read(false));
        self.tally.seen += older + invalid + untimed;
        self.tally.invalid += invalid;
        self.tally.untimed += untimed;
        self.extend(runs);
        if let Some(cell) = key.and_then(|key| self.cells.get_mut(&key)) {
            cell.dropped += older;
            cell.invalid += invalid;
        }
    }

    /// The newest name of a machine stays.
    fn name_machine(&mut self, row: &Measured) {
        let newest = (row.started_at, Arc::clone(&row.host));
        match self.machines.get_mut(&row.machine) {
            Some(known) if *known >= newest => {}
            Some(known) => *known = newest,
            None => {
                self.machines.insert(Arc::clone(&row.machine), newest);
            }
        }
    }

    /// Every cell with its runs, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (CellKey, &Runs)> {
        self.cells.iter().map(|(key, runs)| (key.to_key(), runs))
    }

    /// What machines are called, by their keys.
    pub(super) fn machines(&self) -> BTreeMap<String, String> {
        let names = self.machines.iter();
        names.map(|(key, (_, host))| (key.to_string(), host.to_string())).collect()
    }

    /// How many runs were seen, and how many of all are not valid; what is pooled is known only later.
    pub(super) fn tally(&self) -> Tally {
        self.tally
    }
}

impl Extend<Measured> for Cells {
    fn extend<I: IntoIterator<Item = Measured>>(&mut self, rows: I) {
        rows.into_iter().for_each(|row| self.add(row));
    }
}

impl FromIterator<Measured> for Cells {
    fn from_iter<I: IntoIterator<Item = Measured>>(rows: I) -> Cells {
        let mut cells = Cells::default();
        cells.extend(rows);
        cells
    }
}

impl Key {
    fn of(row: &Measured) -> Key {
        Key {
            model: Arc::clone(&row.model),
            random_weights: row.random_weights,
            mode: row.mode,
            sequence_length: row.sequence_length,
            imported: row.provenance == Provenance::Imported,
            machine: Arc::clone(&row.machine),
            device: row.device,
            engine: Arc::clone(&row.engine),
            precision: row.precision,
            threads: row.threads,
            variant: Arc::clone(&row.variant),
            batch_size: row.batch_size,
        }
    }

    fn to_key(&self) -> CellKey {
        CellKey {
            model: self.model.to_string(),
            random_weights: self.random_weights,
            mode: self.mode,
            sequence_length: self.sequence_length,
            imported: self.imported,
            machine: self.machine.to_string(),
            device: self.device,
            engine: self.engine.to_string(),
            precision: self.precision,
            threads: self.threads,
            variant: self.variant.to_string(),
            batch_size: self.batch_size,
        }
    }
}

impl Runs {
    fn keep(&mut self, run: Kept) {
        let is_newer = |kept: &Kept| (kept.started_at, &kept.id) > (run.started_at, &run.id);
        let place = self.kept.partition_point(is_newer);
        if place < MOST_RUNS {
            self.kept.insert(place, run);
        } else {
            self.dropped += 1;
        }
        if self.kept.len() > MOST_RUNS {
            self.kept.pop();
            self.dropped += 1;
        }
    }
}
