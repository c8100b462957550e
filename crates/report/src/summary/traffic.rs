//! What went to and from disk and network, where it is enough to matter.

use crate::lookup::reading;
use number::bytes;
use types::{Run, key};

/// Bytes while it was sampled from which on they are shown: an inference needs none, so a megabyte is already a question.
const SAMPLING: f64 = 1e6;

/// Bytes while it was loaded from which on they are shown: below, nobody waits for them.
const LOADING: f64 = 16e6;

/// What the worker made the storage read and write.
pub(crate) fn disk(run: &Run) -> Vec<String> {
    let words = ["read", "wrote"];
    let sampling = told(run, [key::DISK_READ, key::DISK_WRITTEN], words, SAMPLING);
    let loading = told(run, [key::DISK_READ_LOADING, key::DISK_WRITTEN_LOADING], words, LOADING);
    let facts = [
        sampling.map(|text| format!("{text} while it was sampled")),
        loading.map(|text| format!("{text} while it was loaded")),
    ];
    facts.into_iter().flatten().collect()
}

/// What went over the network. The kernel counts it for everything in the worker's network namespace.
pub(crate) fn network(run: &Run) -> Vec<String> {
    let words = ["received", "sent"];
    let sampling = [key::NETWORK_RECEIVED, key::NETWORK_SENT];
    let loading = [key::NETWORK_RECEIVED_LOADING, key::NETWORK_SENT_LOADING];
    let facts = [
        told(run, sampling, words, SAMPLING).map(|text| format!("{text} while it was sampled")),
        told(run, loading, words, LOADING).map(|text| format!("{text} while it was loaded")),
    ];
    let mut facts: Vec<String> = facts.into_iter().flatten().collect();
    if !facts.is_empty() {
        facts.push("other programs included".into());
    }
    facts
}

/// `read 120 MB, wrote 3.00 MB`; `None` if both together are less than what matters.
fn told(run: &Run, keys: [&str; 2], words: [&str; 2], from: f64) -> Option<String> {
    let known = keys.map(|key| reading(run, key).and_then(|reading| reading.known()));
    let parts: Vec<String> = known
        .into_iter()
        .zip(words)
        .filter_map(|(known, word)| Some((known.filter(|bytes| *bytes > 0.0)?, word)))
        .map(|(value, word)| format!("{word} {}", bytes(value as u64)))
        .collect();
    (analysis::metric_sum(run, &keys) >= from).then(|| parts.join(", "))
}
