//! What is asked for, and what is told while it is being fetched.

use std::path::PathBuf;
use types::{DecoderDialect, Precision};

/// A model somebody asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// A path, a preset or a hub name.
    pub name: String,
    /// Seed of random weights.
    pub seed: u64,
    /// Never ask the hub.
    pub offline: bool,
    /// Branch, tag or commit on the hub; `main` where nothing is said.
    pub revision: Option<String>,
    /// Our own cache folder, for prepared models.
    pub cache: PathBuf,
    /// The Hugging Face cache (the folder that holds `models--…`), read and filled.
    pub hub_cache: Option<PathBuf>,
    /// Another hub than the public one.
    pub hub_endpoint: Option<String>,
    /// Token for private repositories.
    pub token: Option<String>,
    /// The number format it shall compute in; `None` leaves the model as it is.
    pub precision: Option<Precision>,
    /// A Python file and the function in it that returns a PyTorch module; instead of what `name` leads to.
    pub torch_module: Option<(PathBuf, String)>,
    /// Whether it shall generate token by token: its graph then takes what was read before.
    pub generates: bool,
    /// The operators of the graph that generates.
    pub dialect: DecoderDialect,
    /// Weights that are kept in blocks are filled up to a multiple of so many rows; 1 leaves them as they are.
    pub filled_rows: usize,
}

impl Request {
    /// A request for a model as it is, with the public hub and no Hugging Face cache.
    #[must_use]
    pub fn new(name: impl Into<String>, cache: impl Into<PathBuf>) -> Request {
        Request {
            name: name.into(),
            seed: 0,
            offline: false,
            revision: None,
            cache: cache.into(),
            hub_cache: None,
            hub_endpoint: None,
            token: None,
            precision: None,
            torch_module: None,
            generates: false,
            dialect: DecoderDialect::Standard,
            filled_rows: 1,
        }
    }

    /// Where files from the hub are kept.
    pub(crate) fn hub_folder(&self) -> PathBuf {
        self.hub_cache.clone().unwrap_or_else(|| self.cache.join("hub"))
    }

    pub(crate) fn revision(&self) -> &str {
        self.revision.as_deref().unwrap_or("main")
    }
}

/// What is going on while a model is made ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// The hub is being asked.
    Asking {
        /// Its address.
        endpoint: String,
    },
    /// A file is coming from the hub.
    Downloading {
        /// Its name.
        file: String,
        /// Bytes that are here.
        done: u64,
        /// Bytes in all.
        total: u64,
    },
    /// Weights are being written in the graph's layout.
    Preparing {
        /// Bytes written.
        done: u64,
        /// Bytes in all.
        total: u64,
    },
    /// A file is being hashed.
    Hashing {
        /// Bytes hashed.
        done: u64,
        /// Bytes in all.
        total: u64,
    },
}
