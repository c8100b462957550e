//! One file a command.

pub(crate) mod completions;
pub(crate) mod db;
pub(crate) mod devices;
pub(crate) mod models;
pub(crate) mod profile;
pub(crate) mod runs;

use crate::{
    Failure,
    arguments::Global,
    terminal::{self, Stream},
};
use modelmeter::{Folders, Store, report::Style};
use std::path::PathBuf;

/// Where things are kept: arguments and environment first, then the platform's own places.
pub(crate) fn folders(global: &Global) -> Result<Folders, Failure> {
    let own = Folders::of_this_user();
    let mut folders = match (own, &global.cache, &global.db) {
        (Ok(folders), _, _) => folders,
        (Err(_), Some(cache), Some(database)) => {
            Folders { cache: cache.clone(), hub_cache: None, database: database.clone() }
        }
        (Err(error), _, _) => return Err(error.into()),
    };
    if let Some(cache) = &global.cache {
        folders.cache.clone_from(cache);
    }
    if let Some(database) = &global.db {
        folders.database.clone_from(database);
    }
    if let Some(hub) = hub_cache() {
        folders.hub_cache = Some(hub);
    }
    Ok(folders)
}

/// The Hugging Face cache as its own tools find it.
fn hub_cache() -> Option<PathBuf> {
    let of =
        |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    of("HF_HUB_CACHE").or_else(|| of("HF_HOME").map(|home| home.join("hub")))
}

/// Opens the database where it is.
pub(crate) fn open_store(global: &Global) -> Result<Store, Failure> {
    Ok(Store::open(folders(global)?.database)?)
}

/// How text for standard output looks.
pub(crate) fn style(global: &Global) -> Style {
    Style { colour: terminal::wants_colour(global.color, Stream::Output), width: terminal::width() }
}

/// The width tables must keep; none where nobody looks, so that nothing is shortened in a file.
pub(crate) fn table_width() -> Option<usize> {
    terminal::is_terminal(Stream::Output).then(terminal::width)
}
