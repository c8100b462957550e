//! Stored runs looked at together: what people type becomes what the store and the analysis understand.

use crate::{Error, trend::noises};
use analysis::{
    Cells, MOST_RUNS, PricesError, Selection, TrendQuestion, advice::again, against, analyse,
    parse_prices, recommend,
};
use exchange::bounds::{BY_HAND, RESULTS, read_file, read_text};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};
use store::{Scope, Store, StoreError};
use types::{
    Against, AnalysedCell, Analysis, CellKey, Device, Exclusion, FileCell, LeftOut, Measured, Mode,
    Precision, Prices, Recommendation, RunId, Variant, Wish, matches_pattern, near,
};

/// So many names are told of those that there are.
const TOLD: usize = 5;

/// Which stored runs to look at, in people's words; an empty list means all.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Survey {
    /// Names of models; where none is called so, parts of names or patterns with `*` and `?`. Case does not matter.
    pub models: Vec<String>,
    /// Host names of machines, or beginnings of their keys.
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
    /// Only runs with this label.
    pub tag: Option<String>,
    /// Only runs that began at or after, in microseconds since the epoch.
    pub since: Option<i64>,
    /// Whether cells without a valid run are made of those that are not, and marked.
    pub include_invalid: bool,
}

impl Survey {
    /// What the runs say together.
    ///
    /// # Errors
    /// Where nothing is stored, a name is not among what is stored, or the database cannot be read.
    pub fn analyse(&self, store: &Store) -> Result<Analysis, Error> {
        let selection = self.selection(store)?;
        // The models alone: others on the same machine are what a cell is held against.
        let cells = self.cells(store, selection.models.clone())?;
        let mut found = analyse(&cells, &selection);
        let newest = found.not_valid.iter().max_by_key(|cell| cell.began);
        found.again = newest.map(|cell| again_of(store, &cell.newest)).transpose()?.flatten();
        Ok(found)
    }

    /// Today's cells against the rows of a CSV that we wrote: of `analyze --output` or of an export. Runs of the file, and older
    /// ones, are no part of today. What could not be read of it comes back in words.
    ///
    /// # Errors
    /// As [`Survey::analyse`], and where the file cannot be read.
    pub fn against(
        &self,
        store: &Store,
        now: &Analysis,
        file: &Path,
        allowance: Option<f64>,
        accepted: f64,
    ) -> Result<(Against, Vec<String>), Error> {
        let bytes = read_file(file, RESULTS)
            .map_err(|source| Error::Read { path: file.to_owned(), source })?;
        let (mut rows, problems) = exchange::file_cells(&file.to_string_lossy(), &bytes)?;
        rows.iter_mut().for_each(|row| take_current_variant(row, now));
        let noise = noises(&self.trend(store, &TrendQuestion::default())?);
        let since = self.since_file(store, now, &rows)?;
        let found = against(&since, &rows, &noise, allowance, accepted);
        Ok((found, problems.iter().map(ToString::to_string).collect()))
    }

    /// The same cells without the runs of the file and what is older; a cell with nothing newer stays as it is.
    fn since_file(
        &self,
        store: &Store,
        now: &Analysis,
        rows: &[FileCell],
    ) -> Result<Analysis, Error> {
        let ids: BTreeSet<&str> =
            rows.iter().flat_map(|row| row.run_ids.iter().map(String::as_str)).collect();
        let selection = self.selection(store)?;
        let scope = self.scope(selection.models.clone());
        let mut cells = Cells::default();
        store.newest(&scope, MOST_RUNS + ids.len(), |mut newest| {
            let is_old = |run: &Measured| ids.contains(run.id.0.as_str());
            let last = newest.runs.iter().filter(|run| is_old(run)).map(|run| run.started_at).max();
            let before = newest.runs.len();
            newest.runs.retain(|run| !is_old(run) && last.is_none_or(|last| run.started_at > last));
            newest.valid = newest.valid.saturating_sub((before - newest.runs.len()) as u64);
            cells.add_newest(newest);
        })?;
        let mut fresh: BTreeMap<CellKey, AnalysedCell> = analyse(&cells, &selection)
            .cells
            .into_iter()
            .map(|one| (one.cell.key.clone(), one))
            .collect();
        let mut since = now.clone();
        for one in &mut since.cells {
            if let Some(newer) = fresh.remove(&one.cell.key) {
                *one = newer;
            }
        }
        Ok(since)
    }

