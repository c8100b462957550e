use crate::{
    place::{Place, on_both},
    sample,
};
use modelmeter_store::{Filter, RunRow, Store};
use types::{
    Bytes, Device, Generation, GenerationTest, Load, Mode, Precision, Protocol, Reason, ReasonCode,
    Sampling, Scenario, Verdict, Weights,
};

on_both!(
    the_newest_run_comes_first,
    a_row_says_what_the_run_says,
    a_row_tells_tests_and_loads_apart,
    every_filter_keeps_what_it_names,
    long_lists_carry_their_tags_and_cells_too,
);

fn filled(place: &Place) -> Store {
    let store = place.open();
    let mut base = sample::run(0);
    base.tags.clear();
    let mut gpt = sample::run(1);
    gpt.model.name = "GPT_2".into();
    gpt.model.weights = Weights::Real;
    gpt.cell.device = Device::Cuda(1);
    gpt.cell.batch_size = 8;
    gpt.tags = vec!["nightly".into()];
    let mut int8 = sample::run(2);
    int8.model.name = "all-MiniLM-L6-v2".into();
    int8.cell.precision = Precision::Int8;
    int8.cell.mode = Mode::Training;
    int8.engine.id = "onnxruntime".into();
    int8.environment.machine.key = "m-0ther".into();
    int8.environment.machine.hostname = "bench-2".into();
    int8.verdict = Verdict::from_reasons(vec![Reason {
        code: ReasonCode::NotWarm,
        invalidates: true,
        text: "never settled".into(),
        hint: None,
        about: None,
    }]);
    for run in [&gpt, &int8, &base] {
        store.insert_run(run).unwrap();
    }
    store
}

/// The numbers of the runs that pass, as they come.
fn numbers(store: &Store, filter: &Filter) -> Vec<i64> {
    let start = sample::run(0).started_at;
    let rows = store.runs(filter).unwrap();
    rows.iter().map(|row| (row.started_at - start) / 1_000_000).collect()
}

fn the_newest_run_comes_first(place: &Place) {
    let store = filled(place);
    assert_eq!(numbers(&store, &Filter::default()), [2, 1, 0]);
    let page = Filter { limit: Some(1), offset: 1, ..Filter::default() };
    assert_eq!(numbers(&store, &page), [1]);
    let rest = Filter { offset: 2, ..Filter::default() };
    assert_eq!(numbers(&store, &rest), [0]);
}

fn a_row_says_what_the_run_says(place: &Place) {
    let store = filled(place);
    let run = sample::run(0);
    let rows = store.runs(&Filter { model: Some("distil".into()), ..Filter::default() }).unwrap();
    assert_eq!(rows[0].median_error.map(|error| (error * 1e6).round()), Some(10_000.0));
    let expected = RunRow {
        id: run.id,
        started_at: run.started_at,
        model: run.model.name,
        random_weights: true,
        engine: "rten".into(),
        engine_version: "0.21.0".into(),
        device: Device::Cpu,
        precision: Precision::Fp32,
        batch_size: 4,
        sequence_length: Some(128),
        mode: Mode::Inference,
        generation: None,
        scenario: None,
        threads: 2,
        machine: "m-5ca1ab1e".into(),
        valid: true,
        reason: None,
        remarks: 1,
        median: Some(0.1 + 0.2),
        median_error: rows[0].median_error,
        samples_per_second: Some(16.5),
        memory_peak: Some(Bytes(500_000_000)),
        samples: 20,
        tags: vec![],
    };
    assert_eq!(rows, [expected]);
}

