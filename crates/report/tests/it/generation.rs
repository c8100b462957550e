//! The tests of a language model: what people read, what programs read, and rows as llama-bench writes them.

use crate::sample::{bare_run, set_phase};
use modelmeter_report::{
    GenerationRefused, ResultDocument, Style, View, generation_document, llama_bench_rows,
};
use types::*;

fn run(test: GenerationTest, tokens: usize, batch: usize, median: f64) -> Run {
    let mut run = bare_run("smollm2-135m", median, 20);
    let generation = Generation { test, tokens, depth: 4096, sampling: Sampling::Greedy };
    run.cell.mode = Mode::Generate;
    run.cell.generation = Some(generation);
    run.cell.batch_size = batch;
    run.verdict = Verdict::from_reasons(Vec::new());
    set_phase(&mut run, Phase::Inference, median, 20);
    let shape = DecoderShape {
        layers: 30,
        key_heads: 3,
        head_dim: 64,
        vocabulary: 49_152,
        context: Some(8192),
        window: None,
        sliding_layers: 0,
    };
    let is_decode = test == GenerationTest::Decode;
    let growth = StepGrowth {
        at_zero: Seconds(0.0201),
        per_thousand: Seconds(0.0012),
        interval: Interval { low: 0.0011, high: 0.0013 },
    };
    run.generation = Some(Box::new(GenerationReport {
        cache_type: "f32".into(),
        cache_per_token: shape.cache_per_token(4),
        cache_tokens: 4100,
        cache: shape.cache(4100, 4),
        cache_reported: Reading::of(shape.cache(4100, 4)),
        cache_kept: "by the engine, appended in place".into(),
        shape,
        tokens: vec![7042, 30],
        answer: is_decode.then(|| " Paris.".into()),
        first_step: None,
        growth: is_decode.then_some(growth),
    }));
    run.samples = vec![Samples { phase: Phase::Inference, nanos: vec![(median * 1e9) as u64; 20] }];
    let first = Metric::measured(key::FIRST_TOKEN, Unit::Seconds, Direction::Lower, median + 1e-4);
    run.metrics.extend((!is_decode).then_some(first));
    run
}

pub(crate) fn document() -> ResultDocument {
    let runs = [
        run(GenerationTest::Prefill, 512, 1, 1.6),
        run(GenerationTest::Decode, 10, 1, 0.025),
        run(GenerationTest::Decode, 10, 8, 0.05),
    ];
    let refused = GenerationRefused {
        engine: "openvino".into(),
        test: "tg10 @ d4096 × 8".into(),
        why: "it ran out of memory".into(),
    };
    generation_document(&runs, &[refused], &View::default())
}

#[test]
fn a_test_is_a_row_with_its_rate_and_its_interval() {
    let text = document().terminal(&Style::plain(120), None);
    for part in [
        "pp512 @ d4096",
        "tg10 @ d4096 × 8",
        "46,080 B a token (f32)",
        "+ 1.20 ms [1.10, 1.30] for every 1,000 tokens in the cache",
        "Paris.",
        "openvino tg10 @ d4096 × 8: not measured: it ran out of memory",
    ] {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
    let data = document().data.unwrap();
    let place = data.columns.iter().position(|name| name == "tokens_per_second").unwrap();
    let rates: Vec<f64> = data.rows.iter().map(|row| row[place].parse().unwrap()).collect();
    let place = data.columns.iter().position(|name| name == "tokens_per_second_of_one_text");
    let of_one: f64 = data.rows[2][place.unwrap()].parse().unwrap();
    assert!((of_one * 8.0 / rates[2] - 1.0).abs() < 1e-3, "{of_one} of {}", rates[2]);
    // 512 ÷ 1.6 s, 1 ÷ 25 ms, 8 ÷ 50 ms, up to the scatter of the samples.
    for (rate, expected) in rates.iter().zip([320.0, 40.0, 160.0]) {
        assert!((rate / expected - 1.0).abs() < 0.05, "{rate} is not {expected}");
    }
}

#[test]
fn tests_at_two_depths_tell_the_growth_of_a_step() {
    let at = |depth: usize, median: f64| {
        let mut run = run(GenerationTest::Decode, 10, 1, median);
        let generation = run.cell.generation.unwrap();
        run.cell.generation = Some(Generation { depth, ..generation });
        run.generation.as_mut().unwrap().growth = None;
        run
    };
    let told = |runs: &[Run]| {
        generation_document(runs, &[], &View::default()).terminal(&Style::plain(160), None)
    };
    let text = told(&[at(0, 0.020), at(4000, 0.040)]);
    assert!(text.contains("from tg10 to tg10 @ d4000 a step takes"), "{text}");
    assert!(text.contains("more for every 1,000 tokens in the cache"), "{text}");
    let text = told(&[at(0, 0.020), at(4000, 0.020)]);
    assert!(text.contains("no growth of a step could be seen"), "{text}");
    let text = told(&[at(0, 0.020)]);
    assert!(!text.contains("for every 1,000 tokens"), "{text}");
}

#[test]
fn tests_that_are_not_valid_for_one_reason_take_one_line() {
    let busy = |share: u32| Reason {
        code: ReasonCode::BusyMachine,
        invalidates: true,
        text: format!("other work used {share} % of the machine"),
        hint: None,
        about: None,
    };
    let runs: Vec<Run> = (1..=16)
        .map(|tokens| {
            let mut run = run(GenerationTest::Decode, tokens, 1, 0.025);
            run.verdict = Verdict::from_reasons(vec![busy(40 + tokens as u32)]);
            run.cell.engine = "rten".into();
            run
        })
        .collect();
    let document = generation_document(&runs, &[], &View::default());
    let text = document.terminal(&Style::plain(160), None);
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("not valid")).collect();
    let expected = "rten tg1 @ d4096, rten tg2 @ d4096, rten tg3 @ d4096 and 13 more tests: not valid: the first of them: \
                    other work used 41 %";
    assert_eq!(lines.len(), 1, "{text}");
    assert!(lines[0].contains(expected), "{text}");
}

