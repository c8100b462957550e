//! Every address of this server, in one list; docs and tests walk it.

use crate::{
    answer::{Answer, HTML, Refusal},
    app::App,
    frame::{View, frame},
    metrics,
    request::Request,
    views::{act, api, compare, load, machines, now, plans, recommend, run, runs, trace, trend},
};
use axum::http::Method;

/// An address, what it is for, and who answers.
pub struct Route {
    /// `GET`, `POST` or `DELETE`.
    pub method: &'static str,
    /// The path; a part in braces stands for any text.
    pub path: &'static str,
    /// What it is for, in a sentence.
    pub about: &'static str,
    /// The name of the document that it answers with, where that has a schema.
    pub document: Option<&'static str>,
    answer: Answers,
}

enum Answers {
    Page(fn(&App, &Request) -> Result<View, Refusal>),
    Data(fn(&App, &Request) -> Result<Answer, Refusal>),
    /// Answered before anything else, because it does not end.
    Stream,
}

macro_rules! route {
    ($method:literal $path:literal, $kind:ident $answer:path, $about:literal $(, $document:literal)?) => {
        Route {
            method: $method,
            path: $path,
            about: $about,
            document: [$(Some($document),)? None][0],
            answer: Answers::$kind($answer),
        }
    };
}

/// Every address.
pub const ROUTES: &[Route] = &[
    route!("GET" "/", Page now::page, "What is measured at this moment"),
    route!("GET" "/plans", Page plans::page, "Plans and how far they are"),
    route!("GET" "/plans/{plan}", Page plans::one, "The cells of a plan by state"),
    route!("GET" "/runs", Page runs::page, "Stored runs, newest first"),
    route!("GET" "/runs/{run}", Page run::page, "One run"),
    route!("GET" "/compare", Page compare::page, "Runs or models beside each other"),
    route!("GET" "/trend", Page trend::page, "Histories and their changes"),
    route!("GET" "/recommend", Page recommend::page, "What to use"),
    route!("GET" "/load", Page load::page, "Loads on served models"),
    route!("GET" "/machines", Page machines::page, "Machines, their ceilings and their noise"),
    route!("GET" "/assets/{name}", Data assets, "Style and script of the page"),
    Route {
        method: "GET",
        path: "/events",
        about: "Server-sent events: `now` with the inner part of the first view, `data` when what is stored changed",
        document: None,
        answer: Answers::Stream,
    },
    route!("GET" "/metrics", Data metrics::metrics, "The newest numbers for Prometheus"),
    route!("GET" "/api", Data api::openapi, "This list as an OpenAPI document"),
    route!("GET" "/api/now", Data api::now, "What is measured at this moment", "modelmeter.now/1"),
    route!("GET" "/api/status", Data api::status, "What is stored", "modelmeter.stored/1"),
    route!("GET" "/api/runs", Data api::runs, "Stored runs, newest first", "modelmeter.runs/1"),
    route!("GET" "/api/runs/{run}", Data api::run, "One run; `samples=1` adds its samples", "modelmeter.run/1"),
    route!("GET" "/api/runs/{run}/flamegraph", Data trace::file, "The layers of a run as a flame graph, an SVG file"),
    route!("GET" "/api/runs/{run}/trace", Data trace::file, "The layers of a run, laid end to end, as a trace for Perfetto"),
    route!("GET" "/api/runs/{run}/speedscope", Data trace::file, "The layers of a run as a profile for speedscope"),
    route!("GET" "/api/compare", Data api::compare, "Runs or models beside each other, as `report --json` writes them"),
    route!("GET" "/api/analysis", Data api::analysis, "All cells beside each other", "modelmeter.analysis/1"),
    route!("GET" "/api/trend", Data api::trend, "Histories and their changes", "modelmeter.trend/1"),
    route!("GET" "/api/recommendations", Data api::recommendations, "What to use", "modelmeter.recommendations/1"),
    route!("GET" "/api/plans", Data api::plans, "Plans and how far they are", "modelmeter.plans/1"),
    route!("GET" "/api/plans/{plan}", Data api::plan, "The cells of a plan", "modelmeter.plan-cells/1"),
    route!("GET" "/api/machines", Data api::machines, "Machines, their ceilings and their noise", "modelmeter.machines/1"),
    route!("GET" "/api/measurements", Data act::jobs, "Measurements that were started here", "modelmeter.measurements/1"),
    route!("POST" "/api/measurements", Data act::start, "Starts a profile (`model`, `engine`, …) or a plan (`plan`, TOML); needs `--allow-measuring`, as all that follow", "modelmeter.change/1"),
    route!("POST" "/api/measurements/{id}/stop", Data act::stop, "Stops a process that measures, by its name in `/api/now`", "modelmeter.change/1"),
    route!("POST" "/api/runs/{run}/tags", Data act::tag, "Labels a run (`tag`), or takes a label off it (`remove`)", "modelmeter.change/1"),
    route!("POST" "/api/runs/{run}/delete", Data act::delete, "Deletes a run, by its whole id", "modelmeter.change/1"),
    route!("DELETE" "/api/runs/{run}", Data act::delete, "Deletes a run, by its whole id", "modelmeter.change/1"),
];

/// Answers a request by the first route that fits.
pub(crate) fn answer(app: &App, request: &Request) -> Result<Answer, Refusal> {
    let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
    let mut fitting = ROUTES.iter().filter(|route| fits(route.path, &path)).peekable();
    if fitting.peek().is_none() {
        return Err(Refusal::not_found());
    }
    // Whoever may see a page may ask for its head.
    let method = if request.method == Method::HEAD { "GET" } else { request.method.as_str() };
    let Some(route) = fitting.find(|route| route.method == method) else {
        return Err(Refusal::new(405, "this address does not take that method"));
    };
    match route.answer {
        Answers::Page(page) => page(app, request).map(|view| Answer::new(HTML, frame(app, view))),
        Answers::Data(data) => data(app, request),
        Answers::Stream => Err(Refusal::not_found()),
    }
}

fn fits(pattern: &str, path: &[&str]) -> bool {
    let parts: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty()).collect();
    let fits = |(part, given): (&&str, &&str)| part.starts_with('{') || part == given;
    parts.len() == path.len() && parts.iter().zip(path).all(fits)
}

fn assets(app: &App, request: &Request) -> Result<Answer, Refusal> {
    request.path.last().and_then(|name| app.assets.find(name)).ok_or_else(Refusal::not_found)
}
