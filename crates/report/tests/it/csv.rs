//! What a spreadsheet reads is what was measured.

use crate::sample::{text_run, tokenised_run, vision_run};
use modelmeter_report::{csv_columns, milliseconds, runs_csv};
use std::collections::BTreeMap;
use types::{Phase, Run};

fn parse(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    reader.deserialize().map(|row| row.expect("every row has every column")).collect()
}

#[test]
fn a_row_reads_back_to_the_same_numbers() {
    let runs = [text_run(), tokenised_run(), vision_run()];
    let rows = parse(&runs_csv(&runs));
    assert_eq!(rows.len(), 3);
    for (row, run) in rows.iter().zip(&runs) {
        let number = |name: &str| row[name].parse::<f64>().expect("a number");
        let phase = if run.cell.text.is_some() { Phase::Total } else { Phase::Inference };
        let summary = &run.summaries[&phase];
        assert_eq!(row["model"], run.model.name);
        assert_eq!(row["run_id"], run.id.0);
        assert_eq!(number("latency_median_ms"), milliseconds(summary.median));
        assert_eq!(number("latency_std_ms"), milliseconds(summary.std));
        assert_eq!(number("latency_p99_ms"), milliseconds(summary.p99));
        assert_eq!(number("latency_ci95_low_ms"), milliseconds(summary.ci95_median.low));
        let known = |key: &str| run.metric(key).and_then(|metric| metric.value);
        assert_eq!(Some(number("memory_peak_bytes")), known("memory.peak"));
        assert_eq!(Some(number("throughput_samples_per_second")), known("throughput.samples"));
        assert_eq!(number("compute_flops"), run.work.flops.0 as f64);
        assert_eq!(row["valid"], run.verdict.valid.to_string());
    }
}

#[test]
fn missing_is_an_empty_cell() {
    let row = &parse(&runs_csv(&[vision_run()]))[0];
    assert_eq!(row["sequence_length"], "");
    assert_eq!(row["throughput_tokens_per_second"], "");
    assert_eq!(row["compute_ceiling_share"], "");
    assert_eq!(row["memory_activation_bytes"], "");
    assert_eq!(row["energy_joules"], "1843.2");
    assert_eq!(parse(&runs_csv(&[text_run()]))[0]["energy_joules"], "");
}

#[test]
fn quotes_commas_and_formulas_in_names_do_no_harm() {
    let named = |name: &str| {
        let mut run: Run = text_run();
        run.model.name = name.into();
        parse(&runs_csv(&[run]))[0]["model"].clone()
    };
    assert_eq!(named("a,b \"c\""), "a,b \"c\"");
    assert_eq!(named("=HYPERLINK(\"http://x\")"), "'=HYPERLINK(\"http://x\")");
    assert_eq!(named("@sum"), "'@sum");
    assert_eq!(named("\t=1+1"), "'=1+1");
    assert_eq!(named("two\nlines\u{1b}[31m"), "two lines");
}

#[test]
fn no_runs_leave_the_header() {
    let text = runs_csv(&[]);
    let names: Vec<&str> = csv_columns().iter().map(|column| column.name).collect();
    assert_eq!(text, format!("{}\r\n", names.join(",")));
}

#[test]
fn no_column_name_stands_twice() {
    let mut names: Vec<&str> = csv_columns().iter().map(|column| column.name).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
}
