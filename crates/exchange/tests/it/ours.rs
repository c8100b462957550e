//! Our own formats: out and back again.

use crate::{close, remarks, sample, source};
use modelmeter_exchange::{Format, Place, WriteError, Writer, columns, import, key, stream, write};
use std::io::Write;
use types::{Device, Metric, Phase, Run, Unit};

fn written(format: Format, runs: &[Run]) -> Vec<u8> {
    let mut out = Vec::new();
    assert_eq!(write(format, runs, &mut out).unwrap(), runs.len() as u64);
    out
}

fn runs(count: u64) -> Vec<Run> {
    (0..count).map(sample::run).collect()
}

#[test]
fn json_lines_lose_nothing() {
    let mut all = runs(3);
    // A result of another tool goes out and comes back as well.
    all.push(crate::only("optimum_benchmark_training.json"));
    all.push(crate::only("trtexec_profile.json"));
    let bytes = written(Format::JsonLines, &all);
    assert_eq!(Format::detect("x", &bytes).unwrap(), Format::JsonLines);
    let back = import("x.jsonl", &bytes, None).unwrap();
    assert_eq!(back.runs, all);
    assert_eq!(back.problems, []);
    assert_eq!(bytes.iter().filter(|byte| **byte == b'\n').count(), all.len());
}

#[test]
fn a_broken_line_is_named_and_the_others_are_taken() {
    let mut text = String::from_utf8(written(Format::JsonLines, &runs(3))).unwrap();
    text = text.replacen("\"started_at\":1700000001000000", "\"started_at\":\"soon\"", 1);
    text.push_str(
        "{\"schema\":\"modelmeter.whole-run/9\",\"run\":{}}\n\n{\"schema\":\"modelmeter.whole",
    );
    let back = import("x.jsonl", text.as_bytes(), None).unwrap();
    assert_eq!(back.runs.len(), 2);
    let places: Vec<&Place> = back.problems.iter().map(|problem| &problem.place).collect();
    let line = |line| Place::Line { line, column: 0 };
    assert_eq!(places, [&line(2), &line(4), &line(6)]);
    assert!(back.problems[0].what.contains("soon"));
    assert!(back.problems[1].what.contains("newer Modelmeter"));
    assert!(back.problems[2].what.contains("ends too early"));
}

#[test]
fn a_number_that_could_not_be_read_back_is_refused() {
    let mut run = sample::run(1);
    run.work.coverage.0 = f64::NAN;
    let error = write(Format::JsonLines, [&run], Vec::new()).unwrap_err();
    assert!(matches!(error, WriteError::Unwritable { .. }));
    assert!(error.to_string().contains("not finite"), "{error}");
    // Flat columns have an empty cell for it.
    assert!(write(Format::Csv, [&run], Vec::new()).is_ok());
}

#[test]
fn the_format_of_another_tool_is_not_written() {
    let error = Writer::new(Format::Timm, Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), "runs are not written as timm; use jsonl, csv or parquet");
}

/// What flat columns keep of a run.
fn assert_flat(back: &Run, run: &Run) {
    assert_eq!(back.id, run.id);
    assert_eq!(back.started_at, run.started_at);
    assert_eq!(source(back).tool, "modelmeter");
    assert_eq!((&back.cell.model, &back.cell.engine), (&run.cell.model, &run.cell.engine));
    assert_eq!((back.cell.device, back.cell.precision), (run.cell.device, run.cell.precision));
    assert_eq!((back.cell.batch_size, back.cell.sequence_length), (4, Some(128)));
    assert_eq!((back.cell.seed, back.cell.threads), (u64::MAX, 2));
    assert_eq!(back.cell.options, run.cell.options);
    assert_eq!(
        (back.model.parameters, &back.model.fingerprint),
        (66_362_880, &run.model.fingerprint)
    );
    assert_eq!(back.cold, run.cold);
    assert_eq!(back.elapsed, run.elapsed);
    assert_eq!((back.work.flops, back.work.coverage), (run.work.flops, run.work.coverage));
    assert_eq!(back.metric("throughput.samples").unwrap().value, Some(16.5));
    assert_eq!(back.metric("memory.peak").unwrap().value, Some(5e8), "a probe saw it");
    assert_eq!(back.environment.machine.key, "imported-m-5ca1ab1e", "ours must not be overwritten");
    assert_eq!(back.environment.machine.gpus[0].name, "Example GPU");
    assert!(back.verdict.valid && remarks(back).contains("20 samples do not support p99"));
}

#[test]
fn csv_comes_back_as_an_import_with_statistics_alone() {
    let mut run = sample::run(5);
    run.cell.options.settings.insert("a".into(), "=b, \"c\"\n".into());
    run.tags = vec!["baseline".into()];
    let bytes = written(Format::Csv, std::slice::from_ref(&run));
    let back = import("x.csv", &bytes, None).unwrap();
    assert_eq!(back.format, Format::Csv);
    assert_eq!(back.problems, []);
    assert_flat(&back.runs[0], &run);
    assert!(back.runs[0].samples.is_empty() && back.runs[0].summaries.is_empty());
    let (stated, summary) =
        (back.runs[0].stated(Phase::Total).unwrap(), &run.summaries[&Phase::Total]);
    assert_eq!((stated.median, stated.p999), (Some(summary.median), Some(summary.p999)));
    assert_eq!((stated.count, stated.std), (Some(20), Some(summary.std)));
    assert_eq!(back.runs[0].tags, ["baseline"]);
}

