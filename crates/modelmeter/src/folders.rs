//! Where things are kept unless the caller says otherwise.

use crate::Error;
use directories::{BaseDirs, ProjectDirs};
use std::path::PathBuf;

/// Where things are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folders {
    /// Prepared models; may be deleted at any time.
    pub cache: PathBuf,
    /// The Hugging Face cache, the folder that holds `models--…`.
    pub hub_cache: Option<PathBuf>,
    /// The database: a file, or a server's address (`postgres://…`), which may hold a password and is never shown as it is.
    pub database: PathBuf,
    /// Engines that were installed by us, one folder each.
    pub engines: PathBuf,
}

impl Folders {
    /// The platform's own places for this user.
    ///
    /// # Errors
    /// When the user has no home folder.
    pub fn of_this_user() -> Result<Folders, Error> {
        let project = ProjectDirs::from("", "", "modelmeter");
        let project = project.ok_or(Error::NoFolder { what: "the cache and the database" })?;
        Ok(Folders {
            cache: project.cache_dir().to_owned(),
            hub_cache: BaseDirs::new()
                .map(|base| base.home_dir().join(".cache").join("huggingface").join("hub")),
            database: project.data_dir().join("modelmeter.db"),
            engines: project.data_dir().join("engines"),
        })
    }

    /// Where runs wait for a server that is away: beside the engines, in the user's own data.
    #[must_use]
    pub fn waiting(&self) -> PathBuf {
        self.engines.with_file_name("waiting")
    }

    /// Where running measurements say what they do, for this user's other processes.
    #[must_use]
    pub fn live(&self) -> PathBuf {
        self.engines.with_file_name("live")
    }

    /// The file of the token that browsers know this user's server by.
    #[must_use]
    pub fn serve_token(&self) -> PathBuf {
        self.engines.with_file_name("serve.token")
    }
}
