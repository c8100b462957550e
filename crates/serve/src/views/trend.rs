//! Histories: what changed, when, and by how much.

use super::{compare::not_found, form};
use crate::{
    answer::Refusal,
    app::App,
    frame::{self, Follows, View},
    query::Query,
    request::Request,
};
use analysis::TrendQuestion;
use page::Html;
use report::{Block, ResultDocument, ResultPicture};
use types::{Trend, TrendBy, TrendMetric};

/// Every metric of a history, as `trend --metric` takes it.
const METRICS: [&str; 10] = [
    "latency.p50",
    "latency.p90",
    "latency.p95",
    "latency.p99",
    "latency.mean",
    "throughput",
    "memory.peak",
    "load",
    "first",
    "energy",
];

/// Points of a history that are shown.
const LAST: usize = 200;

pub(crate) fn question(query: &Query) -> Result<TrendQuestion, Refusal> {
    let by = match query.get("by") {
        None | Some("date") => TrendBy::Date,
        Some("commit") => TrendBy::Commit,
        Some(other) => {
            return Err(Refusal::bad(format!("`by={other}` is neither date nor commit")));
        }
    };
    let metric = form::parsed::<TrendMetric>(query, "metric")?.unwrap_or_default();
    Ok(TrendQuestion { metric, by, last: Some(LAST), ..TrendQuestion::default() })
}

pub(crate) fn page(app: &App, request: &Request) -> Result<View, Refusal> {
    let query = &request.query;
    let question = question(query)?;
    let mut html = Html::default();
    frame::hero(
        &mut html,
        "Trend",
        "How numbers went over time, and where their level changed. A history is one cell on one machine.",
    );
    if !app.stores.is_there() {
        frame::nothing(
            &mut html,
            "Nothing is stored yet.",
            "`modelmeter watch` measures a plan again and again.",
        );
        return Ok(view(html));
    }
    app.stores.with(|store| {
        html.open("form", &[("method", "get"), ("class", "filters")]);
        let metrics = METRICS.map(|metric| (metric, metric));
        form::choice(&mut html, &with_default(query), "Metric", "metric", &metrics);
        form::choice(
            &mut html,
            query,
            "Points",
            "by",
            &[("date", "by date"), ("commit", "by commit")],
        );
        form::survey_fields(&mut html, query, store.engines()?);
        form::show(&mut html);
        html.close("form");
        match form::survey(query)?.trend(store, &question) {
            Ok(found) => {
                let part = page::result_section(&document(&found));
                html.inside("section", &[("class", "result")], |html| html.append(part));
            }
            Err(error) => not_found(&mut html, error)?,
        }
        Ok(view(html))
    })
}

fn view(body: Html) -> View {
    View { name: "Trend", title: "Trend".into(), body, follows: Follows::Data }
}

fn with_default(query: &Query) -> Query {
    let metric = query.get("metric").unwrap_or(METRICS[0]).to_owned();
    query.with("metric", Some(metric))
}

/// The result with its picture before it.
fn document(found: &Trend) -> ResultDocument {
    let mut document = report::trend_document(found, None);
    // The view says it already.
    document.title.clear();
    // Where nothing can be drawn the words say why.
    if let Ok([svg, narrow]) = draw::history_for_page(found) {
        let title = format!("History of {}", found.metric.words());
        let picture = ResultPicture { title, svg, narrow: Some(narrow) };
        document.blocks.insert(0, Block::Picture(picture));
    }
    document
}
