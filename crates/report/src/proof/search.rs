//! A search as a result: everything that was tried, and what was kept.

use super::{
    document::optimize_json,
    result::worst,
    words::{factor, verdict},
};
use crate::clean::clean;
use crate::comparison::words::ratio;
use crate::result::{Block, Note, ResultDocument, Tone};
use crate::sheet::Grid;
use crate::table::Column;
use number::{MISSING, bytes, fixed};
use types::{Attempt, OptimizeReport};

/// A search for the best change.
#[must_use]
pub fn optimize_document(report: &OptimizeReport) -> ResultDocument {
    let mut grid = Grid::of([
        Column::left(""),
        Column::left("change").shrinks(),
        Column::right("cosine"),
        Column::right("before ÷ after"),
        Column::right("memory"),
        Column::right("files"),
    ]);
    report.attempts.iter().for_each(|one| grid.row(row(one)));
    let mut notes: Vec<Note> = report
        .attempts
        .iter()
        .filter_map(|one| {
            Some(Note::new(format!("{}: {}", one.command, one.refused.as_ref()?.why)))
        })
        .collect();
    notes.extend(report.remarks.iter().map(Note::warning));
    let mut blocks = vec![Block::table("what was tried", grid)];
    if !notes.is_empty() {
        blocks.push(Block::Notes(notes));
    }
    ResultDocument {
        title: vec![report.model.name.clone(), format!("the best {}", report.target.name())],
        is_list: false,
        facts: vec![
            format!("output drift up to {}", fixed(report.max_drift, 4)),
            format!("on {}", report.engine),
        ],
        verdict: Some(conclusion(report)),
        blocks,
        json: optimize_json(report),
        data: None,
        ..ResultDocument::default()
    }
}

fn conclusion(report: &OptimizeReport) -> Note {
    let Some(best) = report.best() else {
        let text = match report.open() {
            0 => "nothing that was tried is better within this output drift".to_owned(),
            open => format!(
                "cannot tell: {open} of {} changes may be better, and nothing was written; more `--processes` or a \
                 quieter machine would decide it",
                report.attempts.len()
            ),
        };
        return Note::warning(text);
    };
    let gain = best.gain.map(ratio).unwrap_or_default();
    let what = match report.target {
        types::Target::Latency => "faster",
        types::Target::Memory => "less memory",
        types::Target::Size => "smaller",
    };
    let place = report.folder.as_ref().map(|folder| format!(", written to {}", folder.display()));
    let place = place.unwrap_or_default();
    Note::of(Tone::Good, format!("best: `{}`, {gain} × {what}{place}", best.command))
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
