//! Runs, comparisons, analyses, ceilings and advice in; text, JSON, CSV, Markdown, traces and flame graphs out. The only
//! room that formats numbers.
//!
//! Nothing here prints, opens a file or asks the terminal: functions return strings or write where they
//! are told to. What came from outside (names, reasons) is cleaned before it reaches a terminal. The
//! door knows the shared nouns only; it neither measures nor stores.

mod advice;
mod analysis;
mod answer;
mod ceilings;
mod chart;
mod clean;
mod comparison;
mod critical_path;
mod csv;
mod document;
mod energy;
mod export;
mod fit;
mod flame;
mod formats;
mod gate;
mod inside;
mod invalid;
mod json;
mod junit;
mod lookup;
mod markdown;
mod memory;
mod number;
mod proof;
mod recommendation;
mod result;
mod runs;
mod sheet;
mod style;
mod summary;
mod table;
mod timestamp;
mod trace;
mod trend;
mod variant;
mod wrap;

pub use advice::{ADVICE_SCHEMA, advice, advice_json};
pub use analysis::{
    ANALYSIS_SCHEMA, against, against_json, analysis, analysis_csv, analysis_csv_columns,
    analysis_json, analysis_markdown,
};
pub use answer::{ANSWER_SCHEMA, Field, answer_csv, answer_json, answer_table};
pub use ceilings::{CEILINGS_SCHEMA, CeilingsPage, ceilings_document, ceilings_line};
pub use chart::{Bar, Glyphs, bar_chart};
pub use clean::clean;
pub use comparison::{
    COMPARISON_SCHEMA, comparison, comparison_csv, comparison_csv_columns, comparison_json,
    comparisons_csv, comparisons_json, layers, modes,
};
pub use critical_path::critical_path;
pub use csv::{CsvColumn, csv_columns, runs_csv, write_csv};
pub use document::{RUN_SCHEMA, RunDocument};
pub use export::{EXPORT_SCHEMA, export_document};
pub use fit::{FIT_SCHEMA, fit_document};
pub use flame::flamegraph;
pub use formats::{Format, RUN_FORMATS, format_by_id};
pub use gate::{
    CHECK_SCHEMA, NOISE_SCHEMA, gate_annotations, gate_document, gate_junit, noise_document,
};
pub use inside::{LayerView, inside};
pub use invalid::not_valid;
pub use json::{JsonOptions, run_json, write_json, write_json_lines};
pub use junit::{JunitCase, JunitOutcome, JunitSuite, JunitSuites, junit, runs_junit};
pub use memory::{MemoryPart, MemoryView, allocations_csv, memory};
pub use number::{
    MISSING, TimeUnit, bytes, bytes_column, bytes_per_second, count, duration, durations_column,
    fixed, flops, flops_per_second, joules, milliseconds, percent, plus_minus, rate, seconds,
    share_with_interval, significant, tick, value, watts,
};
pub use proof::{OPTIMIZE_SCHEMA, PROOF_SCHEMA, optimize_document, proof_document};
pub use recommendation::{RECOMMENDATIONS_SCHEMA, recommendations_document};
pub use result::{Block, DataTable, Fact, Note, ResultDocument, ResultPicture, Tone};
pub use runs::{RUNS_SCHEMA, RunLine, runs_document};
pub use sheet::{
    AdviceSheet, ComparisonSheet, Dossier, Figure, Grid, GridRow, Inner, ReasonLine, Sheet, Side,
    Subject, advice_sheet, comparison_sheet, dossier_markdown, overview_grid,
};
pub use style::Style;
pub use summary::{Footer, View, page, summary};
pub use table::{Column, Table};
pub use timestamp::{minute, rfc3339};
pub use trace::{
    TraceInfo, is_torch_trace, write_chrome_trace, write_speedscope, write_torch_trace,
};
pub use trend::{
    TREND_SCHEMA, prometheus, standings, trend, trend_change, trend_csv, trend_csv_columns,
    trend_json, trend_name, trend_slide, trend_value,
};
pub use variant::variant;
pub use wrap::{shorten, text_width, wrap};
