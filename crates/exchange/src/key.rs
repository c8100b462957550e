//! Names that follow from the content, so that the same result is recognised wherever it comes from.

use serde::Serialize;
use types::Run;

/// Hexadecimal digits of a run's name.
const ID_DIGITS: usize = 16;

/// What the run says, as one name: equal for equal runs, whatever they are called and labelled.
///
/// A run that is stored under an id and has another key than the one at hand is another run, or a shorter form of the same
/// one; equal id and equal key mean that nothing is to be done. An imported run is named after its content already.
#[must_use]
pub fn key(run: &Run) -> String {
    if run.imported.is_some() { run.id.0.clone() } else { digest(run) }
}

/// The name of an imported run: the beginning of its content's hash.
pub(crate) fn imported_id(run: &Run) -> String {
    digest(run).chars().take(ID_DIGITS).collect()
}

/// A short hash over any text.
pub(crate) fn short_hash(text: &str, digits: usize) -> String {
    blake3::hash(text.as_bytes()).to_hex().chars().take(digits).collect()
}

fn digest(run: &Run) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut add = |part: &dyn erased::Part| part.write(&mut hasher);
    add(&(run.started_at, run.elapsed, &run.cell, &run.model, &run.work, &run.engine));
    add(&(&run.environment, &run.cold, &run.warmup, run.stop));
    add(&(&run.samples, &run.summaries, &run.metrics, &run.probes));
    add(&(&run.layers, &run.memory, &run.training));
    if let Some(gpu) = &run.gpu {
        add(gpu);
    }
    if let Some(import) = &run.imported {
        // Not the file's name: the same result under another name is the same result.
        add(&(&import.tool, &import.version, &import.stated, &import.profile));
    }
    hasher.finalize().to_hex().to_string()
}

/// Anything that serialises, behind a reference, so that one closure takes tuples of every kind.
mod erased {
    pub(super) trait Part {
        fn write(&self, hasher: &mut blake3::Hasher);
    }

    impl<T: super::Serialize> Part for T {
        fn write(&self, hasher: &mut blake3::Hasher) {
            // Every part has string keys, so writing it cannot fail.
            hasher.update(&serde_json::to_vec(self).unwrap_or_default());
            hasher.update(b"\n");
        }
    }
}
