//! Stored runs: a window of the list, by the filters of `runs list`.

use super::form;
use crate::{
    answer::Refusal,
    app::App,
    frame::{self, Follows, View},
    query::{Query, encoded},
    request::Request,
};
use modelmeter::{Mode, Precision, Store, StoreError};
use page::Html;
use report::RunLine;
use store::{Filter, RunRow};
use types::Device;

/// Rows of one page.
pub(crate) const ROWS: u64 = 100;

/// The column of what a sample is: by default it shows where not every run is an inference.
const MODE: &str = "mode";

/// No page has more.
const MOST_ROWS: u64 = 1000;

/// A column: its name in addresses, its heading, whether it is one of numbers, whether it shows by default.
struct Column {
    key: &'static str,
    name: &'static str,
    is_number: bool,
    is_usual: bool,
    cell: fn(&RunRow, &RunLine) -> String,
}

const fn column(
    key: &'static str,
    name: &'static str,
    is_number: bool,
    is_usual: bool,
    cell: fn(&RunRow, &RunLine) -> String,
) -> Column {
    Column { key, name, is_number, is_usual, cell }
}

/// What can be shown of a run beside its id.
const COLUMNS: &[Column] = &[
    column("started", "started, UTC", false, true, |_, line| {
        line.started_at.map(report::minute).unwrap_or_default()
    }),
    column("model", "model", false, true, |_, line| report::clean(&line.model)),
    column("weights", "weights", false, false, |_, line| match line.random_weights {
        Some(true) => "random".into(),
        Some(false) => "real".into(),
        None => String::new(),
    }),
    column("engine", "engine", false, true, |_, line| report::clean(&line.engine)),
    column("version", "version", false, false, |row, _| report::clean(&row.engine_version)),
    column("device", "device", false, true, |_, line| {
        line.device.map(|device| device.to_string()).unwrap_or_default()
    }),
    column("precision", "precision", false, true, |_, line| {
        line.precision.map(|precision| precision.name().to_owned()).unwrap_or_default()
    }),
    column(MODE, "mode", false, false, |_, line| line.mode_words()),
    column("batch", "batch", true, true, |_, line| {
        line.batch.map(|batch| batch.to_string()).unwrap_or_default()
    }),
    column("length", "length", true, false, |_, line| {
        line.length.map(|length| length.to_string()).unwrap_or_default()
    }),
    column("threads", "threads", true, false, |row, _| row.threads.to_string()),
    column("median", "median", true, true, |_, line| {
        line.median_seconds.map(report::seconds).unwrap_or_default()
    }),
    column("error", "± 95 %", true, false, |row, _| {
        row.median_error.map(report::percent).unwrap_or_default()
    }),
    column("samples", "samples/s", true, true, |_, line| {
        line.samples_per_second.map(report::rate).unwrap_or_default()
    }),
    column("memory", "peak", true, true, |_, line| {
        line.memory_peak.map(|peak| report::bytes(peak.0)).unwrap_or_default()
    }),
    column("machine", "machine", false, false, |row, _| report::clean(&row.machine)),
    column("source", "source", false, false, |_, line| {
        line.imported.as_deref().map(report::clean).unwrap_or_default()
    }),
    column("labels", "labels", false, true, |_, line| report::clean(&line.tags.join(", "))),
];

/// Which runs are asked for, and which part of them.
pub(crate) fn filter(query: &Query) -> Result<Filter, Refusal> {
    let owned = |name| query.get(name).map(str::to_owned);
    let valid = match query.get("valid") {
        None => None,
        Some("1" | "true" | "yes") => Some(true),
        Some("0" | "false" | "no") => Some(false),
        Some(other) => return Err(Refusal::bad(format!("`valid={other}` is neither yes nor no"))),
    };
    let limit = form::parsed::<u64>(query, "limit")?.unwrap_or(ROWS).clamp(1, MOST_ROWS);
    Ok(Filter {
        model: owned("model"),
        engine: owned("engine"),
        device: form::parsed::<Device>(query, "device")?,
        precision: form::parsed::<Precision>(query, "precision")?,
        mode: form::mode(query)?,
        machine: owned("machine"),
        valid,
        tag: owned("tag"),
        branch: owned("branch"),
        commit: owned("commit"),
        since: form::since(query)?,
        limit: Some(limit),
        offset: form::parsed::<u64>(query, "offset")?.unwrap_or(0).min(i64::MAX as u64),
        ..Filter::default()
    })
}

