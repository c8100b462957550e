//! The arguments of `modelmeter db`.

use super::{ResultOutput, RunFilter};
use crate::candidates;
use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;
use exchange::Format;
use modelmeter::{Device, Precision};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  modelmeter db status\n  modelmeter db status --db postgres://ann@db.example/runs\n  modelmeter db export runs.parquet --model bert\n  modelmeter db import runs.jsonl benchmark_report.json\n  modelmeter db query \"SELECT name, parameters FROM model\""
)]
pub(crate) struct Db {
    #[command(subcommand)]
    pub(crate) action: DbAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DbAction {
    /// Create the database, or migrate it to this version
    #[command(after_help = "Examples:\n  modelmeter db init\n  modelmeter db init --db team.db")]
    Init,
    /// Show its size, and which models were measured where
    #[command(
        after_help = "Examples:\n  modelmeter db status\n  modelmeter db status --json | jq .coverage"
    )]
    Status {
        #[command(flatten)]
        result: ResultOutput,
    },
    /// Print its path; a server's address is shown without the password
    #[command(after_help = "Examples:\n  cp \"$(modelmeter db path)\" copy.db")]
    Path,
    /// Free the space of deleted runs
    #[command(after_help = "Examples:\n  modelmeter db vacuum")]
    Vacuum,
    /// Write runs to a file for other tools and machines
    #[command(
        after_help = "jsonl holds whole runs with every sample, and is what databases are merged with; csv and parquet are flat\ncolumns for spreadsheets and data frames (docs/IMPORTS.md). Exit code 1 if a run could not be written.\n\nExamples:\n  modelmeter db export runs.jsonl\n  modelmeter db export bert.parquet --model bert --valid\n  modelmeter db export - --format csv --since 7d | head"
    )]
    Export(DbExport),
    /// Import runs of another database, or results of other tools
    #[command(
        after_help = "Runs that are already stored are skipped. A record that cannot be read is reported with its position, and the rest is\nimported. Results of other tools are labelled `imported`; their known errors are corrected, and each correction is\nreported.\n\nExit codes: 0 every file contained a run, 1 some files contained none, 2 no file did\n\nExamples:\n  modelmeter db import runs-of-gpu1.jsonl runs-of-gpu2.jsonl\n  modelmeter db import results/benchmark_report.json llama_bench.json\n  modelmeter db import trtexec_times.json --model resnet50 --device cuda --batch-size 8\n  llama-bench -m model.gguf -o jsonl | modelmeter db import -"
    )]
    Import(DbImport),
    /// Run a read-only SQL query
    #[command(
        after_help = "Tables: run, model, engine, cell, machine, metric, tag, ceiling, plan_cell, question, measured. Times are seconds, sizes bytes,\ntimestamps microseconds since the epoch.\n\nExamples:\n  modelmeter db query \"SELECT name, parameters FROM model ORDER BY parameters\"\n  modelmeter db query \"SELECT model.name, MIN(run.median) FROM run JOIN model ON model.key = run.model GROUP BY model.name\" --csv"
    )]
    Query(DbQuery),
}

#[derive(Debug, Args)]
pub(crate) struct DbExport {
    /// Output file; `-` is standard output
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Format: jsonl, csv, parquet [default: from the file's extension; jsonl for `-`]
    #[arg(long, value_name = "FORMAT", value_parser = own_format)]
    pub(crate) format: Option<Format>,
    #[command(flatten)]
    pub(crate) filter: RunFilter,
    /// Maximum number of runs, the newest; 0 is all
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(crate) limit: u64,
}

#[derive(Debug, Args)]
pub(crate) struct DbImport {
    /// Input files; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Format [default: detected]: jsonl, csv, parquet, optimum-benchmark, llama-bench, llama-bench-sql,
    /// onnxruntime, trtexec-times, trtexec-profile, mlperf, timm
    #[arg(long, value_name = "FORMAT", value_parser = any_format)]
    pub(crate) format: Option<Format>,
    /// Model, if the file does not name it
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Device, if the file does not name it
    #[arg(long, value_name = "DEVICE", value_parser = real_device, add = ArgValueCandidates::new(candidates::devices))]
    pub(crate) device: Option<Device>,
    /// Precision, if the file does not name it
    #[arg(long, alias = "dtype", value_name = "PRECISION")]
    pub(crate) precision: Option<Precision>,
    /// Batch size, if the file does not name it
    #[arg(long, alias = "batch", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) batch_size: Option<u32>,
    #[command(flatten)]
    pub(crate) result: ResultOutput,
}

#[derive(Debug, Args)]
pub(crate) struct DbQuery {
    /// SQL query
    #[arg(value_name = "SQL")]
    pub(crate) sql: String,
    /// Maximum number of rows; 0 is all
    #[arg(long, default_value_t = 1000, value_name = "N")]
    pub(crate) limit: usize,
    #[command(flatten)]
    pub(crate) result: ResultOutput,
}

fn any_format(text: &str) -> Result<Format, String> {
    text.parse().map_err(|error: exchange::ParseFormatError| error.to_string())
}

fn own_format(text: &str) -> Result<Format, String> {
    match any_format(text)? {
        format if format.is_ours() => Ok(format),
        format => Err(format!("{format} is only read; write jsonl, csv or parquet")),
    }
}

/// `auto` is a wish, not a fact of a run that is over.
fn real_device(text: &str) -> Result<Device, String> {
    match text.parse::<Device>().map_err(|error| error.to_string())? {
        Device::Auto => Err("name the device it really ran on: cpu, cuda, rocm, mps".into()),
        device => Ok(device),
    }
}
