//! Runs in the few numbers that many are compared by.

use crate::{
    place::{Place, on_both},
    sample,
};
use modelmeter_store::{Filter, Scope, Store};
use types::{
    Device, Direction, Import, Measured, Metric, Newest, Phase, Reason, ReasonCode, Run, Stated,
    Unit, Verdict,
};

on_both!(
    what_is_compared_is_what_the_runs_say,
    the_newest_are_handed_over_and_the_others_counted,
    what_is_not_valid_or_has_no_time_is_counted_apart,
    a_scope_keeps_what_it_names,
    what_is_deleted_is_compared_no_more,
    names_of_models_engines_and_machines_are_listed,
);

/// Everything that would be compared, oldest first.
pub(crate) fn compared(store: &Store, scope: &Scope) -> Vec<Measured> {
    let mut all = Vec::new();
    store.newest(scope, 9, |newest| all.extend(newest.runs)).unwrap();
    all.sort_by_key(|run| run.started_at);
    all
}

fn cells(store: &Store, most: usize) -> Vec<Newest> {
    let mut all = Vec::new();
    store.newest(&Scope::default(), most, |newest| all.push(newest)).unwrap();
    all.sort_by_key(|cell| cell.runs.first().map(|run| run.batch_size));
    all
}

fn light(run: &Run) -> Measured {
    Measured { tags: Vec::new(), ..Measured::from(run) }
}

fn invalid(n: u64) -> Run {
    let verdict = Verdict::from_reasons(vec![Reason {
        code: ReasonCode::NotWarm,
        invalidates: true,
        text: "never settled".into(),
        hint: None,
        about: None,
    }]);
    Run { verdict, ..sample::run(n) }
}

fn what_is_compared_is_what_the_runs_say(place: &Place) {
    let store = place.open();
    let mut gpu = sample::run(1);
    gpu.cell.device = Device::Cuda(1);
    gpu.cell.text = None;
    gpu.cell.sequence_length = None;
    gpu.summaries.insert(Phase::Inference, gpu.summaries[&Phase::Total].clone());
    let memory =
        |value| Metric::measured("gpu.memory.process", Unit::Bytes, Direction::Lower, value);
    gpu.metrics.push(memory(3e9));
    gpu.metrics.push(Metric::measured("gpu.energy", Unit::Joules, Direction::Lower, 40.0));
    let mut imported = sample::run(2);
    imported.summaries.clear();
    let stated = Stated { mean: Some(0.125), count: Some(7), p95: Some(0.2), ..Stated::default() };
    imported.imported = Some(Box::new(Import {
        tool: "timm".into(),
        stated: [(Phase::Total, stated)].into(),
        untold: vec!["cell.precision".into()],
        ..Import::default()
    }));
    let runs = [sample::run(0), gpu, imported];
    for run in &runs {
        store.insert_run(run).unwrap();
    }
    let found = compared(&store, &Scope::default());
    assert_eq!(found, runs.each_ref().map(light));
    // Not by luck of both being empty.
    assert_eq!(found[1].memory_peak.unwrap().0, 3_000_000_000);
    assert_eq!(found[1].joules_per_sample, Some(0.5));
    assert_eq!((found[2].median, found[2].samples), (Some(0.125), 7));
    assert!(found[2].variant.contains(r#""untold":["precision"]"#));
}

fn the_newest_are_handed_over_and_the_others_counted(place: &Place) {
    let store = place.open();
    for n in 0..20 {
        let mut run = sample::run(n);
        run.cell.batch_size = if n < 15 { 4 } else { 8 };
        store.insert_run(&run).unwrap();
    }
    let found = cells(&store, 8);
    let ids = |cell: &Newest| {
        let mut ids: Vec<_> = cell.runs.iter().map(|run| run.id.clone()).collect();
        ids.sort();
        ids
    };
    let expected = |range: std::ops::Range<u64>| {
        let mut ids: Vec<_> = range.map(|n| sample::run(n).id).collect();
        ids.sort();
        ids
    };
    assert_eq!(found.len(), 2);
    assert_eq!((found[0].valid, found[1].valid), (15, 5));
    assert_eq!(ids(&found[0]), expected(7..15));
    assert_eq!(ids(&found[1]), expected(15..20));
    assert_eq!(cells(&store, 1)[0].runs[0].id, sample::run(14).id);
    assert_eq!(cells(&store, usize::MAX)[0].runs.len(), 15);
}

fn what_is_not_valid_or_has_no_time_is_counted_apart(place: &Place) {
    let store = place.open();
    store.insert_run(&sample::run(1)).unwrap();
    for n in 2..5 {
        store.insert_run(&invalid(n)).unwrap();
    }
    let mut untimed = sample::run(5);
    untimed.summaries.clear();
    store.insert_run(&untimed).unwrap();
    let found = cells(&store, 8);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].valid, found[0].invalid.total(), found[0].untimed), (1, 3, 1));
    assert_eq!(found[0].invalid.by_count(), [(ReasonCode::NotWarm, 3)]);
    let mut runs: Vec<_> = found[0].runs.iter().map(|run| (run.valid, run.id.clone())).collect();
    runs.sort();
    assert_eq!(runs, [(false, sample::run(4).id), (true, sample::run(1).id)]);
    let all = Scope { include_invalid: true, ..Scope::default() };
    let reasons = compared(&store, &all).into_iter().filter_map(|run| run.reason);
    assert_eq!(reasons.collect::<Vec<_>>(), [ReasonCode::NotWarm; 3]);
    let listed = store.runs(&Filter { valid: Some(false), ..Default::default() }).unwrap();
    assert!(listed.iter().all(|row| row.reason == Some(ReasonCode::NotWarm)) && listed.len() == 3);
}

