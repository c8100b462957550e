//! A proof as Markdown.

use super::words::{
    blocks, factor, layer_cells, layers, moved, place, sentences, sizes, speed, title,
};
use crate::markdown::{Side, plain, table};
use types::ProofReport;

/// A proof as Markdown.
#[must_use]
pub fn proof_markdown(report: &ProofReport) -> String {
    let mut text = format!("# {}\n\n", plain(&title(report).join(" · ")));
    let mut facts = place(report);
    facts.extend(blocks(report));
    text.push_str(&format!("{}\n\n", plain(&facts.join(" · "))));
    let right = Side::Right;
    let columns =
        [("", Side::Left), ("before", right), ("after", right), ("after ÷ before", right)];
    let rows: Vec<Vec<String>> = sizes(report).into_iter().map(Vec::from).collect();
    text.push_str(&table(&columns, &rows));
    if !report.speed.is_empty() {
        let columns = [
            ("engine", Side::Left),
            ("before", right),
            ("after", right),
            ("before ÷ after", right),
            ("verdict", Side::Left),
            ("peak memory", right),
        ];
        let rows: Vec<Vec<String>> = report.speed.iter().map(|one| Vec::from(speed(one))).collect();
        debug_assert!(
            report.speed.iter().all(|one| !factor(one).is_empty()),
            "every row has a ratio"
        );
        text.push_str(&format!("\n{}", table(&columns, &rows)));
    }
    if let Some(drift) = &report.drift {
        let columns = [
            ("output", Side::Left),
            ("cosine", right),
            ("relative error", right),
            ("same top entry", right),
        ];
        let rows: Vec<Vec<String>> =
            drift.outputs.iter().map(|one| Vec::from(moved(one))).collect();
        text.push_str(&format!("\n{}", table(&columns, &rows)));
    }
    let rows: Vec<Vec<String>> =
        layers(report).iter().map(|row| Vec::from(layer_cells(row))).collect();
    if !rows.is_empty() {
        let columns = [
            ("layer", Side::Left),
            ("weights", right),
            ("gone or zero", right),
            ("cosine", right),
            ("relative error", right),
        ];
        text.push_str(&format!("\n{}", table(&columns, &rows)));
    }
    text.push('\n');
    for (_, sentence) in sentences(report) {
        text.push_str(&format!("**{}**\n\n", plain(&sentence)));
    }
    for remark in &report.remarks {
        text.push_str(&format!("- {}\n", plain(remark)));
    }
    text
}
