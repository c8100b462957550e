//! A search on a screen: everything that was tried, and what was kept.

use super::{
    page::worst,
    words::{factor, verdict},
};
use crate::analysis::{hanging_indent, joined};
use crate::clean::clean;
use crate::comparison::words::ratio;
use crate::number::{MISSING, bytes, fixed};
use crate::style::{Colour, Style};
use crate::table::{Column, Table};
use crate::wrap::{flow, wrap};
use types::{Attempt, OptimizeReport};

/// The terminal's view of a search.
#[must_use]
pub fn optimize(report: &OptimizeReport, style: &Style) -> String {
    let width = style.columns();
    let title = vec![
        clean(&report.model.name),
        format!("the best {}", report.target.name()),
        format!("answers may move by {}", fixed(report.max_drift, 4)),
        format!("on {}", clean(&report.engine)),
    ];
    let paint = |line: String| style.paint(&line, Colour::Title);
    let mut lines: Vec<String> = flow(&title, width).into_iter().map(paint).collect();
    lines.push(String::new());
    let mut table = Table::new([
        Column::left(""),
        Column::left("change").shrinks(),
        Column::right("cosine"),
        Column::right("before ÷ after"),
        Column::right("memory"),
        Column::right("files"),
    ])
    .painted(style);
    for one in &report.attempts {
        table.push(row(one));
    }
    lines.extend(table.render(Some(width)).lines().map(String::from));
    lines.push(String::new());
    for one in report.attempts.iter() {
        if let Some(why) = &one.refused {
            let text = format!("{}: {}", clean(&one.command), clean(why));
            lines.extend(hanging_indent("-", &text, Colour::Label, style, width));
        }
    }
    lines.push(String::new());
    match report.best() {
        Some(best) => {
            let gain = best.gain.map(ratio).unwrap_or_default();
            let what = match report.target {
                types::Target::Latency => "faster",
                types::Target::Memory => "less memory",
                types::Target::Size => "smaller",
            };
            let place = report
                .folder
                .as_ref()
                .map(|folder| format!(", written to {}", clean(&folder.to_string_lossy())));
            let text = format!(
                "best: `{}`, {gain} × {what}{}",
                clean(&best.command),
                place.unwrap_or_default()
            );
            lines.extend(
                wrap(&text, width).into_iter().map(|line| style.paint(&line, Colour::Good)),
            );
        }
        None => {
            let text = match report.open() {
                0 => "nothing that was tried is better and moves the answers so little".to_owned(),
                open => format!(
                    "cannot tell: {open} of {} changes may be better, and nothing was written; more `--processes` or a \
                     quieter machine would tell",
                    report.attempts.len()
                ),
            };
            let lines_of = wrap(&text, width).into_iter();
            lines.extend(lines_of.map(|line| style.paint(&line, Colour::Warning)));
        }
    }
    for remark in &report.remarks {
        lines.extend(hanging_indent("-", &clean(remark), Colour::Warning, style, width));
    }
    joined(lines)
}

/// A command as a table has room for it: `structured 0.3 + int8 weights-only`.
fn short(command: &str) -> String {
    let mut text = clean(command).replace(", then ", " + ");
    for (long, brief) in [
        ("prune --method ", ""),
        ("quantize --to ", ""),
        (" --sparsity", ""),
        // All that are tried have a scale for each column.
        (" --per-channel", ""),
        (" --calibrate TEXTS", " calibrated"),
        (" --", " "),
    ] {
        text = text.replace(long, brief);
    }
    text
}

fn row(one: &Attempt) -> [String; 6] {
    let mark = if one.refused.is_none() { "*" } else { "" };
    let Some(proof) = &one.proof else {
        let missing = || MISSING.to_owned();
        return [mark.into(), short(&one.command), missing(), missing(), missing(), missing()];
    };
    let speed = proof.speed.first();
    let time = match speed {
        Some(speed) if speed.speed_up.is_none() => verdict(speed),
        Some(speed) => factor(speed),
        None => MISSING.to_owned(),
    };
    let memory = speed.and_then(|speed| speed.memory_after).map(|size| bytes(size.0));
    [
        mark.into(),
        short(&one.command),
        worst(proof),
        time,
        memory.unwrap_or_else(|| MISSING.to_owned()),
        bytes(proof.after.size.0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_short_in_a_table() {
        let both = "prune --method structured --sparsity 0.3 --calibrate TEXTS, then quantize --to int8 --per-channel --weights-only";
        assert_eq!(short(both), "structured 0.3 calibrated + int8 weights-only");
        assert_eq!(short("quantize --to bf16"), "bf16");
    }
}