    /// What to run each model on.
    ///
    /// # Errors
    /// As [`Survey::analyse`].
    pub fn recommend(&self, store: &Store, wish: &Wish) -> Result<Vec<Recommendation>, Error> {
        let selection = self.selection(store)?;
        // All of them: what others were measured with is what this one was not measured with.
        let cells = self.cells(store, Vec::new())?;
        let mut found = recommend(&cells, &selection, wish);
        for one in &mut found {
            let is_invalid = |left: &&LeftOut| matches!(left.why, Exclusion::Invalid { .. });
            // A cell that has a valid run needs none.
            let has_valid =
                |left: &&LeftOut| one.candidates.iter().any(|known| known.cell.key == left.cell);
            let mut lacking =
                one.left_out.iter().filter(is_invalid).filter(|left| !has_valid(left));
            let newest = lacking.next().and_then(|left| left.runs.first());
            one.again = newest.map(|id| again_of(store, id)).transpose()?.flatten();
        }
        Ok(found)
    }

    /// The newest run of every cell, whatever its verdict; in the order of what they are.
    ///
    /// # Errors
    /// As [`Survey::analyse`].
    pub fn newest_runs(&self, store: &Store) -> Result<Vec<RunId>, Error> {
        let selection = self.selection(store)?;
        let scope = self.scope(selection.models);
        let mut rows = Vec::new();
        store.newest(&scope, 1, |newest| {
            let last = |row: &Measured| (row.started_at, row.id.clone());
            rows.extend(newest.runs.into_iter().max_by_key(last));
        })?;
        rows.sort_by_cached_key(order);
        Ok(rows.into_iter().map(|row| row.id).collect())
    }

    fn cells(&self, store: &Store, models: Vec<String>) -> Result<Cells, Error> {
        let scope = self.scope(models);
        let mut cells = if self.include_invalid { Cells::with_invalid() } else { Cells::default() };
        store.newest(&scope, MOST_RUNS, |newest| cells.add_newest(newest))?;
        Ok(cells)
    }

    pub(crate) fn scope(&self, models: Vec<String>) -> Scope {
        Scope {
            models,
            tag: self.tag.clone(),
            since: self.since,
            until: None,
            include_invalid: self.include_invalid,
        }
    }

    /// With every name looked up among what is stored.
    pub(crate) fn selection(&self, store: &Store) -> Result<Selection, Error> {
        let known = store.models()?;
        if known.is_empty() {
            return Err(Error::NoRuns);
        }
        let mut models = Vec::new();
        for typed in &self.models {
            let found = matching_names(typed, &known);
            if found.is_empty() {
                return Err(not_stored("model", typed, &known));
            }
            models.extend(found);
        }
        Ok(Selection {
            models,
            machines: self.machine_keys(store)?,
            devices: self.devices.clone(),
            engines: self.engine_ids(store)?,
            precisions: self.precisions.clone(),
            batch_sizes: self.batch_sizes.clone(),
            sequence_lengths: self.sequence_lengths.clone(),
            modes: self.modes.clone(),
            measured_only: self.measured_only,
        })
    }

    fn machine_keys(&self, store: &Store) -> Result<Vec<String>, Error> {
        if self.machines.is_empty() {
            return Ok(Vec::new());
        }
        let known = store.machines()?;
        let mut keys = Vec::new();
        for typed in &self.machines {
            let wanted = typed.to_lowercase();
            let is_it = |key: &str, host: &str| {
                key.to_lowercase().starts_with(&wanted) || host.to_lowercase() == wanted
            };
            let found = known.iter().filter(|(key, host)| is_it(key, host)).map(|(key, _)| key);
            let before = keys.len();
            keys.extend(found.filter(|_| !wanted.is_empty()).cloned());
            if keys.len() == before {
                let name = |(key, host): (&String, &String)| match host.is_empty() {
                    true => key.clone(),
                    false => host.clone(),
                };
                let mut names: Vec<String> = known.iter().map(name).collect();
                names.sort();
                names.dedup();
                return Err(not_stored("machine", typed, &names));
            }
        }
        Ok(keys)
    }

    fn engine_ids(&self, store: &Store) -> Result<Vec<String>, Error> {
        if self.engines.is_empty() {
            return Ok(Vec::new());
        }
        let known = store.engines()?;
        let id = |typed: &String| {
            let found = known.iter().find(|id| id.eq_ignore_ascii_case(typed));
            found.cloned().ok_or_else(|| not_stored("engine", typed, &known))
        };
        self.engines.iter().map(id).collect()
    }
}