#[test]
fn parquet_comes_back_with_the_samples_of_the_main_phase() {
    let all = runs(5);
    let bytes = written(Format::Parquet, &all);
    let back = import("x.parquet", &bytes, None).unwrap();
    assert_eq!(back.problems, []);
    for (back, run) in back.runs.iter().zip(&all) {
        assert_flat(back, run);
        assert_eq!(back.samples_of(Phase::Total), run.samples_of(Phase::Total));
        assert_eq!(back.summaries[&Phase::Total].count, 20);
    }
}

#[test]
fn parquet_keeps_runs_with_and_without_samples_apart() {
    let mut all = runs(3);
    all[1].samples.clear();
    all.push(crate::only("mlperf_single_stream.txt"));
    let back = import("x.parquet", &written(Format::Parquet, &all), None).unwrap().runs;
    let counts: Vec<usize> = back
        .iter()
        .map(|run| run.samples.first().map_or(0, |samples| samples.nanos.len()))
        .collect();
    assert_eq!(counts, [20, 0, 20, 0]);
    assert!(back[1].stated(Phase::Total).is_some());
    assert_eq!(source(&back[3]).tool, "mlperf-loadgen");
    assert!(!back[3].tells("cell.device"));
    assert_eq!(back[3].cell.device, Device::Auto);
    close(back[3].stated(Phase::Inference).unwrap().p99.unwrap(), 0.008_984_522);
}

#[test]
fn many_runs_need_several_groups_and_come_back_in_order_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    for format in Format::OURS {
        let path = folder.path().join(format!("x.{format}"));
        let mut file = std::fs::File::create(&path).unwrap();
        write(format, (0..5000).map(sample::run), &mut file).unwrap();
        file.flush().unwrap();
        let back = stream(format, "x", std::fs::File::open(&path).unwrap()).unwrap();
        let mut count = 0;
        for (at, run) in back.enumerate() {
            assert_eq!(run.unwrap().id, sample::run(at as u64).id);
            count += 1;
        }
        assert_eq!(count, 5000, "{format}");
    }
}

#[test]
fn nothing_to_write_is_a_file_without_rows() {
    for format in [Format::Csv, Format::Parquet] {
        let bytes = written(format, &[]);
        assert!(
            import("x", &bytes, Some(format)).unwrap_err().to_string().contains("holds no result")
        );
    }
}

#[test]
fn damaged_parquet_is_an_error_and_not_a_panic() {
    let bytes = written(Format::Parquet, &runs(3));
    let mut refused = 0;
    for at in (4..bytes.len()).step_by(37) {
        assert!(import("x.parquet", &bytes[..at], None).is_err());
        let mut changed = bytes.clone();
        changed[at] ^= 0x55;
        refused += usize::from(import("x.parquet", &changed, None).is_err());
    }
    assert!(refused > 10, "{refused}");
}

#[test]
fn every_column_has_a_name_of_its_own_with_its_unit() {
    let mut names: Vec<&str> = columns().iter().map(|column| column.name).collect();
    assert!(columns().iter().all(|column| !column.about.is_empty()));
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), columns().len());
}

#[test]
fn the_columns_of_version_1_stay_where_they_are() {
    // Reordering or renaming breaks the tables that people have; a new column goes to the end.
    let names: Vec<&str> = columns().iter().map(|column| column.name).collect();
    assert_eq!(names[..4], ["run_id", "started_at", "provenance", "source_tool"]);
    let page = include_str!("../../../../docs/IMPORTS.md");
    for column in columns() {
        assert!(page.contains(&format!("| `{}` | {} |", column.name, column.about)), "{column:?}");
    }
}

#[test]
fn the_key_follows_the_content_and_nothing_else() {
    let run = sample::run(1);
    let mut other = run.clone();
    other.id.0 = "another".into();
    other.tags.clear();
    assert_eq!(key(&run), key(&other));
    other.samples[0].nanos[3] += 1;
    assert_ne!(key(&run), key(&other));
    let mut other = run.clone();
    other.metrics.push(Metric::measured("x", Unit::Count, types::Direction::Neutral, 1.0));
    assert_ne!(key(&run), key(&other));
    assert_ne!(key(&run), key(&sample::run(2)));
}

#[test]
fn a_table_of_our_reports_is_read_with_its_milliseconds() {
    let table = "run_id,started_at,model,engine,device,precision,batch_size,latency_phase,latency_samples,latency_median_ms,load_ms\r\n\
        00ff,2026-11-16T06:12:34.000000Z,tiny,rten,cpu,fp32,2,inference,100,12.5,300\r\n";
    let run = import("r.csv", table.as_bytes(), None).unwrap().runs.remove(0);
    close(run.stated(Phase::Inference).unwrap().median.unwrap(), 0.012_5);
    assert_eq!(run.cold.load.as_millis(), 300);
}
