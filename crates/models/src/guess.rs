//! Other sizes to try where the usual guesses fail: what files of unknown origin were seen to want.

use crate::{Ask, Guess, ModelError, Resolved, shapes::Quantity};
use graph::{DataType, TensorData};
use std::collections::BTreeSet;

/// The most sizes that are tried of one kind.
const MOST: usize = 6;

/// Sizes to try together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trial {
    /// Samples in one inference.
    pub batch: usize,
    /// In the place of the usual guesses.
    pub guess: Guess,
}

impl Trial {
    /// What is tried, in words.
    #[must_use]
    pub fn words(&self) -> String {
        let Guess { length, side, samples, other } = self.guess;
        let mut words = vec![format!("batch {}", self.batch)];
        words.extend(length.map(|length| format!("length {length}")));
        words.extend(samples.map(|samples| format!("{samples} audio samples")));
        words.extend(side.map(|side| format!("image sides {side}")));
        words.extend(other.map(|size| format!("unknown dimensions {size}")));
        words.join(", ")
    }
}

impl Resolved {
    /// Other sizes for what the file leaves open and nobody asked for, the likeliest first. The batch stays as it is asked
    /// where `is_batch_asked`.
    ///
    /// # Errors
    /// Where what is asked contradicts the model.
    pub fn trials(&self, ask: &Ask<'_>, is_batch_asked: bool) -> Result<Vec<Trial>, ModelError> {
        let guessed = self.settlement(ask)?.guessed;
        let has = |quantity| guessed.contains(&quantity);
        let keeps_batch = is_batch_asked || self.default_batch(ask.given).is_some();
        let batch = if keeps_batch { ask.batch } else { 1 };
        let mut trials = Vec::new();
        if batch != ask.batch {
            trials.push(Trial { batch, guess: Guess::default() });
        }
        let mut add = |guess: Guess| trials.push(Trial { batch, guess });
        let none = Guess::default();
        if has(Quantity::Length) {
            let usual = self.length(ask.given).unwrap_or(usize::MAX);
            // A table of positions ends somewhere.
            let tables = self.position_tables().into_iter().rev().filter(|rows| *rows < usual);
            let lengths = tables.chain([64, 32, 16, 8]).filter(|length| *length < usual);
            lengths.take(MOST).for_each(|length| add(Guess { length: Some(length), ..none }));
        }
        if has(Quantity::Samples) {
            let lengths = [16_000, 512, 1280, 48_000, 160_000, 480_000];
            lengths.into_iter().for_each(|samples| add(Guess { samples: Some(samples), ..none }));
        }
        if has(Quantity::Height) || has(Quantity::Width) {
            let sides = [640, 256, 320, 384, 112, 64];
            sides.into_iter().for_each(|side| add(Guess { side: Some(side), ..none }));
        }
        if has(Quantity::Unknown) || has(Quantity::Frames) {
            // Frames and bands of spectrograms, pieces and seconds of sound.
            let sizes = [16, 100, 128, 80, 3000, 16_000];
            sizes.into_iter().for_each(|other| add(Guess { other: Some(other), ..none }));
        }
        Ok(trials)
    }

    /// The numbers of rows of what looks like tables of positions, smallest first: weights that are called so, and the
    /// list 0, 1, 2, … that picks from them.
    fn position_tables(&self) -> BTreeSet<usize> {
        let mut rows = BTreeSet::new();
        for tensor in self.model.graph.tensors() {
            let rank = tensor.dims.len();
            let name = tensor.name.to_lowercase();
            if rank >= 2 && (name.contains("position") || name.contains("pos_emb")) {
                rows.insert(tensor.dims[rank - 2]);
            }
            let is_list = tensor.dtype == DataType::Int64
                && matches!(tensor.data, TensorData::Inline(_))
                && tensor.dims.iter().product::<usize>()
                    == tensor.dims.last().copied().unwrap_or(0);
            if is_list
                && let Some(values) = tensor.i64s()
                && values.len() > 4
                && values.iter().enumerate().all(|(place, value)| *value == place as i64)
            {
                rows.insert(values.len());
            }
        }
        rows.retain(|rows| *rows > 1);
        rows
    }
}
