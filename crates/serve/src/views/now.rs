//! What is measured at this moment, and what ended a moment ago.

use crate::{
    answer::Refusal,
    app::App,
    frame::{self, Follows, View},
    launcher::Launcher,
    query::{Query, encoded},
    request::Request,
    sketch,
    views::form,
};
use live::{Activity, LoadNow, PercentilesNow, RunNow, SamplesNow, State};
use page::Html;
use report::{Style, clean};
use std::{fmt::Write, time::Duration};

pub(crate) fn page(app: &App, _: &Request) -> Result<View, Refusal> {
    let activities = {
        let mut live = app.live();
        live.listen();
        live.activities()
    };
    let mut html = Html::default();
    frame::hero(&mut html, "Now", "Everything that this user's processes measure, as it happens.");
    if app.launcher.is_some() {
        measure(&mut html, app);
    }
    html.open("div", &[("id", "now")]);
    html.append(inner(app, &activities));
    html.close("div");
    Ok(View { name: "Now", title: "Now".into(), body: html, follows: Follows::Now })
}

/// What starts a profile or a plan.
fn measure(html: &mut Html, app: &App) {
    let action = app.link("/api/measurements");
    let form = [("method", "post"), ("action", action.as_str()), ("class", "do")];
    html.open("details", &[("class", "picks")]);
    html.element("summary", &[], "Measure a model");
    html.open("form", &form);
    html.open("input", &[("type", "hidden"), ("name", "back"), ("value", "/")]);
    let query = Query::default();
    for (label, name, example) in [
        ("Model", "model", "small-transformer"),
        ("Engine", "engine", "auto"),
        ("Device", "device", "auto"),
        ("Precision", "precision", "fp32"),
        ("Batch size", "batch-size", "1"),
        ("Length", "sequence-length", ""),
        ("Label", "tag", ""),
    ] {
        form::words(html, &query, label, name, example);
    }
    html.element("button", &[("class", "show")], "Start");
    html.close("form");
    html.close("details");
    html.open("details", &[("class", "picks")]);
    html.element("summary", &[], "Measure a plan");
    html.open("form", &form);
    html.open("input", &[("type", "hidden"), ("name", "back"), ("value", "/")]);
    html.open("label", &[]);
    html.element("span", &[], "Plan, in TOML");
    html.inside(
        "textarea",
        &[("name", "plan"), ("rows", "8"), ("cols", "60"), ("required", "")],
        |_| {},
    );
    html.close("label");
    html.element("button", &[("class", "show")], "Start");
    html.close("form");
    html.close("details");
}

/// What was started here and failed before it could say why itself.
fn jobs(html: &mut Html, app: &App) {
    let jobs = app.launcher.as_ref().map(Launcher::jobs).unwrap_or_default();
    for job in jobs.iter().filter(|job| job.exit.is_some_and(|exit| exit != 0 && exit != 130)) {
        html.open("article", &[("class", "card now lost")]);
        html.element("h3", &[], &clean(&job.words.join(" ")));
        let lines: Vec<String> = job.said.lines().map(clean).collect();
        html.inside("pre", &[("tabindex", "0")], |html| html.text(&lines.join("\n")));
        html.close("article");
    }
}

/// What tells moments apart that people want to see at once: who measures what, in which stage, and how many runs there are.
pub(crate) fn outline(activities: &[Activity]) -> String {
    let mut text = String::new();
    for one in activities {
        let cell = one.cell.as_ref().map(|cell| (&cell.model, &cell.engine, cell.batch_size));
        let _ = write!(
            text,
            "{}{:?}{:?}{cell:?}{}{};",
            one.id,
            one.state,
            one.stage,
            one.run_count,
            one.failures.len()
        );
    }
    text
}

/// The cards of all processes.
pub(crate) fn inner(app: &App, activities: &[Activity]) -> Html {
    let mut html = Html::default();
    let (running, ended): (Vec<&Activity>, Vec<&Activity>) =
        activities.iter().partition(|one| one.state == State::Running);
    if running.is_empty() {
        frame::nothing(
            &mut html,
            "Nothing is measured at this moment.",
            "`modelmeter profile small-transformer` shows up here as soon as it starts.",
        );
    }
    if !running.is_empty() {
        gauges(&mut html, app);
    }
    for one in running {
        card(&mut html, app, one);
    }
    jobs(&mut html, app);
    if !ended.is_empty() {
        html.element("h2", &[("class", "before")], "Before");
        for one in ended {
            card(&mut html, app, one);
        }
    }
    html
}

/// How busy this machine is; only while something is measured, so that a quiet page stays quiet.
fn gauges(html: &mut Html, app: &App) {
    html.open("dl", &[("class", "gauges"), ("aria-label", "This machine")]);
    for (name, share, text) in app.gauge.read().gauges {
        html.open("div", &[]);
        html.element("dt", &[], &name);
        html.inside("dd", &[], |html| {
            sketch::bar(html, share, &name);
            html.text(&format!(" {text}"));
        });
        html.close("div");
    }
    html.close("dl");
}

