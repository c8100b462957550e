//! The documents that the command writes, over HTTP.

use super::{compare, form, form::INCLUDE_INVALID, recommend, run, runs, trend};
use crate::{
    answer::{Answer, CSV, MARKDOWN, Refusal},
    app::App,
    documents::{
        MACHINES_SCHEMA, MachineDocument, MachinesDocument, PLAN_CELLS_SCHEMA, PLANS_SCHEMA,
        PlanCellsDocument, PlansDocument, STORED_SCHEMA, StoredDocument,
    },
    leases::{self, LeaseNow},
    query::Query,
    request::Request,
};
use live::Activity;
use modelmeter::{About, dossier};
use report::{Footer, JsonOptions, ResultDocument, View};
use schemars::JsonSchema;
use serde::Serialize;
use store::CellState;

/// The name and version of the document of what is measured.
pub const NOW_SCHEMA: &str = "modelmeter.now/1";

/// What is measured at this moment.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NowDocument {
    #[schemars(extend("const" = NOW_SCHEMA))]
    schema: &'static str,
    /// Every process of this user on this machine, those that measure first, then the newest of those that ended.
    activities: Vec<Activity>,
    /// Cells of plans that others measure: other machines, and other users of this one. A lost one stays for a day, if no other
    /// worker takes its cell.
    elsewhere: Vec<LeaseNow>,
}

/// A result in the format that was asked for: `format=json`, `csv` or `markdown`.
fn result(query: &Query, document: &ResultDocument) -> Result<Answer, Refusal> {
    Ok(match query.get("format") {
        None | Some("json") => Answer::json(&document.json),
        Some("csv") => Answer::new(CSV, document.csv()),
        Some("markdown") => Answer::new(MARKDOWN, document.markdown()),
        Some(other) => {
            return Err(Refusal::bad(format!(
                "`format={other}` is not one of json, csv, markdown"
            )));
        }
    })
}

pub(crate) fn now(app: &App, _: &Request) -> Result<Answer, Refusal> {
    let activities = {
        let mut live = app.live();
        live.listen();
        live.activities()
    };
    let known = app.leases.look(&app.stores, false);
    let elsewhere = leases::elsewhere(&known.leases, &activities);
    Ok(Answer::document(&NowDocument { schema: NOW_SCHEMA, activities, elsewhere }))
}

pub(crate) fn status(app: &App, _: &Request) -> Result<Answer, Refusal> {
    app.stores.with(|store| {
        let (status, plans) = (store.status()?, leases::progress(store)?);
        Ok(Answer::document(&StoredDocument {
            schema: STORED_SCHEMA,
            version: modelmeter::VERSION,
            status,
            plans,
        }))
    })
}

pub(crate) fn runs(app: &App, request: &Request) -> Result<Answer, Refusal> {
    let filter = runs::filter(&request.query)?;
    app.stores.with(|store| {
        let rows = store.runs(&filter)?;
        let lines = modelmeter::run_lines(store, &rows)?;
        result(&request.query, &report::runs_document(&lines, None))
    })
}

pub(crate) fn run(app: &App, request: &Request) -> Result<Answer, Refusal> {
    let samples = request.query.get("samples").is_some_and(|text| text != "0");
    app.stores.with(|store| {
        let run = run::named(store, request)?;
        let view = View { json: JsonOptions { samples }, ..View::default() };
        result(&request.query, &report::run_document(&run, &view, Footer::None))
    })
}

pub(crate) fn compare(app: &App, request: &Request) -> Result<Answer, Refusal> {
    app.stores.with(|store| {
        let about: About = compare::picked(store, &request.query)?.ok_or_else(|| {
            Refusal::bad("nothing was picked").hint("`run=ID&run=ID` or `models=NAME`")
        })?;
        result(&request.query, &report::dossier_document(&dossier(store, &about)?))
    })
}

