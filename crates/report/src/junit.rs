//! Results as JUnit XML, which every build server reads: suites of cases that passed, failed, broke or were skipped.
//!
//! The writer knows nothing of runs or gates; [`runs_junit`] is what stored runs make of it.

use crate::clean::clean;
use std::fmt::Write;
use types::Run;

/// Everything that was looked at.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JunitSuites {
    /// What the whole is called.
    pub name: String,
    /// Its suites, in order.
    pub suites: Vec<JunitSuite>,
}

/// Cases that belong together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JunitSuite {
    /// What they have in common.
    pub name: String,
    /// What else is worth knowing of them, by name.
    pub properties: Vec<(String, String)>,
    /// The cases, in order.
    pub cases: Vec<JunitCase>,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct JunitCase {
    /// What kind of thing it is; build servers group by it.
    pub class: String,
    /// Its name.
    pub name: String,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// What else is worth knowing of it, by name.
    pub properties: Vec<(String, String)>,
    /// What came out.
    pub outcome: JunitOutcome,
}

/// What came out of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JunitOutcome {
    /// All is well.
    Passed,
    /// It is not as it should be.
    Failed {
        /// Why, in one line.
        message: String,
        /// Everything there is to say.
        text: String,
    },
    /// It could not be looked at.
    Error {
        /// Why, in one line.
        message: String,
        /// Everything there is to say.
        text: String,
    },
    /// Nobody looked.
    Skipped {
        /// Why.
        message: String,
    },
}

/// The suites as an XML document.
#[must_use]
pub fn junit(all: &JunitSuites) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let cases = all.suites.iter().flat_map(|suite| &suite.cases);
    let _ = writeln!(out, "<testsuites name=\"{}\"{}>", escape(&all.name), tally(cases));
    for suite in &all.suites {
        let name = escape(&suite.name);
        let _ = writeln!(out, "  <testsuite name=\"{name}\"{}>", tally(suite.cases.iter()));
        properties(&mut out, &suite.properties, "    ");
        suite.cases.iter().for_each(|case| self::case(&mut out, case));
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn tally<'a>(cases: impl Iterator<Item = &'a JunitCase> + Clone) -> String {
    let of = |is: fn(&JunitOutcome) -> bool| cases.clone().filter(|case| is(&case.outcome)).count();
    let failures = of(|outcome| matches!(outcome, JunitOutcome::Failed { .. }));
    let errors = of(|outcome| matches!(outcome, JunitOutcome::Error { .. }));
    let skipped = of(|outcome| matches!(outcome, JunitOutcome::Skipped { .. }));
    let time = time(cases.clone().map(|case| case.seconds).filter(|time| time.is_finite()).sum());
    format!(
        " tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\" time=\"{time}\"",
        cases.count()
    )
}

fn case(out: &mut String, case: &JunitCase) {
    let (class, name) = (escape(&case.class), escape(&case.name));
    let time = time(case.seconds);
    let _ = write!(out, "    <testcase classname=\"{class}\" name=\"{name}\" time=\"{time}\"");
    if case.outcome == JunitOutcome::Passed && case.properties.is_empty() {
        out.push_str("/>\n");
        return;
    }
    out.push_str(">\n");
    properties(out, &case.properties, "      ");
    let _ = match &case.outcome {
        JunitOutcome::Passed => Ok(()),
        JunitOutcome::Failed { message, text } => element(out, "failure", message, text),
        JunitOutcome::Error { message, text } => element(out, "error", message, text),
        JunitOutcome::Skipped { message } => {
            writeln!(out, "      <skipped message=\"{}\"/>", escape(message))
        }
    };
    out.push_str("    </testcase>\n");
}

fn element(out: &mut String, name: &str, message: &str, text: &str) -> std::fmt::Result {
    let (message, text) = (escape(message), escape(text));
    writeln!(out, "      <{name} message=\"{message}\">{text}</{name}>")
}

fn properties(out: &mut String, all: &[(String, String)], indent: &str) {
    if all.is_empty() {
        return;
    }
    let _ = writeln!(out, "{indent}<properties>");
    for (name, value) in all {
        let (name, value) = (escape(name), escape(value));
        let _ = writeln!(out, "{indent}  <property name=\"{name}\" value=\"{value}\"/>");
    }
    let _ = writeln!(out, "{indent}</properties>");
}

/// Seconds to the millisecond; what is no time is none.
fn time(seconds: f64) -> String {
    let seconds = if seconds.is_finite() { seconds.max(0.0) } else { 0.0 };
    format!("{seconds:.3}")
}

/// Text for an element or an attribute; what XML has no character for is shown as a question.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            // Readers of attributes make spaces of these.
            '\n' => out.push_str("&#10;"),
            '\r' => out.push_str("&#13;"),
            '\t' => out.push_str("&#9;"),
            c if (c.is_control() && c < '\u{20}') || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                out.push('\u{fffd}');
            }
            c => out.push(c),
        }
    }
    out
}

/// The runs as JUnit XML: a suite a model, a case a run, which fails where its numbers cannot be believed.
#[must_use]
pub fn runs_junit(runs: &[Run]) -> String {
    let mut suites: Vec<JunitSuite> = Vec::new();
    for run in runs {
        let name = clean(&run.model.name);
        let at = suites.iter().position(|suite| suite.name == name).unwrap_or_else(|| {
            suites.push(JunitSuite { name, ..JunitSuite::default() });
            suites.len() - 1
        });
        suites[at].cases.push(of_run(run));
    }
    junit(&JunitSuites { name: "modelmeter".into(), suites })
}

fn of_run(run: &Run) -> JunitCase {
    let line = |reason: &types::Reason| match &reason.hint {
        Some(hint) => format!("{}; {}", clean(&reason.text), clean(hint)),
        None => clean(&reason.text),
    };
    let outcome = match run.verdict.valid {
        true => JunitOutcome::Passed,
        false => {
            let against = run.verdict.reasons.iter().filter(|reason| reason.invalidates);
            let against: Vec<String> = against.map(|reason| clean(&reason.text)).collect();
            let all: Vec<String> = run.verdict.reasons.iter().map(line).collect();
            JunitOutcome::Failed { message: against.join("; "), text: all.join("\n") }
        }
    };
    let mut properties = vec![("run".to_owned(), run.id.0.clone())];
    let middle = run.summaries.get(&run.main_phase()).map(|summary| summary.median);
    let middle = middle.or_else(|| run.stated(run.main_phase()).and_then(|one| one.typical()));
    properties.extend(middle.map(|value| ("latency".to_owned(), number::seconds(value))));
    if run.verdict.valid {
        let remarks = run.verdict.reasons.iter().map(|reason| ("remark".to_owned(), line(reason)));
        properties.extend(remarks);
    }
    JunitCase {
        class: format!("modelmeter.{}", clean(&run.model.name)),
        name: format!("{} ({})", crate::summary::setting(run).join(" · "), clean(&run.id.0)),
        seconds: run.elapsed.as_secs_f64(),
        properties,
        outcome,
    }
}
