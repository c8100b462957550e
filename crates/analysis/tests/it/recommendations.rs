//! Choices with their reasons, with numbers worked out by hand.

use crate::rows::{at, cells, cpu, cuda, disturbed};
use modelmeter_analysis::{Cells, Selection, analyse, parse_memory, parse_slo, recommend};
use std::collections::BTreeMap;
use types::{
    Bytes, Device, EngineOptions, Exclusion, Generation, GenerationTest, Load, LoadBatching,
    Measured, Mode, Objective, Precision, Price, Prices, Protocol, Provenance, Rate, ReasonCode,
    Recommendation, RunId, Sampling, Scenario, Variant, Wish,
};

fn wished(rows: impl IntoIterator<Item = Measured>, wish: &Wish) -> Recommendation {
    let mut found = recommend(&cells(rows), &Selection::default(), wish);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

fn for_objective(objective: Objective) -> Wish {
    Wish { objective, ..Wish::default() }
}

fn best_run(found: &Recommendation) -> &str {
    &found.best().unwrap().cell.runs[0].0
}

fn close(left: f64, right: f64) -> bool {
    (left / right - 1.0).abs() < 1e-9
}

/// Fast and small, wide and hungry, lean and slow; prices make the processor the cheapest.
fn contest() -> Vec<Measured> {
    let with = |row: Measured, megabytes: u64, joules: f64| Measured {
        memory_peak: Some(Bytes(megabytes * 1_000_000)),
        joules_per_sample: Some(joules),
        ..row
    };
    vec![
        with(cuda("fast", "ort", 1, 5.0), 900, 0.9),
        with(cuda("wide", "ort", 32, 40.0), 2000, 0.2),
        with(cpu("lean", "rten", 1, 50.0), 100, 0.5),
        with(cpu("busy", "rten", 8, 200.0), 200, 0.1),
    ]
}

#[test]
fn every_objective_has_its_own_best() {
    let price =
        |device: &str, per_hour| Price { machine: None, device: Some(device.into()), per_hour };
    let prices =
        Prices { currency: "EUR".into(), prices: vec![price("cuda", 36.0), price("cpu", 0.36)] };
    for (objective, best, value) in [
        (Objective::Latency, "fast", 0.005),
        (Objective::Throughput, "wide", 800.0),
        (Objective::Memory, "lean", 1e8),
        (Objective::Energy, "busy", 0.1),
        // 0.36 an hour is 0.0001 a second, which brings 40 samples.
        (Objective::Cost, "busy", 0.0001 / 40.0),
    ] {
        let found =
            wished(contest(), &Wish { objective, prices: prices.clone(), ..Wish::default() });
        assert_eq!(best_run(&found), best, "{objective}");
        assert!(close(found.best().unwrap().value.value, value), "{objective}");
        assert!(found.best().unwrap().behind.is_none());
        assert_eq!(found.candidates.len(), 2, "one for each way to run");
    }
}

#[test]
fn the_runner_up_says_by_how_much() {
    let found = wished(contest(), &for_objective(Objective::Throughput));
    let next = found.runner_up().unwrap();
    let behind = next.behind.unwrap();
    assert_eq!(next.cell.runs[0].0, "busy");
    // 800 against 40 samples per second, each ± 1 %.
    assert!(close(behind.factor.value, 20.0));
    let interval = behind.factor.interval.unwrap();
    assert!(interval.low > 19.6 && interval.high < 20.4, "{interval:?}");
    assert!(behind.told_apart && behind.allowance == 0.3);
}

#[test]
fn a_small_lead_of_runs_at_different_times_is_not_called() {
    let found = wished(
        [cpu("a", "ort", 1, 10.0), cpu("b", "rten", 1, 12.0)],
        &for_objective(Objective::Latency),
    );
    assert_eq!(best_run(&found), "a");
    let behind = found.runner_up().unwrap().behind.unwrap();
    assert!(close(behind.factor.value, 1.2) && !behind.told_apart);
    assert!(
        found.remarks.iter().any(|remark| remark.text.contains("below 30 %")),
        "{:?}",
        found.remarks
    );
}

#[test]
fn runs_that_alternate_in_time_tell_a_small_lead_apart() {
    let run = |minute: i64, engine: &str, time: f64| {
        at(minute, cpu(&format!("{engine}{minute}"), engine, 1, time))
    };
    let rows = |last: i64| {
        vec![
            run(0, "ort", 10.0),
            run(10, "ort", 10.1),
            run(20, "ort", 10.05),
            run(last - 20, "rten", 12.0),
            run(last - 10, "rten", 12.1),
            run(last, "rten", 12.05),
        ]
    };
    let wish = for_objective(Objective::Latency);
    let mixed = wished(rows(25), &wish);
    let behind = mixed.runner_up().unwrap().behind.unwrap();
    assert!(behind.told_apart && behind.allowance == 0.0, "{behind:?}");
    let apart = wished(rows(100), &wish);
    assert!(!apart.runner_up().unwrap().behind.unwrap().told_apart);
    let same =
        wished(rows(25).into_iter().map(|row| Measured { median: Some(0.01), ..row }), &wish);
    assert!(
        !same.runner_up().unwrap().behind.unwrap().told_apart,
        "equals are not distinguishable"
    );
}

#[test]
fn memory_of_single_runs_is_told_apart_beyond_a_tenth() {
    let with = |row: Measured, bytes: u64| Measured { memory_peak: Some(Bytes(bytes)), ..row };
    for (bytes, told_apart) in [(1090, false), (1110, true)] {
        let found = wished(
            [with(cpu("a", "ort", 1, 10.0), 1000), with(cpu("b", "rten", 1, 10.0), bytes)],
            &for_objective(Objective::Memory),
        );
        assert_eq!(found.runner_up().unwrap().behind.unwrap().told_apart, told_apart, "{bytes}");
    }
}

#[test]
fn a_service_level_leaves_out_what_breaks_it_and_what_cannot_show_it() {
    let few = Measured { samples: 129, ..cpu("few", "few", 1, 1.0) };
    let mut silent = cpu("silent", "silent", 1, 1.0);
    silent.percentiles.p95 = None;
    let slo = parse_slo("p95:50ms").unwrap();
    let wish = Wish { slos: vec![slo], ..for_objective(Objective::Latency) };
    // p95 is 1.2 × the median: 40 ms holds, 45 ms does not.
    let rows = [few, silent, cpu("slow", "ort", 1, 45.0), cpu("good", "rten", 1, 40.0)];
    let found = wished(rows, &wish);
    assert_eq!(best_run(&found), "good");
    assert_eq!(found.candidates.len(), 1);
    let why = |id: &str| {
        let left_out = found.left_out.iter().find(|one| one.runs == [RunId(id.into())]);
        left_out.unwrap().why.clone()
    };
    assert_eq!(why("few"), Exclusion::TooFewSamples { slo, samples: 129, needs: 130 });
    assert_eq!(why("silent"), Exclusion::NoPercentile { slo });
    let Exclusion::Slo { found, .. } = why("slow") else { panic!("{:?}", why("slow")) };
    assert!(close(found, 0.054));
}

#[test]
fn one_slow_run_of_a_cell_breaks_its_service_level() {
    let slo = parse_slo("p95:50ms").unwrap();
    let wish = Wish { slos: vec![slo], ..Wish::default() };
    let rows = [cpu("a", "rten", 1, 10.0), cpu("b", "rten", 1, 10.0), cpu("c", "rten", 1, 90.0)];
    assert!(wished(rows, &wish).best().is_none());
}

#[test]
fn a_memory_limit_leaves_out_the_larger_and_the_unknown() {
    let limit = parse_memory("1GB").unwrap();
    let mut rows = contest();
    rows.push(Measured { memory_peak: None, ..cuda("unknown", "torch", 1, 0.1) });
    let wish = Wish { memory_limit: Some(limit), ..for_objective(Objective::Throughput) };
    let found = wished(rows, &wish);
    assert_eq!(best_run(&found), "fast", "batch 32 does not fit, batch 1 does");
    let reasons: Vec<Exclusion> = found.left_out.iter().map(|one| one.why.clone()).collect();
    let large = Exclusion::Memory { found: Bytes(2_000_000_000), limit };
    assert!(reasons.contains(&large) && reasons.contains(&Exclusion::NoMemory), "{reasons:?}");
}

#[test]
fn what_has_no_price_or_no_energy_is_left_out() {
    let found = wished(contest(), &for_objective(Objective::Cost));
    assert!(found.best().is_none());
    assert!(found.left_out.iter().all(|one| one.why == Exclusion::NoPrice));
    let found = wished([cpu("a", "rten", 1, 10.0)], &for_objective(Objective::Energy));
    assert_eq!(found.left_out[0].why, Exclusion::NoValue);
}

#[test]
fn invalid_runs_are_named_and_never_chosen() {
    let invalid = |id: &str, time| at(9, disturbed(cuda(id, "ort", 1, time)));
    let rows = [invalid("x", 0.1), at(10, invalid("y", 0.1)), cpu("a", "rten", 1, 10.0)];
    // The last `at` moves `y` behind `x`.
    let found = wished(rows, &for_objective(Objective::Latency));
    assert_eq!(best_run(&found), "a");
    let [left_out] = found.left_out.as_slice() else { panic!("{found:?}") };
    assert_eq!(left_out.count, 2);
    let Exclusion::Invalid { reasons } = &left_out.why else { panic!("{left_out:?}") };
    assert_eq!(reasons.by_count(), [(ReasonCode::BusyMachine, 2)]);
    assert_eq!(left_out.runs, [RunId("y".into())]);
}

#[test]
fn what_was_measured_but_is_not_valid_is_no_gap() {
    let rows = |bad: bool| {
        let other = cuda("x", "ort", 8, 5.0);
        let bad = if bad { Some(disturbed(other.clone())) } else { None };
        let elsewhere = Measured { model: "gpt2".into(), ..cuda("e", "ort", 1, 5.0) };
        [cpu("a", "rten", 8, 10.0), elsewhere].into_iter().chain(bad)
    };
    let of = |rows: Vec<Measured>| {
        let cells: Cells = rows.into_iter().collect();
        let all = recommend(&cells, &Selection::default(), &for_objective(Objective::Latency));
        all.into_iter().find(|one| one.model == "distilbert").unwrap()
    };
    assert_eq!(of(rows(false).collect()).gaps.len(), 1);
    let found = of(rows(true).collect());
    assert!(found.gaps.is_empty(), "{:?}", found.gaps);
    assert_eq!(found.left_out.len(), 1);
}

#[test]
fn a_run_that_is_not_valid_is_a_candidate_only_where_it_was_asked_for_and_behind_all_others() {
    let rows = [disturbed(cuda("x", "ort", 1, 0.1)), cpu("a", "rten", 1, 10.0)];
    let mut cells = Cells::with_invalid();
    cells.extend(rows);
    let found = recommend(&cells, &Selection::default(), &for_objective(Objective::Latency));
    let [valid, marked] = found[0].candidates.as_slice() else { panic!("{found:?}") };
    assert!(valid.cell.invalid.is_none(), "what can be believed comes first, however slow");
    assert_eq!(marked.cell.invalid.as_ref().unwrap().total(), 1);
    assert!(!marked.behind.unwrap().told_apart, "nothing is concluded from it");
    assert!(found[0].left_out.is_empty());
}

#[test]
fn imported_runs_are_chosen_only_where_that_is_wished() {
    let imported = Measured { provenance: Provenance::Imported, ..cuda("theirs", "ort", 1, 1.0) };
    let rows = [imported, cpu("ours", "rten", 1, 10.0)];
    let wish = for_objective(Objective::Latency);
    let found = wished(rows.clone(), &wish);
    assert_eq!(best_run(&found), "ours");
    assert_eq!(found.left_out[0].why, Exclusion::Imported);
    let found = wished(rows, &Wish { imported: true, ..wish });
    assert_eq!(best_run(&found), "theirs");
    assert!(found.remarks.iter().any(|remark| remark.code == types::RemarkCode::Imported));
}

#[test]
fn what_others_were_measured_with_is_missed() {
    let other = |row: Measured| Measured { model: "gpt2".into(), ..row };
    let rows = [
        cpu("a", "rten", 1, 10.0),
        cpu("b", "rten", 8, 60.0),
        Measured { precision: Precision::Int8, ..cpu("c", "rten", 8, 20.0) },
        other(cuda("d", "ort", 64, 5.0)),
        other(Measured { valid: false, ..cuda("e", "torch", 1, 5.0) }),
        other(Measured { provenance: Provenance::Imported, ..cuda("f", "trt", 1, 5.0) }),
    ];
    let own = Selection { models: vec!["distilbert".into()], ..Selection::default() };
    let found = recommend(&cells(rows), &own, &for_objective(Objective::Latency)).remove(0);
    let gaps: Vec<(String, Device, Precision, &[u64])> = found
        .gaps
        .iter()
        .map(|gap| (gap.engine.clone(), gap.device, gap.precision, gap.batch_sizes.as_slice()))
        .collect();
    let expected: [(String, Device, Precision, &[u64]); 2] = [
        ("rten".into(), Device::Cpu, Precision::Int8, &[1]),
        ("ort".into(), Device::Cuda(0), Precision::Fp32, &[1, 8]),
    ];
    assert_eq!(gaps, expected);
}

#[test]
fn other_lengths_and_modes_have_recommendations_of_their_own() {
    let rows = [
        cpu("a", "rten", 1, 10.0),
        Measured { sequence_length: Some(512), ..cpu("b", "rten", 1, 90.0) },
        Measured { mode: types::Mode::Training, ..cpu("c", "rten", 1, 90.0) },
        Measured { model: "gpt2".into(), ..cpu("d", "rten", 1, 90.0) },
    ];
    let found = recommend(&cells(rows), &Selection::default(), &Wish::default());
    assert_eq!(found.len(), 4);
    assert!(found.iter().all(|one| one.candidates.len() == 1));
}

#[test]
fn a_narrow_format_and_two_files_of_one_name_are_said() {
    let narrow = Measured {
        precision: Precision::Int8,
        fingerprint: "f2".into(),
        ..cpu("a", "rten", 1, 5.0)
    };
    let found = wished([narrow, cpu("b", "rten", 1, 10.0)], &for_objective(Objective::Latency));
    let texts: Vec<&str> = found.remarks.iter().map(|one| one.text.as_str()).collect();
    let said = texts.join("\n");
    for words in ["outputs in int8", "2 models of different content", "has a single run"] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn tests_of_generating_are_works_of_their_own() {
    let test = |test: GenerationTest, tokens: usize, depth: usize| Generation {
        test,
        tokens,
        depth,
        sampling: Sampling::Greedy,
    };
    let of =
        |generation: Generation| Variant { generation: Some(generation), ..Variant::default() };
    let row = |id: &str, engine: &str, milliseconds: f64, variant: &Variant| Measured {
        mode: Mode::Generate,
        sequence_length: None,
        variant: variant.canonical().into(),
        ..cpu(id, engine, 1, milliseconds)
    };
    let compiled = EngineOptions { compile: Some("default".into()), ..EngineOptions::default() };
    let short = test(GenerationTest::Decode, 16, 0);
    let drawn = Sampling::Seeded { temperature: Rate(0.5), top_k: 0 };
    let rows = [
        row("a", "rten", 5.0, &of(short)),
        row("b", "torch", 6.0, &Variant { options: compiled, ..of(short) }),
        row("c", "rten", 7.0, &of(test(GenerationTest::Decode, 16, 32))),
        row("d", "rten", 8.0, &of(test(GenerationTest::Decode, 256, 0))),
        row("e", "rten", 9.0, &of(test(GenerationTest::Prefill, 16, 0))),
        row("f", "rten", 9.0, &of(Generation { sampling: drawn, ..short })),
    ];
    let found = recommend(&cells(rows.clone()), &Selection::default(), &Wish::default());
    let names: BTreeMap<String, usize> =
        found.iter().map(|one| (one.work().words(), one.candidates.len())).collect();
    // Ways to do the same work stay alternatives.
    let expected = [("pp16", 1), ("tg16", 2), ("tg16 @ d32", 1), ("tg256", 1)];
    for (name, count) in expected {
        assert_eq!(names.get(name), Some(&count), "{names:?}");
    }
    assert_eq!(names.len(), 5, "{names:?}");
    // Each of them is the best of its own work; with an alternative the slower one is not.
    let analysis = analyse(&cells(rows), &Selection::default());
    let behind = analysis.cells.iter().filter(|one| one.on_front.value == Some(false));
    let behind: Vec<&str> = behind.map(|one| one.cell.runs[0].0.as_str()).collect();
    assert_eq!(behind, ["b"]);
}

#[test]
fn loads_of_two_rates_are_works_of_their_own() {
    let load = |users: u32, most: Option<u32>| Load {
        scenario: Scenario::Concurrency { users },
        protocol: Protocol::ALL[0],
        streaming: false,
        max_in_flight: None,
        batching: most.map(|most| LoadBatching { most, wait_micros: 0 }),
        texts: None,
        content: "8 words".into(),
    };
    let row = |id: &str, load: Load| Measured {
        mode: Mode::Load,
        variant: Variant { load: Some(load), ..Variant::default() }.canonical().into(),
        ..cpu(id, "rten", 1, 5.0)
    };
    let rows = [row("a", load(1, None)), row("b", load(4, None)), row("c", load(4, Some(8)))];
    let found = recommend(&cells(rows), &Selection::default(), &Wish::default());
    let mut counts: Vec<usize> = found.iter().map(|one| one.candidates.len()).collect();
    counts.sort_unstable();
    assert_eq!(counts, [1, 2], "batching is a way to do the work");
}
