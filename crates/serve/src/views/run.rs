//! One run: the report page, or that of a load.

use crate::{
    answer::Refusal,
    app::App,
    frame::{Follows, View},
    request::Request,
};
use modelmeter::{Pictures, Run, dossier_of, dossier_part};
use store::Store;

/// The run that an address names: the beginning of its id.
pub(crate) fn find(store: &Store, request: &Request) -> Result<Run, Refusal> {
    let wanted = request.path.last().map(String::as_str).unwrap_or_default();
    Ok(store.run(wanted)?)
}

pub(crate) fn page(app: &App, request: &Request) -> Result<View, Refusal> {
    app.stores.with(|store| {
        let run = find(store, request)?;
        let short = store.short_id(&run.id)?;
        let part = match &run.load {
            Some(_) => page::result_part(&report::load_document(&[run], None)),
            None => dossier_part(&dossier_of(run, &short, Some(store))?, Pictures::Drawn),
        };
        Ok(View { name: "Runs", title: part.title, body: part.body, follows: Follows::Nothing })
    })
}
