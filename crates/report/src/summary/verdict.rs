//! Whether the numbers can be believed, in plain words.

use super::page::{prose_width, row};
use crate::clean::clean;
use crate::style::{Colour, Style};
use crate::wrap::wrap;
use types::{Reason, ReasonCode, Run, Verdict};

pub(super) fn lines(run: &Run, style: &Style) -> Vec<String> {
    let verdict = &run.verdict;
    let colour = if verdict.valid { Colour::Good } else { Colour::Bad };
    let mut body = vec![style.paint(&words(verdict), colour)];
    for reason in &verdict.reasons {
        body.extend(bullet(reason, style));
    }
    row(style, "verdict", &body)
}

/// The verdict in one phrase: `valid, with one remark`.
pub(crate) fn words(verdict: &Verdict) -> String {
    let remarks = verdict.remarks();
    let reasons = verdict.reasons.len() - remarks;
    match (verdict.valid, reasons, remarks) {
        (true, _, 0) => "valid".to_string(),
        (true, _, remarks) => format!("valid, with {}", number_of(remarks, "remark")),
        (false, 0, _) => "NOT VALID".to_string(),
        (false, reasons, 0) => format!("NOT VALID, for {}", number_of(reasons, "reason")),
        (false, reasons, remarks) => {
            let reasons = number_of(reasons, "reason");
            format!("NOT VALID, for {reasons}; {}", number_of(remarks, "remark"))
        }
    }
}

fn number_of(count: usize, thing: &str) -> String {
    match count {
        1 => format!("one {thing}"),
        _ => format!("{count} {thing}s"),
    }
}

fn bullet(reason: &Reason, style: &Style) -> Vec<String> {
    let (mark, colour) = match (reason.invalidates, reason.code) {
        (true, _) => ("!", Colour::Bad),
        // The mark that stands beside the percentile in the table.
        (false, ReasonCode::UnsupportedPercentile) => ("*", Colour::Warning),
        (false, _) => ("-", Colour::Warning),
    };
    let text = match &reason.hint {
        Some(hint) => format!("{}; {}", clean(&reason.text), clean(hint)),
        None => clean(&reason.text),
    };
    let beside = |(index, line): (usize, String)| {
        if index == 0 {
            format!("{} {line}", style.paint(mark, colour))
        } else {
            format!("  {line}")
        }
    };
    wrap(&text, prose_width(style) - 2).into_iter().enumerate().map(beside).collect()
}
