//! Histories as one HTML file that needs nothing beside it: the picture for light and dark, and a table of the changes.

use crate::{Absent, Theme, canvas::escape, history};
use std::fmt::Write;
use types::{Trend, TrendSeries};

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:61rem;padding:0 1rem;\
background:#fff;color:#1b1f24}table{border-collapse:collapse;width:100%;margin:1rem 0 2rem}\
th,td{text-align:left;padding:.35rem .8rem .35rem 0;border-bottom:1px solid #dfe3e8;vertical-align:top}\
h1{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}svg{max-width:100%;height:auto}.dark{display:none}.muted{color:#57606a}\
@media(prefers-color-scheme:dark){body{background:#12161c;color:#ecf0f4}th,td{border-color:#2c343e}\
.dark{display:block}.light{display:none}.muted{color:#a4aeba}}";

/// The page; everything from outside is escaped. Its heading is for those who hear it: the picture shows the same.
///
/// # Errors
/// Where there is no history.
pub fn history_page(trend: &Trend) -> Result<String, Absent> {
    let (light, dark) = (history(trend, Theme::Light)?, history(trend, Theme::Dark)?);
    let title = format!("History: {}", trend.metric.words());
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{0}</title>\n<style>{STYLE}</style>\n</head>\n\
         <body>\n<h1>{0}</h1>\n<div class=\"light\">\n{light}</div>\n<div class=\"dark\">\n{dark}</div>\n",
        escape(&title)
    );
    text.push_str(&table(trend));
    for remark in &trend.remarks {
        let _ = writeln!(text, "<p class=\"muted\">{}</p>", escape(remark));
    }
    let _ = writeln!(
        text,
        "<p class=\"muted\">A change is called where at most {} of histories without one would show it, \
         and from {} or the noise on.</p>\n</body>\n</html>",
        escape(&report::percent(trend.level)),
        escape(&report::percent(trend.smallest))
    );
    Ok(text)
}

/// Every change of every history, the newest first.
fn table(trend: &Trend) -> String {
    let of = |series: &'_ TrendSeries| -> Vec<(i64, String)> {
        let row = |change: &types::TrendChange| {
            let point = &series.points[change.at];
            let cells = [
                report::minute(point.began.0),
                point.commit.clone().unwrap_or_default().chars().take(12).collect(),
                format!("{}, {}", series.key.model, report::trend_name(&series.key)),
                report::trend_change(change, trend.metric),
                format!(
                    "{} → {}",
                    report::trend_value(change.before, trend.metric),
                    report::trend_value(change.after, trend.metric)
                ),
                change.coincides.join("; "),
            ];
            let cells = cells.iter().map(|cell| format!("<td>{}</td>", escape(cell)));
            (point.began.0, format!("<tr>{}</tr>\n", cells.collect::<String>()))
        };
        series.changes.iter().map(row).collect()
    };
    let mut rows: Vec<(i64, String)> = trend.series.iter().flat_map(of).collect();
    rows.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    let slides: String = trend
        .series
        .iter()
        .filter_map(|series| {
            let text = report::trend_slide(series, trend.metric)?;
            let name = report::trend_name(&series.key);
            Some(format!("<p>{}: {}</p>\n", escape(&name), escape(&text)))
        })
        .collect();
    if rows.is_empty() {
        return format!("<p>No change of level was found.</p>\n{slides}");
    }
    let rows: String = rows.into_iter().map(|(_, row)| row).collect();
    format!(
        "<table>\n<thead><tr><th>changed at</th><th>commit</th><th>cell</th><th>change</th><th>level</th>\
         <th>together with</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n{slides}"
    )
}
