//! Results of ours and of other tools.

use super::sample;
use crate::{
    Outcome, Target, mutate,
    target::{ROOM, Reader},
};
use exchange::{Format, Imported, file_cells, import};

macro_rules! fixtures {
    ($($name:literal),* $(,)?) => {
        vec![$(include_bytes!(concat!("../../../exchange/tests/fixtures/", $name)).to_vec()),*]
    };
}

/// Whole runs.
pub(crate) const JSON_LINES: Target = Target {
    name: "import-jsonl",
    what: "runs of ours as JSON lines",
    one_of: 1,
    room: ROOM,
    seeds: || vec![ours(Format::JsonLines, 1), ours(Format::JsonLines, 3)],
    mutate: mutate::json_lines,
    open: || reader("x.jsonl", &[Format::JsonLines]),
    expected: &[],
};

/// Rows of ours.
pub(crate) const CSV: Target = Target {
    name: "import-csv",
    what: "runs of ours as CSV",
    one_of: 1,
    room: ROOM,
    seeds: || vec![ours(Format::Csv, 1), ours(Format::Csv, 3)],
    mutate: mutate::lines,
    open: || reader("x.csv", &[Format::Csv]),
    expected: &[],
};

/// Columns of ours.
pub(crate) const PARQUET: Target = Target {
    name: "import-parquet",
    what: "runs of ours as Parquet",
    one_of: 1,
    room: ROOM,
    seeds: || vec![ours(Format::Parquet, 1), ours(Format::Parquet, 3)],
    mutate: mutate::bytes,
    open: || reader("x.parquet", &[Format::Parquet]),
    expected: &[(
        "/registry/src/",
        "a panic inside the library `parquet`; the bounds of imports are mended elsewhere",
    )],
};

const ANALYSIS: &[u8] = b"model,weights,provenance,valid,variant,engine,device,precision,batch_size,sequence_length,mode,threads,\
machine,latency_median_ms,latency_ci95_low_ms,latency_ci95_high_ms,runs,run_ids\n\
gpt2,random,measured,true,,rten,cpu,fp32,1,128,inference,2,m-1,12.5,12.1,12.9,3,aa bb cc\n\
bert,real,imported,true,a,rten,cpu,int8,8,,inference,2,m-1,1.5,,,1,dd\n";

/// Cells to compare with.
pub(crate) const BASELINE: Target = Target {
    name: "baseline",
    what: "baselines: the cells of a CSV of ours",
    one_of: 1,
    room: ROOM,
    seeds: || vec![ours(Format::Csv, 2), ANALYSIS.to_vec()],
    mutate: mutate::lines,
    open: || -> Reader {
        Box::new(|bytes| {
            let cells = file_cells("baseline.csv", bytes);
            if let Ok((cells, _)) = &cells {
                assert!(!cells.is_empty(), "a baseline without cells was read");
            }
            Outcome::from(&cells)
        })
    },
    expected: &[],
};

/// Other tools that write JSON.
pub(crate) const FOREIGN_JSON: Target = Target {
    name: "import-json",
    what: "JSON of optimum-benchmark, llama-bench, ONNX Runtime and trtexec",
    one_of: 1,
    room: ROOM,
    seeds: || {
        fixtures![
            "optimum_benchmark_generation.json",
            "optimum_benchmark_inference.json",
            "optimum_benchmark_report.json",
            "optimum_benchmark_training.json",
            "llama_bench.json",
            "onnxruntime_2026-11-16_20-09-14_009.json",
            "trtexec_profile.json",
            "trtexec_times.json",
            "trtexec_times_old.json",
        ]
    },
    mutate: mutate::json,
    open: || {
        reader(
            "x.json",
            &[
                Format::OptimumBenchmark,
                Format::LlamaBench,
                Format::OnnxRuntime,
                Format::TrtexecTimes,
                Format::TrtexecProfile,
            ],
        )
    },
    expected: &[],
};

/// Other tools that write text.
pub(crate) const FOREIGN_TEXT: Target = Target {
    name: "import-text",
    what: "text of llama-bench, MLPerf and timm",
    one_of: 1,
    room: ROOM,
    seeds: || {
        fixtures![
            "llama_bench.jsonl",
            "llama_bench.sql",
            "mlperf_offline.txt",
            "mlperf_server_invalid.txt",
            "mlperf_single_stream.txt",
            "benchmark-infer-amp-nchw-pt240-cu124-rtx4090.csv",
            "benchmark-train-amp-nchw-pt112-cu113-rtx3090.csv",
        ]
    },
    mutate: mutate::lines,
    open: || {
        let name = "benchmark-infer-amp-nchw-pt240-cu124-rtx4090.csv";
        reader(name, &[Format::LlamaBench, Format::LlamaBenchSql, Format::Mlperf, Format::Timm])
    },
    expected: &[],
};

/// Reads a file as what it looks like, and as one of these formats.
fn reader(name: &'static str, formats: &'static [Format]) -> Reader {
    Box::new(move |bytes| {
        let forced = formats[super::choice(bytes, formats.len())];
        let looked = import(name, bytes, None);
        let forced = import(name, bytes, Some(forced));
        for imported in [&looked, &forced].into_iter().flatten() {
            check(imported);
        }
        let is_read = looked.is_ok() || forced.is_ok();
        if is_read { Outcome::Accepted } else { Outcome::Refused }
    })
}

/// Whatever was taken can be handed on: each run by itself is refused, or written and read again as the same run.
fn check(imported: &Imported) {
    assert!(!imported.runs.is_empty(), "nothing was taken, and nothing was said");
    let _ = imported.corrections().count();
    for run in &imported.runs {
        let mut file = Vec::new();
        if exchange::write(Format::JsonLines, [run], &mut file).is_err() {
            continue;
        }
        let again = import("again.jsonl", &file, Some(Format::JsonLines))
            .expect("what we write can be read");
        assert_eq!(again.runs.len(), 1, "one run was written");
        assert_eq!(again.runs[0].id, run.id);
        assert_eq!(again.runs[0].samples, run.samples);
    }
}

/// Runs in a format of ours.
fn ours(format: Format, count: u64) -> Vec<u8> {
    let mut file = Vec::new();
    exchange::write(format, (0..count).map(sample::run), &mut file).expect("whole runs");
    file
}
