//! Runs or models beside each other: those that were picked as a report, all cells as an analysis otherwise.

use super::form;
use crate::{
    answer::Refusal,
    app::App,
    frame::{self, Follows, View},
    query::Query,
    request::Request,
};
use modelmeter::{About, Error, Pictures, dossier, dossier_part};
use page::Html;
use store::Store;

/// More runs beside each other nobody can read, and every one is read whole.
const MOST: usize = 40;

/// What was picked; `None` for everything.
pub(crate) fn picked(store: &Store, query: &Query) -> Result<Option<About>, Refusal> {
    let mut ids = Vec::new();
    for wanted in query.all("run") {
        let id = store.resolve(wanted)?;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    if ids.len() > MOST {
        return Err(Refusal::bad(format!(
            "{} runs were picked, and {MOST} are the most",
            ids.len()
        )));
    }
    let models: Vec<String> = query.all("models").map(str::to_owned).collect();
    Ok(match (ids.is_empty(), models.is_empty()) {
        (false, _) => Some(About::Runs(ids)),
        (true, false) => Some(About::Models(models)),
        (true, true) => None,
    })
}

pub(crate) fn page(app: &App, request: &Request) -> Result<View, Refusal> {
    let query = &request.query;
    if !app.stores.is_there() {
        return Ok(empty());
    }
    app.stores.with(|store| {
        if let Some(about) = picked(store, query)? {
            let part = dossier_part(&dossier(store, &about)?, Pictures::Drawn, None);
            return Ok(View { name: "Compare", title: part.title, body: part.body, follows: Follows::Nothing });
        }
        let mut html = Html::default();
        frame::hero(&mut html, "Compare", "The newest valid runs of every cell, pooled. To put single runs beside each other, pick them under Runs.");
        html.open("form", &[("method", "get"), ("class", "filters")]);
        form::survey_fields(&mut html, query, store.engines()?);
        form::show(&mut html);
        html.close("form");
        match form::survey(query)?.analyse(store) {
            Ok(found) => {
                models(&mut html, app, store.models()?);
                let mut document = report::analysis_document(&found, None);
                // The view says it already.
                document.title.clear();
                let part = page::result_section(&document);
                html.inside("section", &[("class", "result")], |html| html.append(part));
            }
            Err(error) => not_found(&mut html, error)?,
        }
        Ok(View { name: "Compare", title: "Compare".into(), body: html, follows: Follows::Data })
    })
}

/// Models to be put beside each other whole.
fn models(html: &mut Html, app: &App, models: Vec<String>) {
    if models.is_empty() {
        return;
    }
    html.open("details", &[("class", "picks")]);
    html.element("summary", &[], "Models beside each other");
    html.open("form", &[("method", "get"), ("action", &app.link("/compare"))]);
    for model in models {
        html.open("label", &[]);
        html.open("input", &[("type", "checkbox"), ("name", "models"), ("value", &model)]);
        html.text(" ");
        html.element("bdi", &[], &report::clean(&model));
        html.close("label");
        html.raw(" ");
    }
    html.element("button", &[("class", "show")], "Compare");
    html.close("form");
    html.close("details");
}

fn empty() -> View {
    let mut html = Html::default();
    frame::hero(&mut html, "Compare", "");
    frame::nothing(
        &mut html,
        "Nothing is stored yet.",
        "`modelmeter profile small-transformer` measures a first run.",
    );
    View { name: "Compare", title: "Compare".into(), body: html, follows: Follows::Data }
}

/// A question that nothing stored answers is no fault of the server.
pub(crate) fn not_found(html: &mut Html, error: Error) -> Result<(), Refusal> {
    if let Error::Store(error) = error {
        return Err(error.into());
    }
    let hint = error.hint().unwrap_or_default();
    frame::nothing(html, &format!("{}.", report::clean(&error.to_string())), &report::clean(&hint));
    Ok(())
}
