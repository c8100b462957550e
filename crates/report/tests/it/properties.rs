//! Whatever the run: no line passes the width, no control character leaks, columns stay columns.

use crate::sample::{set_phase, text_run};
use crate::shown::summary;
use modelmeter_report::{
    Column, Footer, RunLine, Style, Table, clean, runs_document, seconds, text_width, wrap,
};
use proptest::prelude::*;
use types::{
    Category, Device, Direction, InputShape, Metric, Phase, Reason, ReasonCode, Run, Text, Unit,
    Verdict, Weights,
};

/// Names as the world has them: plain, long, wide, hostile.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,12}(/[a-zA-Z0-9_.-]{1,60})?",
        "[a-z]{80,300}",
        "\\PC{0,60}",
        any::<String>(),
        "(\u{1b}\\[[0-9;]{0,5}[a-zA-Z]|[模型❤\u{fe0f}é]|[ \\t\\n]|x){0,50}",
    ]
}

/// A median between a nanosecond and minutes, or worse.
fn median() -> impl Strategy<Value = f64> {
    prop_oneof![
        10 => (-9.0..3.0f64).prop_map(|power| 10f64.powf(power)),
        1 => Just(0.0),
        1 => Just(f64::NAN),
        1 => (3.0..300.0f64).prop_map(|power| 10f64.powf(power)),
    ]
}

fn metric_value() -> impl Strategy<Value = f64> {
    prop_oneof![(-6.0..18.0f64).prop_map(|power| 10f64.powf(power)), any::<f64>()]
}

prop_compose! {
    fn run()(
        (model, engine, processor, input, why, text, hint) in (name(), name(), name(), name(), name(), name(), name()),
        medians in proptest::array::uniform19(median()),
        present in any::<[bool; 19]>(),
        spread in 1.0..1e6f64,
        count in 1..20_000u64,
        values in proptest::collection::vec(metric_value(), 8),
        (batch, length) in (1..100_000usize, proptest::option::of(1..1_000_000usize)),
        (random, invalidates, gpu, has_text) in any::<(bool, bool, bool, bool)>(),
    ) -> Run {
        let mut run = text_run();
        run.model.name = model;
        run.model.category = if gpu { Category::Vision } else { Category::Text };
        run.model.weights = if random { Weights::Random { seed: 1 } } else { Weights::Real };
        run.engine.id = engine.clone();
        run.engine.version = engine;
        run.environment.machine.cpu.model = processor;
        run.cell.device = if gpu { Device::Cuda(0) } else { Device::Cpu };
        run.cell.batch_size = batch;
        run.cell.sequence_length = length;
        run.cell.inputs = vec![InputShape { name: input, dims: vec![batch, 3, 224, 224] }];
        run.cell.text = has_text.then(|| Text { lines: vec!["x".into()] });
        run.summaries.clear();
        for (index, phase) in Phase::ALL.into_iter().enumerate().filter(|(at, _)| present[*at]) {
            set_phase(&mut run, phase, medians[index], count);
            if let Some(summary) = run.summaries.get_mut(&phase) {
                summary.max *= spread;
            }
        }
        for (metric, value) in run.metrics.iter_mut().zip(values) {
            metric.value = Some(value);
        }
        run.metrics.push(Metric::missing("energy", Unit::Joules, Direction::Lower, why));
        run.verdict = Verdict::from_reasons(vec![Reason {
            code: ReasonCode::Drift, invalidates, text, hint: Some(hint), about: None,
        }]);
        run
    }
}

fn assert_fits(text: &str, width: usize) -> Result<(), TestCaseError> {
    for line in text.lines() {
        prop_assert!(text_width(line) <= width, "{} > {width}: {line:?}", text_width(line));
        prop_assert!(!line.chars().any(char::is_control), "{line:?}");
        prop_assert_eq!(line.trim_end(), line);
    }
    Ok(())
}

/// Where a sign stands in a line, in columns of the terminal.
fn columns_of(line: &str, sign: char) -> Vec<usize> {
    line.match_indices(sign).map(|(at, _)| text_width(&line[..at])).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_line_of_a_summary_passes_the_width(run in run(), width in 60..200usize, id in name()) {
        assert_fits(&summary(&run, &Style::plain(width), Footer::Shown(&id)), width)?;
        let text = summary(&run, &Style::plain(width), Footer::Stored(&id));
        assert_fits(&text, width)?;
        prop_assert_eq!(text.contains("random weights"), matches!(run.model.weights, Weights::Random { .. }));
        prop_assert!(text.contains("verdict"));
    }

    #[test]
    fn signs_of_the_latency_table_stand_below_each_other(run in run(), width in 60..200usize) {
        let text = summary(&run, &Style::plain(width), Footer::None);
        let table: Vec<&str> = text.split("\n\n").nth(2).expect("a third part").lines().collect();
        for sign in ['±', '…'] {
            let (header, rows) = table.split_first().expect("a table has a header");
            let mut places: Vec<Vec<usize>> = rows.iter().map(|line| columns_of(line, sign)).collect();
            places.retain(|columns| !columns.is_empty());
            places.dedup();
            // A header in words has no sign.
            let above = columns_of(header, sign);
            prop_assert!(above.iter().all(|column| places.iter().all(|row| row.contains(column))), "{text}");
            prop_assert!(places.len() <= 1, "{text}");
        }
    }

    #[test]
    fn no_line_of_a_list_passes_the_width(runs in proptest::collection::vec(run(), 0..6), width in 20..200usize) {
        let lines: Vec<RunLine> = runs.iter().map(RunLine::from).collect();
        assert_fits(&runs_document(&lines, Some(width)).terminal(&Style::default(), Some(width)), width)?;
    }

    #[test]
    fn numbers_of_a_table_end_in_one_column(cells in proptest::collection::vec((name(), 0..u32::MAX), 1..8)) {
        let mut table = Table::new([Column::left("name").shrinks(), Column::right("number")]);
        for (name, number) in &cells {
            table.push([name.clone(), number.to_string()]);
        }
        let text = table.render(Some(60));
        let ends: Vec<usize> = text.lines().map(text_width).collect();
        prop_assert!(ends.iter().all(|end| *end == ends[0]), "{text}");
    }

    #[test]
    fn cleaning_leaves_nothing_to_clean(text in name()) {
        let once = clean(&text);
        prop_assert!(!once.chars().any(char::is_control));
        prop_assert_eq!(clean(&once), once);
    }

    #[test]
    fn wrapping_loses_no_word(text in "[a-z` ]{0,120}", width in 1..40usize) {
        let kept: String = wrap(&text, width).concat().split_whitespace().collect();
        prop_assert_eq!(kept, text.split_whitespace().collect::<String>());
    }

    #[test]
    fn a_time_span_shows_within_half_a_percent(power in -9.0..1.77f64) {
        let value = 10f64.powf(power);
        let text = seconds(value);
        let (number, unit) = text.split_once(' ').expect("a number and a unit");
        let scale = match unit { "ns" => 1e-9, "µs" => 1e-6, "ms" => 1e-3, "s" => 1.0, _ => f64::NAN };
        let shown = number.parse::<f64>().expect("a number") * scale;
        prop_assert!((shown / value - 1.0).abs() <= 0.0051, "{value} shows as {text}");
    }
}