pub(crate) fn analysis(app: &App, request: &Request) -> Result<Answer, Refusal> {
    let survey = form::survey(&request.query)?;
    app.stores.with(|store| {
        result(&request.query, &report::analysis_document(&survey.analyse(store)?, None))
    })
}

pub(crate) fn trend(app: &App, request: &Request) -> Result<Answer, Refusal> {
    let (survey, question) = (form::survey(&request.query)?, trend::question(&request.query)?);
    app.stores.with(|store| {
        result(&request.query, &report::trend_document(&survey.trend(store, &question)?, None))
    })
}

pub(crate) fn recommendations(app: &App, request: &Request) -> Result<Answer, Refusal> {
    let (survey, wish) = (form::survey(&request.query)?, recommend::wish(&request.query)?);
    app.stores.with(|store| {
        let found = survey.recommend(store, &wish)?;
        result(&request.query, &report::recommendations_document(&found))
    })
}

pub(crate) fn plans(app: &App, _: &Request) -> Result<Answer, Refusal> {
    let plans = app.stores.with(|store| Ok(leases::progress(store)?))?;
    Ok(Answer::document(&PlansDocument { schema: PLANS_SCHEMA, plans }))
}

pub(crate) fn plan(app: &App, request: &Request) -> Result<Answer, Refusal> {
    let plan = request.path.last().map(String::as_str).unwrap_or_default();
    let mut cells = app.stores.with(|store| Ok(leases::cells(store, plan)?))?;
    // Nobody measures it, and whoever asks next gets it.
    for cell in cells.iter_mut().filter(|cell| cell.is_expired) {
        cell.state = CellState::Waiting;
    }
    if cells.is_empty() {
        return Err(Refusal::new(404, format!("there is no plan `{}`", report::clean(plan))));
    }
    Ok(Answer::document(&PlanCellsDocument { schema: PLAN_CELLS_SCHEMA, plan, cells }))
}

pub(crate) fn machines(app: &App, _: &Request) -> Result<Answer, Refusal> {
    app.stores.with(|store| {
        let mut machines = Vec::new();
        for machine in store.all_machines()? {
            let (ceilings, noise) = (store.all_ceilings(&machine.key)?, store.noise(&machine.key)?);
            machines.push(MachineDocument { machine, ceilings, noise });
        }
        Ok(Answer::document(&MachinesDocument { schema: MACHINES_SCHEMA, machines }))
    })
}

/// Every address as an OpenAPI document, made from the list that answers.
pub(crate) fn openapi(app: &App, _: &Request) -> Result<Answer, Refusal> {
    Ok(Answer::json(&crate::openapi::document(&app.base)))
}

/// The parameters that an address takes beside those in its path.
pub(crate) fn parameters(path: &str) -> &'static [&'static str] {
    const SURVEY: [&str; 9] = [
        "model",
        "engine",
        "device",
        "precision",
        "mode",
        "tag",
        "since",
        "machine",
        INCLUDE_INVALID,
    ];
    const TREND: [&str; 11] = [
        "metric",
        "by",
        "model",
        "engine",
        "device",
        "precision",
        "mode",
        "tag",
        "since",
        "machine",
        INCLUDE_INVALID,
    ];
    const WISH: [&str; 11] = [
        "objective",
        "slo",
        "model",
        "engine",
        "device",
        "precision",
        "mode",
        "tag",
        "since",
        "machine",
        INCLUDE_INVALID,
    ];
    match path.trim_start_matches("/api") {
        "/runs" => &[
            "model",
            "engine",
            "device",
            "precision",
            "mode",
            "machine",
            "valid",
            "tag",
            "branch",
            "commit",
            "since",
            "limit",
            "offset",
        ],
        "/compare" => &["run", "models"],
        "/analysis" => &SURVEY,
        "/trend" => &TREND,
        "/recommend" | "/recommendations" => &WISH,
        "/runs/{run}" => &["samples"],
        _ => &[],
    }
}
