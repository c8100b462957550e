//! What fits as Markdown: the winner, then every precision and batch that was tried.

use super::words::{
    choice, engine, equals, latency, limit, mebibytes, need, numbers, of_limit, place, remark,
    several_engines, size, throughput, top, verdict, way_name, work,
};
use crate::markdown::{Side, plain, table};
use types::FitReport;

const COLUMNS: [(&str, Side); 8] = [
    ("way", Side::Left),
    ("batch", Side::Right),
    ("estimate", Side::Right),
    ("peak", Side::Right),
    ("of limit", Side::Right),
    ("samples/s", Side::Right),
    ("median", Side::Right),
    ("", Side::Left),
];

/// What fits as Markdown.
#[must_use]
pub fn fit_markdown(report: &FitReport) -> String {
    let title = work(report).join(" · ");
    let mut facts = vec![limit(report)];
    facts.extend(place(report));
    let mut text = format!("# {}\n\n{}\n\n", plain(&title), plain(&facts.join(" · ")));
    match report.best() {
        Some(best) => {
            text.push_str(&format!("**{}**: ", plain(&choice(best))));
            let mut words = numbers(best, report.limit);
            words.extend(best.verdict.as_ref().map(verdict));
            text.push_str(&plain(&words.join(" · ")));
            text.push_str(&format!("\n\n```\n{}\n```\n\n", crate::clean::clean(&best.command)));
        }
        None => {
            let mut words = vec![format!("nothing fits under {}", mebibytes(report.limit))];
            words.extend(report.smallest_need.as_ref().map(need));
            text.push_str(&format!("{}\n\n", plain(&words.join("; "))));
        }
    }
    text.push_str(&table(&COLUMNS, &rows(report)));
    text.push('\n');
    for line in details(report) {
        text.push_str(&format!("- {}\n", plain(&line)));
    }
    text
}

fn rows(report: &FitReport) -> Vec<Vec<String>> {
    let several = several_engines(report);
    let row = |way: &types::FitWay, cell: &types::FitCell| {
        let name = match several {
            true => format!("{} {}", engine(way), way.precision),
            false => way.precision.to_string(),
        };
        let [rate, interval] = throughput(cell.throughput);
        vec![
            name,
            cell.batch.to_string(),
            size(cell.estimate),
            size(cell.peak),
            of_limit(cell.peak, report.limit),
            if interval.is_empty() { rate } else { format!("{rate} ± {interval}") },
            latency(cell.latency),
            remark(cell),
        ]
    };
    report.ways.iter().flat_map(|way| way.cells.iter().map(move |cell| row(way, cell))).collect()
}

/// How each way ended, what was not tried, who is as good, and remarks.
fn details(report: &FitReport) -> Vec<String> {
    let several = several_engines(report);
    let mut lines = Vec::new();
    lines.extend(report.ways.iter().map(|way| {
        let name = way_name(&way.engine, way.precision, several);
        format!("{name}: {}", top(way, report.most))
    }));
    lines.extend(report.left_out.iter().map(|one| {
        let name = way_name(&one.engine, one.precision, true);
        format!("{name}: not tried: {}", one.why)
    }));
    let equals = equals(report);
    lines.extend(
        equals.iter().map(|one| format!("{}: cannot be told apart from the best", choice(one))),
    );
    lines.extend(report.remarks.iter().cloned());
    lines
}