/// The command that measures a stored run again; `None` if somebody has deleted it meanwhile, and where no one command can:
/// another tool measured it, or it was a load on a server.
pub(crate) fn again_of(store: &Store, id: &RunId) -> Result<Option<String>, Error> {
    match store.run(&id.0) {
        Ok(run) => Ok(again(&run).ok()),
        Err(StoreError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// In which order runs are told: what they are, then when they began.
pub(crate) fn order(row: &Measured) -> impl Ord + use<> {
    let work = (row.model.clone(), row.mode, row.sequence_length, row.machine.clone(), row.device);
    let way = (row.engine.clone(), row.precision, row.batch_size, row.threads);
    (work, way, row.started_at, row.id.clone())
}

/// Reads what machines and devices cost.
///
/// # Errors
/// Where the file cannot be read, or what stands in it makes no sense: on which line, and what was meant.
pub fn read_prices(path: &Path) -> Result<Prices, Error> {
    let text =
        read_text(path, BY_HAND).map_err(|source| Error::Read { path: path.to_owned(), source })?;
    let wrong = |error: PricesError| Error::Prices { path: path.to_owned(), error };
    parse_prices(&text).map_err(wrong)
}

/// The names that are meant: the one that is typed, else all that fit the pattern or have it in them.
fn matching_names(typed: &str, known: &[String]) -> Vec<String> {
    let wanted = typed.to_lowercase();
    let that = |fits: &dyn Fn(&str) -> bool| -> Vec<String> {
        known.iter().filter(|name| fits(&name.to_lowercase())).cloned().collect()
    };
    let exact = that(&|name| name == wanted);
    if !exact.is_empty() || wanted.is_empty() {
        return exact;
    }
    match wanted.contains(['*', '?']) {
        true => that(&|name| matches_pattern(&wanted, name)),
        false => that(&|name| name.contains(&wanted)),
    }
}

pub(crate) fn not_stored(what: &'static str, name: &str, known: &[String]) -> Error {
    let near =
        near(name, known.iter().map(String::as_str)).into_iter().map(str::to_owned).collect();
    let known = known.iter().take(if known.len() > TOLD { 0 } else { TOLD }).cloned().collect();
    Error::NotStored { what, name: name.to_owned(), near, known }
}

/// Files of earlier versions hold a cell's variant in words: they get the variant of the cell that had those words.
fn take_current_variant(row: &mut FileCell, now: &Analysis) {
    if Variant::parse(&row.key.variant).is_some() {
        return;
    }
    let is_same = |key: &CellKey| {
        let named = CellKey { variant: row.key.variant.clone(), ..key.clone() };
        let former = Variant::parse(&key.variant).map(|variant| variant.former_identity());
        named == row.key && former.as_ref() == Some(&row.key.variant)
    };
    let found = now.cells.iter().map(|one| &one.cell.key).find(|key| is_same(key));
    if let Some(key) = found {
        row.key.variant.clone_from(&key.variant);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 4] =
        ["bert-base-uncased", "distilbert-base-uncased", "ResNet50", "resnet50-int8"];

    fn names(typed: &str) -> Vec<String> {
        matching_names(typed, &KNOWN.map(str::to_owned))
    }

    #[test]
    fn a_whole_name_means_itself_and_a_part_all_that_have_it() {
        assert_eq!(names("resnet50"), ["ResNet50"]);
        assert_eq!(names("bert"), ["bert-base-uncased", "distilbert-base-uncased"]);
        assert_eq!(names("bert*"), ["bert-base-uncased"]);
        assert_eq!(names("*-int?"), ["resnet50-int8"]);
        assert_eq!(names("*bert*un*"), ["bert-base-uncased", "distilbert-base-uncased"]);
        assert!(names("gpt").is_empty() && names("bert?").is_empty() && names("").is_empty());
    }

    #[test]
    fn a_wrong_name_says_what_resembles_it_or_what_there_is() {
        let known = KNOWN.map(str::to_owned);
        let hint = |typed: &str| not_stored("model", typed, &known).hint().unwrap();
        assert!(hint("resnt50").contains("`ResNet50`"), "{}", hint("resnt50"));
        assert!(hint("zzzzzzzzzzzz").contains("`resnet50-int8`"), "all four are told");
    }
}
