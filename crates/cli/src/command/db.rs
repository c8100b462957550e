//! `modelmeter db`: looks after the database.

use crate::{
    Exit, Failure,
    arguments::{Db, DbAction, Global},
    command::{folders, open_existing_store, open_store},
    output,
};
use modelmeter::{
    report::{self, Column, Table},
    store::Status,
};
use serde_json::json;

pub(crate) fn run(arguments: &Db, global: &Global) -> Result<Exit, Failure> {
    match &arguments.action {
        DbAction::Path => output::data(&format!("{}\n", folders(global)?.database.display()))?,
        DbAction::Init => {
            let store = open_store(global)?;
            let what = if store.is_created() { "created" } else { "is up to date:" };
            output::data(&format!("{what} {}\n", store.path().display()))?;
        }
        DbAction::Status { json } => {
            let status = open_existing_store(global)?.status()?;
            output::data(&if *json { status_json(&status) } else { status_text(&status) })?;
        }
        DbAction::Vacuum => {
            let store = open_existing_store(global)?;
            let freed = store.vacuum()?;
            output::data(&format!("gave back {}\n", report::bytes(freed)))?;
        }
    }
    Ok(Exit::Fine)
}

fn status_text(status: &Status) -> String {
    let when = |micros: Option<i64>| {
        micros.map_or("–".to_owned(), |at| format!("{} UTC", report::minute(at)))
    };
    Table::new([Column::left("database"), Column::left(&status.path.display().to_string())])
        .row(["size", &report::bytes(status.size.0)])
        .row(["schema", &status.schema.to_string()])
        .row(["runs", &report::count(status.runs)])
        .row(["models", &report::count(status.models)])
        .row(["machines", &report::count(status.machines)])
        .row(["cells", &report::count(status.cells)])
        .row(["samples", &report::count(status.samples)])
        .row(["oldest", &when(status.oldest)])
        .row(["newest", &when(status.newest)])
        .render(None)
}

fn status_json(status: &Status) -> String {
    let document = json!({
        "schema": "modelmeter.db-status/1",
        "path": status.path,
        "size": status.size,
        "schema_version": status.schema,
        "runs": status.runs,
        "models": status.models,
        "machines": status.machines,
        "cells": status.cells,
        "samples": status.samples,
        "oldest": status.oldest.map(report::rfc3339),
        "newest": status.newest.map(report::rfc3339),
    });
    format!("{document:#}\n")
}
