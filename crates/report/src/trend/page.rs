//! Histories on a screen: a plot each, where the level changed, newest first, and what a reader must know.

use super::{
    plot::plot,
    words::{
        chance, commit, facts, size, title, trend_change, trend_name, trend_slide, trend_value,
        whole_name,
    },
};
use crate::analysis::{
    hanging_indent, joined,
    words::{Machines, counted},
};
use crate::clean::clean;
use crate::invalid::{NOT_VALID, not_valid, remedies};
use crate::number::percent;
use crate::style::{Colour, Style};
use crate::table::{Column, Table};
use crate::timestamp::minute;
use crate::wrap::{flow, wrap};
use types::{Trend, TrendMetric, TrendSeries, TrendStanding};

/// The terminal's view of histories.
#[must_use]
pub fn trend(found: &Trend, style: &Style) -> String {
    let width = style.columns();
    let machines = Machines::new(&found.machines);
    let mut lines: Vec<String> = Vec::new();
    for series in &found.series {
        lines.extend(history(series, found.metric, &machines, style, width));
        lines.push(String::new());
    }
    if found.series.is_empty() {
        lines.extend(wrap("no valid run has this number", width));
    }
    let told = found.series.iter().map(|series| series.changes.len() as u64).sum();
    let mut sums = vec![
        counted(found.series.len() as u64, "history").replace("historys", "histories"),
        counted(told, "change"),
    ];
    sums.extend((!found.invalid_reasons.is_empty()).then(|| not_valid(&found.invalid_reasons)));
    let is_included = found.series.iter().flat_map(|one| &one.points).any(|point| !point.valid);
    let lacking = match is_included {
        true => found.left_out,
        false => found.left_out.saturating_sub(found.invalid_reasons.total()),
    };
    let left = format!("{} without the number", counted(lacking, "run"));
    sums.extend((lacking > 0).then_some(left));
    lines.extend(flow(&sums, width));
    let rule = format!(
        "a change is called where at most {} of histories without one would show it, and from {} or the noise on",
        percent(found.level),
        percent(found.smallest)
    );
    lines.extend(hanging_indent("-", &rule, Colour::Warning, style, width));
    let remedies = remedies(found.without_valid, found.again.as_deref(), is_included);
    for remark in found.remarks.iter().map(|remark| clean(remark)).chain(remedies) {
        lines.extend(hanging_indent("-", &remark, Colour::Warning, style, width));
    }
    joined(lines)
}

/// One history.
fn history(
    series: &TrendSeries,
    metric: TrendMetric,
    machines: &Machines<'_>,
    style: &Style,
    width: usize,
) -> Vec<String> {
    let mut lines: Vec<String> = flow(&title(&series.key), width)
        .into_iter()
        .map(|line| style.paint(&line, Colour::Title))
        .collect();
    let place = [trend_name(&series.key), machines.name(&series.key.machine)];
    lines.extend(flow(&place, width));
    lines.extend(flow(&span(series, metric), width));
    lines.push(String::new());
    let drawn = plot(series, width, |value| trend_value(value, metric));
    if !drawn.is_empty() {
        lines.extend(drawn);
        lines.push(String::new());
    }
    lines.extend(wrap(&facts(series, metric).join(", "), width));
    if !series.changes.is_empty() {
        lines.push(String::new());
        lines.extend(changes(series, metric, style, width));
    }
    lines.extend(asides(series, metric, style, width));
    lines
}

/// What is shown, of how many points and runs, from when to when.
fn span(series: &TrendSeries, metric: TrendMetric) -> Vec<String> {
    let runs: u64 = series.points.iter().map(|point| point.runs.len() as u64).sum();
    let points =
        format!("{} of {}", counted(series.points.len() as u64, "point"), counted(runs, "run"));
    let mut words = vec![metric.words().to_owned(), points];
    let not_valid = series.points.iter().filter(|point| !point.valid).count();
    words.extend((not_valid > 0).then(|| format!("{not_valid} not valid ({NOT_VALID})")));
    if let (Some(first), Some(last)) = (series.points.first(), series.points.last()) {
        words.push(format!("{} to {}", minute(first.began.0), minute(last.began.1)));
    }
    words
}

