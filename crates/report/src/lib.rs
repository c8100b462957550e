//! Runs, comparisons, analyses, ceilings and advice in; text, JSON, CSV and Markdown out. Numbers are
//! written by the crate `number`, whose functions are handed on here.
//!
//! Nothing here prints, opens a file or asks the terminal: functions return strings or write where they
//! are told to. What came from outside (names, reasons) is cleaned before it reaches a terminal. The
//! door knows the shared nouns only, and the values of `analysis` and `predict`; it neither measures nor stores.

mod advice;
mod analysis;
mod answer;
mod capacity;
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
mod gate;
mod generation;
mod gpu;
mod inside;
mod interim;
mod invalid;
mod json;
mod junit;
mod load;
mod load_line;
mod lookup;
mod machine;
mod markdown;
mod memory;
mod pictures;
mod prediction;
mod proof;
mod recommendation;
mod result;
mod runs;
mod schema;
mod sheet;
mod style;
mod summary;
mod table;
mod timestamp;
mod trend;
mod variant;
mod wrap;

pub use advice::{
    ADVICE_SCHEMA, PROGRAM_ADVICE_SCHEMA, ProgramAdvice, advice_document, advice_json,
    program_advice_document,
};
pub use analysis::{ANALYSIS_SCHEMA, analysis_csv_columns, analysis_document, analysis_json};
pub use answer::{ANSWER_SCHEMA, Field, answer_document};
pub use capacity::{CAPACITY_SCHEMA, capacity_document};
pub use ceilings::{CEILINGS_SCHEMA, CeilingsView, ceilings_document, ceilings_line};
pub use chart::{Bar, Glyphs, bar_chart};
pub use clean::clean;
pub use comparison::{
    COMPARISON_SCHEMA, COMPARISONS_SCHEMA, comparison_csv_columns, comparison_document,
    comparison_json, comparisons_json, generation_comparisons_document, modes_document,
};
pub use csv::{CsvColumn, csv_columns, runs_csv, write_csv};
pub use document::{RUN_SCHEMA, RunDocument, Timestamp, to_json};
pub use export::{EXPORT_SCHEMA, export_document};
pub use fit::{FIT_SCHEMA, fit_document};
pub use gate::{
    CHECK_SCHEMA, NOISE_SCHEMA, gate_annotations, gate_document, gate_junit, noise_document,
};
pub use generation::{
    GENERATION_SCHEMA, GenerationRefused, generation_document, llama_bench_rows, step_growth,
};
pub use gpu::{GPU_SCHEMA, GpuView, gpu_document};
pub use inside::LayerView;
pub use interim::{forecast, interim_lines, interim_table, rough};
pub use invalid::not_valid;
pub use json::{JsonOptions, run_json};
pub use junit::{JunitCase, JunitOutcome, JunitSuite, JunitSuites, junit, runs_junit};
pub use load::{LOAD_SCHEMA, load_comparison_document, load_document};
pub use load_line::load_line;
pub use machine::machine_devices;
pub use memory::{MemoryPart, MemoryView, allocations_csv};
pub use number::{
    MISSING, bytes, bytes_per_second, count, duration, fixed, flops, flops_per_second, joules,
    milliseconds, percent, rate, seconds, significant, tick, value, watts,
};
pub use pictures::{DrawnPicture, DrawnPictures, PICTURES_SCHEMA, pictures_document};
pub use prediction::{
    BACKTEST_SCHEMA, ExplorationView, HARDWARE_SCHEMA, LearnedCells, LearnedKind,
    PREDICTION_SCHEMA, Prediction, TableRows, backtest_document, exploration_document,
    hardware_document, predictions_document, table_prediction_document, trained_document,
    with_gap_predictions,
};
pub use proof::{OPTIMIZE_SCHEMA, PROOF_SCHEMA, optimize_document, proof_document};
pub use recommendation::{
    RECOMMENDATIONS_SCHEMA, recommendations_document, recommendations_with_capacity,
};
pub use result::{Block, DataTable, Fact, Note, ResultDocument, ResultPicture, TextChart, Tone};
pub use runs::{RUNS_SCHEMA, RunLine, runs_document, test_words};
pub use schema::{DocumentSchema, SCHEMAS};
pub use sheet::{
    AdviceSheet, ComparisonSheet, Dossier, Figure, Grid, GridRow, Inner, ReasonLine, Sheet, Side,
    Subject, advice_sheet, comparison_sheet, dossier_document, overview_grid,
};
pub use style::Style;
pub use summary::{Footer, View, run_document, sample_word, setting};
pub use table::{Column, Table};
pub use timestamp::{minute, rfc3339};
pub use trend::{
    ALERT_SCHEMA, TREND_SCHEMA, TrendGate, alert_json, blind_alert_json, prometheus, trend_change,
    trend_csv_columns, trend_document, trend_json, trend_name, trend_slide, trend_value,
};
pub use variant::variant;
pub use wrap::{DOT, cut, shorten, text_width, wrap};