fn card(html: &mut Html, app: &App, one: &Activity) {
    let class = match one.state {
        State::Running => "card now running",
        State::Ended => "card now ended",
        State::Lost => "card now lost",
    };
    let mut attributes = vec![("class", class), ("data-key", &*one.id), ("data-state", state(one))];
    if one.load.is_some() {
        attributes.push(("data-load", ""));
    }
    html.open("article", &attributes);
    html.open("header", &[]);
    html.inside("h3", &[], |html| html.element("bdi", &[], &title(one)));
    html.element("span", &[("class", pill(one))], &standing(one));
    html.close("header");
    let about = about(one);
    if !about.is_empty() {
        html.element("p", &[("class", "note")], &about);
    }
    if one.state == State::Running {
        running(html, one);
        stop(html, app, one);
    }
    if let Some(load) = &one.load {
        self::load(html, load);
    }
    if let Some(samples) = one.samples.as_ref().filter(|samples| !samples.nanos.is_empty()) {
        self::samples(html, samples);
    }
    if let Some(table) = &one.interim {
        html.inside("pre", &[("tabindex", "0")], |html| {
            html.text(&report::interim_table(table, &Style::plain(100)))
        });
    }
    // Of what is over, the newest runs are enough.
    let most = if one.state == State::Running { one.runs.len() } else { 3 };
    for run in one.runs.iter().take(most) {
        self::run(html, app, run);
    }
    for failure in &one.failures {
        html.inside("p", &[("class", "note bad")], |html| html.prose(&clean(failure)));
    }
    for remark in &one.remarks {
        html.inside("p", &[("class", "note")], |html| html.prose(&clean(remark)));
    }
    html.close("article");
}

fn stop(html: &mut Html, app: &App, one: &Activity) {
    if app.launcher.is_none() {
        return;
    }
    let action = app.link(&format!("/api/measurements/{}/stop", encoded(&one.id)));
    html.open("form", &[("method", "post"), ("action", &action), ("class", "do")]);
    html.open("input", &[("type", "hidden"), ("name", "back"), ("value", "/")]);
    let name = format!("Stop {}", title(one));
    html.element("button", &[("aria-label", &name)], "Stop");
    html.close("form");
}

fn state(one: &Activity) -> &'static str {
    match one.state {
        State::Running => "running",
        State::Ended => "ended",
        State::Lost => "lost",
    }
}

fn pill(one: &Activity) -> &'static str {
    match (one.state, one.exit) {
        (State::Running, _) => "pill busy",
        (State::Ended, Some(0)) => "pill good",
        _ => "pill bad",
    }
}

/// What is measured; the command where that is not known yet.
fn title(one: &Activity) -> String {
    match (&one.cell, &one.plan) {
        (Some(cell), _) => clean(&cell.model),
        (None, Some(plan)) => format!("plan {}", clean(&plan.name)),
        (None, None) => clean(&one.command),
    }
}

/// Whether it goes on, in words.
fn standing(one: &Activity) -> String {
    match (one.state, one.exit) {
        (State::Running, _) => one.stage.map_or("starting", types::Stage::words).to_owned(),
        (State::Ended, Some(0)) => "finished".into(),
        (State::Ended, Some(130)) => "stopped".into(),
        (State::Ended, exit) => format!("ended with code {}", exit.unwrap_or_default()),
        (State::Lost, _) => "lost: the process is gone".into(),
    }
}

fn about(one: &Activity) -> String {
    let mut words = vec![format!("{} · process {}", clean(&one.command), one.pid)];
    if let Some(cell) = &one.cell {
        words.push(clean(&cell.engine));
        words.push(cell.device.to_string());
        words.extend(cell.precision.map(|precision| precision.name().to_owned()));
        words.extend(cell.batch_size.map(|batch| match cell.sequence_length {
            Some(length) => format!("batch {batch} × {length} tokens"),
            None => format!("batch {batch}"),
        }));
    }
    words.push(format!("began {} UTC", report::minute(one.began_at)));
    words.join(" · ")
}

