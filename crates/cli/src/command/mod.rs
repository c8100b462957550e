//! One file a command.

pub(crate) mod advise;
mod advise_program;
pub(crate) mod bench;
pub(crate) mod calibrate;
pub(crate) mod capacity;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod db;
pub(crate) mod devices;
pub(crate) mod engines;
pub(crate) mod export;
pub(crate) mod fit;
pub(crate) mod generate;
pub(crate) mod gpu;
pub(crate) mod load;
pub(crate) mod man;
pub(crate) mod measurement;
pub(crate) mod models;
pub(crate) mod optimize;
pub(crate) mod predict;
pub(crate) mod profile;
pub(crate) mod proof;
pub(crate) mod prune;
pub(crate) mod quantize;
pub(crate) mod report;
pub(crate) mod runs;
pub(crate) mod schema;
#[cfg_attr(not(feature = "serve"), path = "serve_absent.rs")]
pub(crate) mod serve;
pub(crate) mod serve_bench;
pub(crate) mod survey;
mod taken_port;
pub(crate) mod trend;
pub(crate) mod visualize;
pub(crate) mod watch;

use crate::{
    Exit, Failure,
    arguments::Global,
    checkout, interrupt, output,
    terminal::{self, Stream},
};
use ::report::{Style, clean};
use modelmeter::{Folders, Notice, Session, Store};
use std::path::PathBuf;

/// Where things are kept: arguments and environment first, then the platform's own places.
pub(crate) fn folders(global: &Global) -> Result<Folders, Failure> {
    folders_of(global.cache.clone(), global.db.clone())
}

/// The same for somebody who has no arguments, or not yet.
pub(crate) fn folders_of(
    cache: Option<PathBuf>,
    database: Option<PathBuf>,
) -> Result<Folders, Failure> {
    let cache = cache.or_else(|| path_of("MODELMETER_CACHE"));
    let database = database.or_else(|| path_of("MODELMETER_DB"));
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
        // An address that is not understood must not become a file in folders of that name.
        store::check_location(&database)?;
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

/// A session that keeps its runs in the database, or aside while that is a server and away; or none at all.
pub(crate) fn session(
    folders: &Folders,
    no_store: bool,
    global: &Global,
) -> Result<Session, Failure> {
    if no_store {
        return Ok(Session::without_store().at_revision(checkout::revision()));
    }
    let mut session = Session::with_folders(folders)?.at_revision(checkout::revision());
    say(&session.take_notices(), global);
    Ok(session)
}

/// The same for a command that measures: Ctrl-C says what was kept of it.
pub(crate) fn watched_session(
    folders: &Folders,
    no_store: bool,
    global: &Global,
    what: &'static str,
) -> Result<Session, Failure> {
    let session = session(folders, no_store, global)?;
    interrupt::watch(&session, !no_store, what)?;
    Ok(session)
}

/// Says what became of runs that a database could not take at once.
pub(crate) fn say(notices: &[Notice], global: &Global) {
    notices.iter().for_each(|notice| say_one(notice, global.quiet));
}

/// Says one of them; a warning is heard by those who asked for quiet too.
pub(crate) fn say_one(notice: &Notice, is_quiet: bool) {
    let text = clean(&notice.to_string());
    if notice.is_warning() {
        output::complain(&format!("warning: {text}\n"));
    } else if !is_quiet {
        output::complain(&format!("{text}\n"));
    }
}

/// Opens the database, making it where there is none.
pub(crate) fn open_store(global: &Global) -> Result<Store, Failure> {
    let folders = folders(global)?;
    let (store, notices) = modelmeter::open_database(&folders.database, &folders.waiting())?;
    say(&notices, global);
    Ok(store)
}

/// Opens the database to look at what is in it, also where it can only be read; a mistyped path must not become a new one.
pub(crate) fn open_existing_store(global: &Global) -> Result<Store, Failure> {
    let folders = folders(global)?;
    let path = &folders.database;
    if !store::is_server(path) && !path.exists() {
        let text = format!("there is no database at `{}` yet", path.display());
        return Err(Failure::new(Exit::Wrong, text)
            .hint("`modelmeter profile small-transformer` or `modelmeter db init` makes one"));
    }
    let (store, notices) = modelmeter::look_into_database(path, &folders.waiting())?;
    say(&notices, global);
    Ok(store)
}

/// How text for standard output looks.
pub(crate) fn style(global: &Global) -> Style {
    Style { colour: terminal::wants_colour(global.color, Stream::Output), width: terminal::width() }
}

/// The width tables must keep; none where nobody looks, so that nothing is shortened in a file.
pub(crate) fn table_width() -> Option<usize> {
    terminal::is_terminal(Stream::Output).then(terminal::width)
}
