//! Names of cells, and numbers with intervals, in the fewest words.

use crate::clean::clean;
use crate::comparison::words::{bracketed, ratio, short_version};
use crate::variant::variant;
use number::{fixed, significant};
use std::collections::{BTreeMap, BTreeSet};
use types::{CellKey, Interval, Mode, Pooled, PooledCell};

/// What machines are called on a page: the host's name, with a piece of the key where two share it.
pub(crate) struct Machines<'a> {
    names: &'a BTreeMap<String, String>,
}

impl<'a> Machines<'a> {
    pub(crate) fn new(names: &'a BTreeMap<String, String>) -> Machines<'a> {
        Machines { names }
    }

    pub(crate) fn name(&self, key: &str) -> String {
        let short: String = clean(key).chars().take(8).collect();
        let host = self.names.get(key).map(|host| clean(host)).filter(|host| !host.is_empty());
        match host {
            None => short,
            Some(host) if self.names.values().filter(|other| clean(other) == host).count() > 1 => {
                format!("{host} {short}")
            }
            Some(host) => host,
        }
    }
}

/// In what cells of a table differ beyond what has a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unlike {
    pub(crate) machines: bool,
    pub(crate) threads: bool,
}

impl Unlike {
    pub(crate) fn of<'a>(keys: impl Iterator<Item = &'a CellKey> + Clone) -> Unlike {
        let machines: BTreeSet<&str> = keys.clone().map(|key| key.machine.as_str()).collect();
        let places = |key: &'a CellKey| (&key.machine, key.device);
        let mut threads: BTreeMap<_, BTreeSet<u32>> = BTreeMap::new();
        for key in keys {
            threads.entry(places(key)).or_default().insert(key.threads);
        }
        let threads = threads.values().any(|counts| counts.len() > 1);
        Unlike { machines: machines.len() > 1, threads }
    }
}

/// `torch 2.15, compiled, 2 threads`.
pub(crate) fn engine(cell: &PooledCell, unlike: Unlike) -> String {
    let version = short_version(&clean(&cell.engine_version));
    let name = format!("{} {version}", clean(&cell.key.engine));
    let mut words = vec![name.trim_end().to_owned()];
    words.extend(extras(&cell.key, unlike));
    words.join(", ")
}

/// What tells a key from others beyond its columns.
pub(crate) fn extras(key: &CellKey, unlike: Unlike) -> Vec<String> {
    let mut words = Vec::new();
    words.extend(Some(variant(&key.variant)).filter(|variant| !variant.is_empty()));
    words.extend(unlike.threads.then(|| counted(u64::from(key.threads), "thread")));
    words
}

/// What cells of one table share: `distilbert · random weights · training · 128 tokens`.
pub(crate) fn work(
    model: &str,
    random_weights: bool,
    mode: Mode,
    length: Option<u64>,
) -> Vec<String> {
    let name = match clean(model) {
        name if name.is_empty() => "unnamed model".into(),
        name => name,
    };
    let mut words = vec![name];
    words.extend(random_weights.then(|| "random weights".to_owned()));
    words.extend((mode != Mode::Inference).then(|| mode.name().to_owned()));
    words.extend(length.map(|length| counted(length, "token")));
    words
}

/// `1 run`, `3 runs`.
pub(crate) fn counted(count: u64, thing: &str) -> String {
    let many = if count == 1 { "" } else { "s" };
    format!("{} {thing}{many}", fixed(count as f64, 0))
}

/// `14.9 × [14.1, 15.8]`.
pub(crate) fn factor(found: &Pooled) -> String {
    bracketed(&format!("{} ×", ratio(found.value)), found.interval)
}

/// `0.93 [0.90, 0.96]`.
pub(crate) fn exponent(found: &Pooled) -> String {
    let number = |value: f64| fixed(value, 2);
    match found.interval {
        Some(Interval { low, high }) => {
            format!("{} [{}, {}]", number(found.value), number(low), number(high))
        }
        None => number(found.value),
    }
}

/// Half the interval's width as a share: `1.0 %`; empty if there is none.
pub(crate) fn half_width(found: &Pooled) -> String {
    let half = found.interval.and_then(|interval| interval.relative_half_width(found.value));
    half.filter(|half| half.is_finite()).map(number::percent).unwrap_or_default()
}

/// Money with three digits that mean something, however small.
pub(crate) fn money(amount: f64, currency: &str) -> String {
    format!("{} {}", significant(amount, 3), clean(currency)).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_of_one_name_are_told_apart_by_their_keys() {
        let names: BTreeMap<String, String> = [
            ("aaaaaaaaaaaa", "node"),
            ("bbbbbbbbbbbb", "node"),
            ("cccccccccccc", "bench"),
            ("dddddddddddd", ""),
        ]
        .map(|(key, host)| (key.to_owned(), host.to_owned()))
        .into();
        let machines = Machines::new(&names);
        let name = |key: &str| machines.name(key);
        assert_eq!(name("aaaaaaaaaaaa"), "node aaaaaaaa");
        assert_eq!(name("cccccccccccc"), "bench");
        assert_eq!(name("dddddddddddd"), "dddddddd");
        assert_eq!(name("eeee"), "eeee");
    }
}
