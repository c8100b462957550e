//! Histories as one HTML file that needs nothing beside it: what changed, a table of the changes, and the picture for light
//! and dark, wide screens and phones.

use crate::{Absent, Theme, canvas::escape, history::untitled};
use std::{cmp::Reverse, fmt::Write};
use types::{Trend, TrendChange, TrendSeries};

/// Points that the picture is wide, and how wide it is for phones: there its words would be too small.
const WIDE: f64 = 960.0;
const NARROW: f64 = 460.0;

const COLUMNS: [&str; 6] = ["changed at", "commit", "cell", "change", "level", "together with"];

const STYLE: &str = "\
*{box-sizing:border-box}
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:62rem;padding:0 1rem;background:#fff;color:#1b1f24}
h1{font-size:1.5rem;line-height:1.25;margin:0 0 .5rem}
.conclusion{font-size:1.1rem;font-weight:600;margin:0 0 1rem}
table{border-collapse:collapse;width:100%;margin:1rem 0 2rem}
th,td{text-align:left;padding:.35rem .8rem .35rem 0;border-bottom:1px solid #dfe3e8;vertical-align:top;overflow-wrap:anywhere}
th{color:#57606a;font-weight:550}
td:nth-child(1),td:nth-child(4),td:nth-child(5){white-space:nowrap}
svg{display:block;max-width:100%;height:auto}
.muted{color:#57606a}
.dark,.narrow{display:none}
@media(max-width:640px){
body{margin:1rem auto}
.narrow{display:block}.wide{display:none}
svg{margin:0 -1rem;max-width:calc(100% + 2rem)}
table,tbody,tr,td{display:block}thead{display:none}
tr{padding:.6rem 0;border-bottom:1px solid #dfe3e8}
td{border:0;padding:.1rem 0}td:empty{display:none}
td::before{content:attr(data-of) \": \";color:#57606a}
}
@media(prefers-color-scheme:dark){
body{background:#12161c;color:#ecf0f4}
tr,th,td{border-color:#2c343e}
.muted,th,td::before{color:#a4aeba}
.dark{display:block}.light{display:none}
}";

/// The page; everything from outside is escaped.
///
/// # Errors
/// Where there is no history.
pub fn history_page(trend: &Trend) -> Result<String, Absent> {
    let mut pictures = String::new();
    for (shape, width) in [("wide", WIDE), ("narrow", NARROW)] {
        let (light, dark) =
            (untitled(trend, Theme::Light, width)?, untitled(trend, Theme::Dark, width)?);
        let _ = writeln!(
            pictures,
            "<div class=\"{shape}\">\n<div class=\"light\">\n{light}</div>\n<div class=\"dark\">\n{dark}</div>\n</div>"
        );
    }
    let title = format!("History: {}", trend.metric.words());
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{0}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{0}</h1>\n",
        escape(&title)
    );
    text.push_str(&conclusion(trend));
    text.push_str(&pictures);
    for remark in &trend.remarks {
        let _ = writeln!(text, "<p class=\"muted\">{}</p>", escape(&remark.text));
    }
    let _ = writeln!(
        text,
        "<p class=\"muted\">A change is reported if at most {} of histories without one would show it, and if it is at \
         least {} and above the noise.</p>\n</body>\n</html>",
        escape(&report::percent(trend.level)),
        escape(&report::percent(trend.smallest))
    );
    Ok(text)
}

/// A change and the history it is part of.
struct Found<'a> {
    series: &'a TrendSeries,
    change: &'a TrendChange,
}

impl Found<'_> {
    fn began(&self) -> i64 {
        self.series.points[self.change.at].began.0
    }

    fn cell(&self) -> String {
        format!("{}, {}", self.series.key.model, report::trend_name(&self.series.key))
    }
}

/// What changed in one sentence, every change in a table, the newest first, and what moved without a change.
fn conclusion(trend: &Trend) -> String {
    let of = |series| move |change| Found { series, change };
    let mut found: Vec<Found<'_>> =
        trend.series.iter().flat_map(|series| series.changes.iter().map(of(series))).collect();
    found.sort_by_key(|one| Reverse(one.began()));
    let histories = match trend.series.len() {
        1 => "1 history".to_owned(),
        many => format!("{} histories", report::count(many as u64)),
    };
    let sentence = match found.as_slice() {
        [] => format!("No change of level was found in {histories}."),
        [newest, ..] => {
            let changes = match found.len() {
                1 => "1 change".to_owned(),
                many => format!("{} changes", report::count(many as u64)),
            };
            let change = report::trend_change(newest.change, trend.metric);
            let at = report::minute(newest.began());
            format!("{changes} in {histories}. Newest: {}, {change}, at {at}.", newest.cell())
        }
    };
    let mut text = format!("<p class=\"conclusion\">{}</p>\n", escape(&sentence));
    if !found.is_empty() {
        text.push_str(&table(&found, trend));
    }
    for series in &trend.series {
        if let Some(slide) = report::trend_slide(series, trend.metric) {
            let name = report::trend_name(&series.key);
            let _ = writeln!(text, "<p>{}: {}</p>", escape(&name), escape(&slide));
        }
    }
    text
}

fn table(found: &[Found<'_>], trend: &Trend) -> String {
    let head: String = COLUMNS.iter().map(|name| format!("<th>{name}</th>")).collect();
    let row = |one: &Found<'_>| {
        let point = &one.series.points[one.change.at];
        let cells = [
            report::minute(point.began.0),
            point.commit.clone().unwrap_or_default().chars().take(12).collect(),
            one.cell(),
            report::trend_change(one.change, trend.metric),
            format!(
                "{} → {}",
                report::trend_value(one.change.before, trend.metric),
                report::trend_value(one.change.after, trend.metric)
            ),
            one.change.coincides.join("; "),
        ];
        let cells = COLUMNS.iter().zip(&cells);
        let cells: String = cells
            .map(|(name, cell)| format!("<td data-of=\"{name}\">{}</td>", escape(cell)))
            .collect();
        format!("<tr>{cells}</tr>\n")
    };
    let rows: String = found.iter().map(row).collect();
    format!("<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n")
}
