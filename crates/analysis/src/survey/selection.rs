//! Which cells to show.
//!
//! Chosen after cells were compared with each other: who asks for `cuda` alone still wants to know how it stands against the
//! processor.

use types::{CellKey, Device, Mode, Precision};

/// Which cells to show; an empty list means all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// Whole names of models.
    pub models: Vec<String>,
    /// Beginnings of machines' keys.
    pub machines: Vec<String>,
    /// Devices.
    pub devices: Vec<Device>,
    /// Ids of engines.
    pub engines: Vec<String>,
    /// Number formats.
    pub precisions: Vec<Precision>,
    /// Samples in one inference.
    pub batch_sizes: Vec<u64>,
    /// Tokens in each sample.
    pub sequence_lengths: Vec<u64>,
    /// Inference or training.
    pub modes: Vec<Mode>,
    /// Whether results of other tools stay away.
    pub measured_only: bool,
}

impl Selection {
    /// Whether the cell is shown.
    #[must_use]
    pub fn takes(&self, key: &CellKey) -> bool {
        let length = |wanted: &u64| key.sequence_length == Some(*wanted);
        any(&self.models, |name| *name == key.model)
            && any(&self.machines, |begin| key.machine.starts_with(begin.as_str()))
            && any(&self.devices, |device| *device == key.device)
            && any(&self.engines, |engine| *engine == key.engine)
            && any(&self.precisions, |precision| *precision == key.precision)
            && any(&self.batch_sizes, |batch| *batch == key.batch_size)
            && any(&self.sequence_lengths, length)
            && any(&self.modes, |mode| *mode == key.mode)
            && !(self.measured_only && key.imported)
    }
}

fn any<T>(wanted: &[T], holds: impl Fn(&T) -> bool) -> bool {
    wanted.is_empty() || wanted.iter().any(holds)
}
