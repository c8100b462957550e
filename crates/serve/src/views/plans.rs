//! Plans: how far each is, and its cells by state.

use crate::{
    answer::Refusal,
    app::App,
    frame::{self, Follows, View},
    leases,
    query::encoded,
    request::Request,
    sketch,
};
use page::Html;
use store::{CellState, PlannedCell};

/// Cells of a plan that are shown in a table; the grid has all of them.
const MOST_ROWS: usize = 500;

pub(crate) fn page(app: &App, _: &Request) -> Result<View, Refusal> {
    let mut html = Html::default();
    frame::hero(&mut html, "Plans", "");
    let plans = match app.stores.is_there() {
        true => app.stores.with(|store| Ok(leases::progress(store)?))?,
        false => Vec::new(),
    };
    if plans.is_empty() {
        frame::nothing(
            &mut html,
            "No plan was measured yet.",
            "`modelmeter bench plan.toml` measures one.",
        );
        return Ok(view("Plans".into(), html));
    }
    html.open(
        "div",
        &[("class", "scroll"), ("role", "region"), ("aria-label", "Plans"), ("tabindex", "0")],
    );
    html.open("table", &[]);
    html.element("caption", &[("class", "unseen")], "Plans");
    html.open("thead", &[]);
    html.open("tr", &[]);
    for (name, class) in [
        ("plan", "word"),
        ("progress", "word spare"),
        ("measured", "number"),
        ("measuring", "number"),
        ("waiting", "number"),
        ("failed", "number"),
    ] {
        html.element("th", &[("scope", "col"), ("class", class)], name);
    }
    html.close("tr");
    html.close("thead");
    html.open("tbody", &[]);
    for plan in &plans {
        html.open("tr", &[]);
        let link = app.link(&format!("/plans/{}", encoded(&plan.plan)));
        html.inside("th", &[("scope", "row")], |html| {
            html.inside("a", &[("href", &link)], |html| {
                html.element("bdi", &[], &report::clean(&plan.plan))
            });
        });
        let all = (plan.waiting + plan.leased + plan.done + plan.failed).max(1);
        html.inside("td", &[("class", "spare")], |html| {
            sketch::bar(html, (plan.done + plan.failed) as f64 / all as f64, "Finished cells");
        });
        for count in [plan.done, plan.leased, plan.waiting, plan.failed] {
            html.element("td", &[("class", "number")], &report::count(count));
        }
        html.close("tr");
    }
    html.close("tbody");
    html.close("table");
    html.close("div");
    Ok(view("Plans".into(), html))
}

pub(crate) fn one(app: &App, request: &Request) -> Result<View, Refusal> {
    let plan = request.path.last().map(String::as_str).unwrap_or_default();
    let cells = app.stores.with(|store| Ok(leases::cells(store, plan)?))?;
    if cells.is_empty() {
        return Err(Refusal::new(404, format!("there is no plan `{}`", report::clean(plan))));
    }
    let mut html = Html::default();
    let counted = |name: &str| cells.iter().filter(|cell| class(cell) == name).count();
    let kinds = CellState::ALL.into_iter().map(|state| (counted(state.name()), words(state)));
    let about: Vec<String> = kinds
        .chain([(counted("lost"), "lost")])
        .filter(|(count, _)| *count > 0)
        .map(|(count, words)| format!("{count} {words}"))
        .collect();
    frame::hero(&mut html, &report::clean(plan), &about.join(" · "));
    if let Some(left) = left(&cells) {
        html.inside("p", &[("class", "note")], |html| html.text(&left));
    }
    grid(&mut html, app, &cells);
    table(&mut html, app, &cells);
    Ok(view(format!("Plan {}", report::clean(plan)), html))
}

fn view(title: String, body: Html) -> View {
    View { name: "Plans", title, body, follows: Follows::Data }
}

fn words(state: CellState) -> &'static str {
    match state {
        CellState::Waiting => "waiting",
        CellState::Leased => "being measured",
        CellState::Done => "measured",
        CellState::Failed => "failed",
    }
}

/// The state as a word for the style; one whose worker is silent is neither measured nor waiting.
fn class(cell: &PlannedCell) -> &'static str {
    match cell.is_expired {
        true => "lost",
        false => cell.state.name(),
    }
}

