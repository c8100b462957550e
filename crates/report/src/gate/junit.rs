//! A gate for build servers: a case a question.

use super::words::sentence;
use crate::junit::{JunitCase, JunitOutcome, JunitSuite, JunitSuites, junit};
use types::{Check, GateReport, Ruling};

/// A gate as JUnit XML. What cannot be told is skipped, with the reason: it is neither right nor wrong.
#[must_use]
pub fn gate_junit(report: &GateReport) -> String {
    let mut suites: Vec<JunitSuite> = Vec::new();
    let each = report.elapsed.as_secs_f64() / report.checks.len().max(1) as f64;
    for check in &report.checks {
        let name = check.cell.words();
        let at = suites.iter().position(|suite| suite.name == name).unwrap_or_else(|| {
            suites.push(JunitSuite { name, ..JunitSuite::default() });
            suites.len() - 1
        });
        suites[at].cases.push(case(check, each));
    }
    for missing in &report.missing {
        let message = missing.why.clone();
        let outcome = match missing.fails {
            true => JunitOutcome::Error { message, text: String::new() },
            false => JunitOutcome::Skipped { message },
        };
        suites.push(JunitSuite {
            name: missing.what.clone(),
            cases: vec![JunitCase {
                class: missing.what.clone(),
                name: "measured".into(),
                seconds: 0.0,
                properties: Vec::new(),
                outcome,
            }],
            ..JunitSuite::default()
        });
    }
    junit(&JunitSuites { name: "modelmeter check".into(), suites })
}

fn case(check: &Check, seconds: f64) -> JunitCase {
    let settle = check.settle.as_ref().map_or_else(String::new, |how| format!("; {how}"));
    let message = format!("{}{settle}", sentence(check));
    let text = check.reasons.iter().map(|reason| reason.text.clone()).collect::<Vec<_>>();
    JunitCase {
        class: check.cell.words(),
        name: check.gauge.key().to_owned(),
        seconds,
        properties: Vec::new(),
        outcome: match check.ruling {
            Ruling::Held => JunitOutcome::Passed,
            Ruling::Failed => JunitOutcome::Failed { message, text: text.join("\n") },
            Ruling::CannotTell => JunitOutcome::Skipped { message },
        },
    }
}
