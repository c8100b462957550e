//! What is measured at this moment, and what ended a moment ago.

use crate::{
    answer::Refusal,
    app::App,
    frame::{self, Follows, View},
    launcher::Launcher,
    leases::{self, Known, LeaseNow},
    query::{Query, encoded},
    request::Request,
    sketch,
    views::form,
};
use live::{Activity, LoadNow, PercentilesNow, RunNow, SamplesNow, State};
use page::Html;
use report::{Style, clean};
use std::{fmt::Write, time::Duration};
use types::Stage;

pub(crate) fn page(app: &App, _: &Request) -> Result<View, Refusal> {
    let activities = {
        let mut live = app.live();
        live.listen();
        live.activities()
    };
    let mut html = Html::default();
    frame::hero(
        &mut html,
        "Now",
        "Everything that this user's processes measure, as it happens, and the cells of plans that others measure.",
    );
    if app.launcher.is_some() {
        measure(&mut html, app);
    }
    html.open("div", &[("id", "now")]);
    html.append(inner(app, &activities, &app.leases.look(&app.stores, false)));
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
        ("Batch size", "batch-size", "4"),
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
pub(crate) fn inner(app: &App, activities: &[Activity], known: &Known) -> Html {
    let mut html = Html::default();
    let others = leases::elsewhere(&known.leases, activities);
    let (lost, measuring): (Vec<LeaseNow>, Vec<LeaseNow>) =
        others.into_iter().partition(|lease| lease.is_lost);
    let (running, ended): (Vec<&Activity>, Vec<&Activity>) =
        activities.iter().partition(|one| one.state == State::Running);
    if running.is_empty() {
        frame::nothing(
            &mut html,
            match measuring.is_empty() {
                true => "Nothing is measured at this moment.",
                false => "This user measures nothing on this machine at this moment.",
            },
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
    elsewhere(&mut html, app, &measuring, known.silence.as_deref());
    if !ended.is_empty() || !lost.is_empty() {
        html.element("h2", &[("class", "before")], "Before");
        for one in &lost {
            lease(&mut html, app, one);
        }
        for one in ended {
            card(&mut html, app, one);
        }
    }
    html
}

/// What others measure of plans in the same database.
fn elsewhere(html: &mut Html, app: &App, leases: &[LeaseNow], silence: Option<&str>) {
    if leases.is_empty() && silence.is_none() {
        return;
    }
    html.element("h2", &[("class", "before")], "Elsewhere");
    if let Some(why) = silence {
        html.inside("p", &[("class", "missing")], |html| {
            html.text("What other machines measure is not known: ");
            html.prose(&clean(why));
            html.text(".");
        });
    }
    for one in leases {
        lease(html, app, one);
    }
}

/// A cell that another machine measures, or another user.
fn lease(html: &mut Html, app: &App, one: &LeaseNow) {
    let key = format!("{}/{}", one.plan, one.cell);
    let (class, state, pill, standing) = match one.is_lost {
        true => ("card now lost", "lost", "pill bad", "lost: its lease is over"),
        false => ("card now running", "running", "pill busy", "being measured"),
    };
    html.open(
        "article",
        &[("class", class), ("data-key", &key), ("data-state", state), ("data-elsewhere", "")],
    );
    html.open("header", &[]);
    html.inside("h3", &[], |html| html.element("bdi", &[], &clean(&one.cell)));
    html.element("span", &[("class", pill)], standing);
    html.close("header");
    html.open("p", &[("class", "note")]);
    html.text("plan ");
    let link = app.link(&format!("/plans/{}", encoded(&one.plan)));
    html.inside("a", &[("href", &link)], |html| html.element("bdi", &[], &clean(&one.plan)));
    let place = match (&one.machine, one.pid) {
        (Some(machine), Some(pid)) => format!("{}, process {pid}", clean(machine)),
        _ => "a worker without a name".into(),
    };
    let mut words = vec![place, format!("since {} UTC", report::minute(one.since))];
    if one.attempt > 1 {
        words.push(format!("attempt {}", one.attempt));
    }
    if one.is_lost {
        words.push("the next worker that asks gets the cell".into());
    }
    html.text(&format!(" · {}", words.join(" · ")));
    html.close("p");
    html.close("article");
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
        let is_sampling = one.state == State::Running && one.stage == Some(Stage::Sample);
        self::samples(html, samples, is_sampling);
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
    let is_running = one.state == State::Running;
    match (&one.cell, &one.plan, &one.target) {
        // Which of its models came last says nothing once a plan is over.
        (cell, Some(plan), _) if cell.is_none() || !is_running => {
            format!("plan {}", clean(&plan.name))
        }
        (Some(cell), ..) => clean(&cell.model),
        (None, _, Some(target)) => clean(target),
        (None, ..) => clean(&one.command),
    }
}

/// Whether it goes on, in words.
fn standing(one: &Activity) -> String {
    match (one.state, one.exit) {
        (State::Running, _) => match (one.stage, &one.load) {
            (Some(stage), _) => stage.words().to_owned(),
            (None, Some(_)) => "sending requests".into(),
            (None, None) => "starting".into(),
        },
        (State::Ended, exit) => ended(exit).into(),
        (State::Lost, _) => "lost: the process is gone".into(),
    }
}

/// What an exit code says.
fn ended(exit: Option<i32>) -> &'static str {
    match exit {
        Some(0) => "finished",
        Some(1) => "finished: a limit was not met",
        Some(2) => "ended: usage error",
        Some(3) => "ended: not possible on this machine",
        Some(4) => "finished: no clear result",
        Some(70) => "ended: a bug in modelmeter",
        Some(130) => "stopped",
        _ => "ended by an error",
    }
}

fn about(one: &Activity) -> String {
    let mut words = vec![format!("{} · process {}", clean(&one.command), one.pid)];
    // The last cell of a plan that is over is not what the plan was.
    let cell = one.cell.as_ref();
    if let Some(cell) = cell.filter(|_| one.plan.is_none() || one.state == State::Running) {
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

/// As soon as sampling is over the verdict of the run says how sure the median is, by another method.
fn samples(html: &mut Html, samples: &SamplesNow, is_sampling: bool) {
    html.open("div", &[("class", "sketches")]);
    html.open("figure", &[]);
    sketch::histogram(html, &samples.nanos);
    let median = samples.median.map(report::seconds).unwrap_or_default();
    let mut text = format!("{} samples, median {median}", report::count(samples.taken));
    if let Some((least, most)) = samples.range {
        let seconds = |nanos: u64| report::seconds(nanos as f64 / 1e9);
        let _ = write!(text, ", {} to {}", seconds(least), seconds(most));
    }
    html.element("figcaption", &[], &text);
    html.close("figure");
    html.open("figure", &[]);
    let errors: Vec<f64> = samples.closing.iter().map(|point| point.error).collect();
    sketch::line(html, "How the interval of the median closes in", &errors, Some(samples.target));
    let target = report::percent(samples.target);
    let text = match samples.error.filter(|_| is_sampling) {
        Some(error) => {
            format!("median known to ± {} so far (95 %), target ± {target}", report::percent(error))
        }
        None => format!("how the interval of the median closed in, target ± {target}"),
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
    let rate: fn(f64) -> String = |rate| report::significant(rate, 3);
    let time: fn(f64) -> String = |nanos| report::seconds(nanos / 1e9);
    for (name, values, spell) in
        [("Answers a second", rates, rate), ("99th percentile of an answer", late, time)]
    {
        html.open("figure", &[]);
        sketch::line(html, name, &values, None);
        let (last, most) = (values.last(), values.iter().copied().reduce(f64::max));
        let text = match (last, most) {
            (Some(last), Some(most)) => {
                format!("{name}: {} last, {} at most", spell(*last), spell(most))
            }
            _ => name.to_owned(),
        };
        html.element("figcaption", &[], &text);
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
    let (against, others) = run.reasons.split_at(run.invalidating.min(run.reasons.len()));
    if !against.is_empty() {
        html.inside("span", &[("class", "note bad")], |html| {
            html.text(" ");
            html.prose(&clean(&against.join("; ")));
        });
    }
    let remarks = match others.len() {
        0 => String::new(),
        1 => " · 1 remark".to_owned(),
        count => format!(" · {count} remarks"),
    };
    if !remarks.is_empty() {
        html.element("span", &[("class", "note")], &remarks);
    }
    html.close("p");
}

#[cfg(test)]
mod tests {
    use super::*;
    use live::{CellNow, PlanNow};
    use modelmeter::Mode;
    use types::Device;

    fn activity() -> Activity {
        let cell = CellNow {
            model: "last-model".into(),
            engine: "rten".into(),
            device: Device::Cpu,
            precision: None,
            batch_size: None,
            sequence_length: None,
            mode: Mode::Inference,
        };
        Activity { command: "bench".into(), cell: Some(cell), ..Activity::default() }
    }

    #[test]
    fn a_plan_that_is_over_is_called_by_its_name() {
        let plan = PlanNow { name: "nightly".into(), ..PlanNow::default() };
        let mut one = Activity { plan: Some(plan), ..activity() };
        assert_eq!(title(&one), "last-model");
        for state in [State::Lost, State::Ended] {
            one.state = state;
            assert_eq!(title(&one), "plan nightly");
            assert!(!about(&one).contains("rten"), "{}", about(&one));
        }
        one.plan = None;
        assert_eq!(title(&one), "last-model");
    }

    #[test]
    fn a_load_says_whom_it_asks_what_it_does_and_how_it_ended() {
        let mut one = Activity {
            command: "load".into(),
            target: Some("http://127.0.0.1:8080/v1".into()),
            ..Activity::default()
        };
        assert_eq!(standing(&one), "starting");
        one.load = Some(LoadNow {
            history: vec![(2.0, Some(3_000_000)), (9.0, Some(1_000_000))],
            ..LoadNow::default()
        });
        assert_eq!(title(&one), "http://127.0.0.1:8080/v1");
        assert_eq!(standing(&one), "sending requests");
        (one.state, one.exit) = (State::Ended, Some(4));
        assert_eq!(standing(&one), "finished: no clear result");
        let mut html = Html::default();
        super::load(&mut html, &one.load.unwrap());
        let text = html.finish();
        assert!(text.contains("Answers a second: 9.00 last, 9.00 at most"), "{text}");
        assert!(
            text.contains("99th percentile of an answer: 1.00 ms last, 3.00 ms at most"),
            "{text}"
        );
    }

    #[test]
    fn how_sure_the_median_is_stands_there_only_while_samples_are_taken() {
        let mut now = SamplesNow::default();
        (now.taken, now.target) = (3, 0.01);
        (now.median, now.error) = (Some(2e-3), Some(0.5));
        now.nanos = vec![1_000_000, 2_000_000, 9_000_000];
        now.range = Some((1_000_000, 9_000_000));
        let text = |is_sampling| {
            let mut html = Html::default();
            samples(&mut html, &now, is_sampling);
            html.finish()
        };
        assert!(
            text(true).contains("3 samples, median 2.00 ms, 1.00 ms to 9.00 ms"),
            "{}",
            text(true)
        );
        assert!(text(true).contains("± 50 % so far"), "{}", text(true));
        assert!(!text(false).contains("± 50"), "{}", text(false));
    }
}
