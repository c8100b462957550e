//! Stored runs as a report: which runs, what is told with them, and which of them can be compared with each other.

use crate::{
    Error, Survey, advise,
    survey::{not_stored, order},
    visualize::material_of,
};
use analysis::{
    Baseline, StoredSide,
    advice::{Facts, Missing, again, judge_all},
    compare_runs, labels,
};
use page::{Content, Part, Pictures, Tab};
use report::{Dossier, Subject};
use std::collections::{BTreeMap, BTreeSet};
use store::{Store, StoreError};
use types::{Ceilings, ComparisonReport, Measured, Run, RunId};

/// Sides of one comparison that can still be read.
const MOST_SIDES: usize = 12;

/// Which runs a report is about.
#[derive(Debug, Clone, PartialEq)]
pub enum About {
    /// These, in this order.
    Runs(Vec<RunId>),
    /// The newest run of every cell of these models.
    Models(Vec<String>),
    /// The runs of this plan.
    Plan(String),
}

/// Reads what a report is about.
///
/// # Errors
/// Where nothing is stored under a name, or the database cannot be read.
pub fn dossier(store: &Store, about: &About) -> Result<Dossier, Error> {
    let (ids, unmeasured, title) = match about {
        About::Runs(ids) => (ids.clone(), Vec::new(), String::new()),
        About::Models(models) => (newest(store, models)?, Vec::new(), String::new()),
        About::Plan(plan) => {
            let (ids, unmeasured) = planned(store, plan)?;
            (ids, unmeasured, format!("Plan {plan}"))
        }
    };
    let mut ceilings: BTreeMap<String, Vec<Ceilings>> = BTreeMap::new();
    let mut subjects = Vec::new();
    for id in &ids {
        let run = match store.run(&id.0) {
            Ok(run) => run,
            // Somebody deleted it meanwhile; a plan or a model has others.
            Err(StoreError::NotFound { .. }) if !matches!(about, About::Runs(_)) => continue,
            Err(error) => return Err(error.into()),
        };
        let key = run.environment.machine.key.clone();
        let known = match ceilings.get(&key) {
            Some(known) => known,
            None => {
                let found = store.all_ceilings(&key)?;
                ceilings.entry(key).or_insert(found)
            }
        };
        let measured = advise::measured(&run, store)?;
        subjects.push(subject(run, store.short_id(id)?, known, measured));
    }
    if matches!(about, About::Plan(_)) {
        // A plan measures in random order.
        subjects.sort_by_cached_key(|one| order(&Measured::from(&one.run)));
    }
    let comparisons = comparisons(&subjects);
    Ok(Dossier { title, subjects, comparisons, unmeasured, is_brief: false })
}

/// A report about one run that need not be stored.
///
/// # Errors
/// Where the database cannot be read.
pub fn dossier_of(run: Run, name: &str, store: Option<&Store>) -> Result<Dossier, Error> {
    let (known, measured) = match store {
        Some(store) => {
            let known = store.all_ceilings(&run.environment.machine.key)?;
            let measured = advise::measured(&run, store)?;
            (known, measured)
        }
        None => (Vec::new(), Vec::new()),
    };
    let subjects = vec![subject(run, name.to_owned(), &known, measured)];
    Ok(Dossier { subjects, ..Dossier::default() })
}

/// The report as one HTML page, whole in itself; equal runs give equal bytes.
#[must_use]
pub fn dossier_page(dossier: &Dossier, pictures: Pictures) -> String {
    with_content(dossier, pictures, None, page::page)
}

/// What stands inside that page, with one more part if it is about one run.
#[must_use]
pub fn dossier_part(dossier: &Dossier, pictures: Pictures, more: Option<&Tab>) -> Part {
    with_content(dossier, pictures, more, page::page_part)
}

