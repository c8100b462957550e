//! One run: the report page, or that of a load.

use crate::{
    answer::Refusal,
    app::App,
    frame::{Follows, View},
    query::encoded,
    request::Request,
    views::trace,
};
use modelmeter::{Pictures, Run, dossier_of, dossier_part};
use page::Html;
use report::Subject;
use store::Store;

/// The run with this beginning of its id.
pub(crate) fn find(store: &Store, id: &str) -> Result<Run, Refusal> {
    Ok(store.run(id)?)
}

/// The run that an address names at its end.
pub(crate) fn named(store: &Store, request: &Request) -> Result<Run, Refusal> {
    find(store, request.path.last().map(String::as_str).unwrap_or_default())
}

pub(crate) fn page(app: &App, request: &Request) -> Result<View, Refusal> {
    app.stores.with(|store| {
        let run = named(store, request)?;
        let short = store.short_id(&run.id)?;
        let (id, tags) = (run.id.0.clone(), run.tags.clone());
        let part = match run.load.is_some() {
            true => page::result_part(&report::load_document(&[run], None)),
            false => {
                let dossier = dossier_of(run, &short, Some(store))?;
                // A run that another tool measured cannot be measured again.
                let own = dossier.subjects.first().filter(|one| one.run.imported.is_none());
                let command = |one: &Subject| one.command.clone().ok();
                let more =
                    own.map(|one| trace::tab(app, &one.run, &short, command(one).as_deref()));
                dossier_part(&dossier, Pictures::Drawn, more.as_ref())
            }
        };
        let mut body = part.body;
        if app.launcher.is_some() {
            change(&mut body, app, &id, &tags);
        }
        Ok(View { name: "Runs", title: part.title, body, follows: Follows::Nothing })
    })
}

/// Labels and what deletes the run.
fn change(html: &mut Html, app: &App, id: &str, tags: &[String]) {
    let back = format!("/runs/{}", encoded(id));
    let tagging = app.link(&format!("/api/runs/{}/tags", encoded(id)));
    let form = |html: &mut Html, action: &str, back: &str, fill: &dyn Fn(&mut Html)| {
        html.open("form", &[("method", "post"), ("action", action), ("class", "do")]);
        html.open("input", &[("type", "hidden"), ("name", "back"), ("value", back)]);
        fill(html);
        html.close("form");
    };
    html.open("section", &[("class", "card")]);
    html.element("h2", &[], "Change");
    form(html, &tagging, &back, &|html| {
        html.open("label", &[]);
        html.element("span", &[], "Label");
        html.open("input", &[("name", "tag"), ("required", ""), ("maxlength", "100")]);
        html.close("label");
        html.element("button", &[], "Add");
    });
    for tag in tags {
        form(html, &tagging, &back, &|html| {
            html.open("input", &[("type", "hidden"), ("name", "remove"), ("value", tag)]);
            html.element("button", &[], &format!("Remove the label {}", report::clean(tag)));
        });
    }
    html.open("details", &[]);
    html.element("summary", &[], "Delete this run");
    form(html, &app.link(&format!("/api/runs/{}/delete", encoded(id))), "/runs", &|html| {
        html.element("button", &[], "Delete it for good");
    });
    html.close("details");
    html.close("section");
}
