//! Recommendations as Markdown: one row a model, then what each rests on.

use super::page::{remedies_of, unlike};
use super::words::{cell, choice, gap, lead_of, left_out, short_id, wish, worth};
use crate::analysis::words::{Machines, work};
use crate::markdown::{Side, plain, table};
use types::Recommendation;

const COLUMNS: [(&str, Side); 5] = [
    ("model", Side::Left),
    ("use", Side::Left),
    ("worth", Side::Left),
    ("runner-up", Side::Left),
    ("which is", Side::Left),
];

/// The recommendations as Markdown.
#[must_use]
pub fn recommendations_markdown(found: &[Recommendation]) -> String {
    let mut text = String::from("# Recommendations\n");
    let Some(first) = found.first() else {
        text.push_str("\nNo run answers this question.\n");
        return text;
    };
    let rows: Vec<Vec<String>> = found.iter().map(row).collect();
    text.push_str(&format!("\n{}\n\n{}", plain(&wish(&first.wish)), table(&COLUMNS, &rows)));
    for one in found {
        text.push_str(&format!("\n## {}\n\n", plain(&title(one))));
        for line in details(one) {
            text.push_str(&format!("- {}\n", plain(&line)));
        }
    }
    text
}

fn title(found: &Recommendation) -> String {
    work(&found.model, found.random_weights, found.mode, found.sequence_length).join(" · ")
}

fn row(found: &Recommendation) -> Vec<String> {
    let machines = Machines::new(&found.machines);
    let unlike = unlike(found);
    let named = |at: usize| {
        let one = found.candidates.get(at)?;
        Some((choice(&one.cell, &machines, unlike).join(" · "), one))
    };
    let mut cells = vec![title(found)];
    match named(0) {
        Some((name, one)) => cells.extend([name, worth(&found.wish, &one.value)]),
        None => cells.extend(["nothing will do".into(), String::new()]),
    }
    if let Some((name, one)) = named(1) {
        cells.extend([name, lead_of(found.wish.objective, one)]);
    }
    cells
}

/// The runs it rests on, what was not measured, what was left out, and remarks.
fn details(found: &Recommendation) -> Vec<String> {
    let machines = Machines::new(&found.machines);
    let unlike = unlike(found);
    let mut lines = Vec::new();
    if let Some(best) = found.best() {
        let ids: Vec<String> = best.cell.runs.iter().map(|id| short_id(&id.0)).collect();
        lines.push(format!("rests on {}", ids.join(", ")));
    }
    lines.extend(found.gaps.iter().map(|one| {
        let (way, batches) = gap(one, &machines, unlike.machines);
        format!("not measured: {way}, {batches}")
    }));
    lines.extend(
        found.left_out.iter().map(|one| {
            format!("left out: {}: {}", cell(&one.cell, &machines, unlike), left_out(one))
        }),
    );
    lines.extend(found.remarks.iter().cloned());
    lines.extend(remedies_of(found));
    lines
}
