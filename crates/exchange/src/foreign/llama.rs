//! `llama-bench`: one record a test, with every repetition in JSON and with statistics alone in SQL and CSV.

use super::{agree, same, sql, stem};
use crate::{
    Problem,
    draft::{Draft, MachineFacts},
    import::Found,
    node::{self, Node},
    table::Table,
};
use serde_json::{Map, Value};
use types::{
    Category, Device, Generation, GenerationTest, Mode, Phase, Precision, ReasonCode, Sampling,
    Stated,
};

/// Nanoseconds as a share of a second.
const NANO: f64 = 1e-9;

/// `-o json` prints a list, `-o jsonl` one record a line, `-o csv` a table.
pub(crate) fn llama_bench(text: &str) -> Result<Found, Problem> {
    let mut found = Found::default();
    match text.trim_start().chars().next() {
        Some('[') => {
            node::each(text, |at, record| {
                found.add(draft(&Node::new(&record, format!("[{at}]"))));
                !found.is_full()
            })?;
        }
        Some('{') => {
            for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
                let number = at as u64 + 1;
                let value = node::parse(line).map_err(|problem| in_line(number, &problem));
                found.add(value.and_then(|value| {
                    draft(&Node::new(&value, "")).map_err(|problem| in_line(number, &problem))
                }));
                if found.is_full() {
                    break;
                }
            }
        }
        _ => return table(text),
    }
    Ok(found)
}

fn table(text: &str) -> Result<Found, Problem> {
    let table = Table::new(text.as_bytes())?;
    let names = table.names.clone();
    let mut found = Found::default();
    for row in table {
        found.add(row.and_then(|(line, row)| {
            let fields = names.iter().zip(row.iter());
            let record: Map<String, Value> =
                fields.map(|(name, cell)| (name.clone(), cell.into())).collect();
            draft(&Node::new(&Value::Object(record), "")).map_err(|problem| in_line(line, &problem))
        }));
        if found.is_full() {
            break;
        }
    }
    Ok(found)
}

/// `-o sql` prints one statement a test, with statistics alone.
pub(crate) fn llama_bench_sql(text: &str) -> Result<Found, Problem> {
    let mut found = Found::default();
    for (line, record) in sql::inserts(text) {
        found.add(record.map_err(|what| Problem::line(line, what)).and_then(|record| {
            draft(&Node::new(&Value::Object(record), "")).map_err(|problem| in_line(line, &problem))
        }));
        if found.is_full() {
            break;
        }
    }
    if found.drafts.is_empty() && found.problems.is_empty() {
        return Err(Problem::file("has no `INSERT INTO llama_bench` in it"));
    }
    Ok(found)
}

fn in_line(line: u64, problem: &Problem) -> Problem {
    Problem::line(line, problem.to_string())
}

fn draft(record: &Node<'_>) -> Result<Draft, Problem> {
    let prompt = record.need("n_prompt")?.whole()?;
    let generated = record.need("n_gen")?.whole()?;
    let depth = record.whole_of("n_depth")?.unwrap_or(0);
    let tokens = prompt + generated;
    if tokens == 0 {
        return Err(record
            .need("n_prompt")?
            .complain("and `n_gen` are both 0: nothing was measured"));
    }
    let test = generation(prompt, generated, depth);
    let kind = record.text_of("model_type").unwrap_or_default();
    let mut draft = Draft {
        tool: "llama-bench".into(),
        version: record.text_of("build_number").map(|number| format!("b{number}")),
        model: record.text_of("model_filename").map(|name| stem(&name).to_owned()),
        architecture: kind.split_whitespace().next().map(str::to_owned),
        category: Some(Category::Generation),
        parameters: record.whole_of("model_n_params")?.filter(|count| *count > 0),
        size: record.whole_of("model_size")?.filter(|size| *size > 0),
        // Rows that Modelmeter wrote say which engine ran.
        engine: record.text_of("engine").unwrap_or_else(|| "llama.cpp".into()),
        engine_version: record.text_of("engine_version").or_else(|| version(record)),
        placement: record.text_of("backends").or_else(|| record.text_of("backend")),
        batch_size: Some(1),
        sequence_length: Some(match test {
            Some(test) => test.tokens_per_sample() as u64,
            None => tokens,
        }),
        generation: test,
        mode: if test.is_some() { Mode::Generate } else { Mode::Inference },
        threads: record.whole_of("n_threads")?.map(|count| count as u32),
        started_at: record.text_of("test_time").and_then(|when| clock::parse(&when)),
        machine: MachineFacts {
            cpu: record.text_of("cpu_info"),
            gpus: record.text_of("gpu_info").into_iter().collect(),
            ..MachineFacts::default()
        },
        ..Draft::default()
    };
    draft.device = device(record);
    // A prompt and what is written after it in one number is no test of ours.
    let both = test.is_none().then(|| test_name(prompt, generated, depth));
    settings(&mut draft, record, both);
    match record.text_of("precision").and_then(|name| name.parse().ok()) {
        Some(precision) => draft.precision = Some(precision),
        None => weights(&mut draft, &kind),
    }
    timings(&mut draft, record, tokens, test)?;
    Ok(draft)
}

fn version(record: &Node<'_>) -> Option<String> {
    let commit = record.text_of("build_commit");
    let number = record.text_of("build_number");
    match (number, commit) {
        (Some(number), Some(commit)) => Some(format!("b{number} ({commit})")),
        (number, commit) => number.map(|number| format!("b{number}")).or(commit),
    }
}

