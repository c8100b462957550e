//! Recommendations, seen whole and read by programs.

use crate::fleet::{advice, nothing};
use modelmeter_report::{Style, recommendations_document, text_width};
use serde_json::Value;
use std::collections::BTreeMap;
use types::{Objective, Pooled, Prices, Recommendation};

fn recommendations(found: &[Recommendation], style: &Style) -> String {
    recommendations_document(found).terminal(style, Some(style.width))
}

#[test]
fn advice_for_a_model_at_80() {
    insta::assert_snapshot!(recommendations(&[advice()], &Style::plain(80)));
}

#[test]
fn advice_for_a_model_at_160() {
    insta::assert_snapshot!(recommendations(&[advice()], &Style::plain(160)));
}

#[test]
fn nothing_will_do_at_80() {
    insta::assert_snapshot!(recommendations(&[nothing()], &Style::plain(80)));
}

#[test]
fn advice_as_markdown() {
    insta::assert_snapshot!(recommendations_document(&[advice(), nothing()]).markdown());
}

/// Six models of which one cannot be helped.
pub(crate) fn many() -> Vec<Recommendation> {
    let names = ["bert-base-uncased", "gpt2", "resnet50", "vit-base-patch16-224", "whisper-tiny"];
    let mut all: Vec<Recommendation> = names
        .map(|model| Recommendation { model: model.into(), ..advice() })
        .into_iter()
        .chain([nothing()])
        .collect();
    all[2].sequence_length = None;
    all[1].candidates.truncate(1);
    all[3].candidates.remove(1);
    all
}

#[test]
fn advice_for_many_models_at_80() {
    insta::assert_snapshot!(recommendations(&many(), &Style::plain(80)));
}

#[test]
fn models_without_a_valid_run_are_counted_with_the_reasons() {
    let mut all = many();
    let last = all.len() - 1;
    let reasons = [types::ReasonCode::BusyMachine; 3].into_iter().collect();
    all[last].left_out.truncate(1);
    all[last].left_out[0].why = types::Exclusion::Invalid { reasons };
    let told = recommendations(&all, &Style::plain(160));
    let says = "for 1 of 6 no run is valid (3 not valid: 3 × other work); `--include-invalid`";
    assert!(told.contains(says) && !told.contains("meets the limits"), "{told}");
}

#[test]
fn advice_for_many_models_at_160() {
    insta::assert_snapshot!(recommendations(&many(), &Style::plain(160)));
}

#[test]
fn a_lead_that_is_not_told_apart_is_never_claimed() {
    let mut found = advice();
    let behind = found.candidates[1].behind.as_mut().expect("the second has one");
    behind.told_apart = true;
    let claimed = recommendations(&[found], &Style::plain(100));
    assert!(claimed.contains("1.16 × slower [1.13, 1.18]"), "{claimed}");
    let text = recommendations(&[advice()], &Style::plain(100));
    assert!(text.contains("cannot be told apart: 1.16 × [1.13, 1.18] slower"), "{text}");
}

