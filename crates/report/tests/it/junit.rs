//! JUnit XML, read by a real reader of XML.

use crate::sample::text_run;
use modelmeter_report::{JunitCase, JunitOutcome, JunitSuite, JunitSuites, junit, runs_junit};
use proptest::prelude::*;
use roxmltree::{Document, Node};
use types::{Reason, ReasonCode, Verdict};

fn case(name: &str, outcome: JunitOutcome) -> JunitCase {
    let (class, name) = ("gate".into(), name.into());
    JunitCase { class, name, seconds: 1.5, properties: Vec::new(), outcome }
}

fn suites(cases: Vec<JunitCase>) -> JunitSuites {
    let suite = JunitSuite { name: "bert".into(), properties: Vec::new(), cases };
    JunitSuites { name: "modelmeter check".into(), suites: vec![suite] }
}

fn first<'a>(document: &'a Document<'_>, name: &str) -> Node<'a, 'a> {
    let found = document.descendants().find(|node| node.has_tag_name(name));
    found.unwrap_or_else(|| panic!("there is no `{name}`"))
}

#[test]
fn every_outcome_is_counted_and_told() {
    let failed = JunitOutcome::Failed { message: "too slow".into(), text: "by 20 %".into() };
    let error = JunitOutcome::Error { message: "no engine".into(), text: String::new() };
    let skipped = JunitOutcome::Skipped { message: "no baseline".into() };
    let cases = [JunitOutcome::Passed, failed, error, skipped].map(|outcome| case("x", outcome));
    let text = junit(&suites(cases.into()));
    let document = Document::parse(&text).unwrap();
    for name in ["testsuites", "testsuite"] {
        let node = first(&document, name);
        let counts = ["tests", "failures", "errors", "skipped", "time"]
            .map(|name| node.attribute(name).unwrap());
        assert_eq!(counts, ["4", "1", "1", "1", "6.000"], "{name}");
    }
    assert_eq!(first(&document, "failure").attribute("message"), Some("too slow"));
    assert_eq!(first(&document, "failure").text(), Some("by 20 %"));
    assert_eq!(first(&document, "error").attribute("message"), Some("no engine"));
    assert_eq!(first(&document, "skipped").attribute("message"), Some("no baseline"));
}

#[test]
fn a_run_that_cannot_be_believed_fails_with_its_reasons() {
    let mut bad = text_run();
    bad.model.name = "bert".into();
    let reason = |invalidates, text: &str| Reason {
        code: ReasonCode::BusyMachine,
        invalidates,
        text: text.into(),
        hint: Some("stop other programs".into()),
        about: None,
    };
    bad.verdict =
        Verdict::from_reasons(vec![reason(false, "a remark"), reason(true, "busy <machine>")]);
    let text = runs_junit(&[text_run(), bad]);
    insta::assert_snapshot!(text);
    let document = Document::parse(&text).unwrap();
    let failure = first(&document, "failure");
    assert_eq!(failure.attribute("message"), Some("busy <machine>"));
    assert_eq!(
        failure.text(),
        Some("busy <machine>; stop other programs\na remark; stop other programs")
    );
    assert_eq!(document.descendants().filter(|node| node.has_tag_name("testcase")).count(), 2);
}

proptest! {
    #[test]
    fn whatever_is_said_is_read_again_as_it_was(name in ".*", message in ".*", text in "(?s).{1,80}") {
        let outcome = JunitOutcome::Failed { message: message.clone(), text: text.clone() };
        let mut one = case(&name, outcome);
        one.properties.push((name.clone(), message.clone()));
        let written = junit(&suites(vec![one]));
        let document = Document::parse(&written).unwrap();
        let shown = |text: &str| -> String {
            let is_odd = |c: char| c < ' ' && !"\n\r\t".contains(c);
            let show = |c: char| match c {
                c if is_odd(c) || c == '\u{fffe}' || c == '\u{ffff}' => '\u{fffd}',
                c => c,
            };
            text.chars().map(show).collect()
        };
        let failure = first(&document, "failure");
        let (said, named) = (shown(&message), shown(&name));
        prop_assert_eq!(failure.attribute("message"), Some(said.as_str()));
        prop_assert_eq!(failure.text().unwrap_or(""), shown(&text));
        let case = first(&document, "testcase");
        prop_assert_eq!(case.attribute("name"), Some(named.as_str()));
        let property = first(&document, "property");
        prop_assert_eq!(property.attribute("value"), Some(said.as_str()));
    }
}