/// What `compare-llama-bench.py` of llama.cpp asks of every row.
const MATCHED: [&str; 31] = [
    "build_commit",
    "test_time",
    "avg_ts",
    "cpu_info",
    "gpu_info",
    "backends",
    "n_gpu_layers",
    "n_cpu_moe",
    "tensor_buft_overrides",
    "model_filename",
    "model_type",
    "n_batch",
    "n_ubatch",
    "embeddings",
    "cpu_mask",
    "cpu_strict",
    "poll",
    "n_threads",
    "type_k",
    "type_v",
    "load_mode",
    "no_kv_offload",
    "split_mode",
    "main_gpu",
    "tensor_split",
    "flash_attn",
    "n_prompt",
    "n_gen",
    "n_depth",
    "fit_target",
    "fit_min_ctx",
];

#[test]
fn rows_of_llama_bench_have_whole_rounds_of_one_text() {
    let runs =
        [run(GenerationTest::Decode, 10, 1, 0.025), run(GenerationTest::Decode, 10, 8, 0.05)];
    let rows = llama_bench_rows(&runs);
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 1, "llama-bench has no batches of texts");
    assert_eq!(
        (&rows[0]["n_prompt"], &rows[0]["n_gen"], &rows[0]["n_depth"]),
        (&0.into(), &10.into(), &4096.into())
    );
    // 20 steps are two rounds of 10, each of 0.25 s.
    assert_eq!(rows[0]["samples_ns"], serde_json::json!([250_000_000.0, 250_000_000.0]));
    assert_eq!(rows[0]["samples_ts"], serde_json::json!([40.0, 40.0]));
    assert_eq!(rows[0]["stddev_ns"], 0.0);
    // llama.cpp's scripts match rows by these, and nothing matches what is null.
    for key in MATCHED {
        assert!(!rows[0][key].is_null(), "{key}");
    }
    assert_eq!(rows[0]["backends"], "CPU");
}

/// llama.cpp's script cuts the names of all builds to the shortest one, and then finds none but that.
#[test]
fn rows_of_all_engines_have_builds_of_one_length() {
    let names = [("rten", "0.27.0"), ("llamacpp", "b9945"), ("openvino", "2026.1.0-20000-abcdef")];
    let runs = names.map(|(engine, version)| {
        let mut run = run(GenerationTest::Decode, 10, 1, 0.025);
        run.engine.id = engine.into();
        run.engine.version = version.into();
        run
    });
    let rows = llama_bench_rows(&runs);
    let builds = rows.as_array().unwrap().iter().map(|row| row["build_commit"].as_str().unwrap());
    let expected = ["rten-0.27.0---------", "llamacpp-b9945------", "openvino-2026.1.0-20"];
    assert_eq!(builds.collect::<Vec<_>>(), expected);
}