fn a_row_tells_tests_and_loads_apart(place: &Place) {
    let store = place.open();
    let decode = Generation {
        test: GenerationTest::Decode,
        tokens: 128,
        depth: 4096,
        sampling: Sampling::Greedy,
    };
    let mut test = sample::run(0);
    test.cell.mode = Mode::Generate;
    test.cell.generation = Some(decode);
    let mut load = sample::run(1);
    load.cell.mode = Mode::Load;
    load.cell.load = Some(Load {
        scenario: Scenario::Concurrency { users: 8 },
        protocol: Protocol::InProcess,
        streaming: false,
        max_in_flight: None,
        batching: None,
        texts: None,
        content: "input_ids 1×128".into(),
    });
    for run in [&test, &load, &sample::run(2)] {
        store.insert_run(run).unwrap();
    }
    let rows = store.runs(&Filter::default()).unwrap();
    let told = |at: usize| (rows[at].mode, rows[at].generation, rows[at].scenario.clone());
    assert_eq!(told(0), (Mode::Inference, None, None));
    assert_eq!(told(1), (Mode::Load, None, Some(Scenario::Concurrency { users: 8 })));
    assert_eq!(told(2), (Mode::Generate, Some(decode), None));
    let loads = Filter { mode: Some(Mode::Load), ..Filter::default() };
    assert_eq!(numbers(&store, &loads), [1]);
}

fn every_filter_keeps_what_it_names(place: &Place) {
    let store = filled(place);
    let text = |text: &str| Some(text.to_owned());
    let all = Filter::default;
    let cases: Vec<(&str, Filter, Vec<i64>)> = vec![
        ("part", Filter { model: text("minilm"), ..all() }, vec![2]),
        ("case", Filter { model: text("gpt"), ..all() }, vec![1]),
        ("pattern", Filter { model: text("*base*"), ..all() }, vec![0]),
        ("whole pattern", Filter { model: text("base*"), ..all() }, vec![]),
        ("one character", Filter { model: text("GPT?2"), ..all() }, vec![1]),
        ("literal _", Filter { model: text("t_2"), ..all() }, vec![1]),
        ("_ is no wildcard", Filter { model: text("l6_v2"), ..all() }, vec![]),
        ("literal %", Filter { model: text("%"), ..all() }, vec![]),
        ("engine", Filter { engine: text("onnxruntime"), ..all() }, vec![2]),
        ("device", Filter { device: Some(Device::Cuda(1)), ..all() }, vec![1]),
        ("precision", Filter { precision: Some(Precision::Int8), ..all() }, vec![2]),
        ("mode", Filter { mode: Some(Mode::Inference), ..all() }, vec![1, 0]),
        ("batch", Filter { batch_size: Some(8), ..all() }, vec![1]),
        ("machine key", Filter { machine: text("M-5ca1"), ..all() }, vec![1, 0]),
        ("host", Filter { machine: text("bench-2"), ..all() }, vec![2]),
        ("valid", Filter { valid: Some(true), ..all() }, vec![1, 0]),
        ("invalid", Filter { valid: Some(false), ..all() }, vec![2]),
        ("tag", Filter { tag: text("nightly"), ..all() }, vec![1]),
        ("since", Filter { since: Some(sample::run(1).started_at), ..all() }, vec![2, 1]),
        ("until", Filter { until: Some(sample::run(1).started_at), ..all() }, vec![0]),
        (
            "together",
            Filter { machine: text("m-"), valid: Some(true), limit: Some(1), ..all() },
            vec![1],
        ),
        ("quote", Filter { model: text("'; DROP TABLE run; --"), ..all() }, vec![]),
    ];
    for (name, filter, expected) in cases {
        assert_eq!(numbers(&store, &filter), expected, "{name}");
    }
}

fn long_lists_carry_their_tags_and_cells_too(place: &Place) {
    let store = place.open();
    for n in 0..2100 {
        let mut run = sample::run(n);
        run.tags = vec![format!("n{n}")];
        run.cell.batch_size = n as usize % 150;
        store.insert_run(&run).unwrap();
    }
    for count in [2100, 250] {
        let newest = Filter { limit: Some(count), ..Filter::default() };
        let rows = store.runs(&newest).unwrap();
        assert_eq!(rows.len() as u64, count);
        for (row, n) in rows.iter().zip((0..2100).rev()) {
            assert_eq!(row.tags, [format!("n{n}")]);
            assert_eq!(row.batch_size, n % 150);
        }
    }
}