fn a_scope_keeps_what_it_names(place: &Place) {
    let store = place.open();
    for n in 0..4 {
        let mut run = sample::run(n);
        run.model.name = if n == 0 { "gpt2".into() } else { "bert".into() };
        run.tags = if n == 1 { vec!["night".into()] } else { Vec::new() };
        store.insert_run(&run).unwrap();
    }
    let numbers = |scope: Scope| -> Vec<i64> {
        let start = sample::run(0).started_at;
        let runs = compared(&store, &scope);
        runs.iter().map(|run| (run.started_at - start) / 1_000_000).collect()
    };
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(numbers(Scope { models: names(&["bert"]), ..Scope::default() }), [1, 2, 3]);
    assert_eq!(numbers(Scope { models: names(&["ber"]), ..Scope::default() }), [0i64; 0]);
    let both = Scope { models: names(&["bert", "gpt2"]), ..Scope::default() };
    assert_eq!(numbers(both), [0, 1, 2, 3]);
    assert_eq!(numbers(Scope { tag: Some("night".into()), ..Scope::default() }), [1]);
    let at = |n: u64| Some(sample::run(n).started_at);
    assert_eq!(numbers(Scope { since: at(2), ..Scope::default() }), [2, 3]);
    assert_eq!(numbers(Scope { until: at(2), ..Scope::default() }), [0, 1]);
    let some = Scope { models: names(&["bert"]), since: at(1), until: at(3), ..Scope::default() };
    assert_eq!(numbers(some), [1, 2]);
    // What is out of scope is not counted either.
    let mut valid = 0;
    let recent = Scope { since: at(3), ..Scope::default() };
    store.newest(&recent, 1, |newest| valid += newest.valid).unwrap();
    assert_eq!(valid, 1);
}

fn what_is_deleted_is_compared_no_more(place: &Place) {
    let store = place.open();
    store.insert_run(&sample::run(1)).unwrap();
    let mut other = sample::run(2);
    other.model.name = "gpt2".into();
    store.insert_run(&other).unwrap();
    store.delete(&[other.id]).unwrap();
    assert_eq!(compared(&store, &Scope::default()), [sample::light(1)]);
    assert_eq!(store.models().unwrap(), ["distilbert-base-uncased"]);
}