/// A prompt or what is written; `None` for both together.
fn generation(prompt: u64, generated: u64, depth: u64) -> Option<Generation> {
    let (test, tokens) = match (prompt, generated) {
        (prompt, 0) => (GenerationTest::Prefill, prompt),
        (0, generated) => (GenerationTest::Decode, generated),
        _ => return None,
    };
    let whole = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let (tokens, depth) = (whole(tokens), whole(depth));
    Some(Generation { test, tokens, depth, sampling: Sampling::Greedy })
}

/// As llama-bench names its tests: `pp512`, `tg128`, `pp512+tg128 @ d4096`.
fn test_name(prompt: u64, generated: u64, depth: u64) -> String {
    let test = match (prompt, generated) {
        (prompt, 0) => format!("pp{prompt}"),
        (0, generated) => format!("tg{generated}"),
        (prompt, generated) => format!("pp{prompt}+tg{generated}"),
    };
    if depth > 0 { format!("{test} @ d{depth}") } else { test }
}

/// What changes the numbers and has no place of its own in a cell.
fn settings(draft: &mut Draft, record: &Node<'_>, test: Option<String>) {
    let mut set = |key: &str, value: String| draft.options.settings.insert(key.to_owned(), value);
    if let Some(test) = test {
        set("test", test);
    }
    for key in
        ["n_batch", "n_ubatch", "n_gpu_layers", "type_k", "type_v", "flash_attn", "split_mode"]
    {
        if let Some(value) = record.text_of(key) {
            set(key, value);
        }
    }
}

/// Where it ran, by the backends that were there and how many layers were given to them.
fn device(record: &Node<'_>) -> Option<Device> {
    let backends = record.text_of("backends").or_else(|| record.text_of("backend"))?;
    let layers = record.maybe("n_gpu_layers").and_then(|node| node.number().ok());
    let index = record.whole_of("main_gpu").ok().flatten().unwrap_or(0) as u32;
    if layers == Some(0.0) {
        return Some(Device::Cpu);
    }
    let known = |backend: &str| match backend.to_ascii_lowercase().as_str() {
        "cpu" | "blas" | "zendnn" => Some(Device::Cpu),
        "cuda" => Some(Device::Cuda(index)),
        "rocm" | "hip" => Some(Device::Rocm(index)),
        "metal" | "mtl" => Some(Device::Mps),
        "sycl" => Some(Device::Xpu(index)),
        _ => None,
    };
    // The first one that is no plain processor is where the layers go.
    let all: Vec<&str> = backends.split(',').map(str::trim).collect();
    let gpu = all.iter().copied().find(|name| known(name) != Some(Device::Cpu));
    known(gpu.unwrap_or(all.first()?))
}

/// The format of the weights: `qwen2 7B Q4_K - Medium`.
fn weights(draft: &mut Draft, kind: &str) {
    let upper = kind.to_ascii_uppercase();
    let has = |word: &str| upper.contains(word);
    draft.precision = if has("BF16") {
        Some(Precision::Bf16)
    } else if has("F16") {
        Some(Precision::Fp16)
    } else if has("F32") {
        Some(Precision::Fp32)
    } else if has("Q8") {
        Some(Precision::Int8)
    } else if let Some(at) = upper.find(['Q', 'T']).filter(|at| has_quantisation(&upper[*at..])) {
        let name = kind[at..].to_owned();
        draft.remark(
            ReasonCode::Assumption,
            format!("the weights are {name}; they are stored as `int8`, the format llama.cpp multiplies them in"),
        );
        draft.options.settings.insert("weights".into(), name);
        Some(Precision::Int8)
    } else {
        None
    };
}

fn has_quantisation(text: &str) -> bool {
    let mut rest = text.chars().skip(1);
    rest.next().is_some_and(|character| character.is_ascii_digit() || character == 'Q')
}

fn timings(
    draft: &mut Draft,
    record: &Node<'_>,
    tokens: u64,
    test: Option<Generation>,
) -> Result<(), Problem> {
    // One sample of ours is a step; a repetition of llama-bench is all of them.
    let steps = match test.map(|test| test.test) {
        Some(GenerationTest::Decode) => tokens as f64,
        _ => 1.0,
    };
    let stated_rate = record.amount_of("avg_ts")?;
    let samples: Vec<f64> = match record.maybe("samples_ns") {
        Some(list) => list
            .list()?
            .iter()
            .map(|node| Ok(node.seconds(NANO)? / steps))
            .collect::<Result<_, Problem>>()?,
        None => Vec::new(),
    };
    let mean = if samples.is_empty() {
        let node = record.need("avg_ns")?;
        let mean = node.seconds(NANO)? / steps;
        let std = record.amount_of("stddev_ns")?.map(|nanos| nanos * NANO / steps);
        draft
            .stated
            .insert(Phase::Inference, Stated { mean: Some(mean), std, ..Stated::default() });
        mean
    } else {
        draft.sample(Phase::Inference, &samples);
        super::mean(&samples)
    };
    if steps > 1.0 {
        let text = format!("each sample is the mean step of one repetition of {tokens} tokens");
        draft.remark(ReasonCode::Assumption, text);
    }
    let rate = tokens as f64 / steps / mean;
    if let Some(stated) = stated_rate.filter(|stated| *stated > 0.0) {
        if !agree(stated, rate) {
            let rate = number::fixed(rate, 2);
            let what =
                format!("is {stated} tokens per second, but the times say {rate}: wrong units?");
            return Err(record.need("avg_ts")?.complain(what));
        }
        if !same(stated, rate) {
            let why = "llama-bench averages rates, which overweights fast repetitions; tokens ÷ mean time is stored \
                       instead";
            draft.correct("throughput.tokens", stated, Some(rate), why);
        }
    }
    draft.rate("throughput.tokens", rate);
    draft.rate("throughput.samples", 1.0 / mean);
    Ok(())
}
