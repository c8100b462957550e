//! Loads on served models: those that were measured, beside each other, and the one that goes on.

use super::now;
use crate::{
    answer::Refusal,
    app::App,
    frame::{self, Follows, View},
    request::Request,
};
use modelmeter::{Mode, Run};
use page::Html;
use std::collections::BTreeMap;
use store::Filter;

/// The newest loads that are shown.
const NEWEST: u64 = 60;

pub(crate) fn page(app: &App, _: &Request) -> Result<View, Refusal> {
    let mut html = Html::default();
    frame::hero(&mut html, "Load", "Requests at served models, and what their users waited.");
    let activities = {
        let mut live = app.live();
        live.listen();
        live.activities()
    };
    // The others are there too, unseen: what goes on is told to all views alike.
    let is_running =
        activities.iter().any(|one| one.load.is_some() && one.state == live::State::Running);
    html.open("div", &[("id", "now"), ("class", "only-loads")]);
    html.append(now::inner(app, &activities, &app.leases.known()));
    html.close("div");
    if app.stores.is_there() {
        app.stores.with(|store| {
            let filter =
                Filter { mode: Some(Mode::Load), limit: Some(NEWEST), ..Filter::default() };
            let mut targets: BTreeMap<String, Vec<Run>> = BTreeMap::new();
            for row in store.runs(&filter)? {
                let run = store.run_without_samples(&row.id)?;
                if let Some(load) = &run.load {
                    targets
                        .entry(format!("{} {}", run.model.name, load.target))
                        .or_default()
                        .push(run);
                }
            }
            if targets.is_empty() && !is_running {
                frame::nothing(
                    &mut html,
                    "No load is stored yet.",
                    "`modelmeter load http://127.0.0.1:8080` sends one.",
                );
            }
            for runs in targets.values() {
                let part = page::result_section(&report::load_document(runs, None));
                html.inside("section", &[("class", "result")], |html| html.append(part));
            }
            Ok(())
        })?;
    } else if !is_running {
        frame::nothing(
            &mut html,
            "No load is stored yet.",
            "`modelmeter load http://127.0.0.1:8080` sends one.",
        );
    }
    Ok(View { name: "Load", title: "Load".into(), body: html, follows: Follows::Data })
}
