//! `runs list` and the chart, seen whole.

use crate::sample::{invalid_run, text_run, tokenised_run, vision_run};
use modelmeter_report::{Bar, Glyphs, RunLine, Style, bar_chart, runs_document};
use types::Mode;

pub(crate) fn lines() -> Vec<RunLine> {
    let mut vision = vision_run();
    vision.tags = vec!["nightly".into(), "h200".into()];
    let runs = [text_run(), tokenised_run(), vision, invalid_run()];
    let line = |(index, run)| RunLine { id: format!("7f3a0{index}"), ..RunLine::from(run) };
    runs.iter().enumerate().map(line).collect()
}

#[test]
fn runs_at_80() {
    insta::assert_snapshot!(
        runs_document(&lines(), Some(80)).terminal(&Style::default(), Some(80))
    );
}

#[test]
fn runs_at_160() {
    insta::assert_snapshot!(
        runs_document(&lines(), Some(160)).terminal(&Style::default(), Some(160))
    );
}

#[test]
fn runs_at_50() {
    insta::assert_snapshot!(
        runs_document(&lines(), Some(50)).terminal(&Style::default(), Some(50))
    );
}

/// An inference, a training step, a test of a language model and a load: none may pass for another.
fn modes() -> Vec<RunLine> {
    let line = |id: &str, mode, test: Option<&str>| RunLine {
        id: id.into(),
        mode,
        test: test.map(str::to_owned),
        engine: "onnxruntime".into(),
        ..RunLine::from(&text_run())
    };
    vec![
        line("7f3a00", Mode::Inference, None),
        line("7f3a01", Mode::Training, None),
        line("7f3a02", Mode::Generate, Some("tg128 @ d4096")),
        line("7f3a03", Mode::Load, Some("server 40/s poisson")),
    ]
}

#[test]
fn what_a_sample_is_stands_in_a_column_where_not_all_are_inferences() {
    let whole = runs_document(&modes(), None).terminal(&Style::default(), None);
    for words in ["mode", "inference", "train", "tg128 @ d4096", "load server 40/s poisson"] {
        assert!(whole.contains(&format!("  {words}  ")), "{words}: {whole}");
    }
    let narrow = runs_document(&modes(), Some(80)).terminal(&Style::default(), Some(80));
    for words in ["mode", "inference", "train", "load ", "onnxruntime", "245.1 ms", "verdict"] {
        assert!(narrow.contains(&format!("  {words}")), "{words}: {narrow}");
    }
    let inferences = runs_document(&lines(), None).terminal(&Style::default(), None);
    assert!(!inferences.contains("  mode  "), "{inferences}");
}

#[test]
fn a_list_as_json_and_csv_says_the_mode_and_the_test() {
    let document = runs_document(&modes(), None);
    let told = |at: usize| {
        let run = &document.json["runs"][at];
        (run["mode"].as_str().map(str::to_owned), run["test"].as_str().map(str::to_owned))
    };
    let words = |mode: &str, test: Option<&str>| (Some(mode.to_owned()), test.map(str::to_owned));
    assert_eq!(told(0), words("inference", None));
    assert_eq!(told(1), words("training", None));
    assert_eq!(told(2), words("generate", Some("tg128 @ d4096")));
    assert_eq!(told(3), words("load", Some("server 40/s poisson")));
    let csv = document.csv();
    for row in [",mode,test,engine,", ",inference,,onnxruntime,", ",training,,onnxruntime,"] {
        assert!(csv.contains(row), "{row}: {csv}");
    }
    assert!(csv.contains(",load,server 40/s poisson,onnxruntime,"), "{csv}");
}

#[test]
fn random_weights_are_seen_in_a_list_of_any_width() {
    for width in [30, 40, 60, 80, 120, 160, 200] {
        let text = runs_document(&lines(), Some(width)).terminal(&Style::default(), Some(width));
        assert!(text.contains("~ random weights") || text.contains("weights  "), "{text}");
        assert!(text.contains("~  ") || text.contains("  random "), "{text}");
    }
}

#[test]
fn a_list_without_tags_has_no_column_for_them() {
    let text = runs_document(&lines()[..2], None).terminal(&Style::default(), None);
    assert!(!text.contains("tags"), "{text}");
}

#[test]
fn runs_without_a_terminal_are_whole() {
    let text = runs_document(&lines(), None).terminal(&Style::default(), None);
    assert!(
        text.contains("sentence-transformers/all-MiniLM-L6-v2") && text.contains("nightly h200")
    );
}

#[test]
fn a_list_as_json_keeps_units_beside_numbers() {
    let json = runs_document(&lines(), None).json;
    assert_eq!(json["schema"], "modelmeter.runs/1");
    assert_eq!(json["runs"].as_array().map(Vec::len), Some(4));
    assert_eq!(json["runs"][0]["latency"]["median"], 245.1);
    assert_eq!(json["runs"][0]["latency"]["unit"], "ms");
    assert_eq!(json["runs"][2]["sequence_length"], serde_json::Value::Null);
    assert_eq!(json["runs"][3]["verdict"]["valid"], false);
}

#[test]
fn a_chart_of_three_models() {
    let bars = [("small-transformer", 12.4), ("medium-transformer", 61.8), ("feed-forward", 0.9)]
        .map(|(label, value)| Bar {
            label: label.into(),
            value: Some(value),
            text: format!("{value} ms"),
        });
    insta::assert_snapshot!(bar_chart("median latency", &bars, 72, Glyphs::Unicode));
}

#[test]
fn every_key_of_the_list_is_documented() {
    const DOCUMENTED: &str = include_str!("../../../../docs/schema/README.md");
    let json = runs_document(&lines(), None).json;
    let run = json["runs"][0].as_object().expect("a run is an object");
    assert_eq!(run.len(), 17, "a new key of `modelmeter.runs/1` belongs in its table: {run:?}");
    for key in run.keys() {
        assert!(DOCUMENTED.contains(&format!("`{key}")), "{key}");
    }
}