/// How long the rest takes if it goes on as it did: from the first lease to the last end.
fn left(cells: &[PlannedCell]) -> Option<String> {
    let open = cells
        .iter()
        .filter(|cell| matches!(cell.state, CellState::Waiting | CellState::Leased))
        .count();
    let ended: Vec<i64> = cells.iter().filter_map(|cell| cell.finished_at).collect();
    let begun = cells.iter().filter_map(|cell| cell.leased_at).min()?;
    let span = ended.iter().max()?.checked_sub(begun).filter(|span| *span > 0)?;
    if open == 0 || ended.is_empty() {
        return None;
    }
    let seconds = span as f64 / 1e6 / ended.len() as f64 * open as f64;
    let duration = std::time::Duration::try_from_secs_f64(seconds).ok()?;
    Some(format!(
        "About {} left at the pace of the {} that ended.",
        report::rough(duration),
        ended.len()
    ))
}

/// `host:12:…` as people say it.
fn worker(name: &str) -> String {
    let text = match plan::machine_and_process(name) {
        Some((machine, pid)) => format!("{machine}, process {pid}"),
        None => name.to_owned(),
    };
    report::clean(&text)
}

/// Every cell as a square in the colour and with the sign of its state.
fn grid(html: &mut Html, app: &App, cells: &[PlannedCell]) {
    html.open("ul", &[("class", "cells"), ("aria-label", "Cells by state")]);
    for cell in cells {
        let name = format!("{}: {}", report::clean(&cell.cell.key), class(cell));
        html.open("li", &[("class", class(cell)), ("title", &name)]);
        let sign = match class(cell) {
            "done" => "✓",
            "failed" => "✕",
            "leased" => "…",
            "lost" => "?",
            _ => "·",
        };
        match &cell.run {
            Some(run) => {
                let link = app.link(&format!("/runs/{}", encoded(&run.0)));
                html.element("a", &[("href", &link), ("aria-label", &name)], sign);
            }
            None => html.element("span", &[("role", "img"), ("aria-label", &name)], sign),
        }
        html.close("li");
    }
    html.close("ul");
}

fn table(html: &mut Html, app: &App, cells: &[PlannedCell]) {
    html.open(
        "div",
        &[("class", "scroll"), ("role", "region"), ("aria-label", "Cells"), ("tabindex", "0")],
    );
    html.open("table", &[]);
    html.element("caption", &[("class", "unseen")], "Cells");
    html.open("thead", &[]);
    html.open("tr", &[]);
    for name in ["cell", "state", "who", "ended", "run or reason"] {
        html.element("th", &[("scope", "col")], name);
    }
    html.close("tr");
    html.close("thead");
    html.open("tbody", &[]);
    // Those that somebody has come first, then those that failed.
    let order = |cell: &&PlannedCell| match cell.state {
        CellState::Leased => 0,
        CellState::Failed => 1,
        CellState::Waiting => 2,
        CellState::Done => 3,
    };
    let mut rows: Vec<&PlannedCell> = cells.iter().collect();
    rows.sort_by_key(order);
    for cell in rows.iter().take(MOST_ROWS) {
        html.open("tr", &[]);
        html.inside("th", &[("scope", "row")], |html| {
            html.element("bdi", &[], &report::clean(&cell.cell.key))
        });
        let state = if cell.is_expired { "lost: its worker is gone" } else { words(cell.state) };
        html.element("td", &[], state);
        let worker = cell.worker.as_deref().map(worker).unwrap_or_default();
        html.element("td", &[], &worker);
        html.element("td", &[], &cell.finished_at.map(report::minute).unwrap_or_default());
        html.inside("td", &[("class", "long")], |html| match (&cell.run, &cell.reason) {
            (Some(run), _) => {
                let link = app.link(&format!("/runs/{}", encoded(&run.0)));
                html.element("a", &[("href", &link)], run.0.get(..8).unwrap_or(&run.0));
            }
            (None, Some(reason)) => html.prose(&report::clean(reason)),
            (None, None) => {}
        });
        html.close("tr");
    }
    html.close("tbody");
    html.close("table");
    html.close("div");
    if rows.len() > MOST_ROWS {
        html.element(
            "p",
            &[("class", "note")],
            &format!("The table shows {MOST_ROWS} of {} cells.", rows.len()),
        );
    }
}
