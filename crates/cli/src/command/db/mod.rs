//! `modelmeter db`: looks after the database.

mod export;
mod import;
mod query;
mod status;

use crate::{
    Exit, Failure,
    arguments::{Db, DbAction, Global},
    command::{folders, open_existing_store, open_store},
    output,
};

#[cfg(test)]
pub(crate) use import::{IMPORT_SCHEMA, ImportDocument};
#[cfg(test)]
pub(crate) use status::{STATUS_SCHEMA, StatusDocument};

pub(crate) fn run(arguments: &Db, global: &Global) -> Result<Exit, Failure> {
    match &arguments.action {
        DbAction::Path => {
            let place = store::shown(&folders(global)?.database);
            output::data(&format!("{}\n", place.display()))?;
        }
        DbAction::Init => {
            let store = open_store(global)?;
            let what = if store.is_created() { "created" } else { "is up to date:" };
            output::data(&format!("{what} {}\n", store.path().display()))?;
        }
        DbAction::Status { result } => return status::run(result, global),
        DbAction::Vacuum => {
            let store = open_existing_store(global)?;
            let freed = store.vacuum()?;
            output::data(&format!("freed {}\n", report::bytes(freed)))?;
        }
        DbAction::Export(export) => return export::run(export, global),
        DbAction::Import(import) => return import::run(import, global),
        DbAction::Query(query) => return query::run(query, global),
    }
    Ok(Exit::Fine)
}