/// A row a change, the newest first.
fn changes(series: &TrendSeries, metric: TrendMetric, style: &Style, width: usize) -> Vec<String> {
    let has_commits = series.points.iter().any(|point| point.commit.is_some());
    let mut columns = vec![Column::left("changed at")];
    columns.extend(has_commits.then(|| Column::left("commit")));
    columns.extend([
        Column::left("change"),
        Column::left("level").leaves_late(2),
        Column::left("how sure").leaves_late(1),
    ]);
    let has_company = series.changes.iter().any(|change| !change.coincides.is_empty());
    columns.extend(has_company.then(|| Column::left("together with").wraps()));
    let mut table = Table::new(columns).painted(style);
    for change in series.changes.iter().rev() {
        let first = &series.points[change.at];
        let mut row = vec![minute(first.began.0)];
        row.extend(has_commits.then(|| commit(first)));
        row.extend([
            trend_change(change, metric),
            format!(
                "{} → {}",
                trend_value(change.before, metric),
                trend_value(change.after, metric)
            ),
            chance(change.adjusted_p),
            change.coincides.join("; "),
        ]);
        table.push(row);
    }
    table.render(Some(width)).lines().map(String::from).collect()
}

/// What is not a change and should be known all the same.
fn asides(series: &TrendSeries, metric: TrendMetric, style: &Style, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(text) = trend_slide(series, metric) {
        lines.extend(hanging_indent("-", &text, Colour::Warning, style, width));
    }
    if let Some(suspicion) = &series.suspicion {
        let text = format!(
            "the newest {} {}: needs {} to tell",
            match suspicion.points {
                1 => "point is".to_owned(),
                many => format!("{many} points are"),
            },
            size(suspicion.ratio, None, metric),
            counted(suspicion.needs, "more point")
        );
        lines.extend(hanging_indent("-", &text, Colour::Warning, style, width));
    }
    lines
}

/// How histories stand against an accepted worsening, a line each that is worse or cannot be told.
#[must_use]
pub fn standings(
    found: &Trend,
    standings: &[TrendStanding],
    accepted: f64,
    style: &Style,
) -> String {
    let width = style.columns();
    let machines = Machines::new(&found.machines);
    let mut lines = Vec::new();
    for (series, standing) in found.series.iter().zip(standings) {
        let name = whole_name(&series.key, &machines);
        match standing {
            TrendStanding::Held => {}
            TrendStanding::Worse => {
                let change = series.changes.last();
                let what =
                    change.map_or_else(String::new, |change| trend_change(change, found.metric));
                let text = format!("{name}: {what}, more than {}", percent(accepted));
                lines.extend(hanging_indent("✗", &text, Colour::Bad, style, width));
            }
            TrendStanding::CannotTell { why } => {
                let text = format!("{name}: cannot tell: {}", clean(why));
                lines.extend(hanging_indent("?", &text, Colour::Warning, style, width));
            }
        }
    }
    if found.series.is_empty() {
        let text = "cannot tell: no valid run has this number";
        lines.extend(hanging_indent("?", text, Colour::Warning, style, width));
    }
    if found.without_valid > 0 && !found.series.is_empty() {
        let text =
            format!("{} without a valid run: cannot tell", counted(found.without_valid, "cell"));
        lines.extend(hanging_indent("?", &text, Colour::Warning, style, width));
    }
    if lines.is_empty() {
        lines.extend(hanging_indent(
            "✓",
            &format!("nothing is worse by more than {}", percent(accepted)),
            Colour::Good,
            style,
            width,
        ));
    }
    joined(lines)
}
