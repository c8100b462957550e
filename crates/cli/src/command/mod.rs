//! One file a command.

pub(crate) mod advise;
pub(crate) mod calibrate;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod db;
pub(crate) mod devices;
pub(crate) mod engines;
pub(crate) mod measurement;
pub(crate) mod models;
pub(crate) mod profile;
pub(crate) mod runs;

use crate::{
    Exit, Failure,
    arguments::Global,
    terminal::{self, Stream},
};
use modelmeter::{Folders, Store, report::Style};
use std::path::PathBuf;

/// Where things are kept: arguments and environment first, then the platform's own places.
pub(crate) fn folders(global: &Global) -> Result<Folders, Failure> {
    let cache = global.cache.clone().or_else(|| path_of("MODELMETER_CACHE"));
    let database = global.db.clone().or_else(|| path_of("MODELMETER_DB"));
    let own = Folders::of_this_user();
    let mut folders = match (own, &cache, &database) {
        (Ok(folders), _, _) => folders,
        (Err(_), Some(cache), Some(database)) => {
            let engines = cache.join("engines");
            Folders { cache: cache.clone(), hub_cache: None, database: database.clone(), engines }
        }
        (Err(error), _, _) => return Err(error.into()),
    };
    if let Some(cache) = cache {
        folders.cache = cache;
    }
    if let Some(database) = database {
        folders.database = database;
    }
    if let Some(hub) = hub_cache() {
        folders.hub_cache = Some(hub);
    }
    Ok(folders)
}

/// The Hugging Face cache as its own tools find it.
fn hub_cache() -> Option<PathBuf> {
    path_of("HF_HUB_CACHE").or_else(|| path_of("HF_HOME").map(|home| home.join("hub")))
}

/// A path from the environment; empty means unset.
pub(crate) fn path_of(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Opens the database, making it where there is none.
pub(crate) fn open_store(global: &Global) -> Result<Store, Failure> {
    Ok(Store::open(folders(global)?.database)?)
}

/// Opens the database to look at what is in it; a mistyped path must not become a new one.
pub(crate) fn open_existing_store(global: &Global) -> Result<Store, Failure> {
    let path = folders(global)?.database;
    if !path.exists() {
        let text = format!("there is no database at `{}` yet", path.display());
        return Err(Failure::new(Exit::Wrong, text)
            .hint("`modelmeter profile small-transformer` or `modelmeter db init` makes one"));
    }
    Ok(Store::open(path)?)
}

/// How text for standard output looks.
pub(crate) fn style(global: &Global) -> Style {
    Style { colour: terminal::wants_colour(global.color, Stream::Output), width: terminal::width() }
}

/// The width tables must keep; none where nobody looks, so that nothing is shortened in a file.
pub(crate) fn table_width() -> Option<usize> {
    terminal::is_terminal(Stream::Output).then(terminal::width)
}
