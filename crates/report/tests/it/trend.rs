//! Histories, seen whole and read by programs.

use crate::shown::trend;
use modelmeter_report::{
    Style, TrendGate, prometheus, text_width, trend_csv_columns, trend_document, trend_json,
};
use types::{
    Analysis, CellKey, Device, Interval, Mode, Pooled, Precision, Remark, RemarkCode, RunId, Trend,
    TrendBy, TrendChange, TrendMetric, TrendPoint, TrendSeries, TrendStanding, TrendSuspicion,
};

fn point(number: usize, value: f64) -> TrendPoint {
    let began = 1_794_873_600_000_000 + number as i64 * 3_600_000_000;
    TrendPoint {
        commit: Some(format!("{:040x}", 0x1a2b_3c4d_5e6f_u64 * (number as u64 + 1))),
        branch: Some("main".into()),
        began: (began, began + 60_000_000),
        runs: vec![RunId(format!("{number:016x}"))],
        value: Pooled { value, interval: Some(Interval { low: value * 0.99, high: value * 1.01 }) },
        valid: true,
    }
}

/// A history of thirty hours that got slower after twenty.
pub(crate) fn history(name: &str) -> Trend {
    let value = |at: usize| if at < 20 { 0.0101 } else { 0.0124 } * (1.0 + 0.01 * (at % 3) as f64);
    let series = TrendSeries {
        key: CellKey {
            model: name.into(),
            random_weights: true,
            mode: Mode::Inference,
            sequence_length: Some(128),
            imported: false,
            machine: "c0ffee00c0ffee00".into(),
            device: Device::Cpu,
            engine: "rten".into(),
            precision: Precision::Fp32,
            threads: 2,
            variant: String::new(),
            batch_size: 4,
        },
        points: (0..30).map(|at| point(at, value(at))).collect(),
        changes: vec![TrendChange {
            at: 20,
            before: 0.0102,
            after: 0.0125,
            ratio: Pooled { value: 1.226, interval: Some(Interval { low: 1.21, high: 1.24 }) },
            adjusted_p: 0.00025,
            coincides: vec!["rten 0.27.0 → 0.28.0".into()],
        }],
        noise: Some(0.012),
        drift: None,
        needs: 0,
        suspicion: Some(TrendSuspicion { points: 2, ratio: 0.91, needs: 1 }),
    };
    Trend {
        metric: TrendMetric::Median,
        by: TrendBy::Date,
        series: vec![series],
        machines: [("c0ffee00c0ffee00".to_owned(), "bench".to_owned())].into(),
        level: 0.01,
        smallest: 0.02,
        left_out: 3,
        invalid_reasons: [types::ReasonCode::BusyMachine; 3].into_iter().collect(),
        without_valid: 0,
        again: None,
        remarks: vec![Remark::new(
            RemarkCode::NoCommit,
            "runs without a commit are ordered by date",
        )],
    }
}

#[test]
fn a_history_at_80() {
    let found = history("distilbert-base-uncased");
    let gate = TrendGate { standings: &[TrendStanding::Worse], accepted: 0.1 };
    let page = trend(&found, Some(gate), &Style::plain(80));
    for words in ["23 % slower [21, 24]", "rten 0.27.0 → 0.28.0", "noise 1.2 %", "newest 2 points"]
    {
        assert!(page.contains(words), "`{words}` is not in\n{page}");
    }
}

#[test]
fn a_trend_ends_with_what_changed() {
    let mut found = history("bert");
    let last =
        |found: &Trend| trend(found, None, &Style::plain(200)).lines().last().unwrap().to_owned();
    let told = last(&found);
    assert!(told.starts_with("1 change in 1 history; newest: bert, rten on cpu"), "{told}");
    assert!(told.contains("23 % slower [21, 24], at 20"), "{told}");
    found.series[0].changes.clear();
    assert_eq!(last(&found), "no change of level in 1 history");
    found.series[0].needs = 4;
    assert_eq!(last(&found), "no change of level in 1 history; 1 needs more points to show one");
}

#[test]
fn no_line_passes_the_width_whatever_the_names() {
    for name in ["m", &"long".repeat(60), "a \u{1b}[31mcolour\nand a line"] {
        for width in [60, 80, 133] {
            for line in trend(&history(name), None, &Style::plain(width)).lines() {
                assert!(text_width(line) <= width, "{width}: {line}");
                assert!(!line.chars().any(char::is_control), "{line:?}");
            }
        }
    }
    assert!(trend(&Trend::default(), None, &Style::plain(80)).contains("no valid run"));
}

#[test]
fn programs_get_every_point_and_every_change() {
    let found = history("bert");
    let document = trend_json(&found, Some(&[TrendStanding::Worse]));
    assert_eq!(document["schema"], "modelmeter.trend/1");
    let series = &document["series"][0];
    assert_eq!(series["points"].as_array().unwrap().len(), 30);
    assert_eq!(series["standing"]["outcome"], "worse");
    assert_eq!(series["changes"][0]["direction"], "slower");
    assert_eq!(series["changes"][0]["worse"], true);
    assert_eq!(series["changes"][0]["commit"], series["points"][20]["commit"]);
    let csv = trend_document(&found, None).csv();
    let mut lines = csv.lines();
    assert_eq!(lines.next().unwrap().split(',').count(), trend_csv_columns().len());
    assert_eq!(lines.clone().count(), 30);
    assert!(lines.nth(20).unwrap().ends_with("1.226,1.21,1.24,0.00025,slower"), "{csv}");
}

#[test]
fn prometheus_gets_lines_it_understands() {
    let found = history("a \"quoted\" \\ name\nand a line");
    let text = prometheus(&Analysis::default(), Some((&found, &[TrendStanding::Worse])));
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once("} ").unwrap();
        assert!(value == "NaN" || value.parse::<f64>().is_ok(), "{line}");
        assert!(name.starts_with("modelmeter_trend_"), "{line}");
        assert!(name.contains(r#"model="a \"quoted\" \\ name and a line""#), "{line}");
    }
    let types = text.lines().filter(|line| line.starts_with("# TYPE")).count();
    assert_eq!(types, text.lines().filter(|line| line.starts_with("# HELP")).count());
    assert!(text.contains("modelmeter_trend_worse{") && text.ends_with(" 1\n"), "{text}");
}
