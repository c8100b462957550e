//! What to use, by what was measured.

use super::{compare::not_found, form};
use crate::{
    answer::Refusal,
    app::App,
    frame::{self, Follows, View},
    query::Query,
    request::Request,
};
use page::Html;
use types::{Objective, Wish};

pub(crate) fn wish(query: &Query) -> Result<Wish, Refusal> {
    let objective = form::parsed::<Objective>(query, "objective")?.unwrap_or_default();
    let slo = |text: &str| {
        analysis::parse_slo(text).map_err(|why| {
            Refusal::bad(format!("`slo={text}` is not understood: {why}")).hint("`slo=p95:50ms`")
        })
    };
    let slos = query.all("slo").map(slo).collect::<Result<_, _>>()?;
    Ok(Wish { objective, slos, ..Wish::default() })
}

pub(crate) fn page(app: &App, request: &Request) -> Result<View, Refusal> {
    let query = &request.query;
    let wish = wish(query)?;
    let mut html = Html::default();
    frame::hero(
        &mut html,
        "Recommend",
        "Device, engine, precision and batch size, chosen among stored valid runs.",
    );
    if !app.stores.is_there() {
        frame::nothing(
            &mut html,
            "Nothing is stored yet.",
            "`modelmeter bench` measures many settings.",
        );
        return Ok(view(html));
    }
    app.stores.with(|store| {
        html.open("form", &[("method", "get"), ("class", "filters")]);
        let objectives =
            ["throughput", "latency", "memory", "energy"].map(|objective| (objective, objective));
        // What is best without an objective is shown as what it is.
        let objective = query.get("objective").unwrap_or(objectives[0].0).to_owned();
        let chosen = query.with("objective", Some(objective));
        form::choice(&mut html, &chosen, "Objective", "objective", &objectives);
        form::words(&mut html, query, "Limit", "slo", "p95:50ms");
        form::survey_fields(&mut html, query, store.engines()?);
        form::show(&mut html);
        html.close("form");
        match form::survey(query)?.recommend(store, &wish) {
            Ok(found) => {
                let mut document = report::recommendations_document(&found);
                // The view says it already.
                document.title.clear();
                let part = page::result_section(&document);
                html.inside("section", &[("class", "result")], |html| html.append(part));
            }
            Err(error) => not_found(&mut html, error)?,
        }
        Ok(view(html))
    })
}

fn view(body: Html) -> View {
    View { name: "Recommend", title: "Recommend".into(), body, follows: Follows::Data }
}