fn running(html: &mut Html, one: &Activity) {
    if let Some(waiting) = &one.waiting {
        html.inside("p", &[("class", "note warn")], |html| {
            html.text("Waiting: ");
            html.prose(&clean(waiting));
        });
    }
    if let Some(plan) = &one.plan {
        let left = plan.left.and_then(|left| Duration::try_from_secs_f64(left).ok());
        let left = left.map(|left| format!(", about {} left", report::rough(left)));
        html.open("p", &[("class", "note")]);
        let name = format!("Plan {}", clean(&plan.name));
        sketch::bar(html, plan.finished as f64 / plan.processes.max(1) as f64, &name);
        html.text(&format!(
            " {name}: {} of {} processes{}",
            plan.finished,
            plan.processes,
            left.unwrap_or_default()
        ));
        html.close("p");
    }
    // As soon as there are samples they say it better.
    if let Some(first) = one.first.filter(|_| one.samples.is_none()) {
        let time = report::seconds(first.seconds);
        let text = match first.samples {
            0 | 1 => format!("first inference {time}"),
            samples => format!("about {time} when warm ({samples} runs)"),
        };
        html.element("p", &[("class", "note")], &text);
    }
    html.open("p", &[("class", "note")]);
    if let Some(share) = one.share {
        sketch::bar(html, share, &standing(one));
        html.text(" ");
    }
    let words = [one.label.as_deref().unwrap_or_default(), &one.note];
    let words: Vec<String> =
        words.iter().filter(|text| !text.is_empty()).map(|text| clean(text)).collect();
    html.text(&words.join(": "));
    html.close("p");
}

fn samples(html: &mut Html, samples: &SamplesNow) {
    html.open("div", &[("class", "sketches")]);
    html.open("figure", &[]);
    sketch::histogram(html, &samples.nanos);
    let median = samples.median.map(report::seconds).unwrap_or_default();
    html.element(
        "figcaption",
        &[],
        &format!("{} samples, median {median}", report::count(samples.taken)),
    );
    html.close("figure");
    html.open("figure", &[]);
    let errors: Vec<f64> = samples.closing.iter().map(|point| point.error).collect();
    sketch::line(html, "How the interval of the median closes in", &errors, Some(samples.target));
    let text = match samples.error {
        Some(error) => format!(
            "median known to ± {} (95 %), target ± {}",
            report::percent(error),
            report::percent(samples.target)
        ),
        None => String::new(),
    };
    html.element("figcaption", &[], &text);
    html.close("figure");
    html.close("div");
}

fn load(html: &mut Html, load: &LoadNow) {
    let time = |nanos: u64| report::seconds(nanos as f64 / 1e9);
    let of = |name: &str, percentiles: &PercentilesNow| {
        let parts = [("p50", percentiles.p50), ("p95", percentiles.p95), ("p99", percentiles.p99)];
        let told: Vec<String> = parts
            .into_iter()
            .filter_map(|(part, nanos)| Some(format!("{part} {}", time(nanos?))))
            .collect();
        (!told.is_empty()).then(|| (name.to_owned(), told.join(" · ")))
    };
    let facts = [
        Some(("rate".to_owned(), format!("{} answers/s", report::significant(load.rate, 3)))),
        Some((
            "requests".to_owned(),
            format!(
                "{} sent · {} answered · {} failed · {} in flight",
                report::count(load.sent),
                report::count(load.completed),
                report::count(load.failed),
                report::count(load.in_flight)
            ),
        )),
        of("first token", &load.ttft),
        of("answer", &load.e2e),
        of("generator late by", &load.lag),
    ];
    html.open("dl", &[("class", "facts")]);
    for (label, text) in facts.into_iter().flatten() {
        html.open("div", &[]);
        html.element("dt", &[], &label);
        html.element("dd", &[], &text);
        html.close("div");
    }
    html.close("dl");
    html.open("div", &[("class", "sketches")]);
    let rates: Vec<f64> = load.history.iter().map(|(rate, _)| *rate).collect();
    let late: Vec<f64> = load.history.iter().map(|(_, p99)| p99.unwrap_or(0) as f64).collect();
    for (name, values) in [("Answers a second", rates), ("99th percentile of an answer", late)] {
        html.open("figure", &[]);
        sketch::line(html, name, &values, None);
        html.element("figcaption", &[], name);
        html.close("figure");
    }
    html.close("div");
}

fn run(html: &mut Html, app: &App, run: &RunNow) {
    html.open("p", &[("class", "ran"), ("data-key", &run.id.0)]);
    let link = app.link(&format!("/runs/{}", encoded(&run.id.0)));
    html.element(
        "a",
        &[("href", &link)],
        &format!("run {}", run.id.0.get(..8).unwrap_or(&run.id.0)),
    );
    let median =
        run.median.map(report::seconds).map(|median| format!(", {median}")).unwrap_or_default();
    html.text(" ");
    html.element("bdi", &[], &format!("{} on {}{median}", clean(&run.model), clean(&run.engine)));
    html.text(" ");
    let (class, word) = if run.valid { ("pill good", "valid") } else { ("pill bad", "not valid") };
    html.element("span", &[("class", class)], word);
    if !run.reasons.is_empty() {
        html.inside("span", &[("class", "note")], |html| {
            html.text(" ");
            html.prose(&clean(&run.reasons.join("; ")));
        });
    }
    html.close("p");
}
