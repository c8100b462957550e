//! Rows sorted into cells, of which only the newest runs are kept.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};
use types::{
    Bytes, CellKey, Device, Interval, InvalidRuns, Measured, Mode, Newest, Percentiles, Precision,
    Provenance, ReasonCode, RunId, Tally,
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

/// A run of a cell that has a time.
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
    /// Those that are not valid, newest first, at most [`MOST_RUNS`]; none where they were not requested.
    pub(super) kept_invalid: Vec<Kept>,
    /// Those that are not valid, by their reasons.
    pub(super) invalid: InvalidRuns,
    /// The newest that is not valid.
    pub(super) newest_invalid: Option<(i64, RunId)>,
}

/// Runs, sorted into cells. Memory grows with the number of cells, not of runs.
#[derive(Debug, Clone, Default)]
pub struct Cells {
    cells: HashMap<Key, Runs>,
    machines: BTreeMap<Arc<str>, (i64, Arc<str>)>,
    tally: Tally,
    include_invalid: bool,
}

impl Cells {
    /// No runs yet; a cell without a valid one will be made of those that are not, and say so.
    #[must_use]
    pub fn with_invalid() -> Cells {
        Cells { include_invalid: true, ..Cells::default() }
    }

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
            let reason = row.reason.unwrap_or(ReasonCode::Unstated);
            self.count_invalid(&[reason].into_iter().collect());
            let runs = self.cells.entry(key).or_default();
            runs.invalid.add(reason, 1);
            let newest = Some((row.started_at, row.id.clone()));
            runs.newest_invalid = runs.newest_invalid.take().max(newest);
            if let Some(kept) = Kept::of(row).filter(|_| self.include_invalid) {
                keep(&mut runs.kept_invalid, kept);
            }
            return;
        }
        match Kept::of(row) {
            Some(kept) => {
                let runs = self.cells.entry(key).or_default();
                runs.dropped += keep(&mut runs.kept, kept);
            }
            None => self.tally.untimed += 1,
        }
    }

    fn count_invalid(&mut self, invalid: &InvalidRuns) {
        self.tally.invalid += invalid.total();
        self.tally.invalid_reasons.merge(invalid);
    }

    /// Takes a cell's newest runs in, and counts those that nobody needs to read.
    pub fn add_newest(&mut self, newest: Newest) {
        let Newest { runs, valid, invalid, untimed } = newest;
        let key = runs.first().map(Key::of);
        let older = valid.saturating_sub(runs.iter().filter(|run| run.valid).count() as u64);
        // Those that are handed over whole count themselves.
        let read: InvalidRuns = runs.iter().filter_map(|run| run.reason).collect();
        let unread = invalid.without(&read);
        self.tally.seen += older + unread.total() + untimed;
        self.count_invalid(&unread);
        self.tally.untimed += untimed;
        self.extend(runs);
        if let Some(cell) = key.and_then(|key| self.cells.get_mut(&key)) {
            cell.dropped += older;
            cell.invalid.merge(&unread);
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
        self.tally.clone()
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

impl Kept {
    /// What is kept of a run; `None` if it has no time.
    fn of(row: Measured) -> Option<Kept> {
        let median = row.median.filter(|median| *median > 0.0 && median.is_finite())?;
        Some(Kept {
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
        })
    }
}

/// Puts a run in its place among the newest; how many had to go for it.
fn keep(list: &mut Vec<Kept>, run: Kept) -> u64 {
    let is_newer = |kept: &Kept| (kept.started_at, &kept.id) > (run.started_at, &run.id);
    let place = list.partition_point(is_newer);
    list.insert(place, run);
    let dropped = list.len().saturating_sub(MOST_RUNS);
    list.truncate(MOST_RUNS);
    dropped as u64
}