fn with_content<T>(
    dossier: &Dossier,
    pictures: Pictures,
    more: Option<&Tab>,
    make: impl FnOnce(&Content<'_>) -> T,
) -> T {
    let runs: Vec<&Run> = dossier.subjects.iter().map(|one| &one.run).collect();
    let ceilings = BTreeMap::new();
    let drawn = pictures == Pictures::Drawn && runs.len() > 1;
    let material = drawn.then(|| material_of(&runs, ceilings));
    make(&Content { dossier, material: material.as_ref(), pictures, more })
}

fn newest(store: &Store, models: &[String]) -> Result<Vec<RunId>, Error> {
    let survey = Survey { models: models.to_vec(), ..Survey::default() };
    let rows = survey.newest_runs(store)?;
    if rows.is_empty() { Err(Error::NoRuns) } else { Ok(rows) }
}

type Planned = (Vec<RunId>, Vec<(String, String)>);

fn planned(store: &Store, plan: &str) -> Result<Planned, Error> {
    let known: Vec<String> = store.plans()?.into_iter().map(|one| one.plan).collect();
    // Each machine has its own share of a plan, with the machine behind its name.
    let named = |whole: &str| whole.split_once('@').map_or(whole, |(name, _)| name).to_owned();
    let meant: Vec<&String> =
        known.iter().filter(|whole| *whole == plan || named(whole) == plan).collect();
    if meant.is_empty() {
        let names: BTreeSet<String> = known.iter().map(|whole| named(whole)).collect();
        let names: Vec<String> = names.into_iter().collect();
        return Err(not_stored("plan", plan, &names));
    }
    let mut cells = Vec::new();
    for whole in meant {
        cells.extend(store.plan_cells(whole)?);
    }
    let (mut ids, mut unmeasured) = (Vec::new(), Vec::new());
    for cell in cells {
        match (cell.run, cell.reason) {
            (Some(run), _) => ids.push(run),
            (None, why) => {
                let why = why.unwrap_or_else(|| cell.state.name().to_owned());
                unmeasured.push((cell.cell.key, why));
            }
        }
    }
    Ok((ids, unmeasured))
}

fn subject(
    run: Run,
    name: String,
    known: &[Ceilings],
    measured: Vec<types::PooledCell>,
) -> Subject {
    let ceilings = run.cell.device.bounded_by().and_then(|device| {
        let threads = if device == types::Device::Cpu { run.cell.threads } else { 0 };
        let is_it = |one: &&Ceilings| one.device == device && one.threads == threads;
        known.iter().find(is_it).cloned()
    });
    let command = again(&run);
    let mut subject = Subject {
        name,
        command,
        advice: Vec::new(),
        fine: Vec::new(),
        not_judged: Vec::new(),
        ceilings,
        run,
    };
    if subject.run.imported.is_none() {
        let unmeasured =
            || Missing::because("a report does not measure").with_hint("`modelmeter advise` does");
        let facts = Facts {
            run: &subject.run,
            goal: None,
            sweep: Err(unmeasured()),
            ceilings: subject.ceilings.clone().ok_or_else(|| {
                Missing::because("the machine's ceilings are not known")
                    .with_hint("`modelmeter calibrate` measures them")
            }),
            alternatives: Err(unmeasured()),
            cores: Ok(subject.run.environment.machine.cpu.cores),
            padding: Err(unmeasured()),
            memory: advise::memory(&subject.run),
            fragmentation: advise::fragmentation(&subject.run),
            cache_choices: Err(unmeasured()),
            stored_weights: None,
            blocks: None,
            measured,
            subject: subject.name.clone(),
        };
        let judged = judge_all(&facts);
        subject.advice = judged.advice;
        subject.fine = judged.fine;
        subject.not_judged = judged.not_judged;
    }
    subject
}

/// Runs of the same work beside each other: several runs of one way to run are one side.
fn comparisons(subjects: &[Subject]) -> Vec<ComparisonReport> {
    type Work<'a> = (&'a str, types::Mode, usize, Option<usize>, &'a str, String);
    let mut works: BTreeMap<Work<'_>, BTreeMap<String, Vec<Run>>> = BTreeMap::new();
    for run in subjects.iter().map(|one| &one.run).filter(|run| run.imported.is_none()) {
        let cell = &run.cell;
        let machine = run.environment.machine.key.as_str();
        let (model, variant) = (run.model.name.as_str(), Measured::from(run).variant.to_string());
        // Options tell sides apart, and a variant has them in it.
        let variant = if cell.options.is_default() { variant } else { String::new() };
        let work = (model, cell.mode, cell.batch_size, cell.sequence_length, machine, variant);
        let way = format!(
            "{} {} {} {} {} {}",
            run.engine.id,
            run.engine.version,
            cell.device,
            cell.precision,
            cell.threads,
            cell.options
        );
        works.entry(work).or_default().entry(way).or_default().push(run.clone());
    }
    let several = works.into_values().filter(|sides| (2..=MOST_SIDES).contains(&sides.len()));
    let usual = crate::Engines::default().reference();
    let baseline = Baseline::usual(usual.map(|engine| engine.id()));
    let compare = |sides: BTreeMap<String, Vec<Run>>| {
        let groups: Vec<&[Run]> = sides.values().map(Vec::as_slice).collect();
        let labels = labels(&groups);
        let sides: Vec<StoredSide<'_>> =
            labels.iter().zip(&groups).map(|(label, runs)| StoredSide { label, runs }).collect();
        // Sides that cannot be compared are still in the overview.
        compare_runs(&sides, baseline).ok()
    };
    several.filter_map(compare).collect()
}