/// The columns of the address, else those that this browser keeps, else the usual ones.
fn columns(request: &Request, is_mixed: bool) -> Vec<&'static Column> {
    let kept = request.columns.clone().unwrap_or_default();
    let mut wanted: Vec<&str> = request.query.all("column").collect();
    if wanted.is_empty() {
        wanted = kept.split('.').filter(|name| !name.is_empty()).collect();
    }
    let known = |column: &&Column| wanted.contains(&column.key);
    let found: Vec<&Column> = COLUMNS.iter().filter(known).collect();
    let is_usual = |column: &&Column| column.is_usual || is_mixed && column.key == MODE;
    if found.is_empty() { COLUMNS.iter().filter(is_usual).collect() } else { found }
}

/// Whether not all of the runs, on this page and on others, are inferences.
fn is_mixed(store: &Store, filter: &Filter, total: u64) -> Result<bool, StoreError> {
    let inferences = Filter { mode: Some(Mode::Inference), ..filter.clone() };
    match filter.mode {
        Some(mode) => Ok(mode != Mode::Inference),
        None => Ok(store.count(&inferences)? < total),
    }
}

pub(crate) fn page(app: &App, request: &Request) -> Result<View, Refusal> {
    let query = &request.query;
    let filter = filter(query)?;
    let mut html = Html::default();
    if !app.stores.is_there() {
        frame::hero(&mut html, "Runs", "");
        frame::nothing(
            &mut html,
            "Nothing is stored yet.",
            "`modelmeter profile small-transformer` measures a first run.",
        );
        return Ok(view(html));
    }
    app.stores.with(|store| {
        let total = store.count(&filter)?;
        let columns = columns(request, is_mixed(store, &filter, total)?);
        let rows = store.runs(&filter)?;
        let lines = modelmeter::run_lines(store, &rows)?;
        let about = match total {
            1 => "1 run".to_owned(),
            total => format!("{} runs", exact(total)),
        };
        frame::hero(&mut html, "Runs", &about);
        filters(&mut html, query, store.engines()?, &columns);
        if rows.is_empty() {
            match total {
                0 => frame::nothing(
                    &mut html,
                    "No stored run matches.",
                    "Remove a filter, or `modelmeter profile MODEL` measures one.",
                ),
                _ => frame::nothing(
                    &mut html,
                    "The list ends before this place.",
                    "Go back to its beginning.",
                ),
            }
        }
        html.open(
            "form",
            &[("method", "get"), ("action", &app.link("/compare")), ("id", "picking")],
        );
        table(&mut html, app, &columns, (&rows, &lines), (filter.offset, total));
        pager(&mut html, app, query, &filter, total);
        html.element("button", &[("class", "show")], "Compare the picked runs");
        html.close("form");
        Ok(view(html))
    })
}

fn view(body: Html) -> View {
    View { name: "Runs", title: "Runs".into(), body, follows: Follows::Data }
}