#[test]
fn every_objective_has_its_unit() {
    for (objective, value, words) in [
        (Objective::Latency, 0.0044, "4.40 ms"),
        (Objective::Throughput, 1818.0, "1,818 samples/s"),
        (Objective::Memory, 871e6, "871 MB"),
        (Objective::Energy, 0.0124, "12.4 mJ a sample"),
        (Objective::Cost, 2.5e-6, "2.50 EUR a million samples"),
    ] {
        let mut found = advice();
        found.wish.objective = objective;
        found.wish.prices = Prices { currency: "EUR".into(), prices: Vec::new() };
        found.candidates[0].value = Pooled { value, interval: None };
        let text = recommendations(&[found], &Style::plain(100));
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn no_line_passes_the_width_whatever_the_names() {
    let mut hostile = advice();
    hostile.model = "模型/".repeat(60);
    hostile.candidates[0].cell.key.engine = "\u{1b}[31m".to_owned() + &"x".repeat(200);
    hostile.left_out[0].cell.variant = "word ".repeat(60);
    hostile.gaps[0].batch_sizes = (1..200).collect();
    hostile.gaps[0].machine = "badcafe".into();
    hostile.machines.insert("badcafe".into(), "bench".into());
    let more: Vec<_> = hostile.left_out.iter().cloned().cycle().take(30).collect();
    hostile.left_out = more;
    for found in [advice(), nothing(), hostile] {
        for width in 60..200 {
            let pages = recommendations(&[found.clone(), advice()], &Style::plain(width));
            let table = recommendations(&vec![found.clone(); 4], &Style::plain(width));
            for line in pages.lines().chain(table.lines()) {
                assert!(text_width(line) <= width, "{width}: {line}");
                assert!(!line.chars().any(char::is_control), "{line:?}");
                assert_eq!(line.trim_end(), line);
            }
        }
    }
}

#[test]
fn a_long_list_says_how_much_more_there_is() {
    let mut found = advice();
    found.left_out = found.left_out.iter().cloned().cycle().take(30).collect();
    let text = recommendations(&[found], &Style::default());
    assert!(text.contains("left out: 22 more; `--json` has all"), "{text}");
}

#[test]
fn no_question_has_no_answer() {
    assert!(recommendations(&[], &Style::default()).contains("no stored run matches"));
    assert!(recommendations_document(&[]).markdown().contains("no stored run matches"));
}

#[test]
fn the_document_holds_the_choice_and_its_reasons() {
    let document = recommendations_document(&[advice(), nothing()]).json;
    assert_eq!(document["schema"], "modelmeter.recommendations/1");
    let first = &document["recommendations"][0];
    assert_eq!(first["best"]["cell"]["precision"], "fp16");
    assert_eq!(first["best"]["behind"], Value::Null);
    assert_eq!(first["runner_up"]["behind"]["verdict"], "cannot-tell");
    assert_eq!(first["candidates"][2]["behind"]["verdict"], "worse");
    assert_eq!(first["slo"][0]["percentile"], "p95");
    assert_eq!(first["slo"][0]["limit"], 50.0);
    assert_eq!(first["left_out"][0]["reason"], "slo");
    assert_eq!(first["left_out"][0]["why"], "p95 is 71.4 ms, above 50.0 ms");
    assert_eq!(first["not_measured"][0]["batch_sizes"][1], 8);
    assert_eq!(document["recommendations"][1]["best"], Value::Null);
}

#[test]
fn every_key_of_the_document_is_documented() {
    const DOCUMENTED: &str = include_str!("../../../../docs/schema/README.md");
    let document = recommendations_document(&[advice()]).json;
    let first = &document["recommendations"][0];
    for object in [first, &first["best"], &first["left_out"][0]] {
        for key in object.as_object().expect("an object").keys() {
            assert!(DOCUMENTED.contains(&format!("`{key}")), "{key}");
        }
    }
}

#[test]
fn a_spreadsheet_gets_one_row_a_way_to_run() {
    let text = recommendations_document(&[advice(), nothing()]).csv();
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<BTreeMap<String, String>> =
        reader.deserialize().map(|row| row.expect("every row has every column")).collect();
    let column = |name: &str| rows.iter().map(|row| row[name].clone()).collect::<Vec<_>>();
    assert_eq!(column("place"), ["1", "2", "3"]);
    assert_eq!(column("verdict"), ["", "cannot-tell", "worse"]);
    assert_eq!(column("behind_factor"), ["", "1.159", "74.5"]);
    assert_eq!(column("device"), ["cuda:0", "cuda:0", "cpu"]);
    let columns = recommendations_document(&[]).data.unwrap().columns;
    let names: std::collections::BTreeSet<_> = columns.iter().collect();
    assert_eq!(names.len(), columns.len());
    assert_eq!(recommendations_document(&[]).csv().lines().count(), 1);
}