fn names_of_models_engines_and_machines_are_listed(place: &Place) {
    let store = place.open();
    assert!(store.models().unwrap().is_empty() && store.machines().unwrap().is_empty());
    let mut other = sample::run(2);
    other.model.name = "Gpt2".into();
    other.engine.id = "torch".into();
    other.environment.machine.key = "m-0ther".into();
    other.environment.machine.hostname = "bench-2".into();
    for run in [&sample::run(0), &sample::run(1), &other] {
        store.insert_run(run).unwrap();
    }
    assert_eq!(store.models().unwrap(), ["Gpt2", "distilbert-base-uncased"]);
    assert_eq!(store.engines().unwrap(), ["rten", "torch"]);
    let machines = store.machines().unwrap();
    assert_eq!(
        machines.into_iter().collect::<Vec<_>>(),
        [
            ("m-0ther".to_owned(), "bench-2".to_owned()),
            ("m-5ca1ab1e".to_owned(), "bench-1".to_owned()),
        ]
    );
}

#[test]
fn variants_that_were_words_become_canonical_and_stay_one_history() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.db");
    let mut run = sample::run(1);
    run.cell.options.compile = Some("default".into());
    let store = Store::open(&path).unwrap();
    store.insert_run(&run).unwrap();
    store.insert_run(&sample::run(3)).unwrap();
    let now = compared(&store, &Scope::default());
    drop(store);
    let old = rusqlite::Connection::open(&path).unwrap();
    // As version 8 wrote it: the words of the time, under the key that followed from them.
    old.execute_batch(
        "PRAGMA foreign_keys = OFF;
         UPDATE measured SET question = question + 1
         WHERE question IN (SELECT key FROM question WHERE variant <> '');
         UPDATE question SET variant = 'compiled, text', key = key + 1 WHERE variant <> '';
         UPDATE schema_version SET version = 8;",
    )
    .unwrap();
    drop(old);
    let store = Store::open(&path).unwrap();
    assert_eq!(compared(&store, &Scope::default()), now);
    let mut newer = sample::run(2);
    (newer.cell, newer.model, newer.engine) =
        (run.cell.clone(), run.model.clone(), run.engine.clone());
    store.insert_run(&newer).unwrap();
    let mut histories = Vec::new();
    store.newest(&Scope::default(), 9, |newest| histories.push(newest.runs.len())).unwrap();
    assert!(histories.contains(&2), "{histories:?}");
}

#[test]
fn runs_whose_shapes_nobody_recorded_are_set_apart_by_the_update() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.db");
    let mut run = sample::run(1);
    run.model.category = types::Category::Audio;
    (run.cell.sequence_length, run.cell.text) = (None, None);
    run.cell.inputs.clear();
    Store::open(&path).unwrap().insert_run(&run).unwrap();
    let old = rusqlite::Connection::open(&path).unwrap();
    // As version 7 wrote it: under the question of a model whose inputs have one shape.
    old.execute_batch(
        "PRAGMA foreign_keys = OFF;
         UPDATE question SET variant = '', key = key + 1;
         UPDATE measured SET question = question + 1;
         UPDATE schema_version SET version = 7;",
    )
    .unwrap();
    drop(old);
    let store = Store::open(&path).unwrap();
    let variants: Vec<String> =
        compared(&store, &Scope::default()).iter().map(|run| run.variant.to_string()).collect();
    assert_eq!(variants, [r#"{"shapes_unrecorded":true}"#]);
    // A run that says its shapes is another question.
    let mut newer = sample::run(2);
    (newer.cell, newer.model) = (run.cell.clone(), run.model.clone());
    newer.inputs = vec![types::FedInput {
        name: "x".into(),
        dtype: types::ElementType::F32,
        dims: vec![4, 16_000],
        role: types::InputRole::Audio,
        values: "all 0".into(),
    }];
    store.insert_run(&newer).unwrap();
    assert_eq!(store.run(&newer.id.0).unwrap().inputs, newer.inputs);
    let mut apart = 0;
    store.newest(&Scope::default(), 9, |_| apart += 1).unwrap();
    assert_eq!(apart, 2);
}