fn filters(html: &mut Html, query: &Query, engines: Vec<String>, columns: &[&Column]) {
    html.open("form", &[("method", "get"), ("class", "filters"), ("id", "filters")]);
    form::words(html, query, "Model", "model", "bert, gpt*");
    form::choice(html, query, "Engine", "engine", &form::named("all", engines));
    form::words(html, query, "Device", "device", "cpu, cuda");
    let precisions = Precision::ALL.iter().chain([&Precision::Stored]);
    let precisions = precisions.map(|precision| precision.name().to_owned());
    form::choice(html, query, "Precision", "precision", &form::named("all", precisions));
    form::choice(html, query, "Mode", "mode", &form::modes());
    form::choice(
        html,
        query,
        "Valid",
        "valid",
        &[("", "all"), ("1", "valid only"), ("0", "not valid only")],
    );
    // The rarer ones do not keep the table from a small screen, but one that is set is seen.
    let rarer = ["tag", "branch", "commit", "machine", "since"];
    let is_set = rarer.iter().any(|name| query.get(name).is_some_and(|text| !text.is_empty()));
    let more: &[(&'static str, &str)] = &[("class", "more"), ("open", "")];
    html.open("details", if is_set { more } else { &more[..1] });
    html.element("summary", &[], "More filters");
    html.open("div", &[]);
    form::words(html, query, "Label", "tag", "");
    form::words(html, query, "Branch", "branch", "main");
    form::words(html, query, "Commit", "commit", "");
    form::words(html, query, "Machine", "machine", "");
    form::words(html, query, "Since", "since", "2h, 7d");
    html.close("div");
    html.close("details");
    html.open("details", &[("class", "columns")]);
    html.element("summary", &[], "Columns");
    html.open("fieldset", &[]);
    html.element("legend", &[("class", "unseen")], "Columns");
    for column in COLUMNS {
        html.open("label", &[]);
        let mut attributes = vec![("type", "checkbox"), ("name", "column"), ("value", column.key)];
        if columns.iter().any(|shown| shown.key == column.key) {
            attributes.push(("checked", ""));
        }
        html.open("input", &attributes);
        html.text(" ");
        html.text(column.name);
        html.close("label");
    }
    html.close("fieldset");
    html.close("details");
    form::show(html);
    html.close("form");
}

fn table(
    html: &mut Html,
    app: &App,
    columns: &[&Column],
    (rows, lines): (&[RunRow], &[RunLine]),
    (offset, total): (u64, u64),
) {
    let (offset, total) = (offset.to_string(), total.to_string());
    html.open(
        "div",
        &[
            ("class", "scroll rows"),
            ("id", "rows"),
            ("role", "region"),
            ("aria-label", "Runs"),
            ("tabindex", "0"),
            ("data-offset", &offset),
            ("data-total", &total),
        ],
    );
    html.open("table", &[("aria-rowcount", &total)]);
    html.element("caption", &[("class", "unseen")], "Runs, newest first");
    html.open("thead", &[]);
    html.open("tr", &[]);
    html.inside("th", &[("scope", "col")], |html| {
        html.element("span", &[("class", "unseen")], "pick")
    });
    html.element("th", &[("scope", "col")], "run");
    for column in columns {
        let class = if column.is_number { "number" } else { "word" };
        html.element("th", &[("scope", "col"), ("class", class)], column.name);
    }
    html.element("th", &[("scope", "col")], "verdict");
    html.close("tr");
    html.close("thead");
    html.open("tbody", &[]);
    for (row, line) in rows.iter().zip(lines) {
        self::row(html, app, columns, row, line);
    }
    html.close("tbody");
    html.close("table");
    html.close("div");
}

fn row(html: &mut Html, app: &App, columns: &[&Column], row: &RunRow, line: &RunLine) {
    let short = row.id.0.get(..8).unwrap_or(&row.id.0);
    html.open("tr", &[("data-key", &row.id.0)]);
    html.inside("td", &[], |html| {
        let name = format!("Pick run {short}");
        html.open(
            "input",
            &[("type", "checkbox"), ("name", "run"), ("value", &row.id.0), ("aria-label", &name)],
        );
    });
    html.inside("th", &[("scope", "row")], |html| {
        let link = app.link(&format!("/runs/{}", encoded(&row.id.0)));
        html.element("a", &[("href", &link)], short);
    });
    for column in columns {
        let text = (column.cell)(row, line);
        let class = if column.is_number { "number" } else { "word" };
        html.inside("td", &[("class", class)], |html| html.element("bdi", &[], &text));
    }
    let (class, text) = match (line.valid, line.reason) {
        (true, _) => ("pill good", "valid".to_owned()),
        (false, Some(reason)) => ("pill bad", reason.words().to_owned()),
        (false, None) => ("pill bad", "not valid".to_owned()),
    };
    html.inside("td", &[], |html| {
        html.element("span", &[("class", class), ("title", &text)], &text);
    });
    html.close("tr");
}

fn pager(html: &mut Html, app: &App, query: &Query, filter: &Filter, total: u64) {
    let step = filter.limit.unwrap_or(ROWS);
    let (first, last) = (filter.offset, (filter.offset + step).min(total));
    if total <= step && first == 0 {
        return;
    }
    html.open("nav", &[("class", "pager"), ("aria-label", "Pages of runs")]);
    let mut link = |text: &str, offset: Option<u64>| {
        let Some(offset) = offset else {
            return html.element("span", &[("class", "note")], text);
        };
        let offset = (offset > 0).then(|| offset.to_string());
        let address = app.link(&format!("/runs{}", query.with("offset", offset).text()));
        html.element("a", &[("href", &address)], text);
    };
    link("newest", (first > 0).then_some(0));
    link("newer", (first > 0).then(|| first.saturating_sub(step)));
    link("older", (last < total).then_some(last));
    link("oldest", (last < total).then(|| total.saturating_sub(1) / step * step));
    let text = format!("{} to {} of {}", exact(first + 1), exact(last), exact(total));
    html.element("span", &[("class", "note")], &text);
    html.close("nav");
}

/// Every digit, in groups of three: a place in a list is no quantity.
fn exact(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_in_a_list_has_every_digit() {
        assert_eq!([0, 999, 1000, 100_025].map(exact), ["0", "999", "1,000", "100,025"]);
    }
}
