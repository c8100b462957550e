//! The formats that can be read or written; help, docs and tests walk this one list.

use std::{fmt, str::FromStr};

/// A format of runs, ours or another tool's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// Ours: whole runs, one per line, nothing lost.
    JsonLines,
    /// Ours: one row per run, flat columns.
    Csv,
    /// Ours: the same columns, and the samples of the main phase.
    Parquet,
    /// `benchmark.json` and `benchmark_report.json` of optimum-benchmark.
    OptimumBenchmark,
    /// `llama-bench -o json`, `-o jsonl`.
    LlamaBench,
    /// `llama-bench -o sql`.
    LlamaBenchSql,
    /// The profile that ONNX Runtime writes.
    OnnxRuntime,
    /// `trtexec --exportTimes`.
    TrtexecTimes,
    /// `trtexec --exportProfile`.
    TrtexecProfile,
    /// `mlperf_log_summary.txt` of MLPerf's load generator.
    Mlperf,
    /// The tables of timm's `benchmark.py`.
    Timm,
}

/// A format name is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown format `{0}`; known formats: {known}", known = Format::names())]
pub struct ParseFormatError(pub String);

impl Format {
    /// Every format, ours first.
    pub const ALL: [Format; 11] = [
        Format::JsonLines,
        Format::Csv,
        Format::Parquet,
        Format::OptimumBenchmark,
        Format::LlamaBench,
        Format::LlamaBenchSql,
        Format::OnnxRuntime,
        Format::TrtexecTimes,
        Format::TrtexecProfile,
        Format::Mlperf,
        Format::Timm,
    ];

    /// The formats that are ours and can be written.
    pub const OURS: [Format; 3] = [Format::JsonLines, Format::Csv, Format::Parquet];

    /// Its name in arguments.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Format::JsonLines => "jsonl",
            Format::Csv => "csv",
            Format::Parquet => "parquet",
            Format::OptimumBenchmark => "optimum-benchmark",
            Format::LlamaBench => "llama-bench",
            Format::LlamaBenchSql => "llama-bench-sql",
            Format::OnnxRuntime => "onnxruntime",
            Format::TrtexecTimes => "trtexec-times",
            Format::TrtexecProfile => "trtexec-profile",
            Format::Mlperf => "mlperf",
            Format::Timm => "timm",
        }
    }

    /// What it is, in one line.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Format::JsonLines => "complete runs with every sample, one per line",
            Format::Csv => "one row per run, SI units in the column names",
            Format::Parquet => "the columns of csv, and the samples of the main phase as a list",
            Format::OptimumBenchmark => {
                "`benchmark.json` or `benchmark_report.json` of optimum-benchmark"
            }
            Format::LlamaBench => "what `llama-bench -o json` or `-o jsonl` prints",
            Format::LlamaBenchSql => "what `llama-bench -o sql` prints",
            Format::OnnxRuntime => "the profile that ONNX Runtime writes with `enable_profiling`",
            Format::TrtexecTimes => "what `trtexec --exportTimes` writes",
            Format::TrtexecProfile => "what `trtexec --exportProfile` writes",
            Format::Mlperf => "`mlperf_log_summary.txt` of MLPerf inference",
            Format::Timm => "a table that timm's `benchmark.py` wrote",
        }
    }

    /// Whether it can be written, too.
    #[must_use]
    pub fn is_ours(self) -> bool {
        Format::OURS.contains(&self)
    }

    /// The format of ours that a file with this ending has.
    #[must_use]
    pub fn of_extension(extension: &str) -> Option<Format> {
        match extension.to_ascii_lowercase().as_str() {
            "jsonl" | "ndjson" => Some(Format::JsonLines),
            "csv" => Some(Format::Csv),
            "parquet" => Some(Format::Parquet),
            _ => None,
        }
    }

    /// Every name, for messages.
    pub(crate) fn names() -> String {
        Format::ALL.map(Format::name).join(", ")
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = ParseFormatError;

    fn from_str(text: &str) -> Result<Format, ParseFormatError> {
        let lower = text.to_ascii_lowercase().replace('_', "-");
        let found = Format::ALL.into_iter().find(|format| format.name() == lower);
        found.or_else(|| Format::of_extension(&lower)).ok_or_else(|| ParseFormatError(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_survives_its_name() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
        assert_eq!("ndjson".parse(), Ok(Format::JsonLines));
        assert!("xlsx".parse::<Format>().unwrap_err().to_string().contains("`xlsx`"));
    }
}
