//! What a person should hear of runs that their database did not take at once.

use std::{fmt, path::PathBuf};

/// What a person should hear of runs that their database did not take at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The server is away; what is measured will be put aside.
    Away {
        /// Why it cannot be had, with its address, without the password.
        why: String,
        /// Where runs wait.
        folder: PathBuf,
    },
    /// Runs were put aside.
    Aside {
        /// How many.
        runs: u64,
        /// Why the database did not take them.
        why: String,
        /// What to try, where the database will not be back by itself.
        hint: Option<String>,
        /// Where they wait.
        folder: PathBuf,
        /// Whether the database is only away or busy.
        is_away: bool,
    },
    /// Runs that neither the database nor any other place took; [`crate::Session::take_unkept`] has them.
    Unkept {
        /// How many.
        runs: u64,
        /// Why the database did not take them.
        why: String,
        /// The other places, and why they did not.
        tried: Vec<String>,
    },
    /// Something beside runs that the database did not take, such as the machine's ceilings.
    Refused {
        /// Why.
        why: String,
        /// What to try.
        hint: Option<String>,
    },
    /// Runs that had waited are in the database now.
    Delivered {
        /// How many.
        runs: u64,
        /// The database, without its password.
        database: PathBuf,
    },
    /// Runs wait on.
    Waiting {
        /// How many.
        runs: u64,
        /// Why the database does not take them.
        why: String,
        /// Where they are.
        folder: PathBuf,
    },
    /// A run that waits and that the database will not have.
    Undelivered {
        /// Its file.
        path: PathBuf,
        /// Why.
        why: String,
    },
}

impl Notice {
    /// Whether something is not as it should be.
    #[must_use]
    pub fn is_warning(&self) -> bool {
        !matches!(self, Notice::Delivered { .. })
    }

    /// Whether it is more than a warning: the database refused, and will not be back by itself.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        match self {
            Notice::Aside { is_away, .. } => !is_away,
            Notice::Unkept { .. } | Notice::Refused { .. } => true,
            _ => false,
        }
    }

    /// What to try next.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        match self {
            Notice::Aside { hint, .. } | Notice::Refused { hint, .. } => hint.as_deref(),
            _ => None,
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::Away { why, folder } => write!(
                f,
                "{why}; runs are kept in `{}` until it is available again",
                folder.display()
            ),
            Notice::Aside { runs: 1, why, folder, .. } => write!(
                f,
                "the run is not in the database yet: {why}; it is kept in `{}`, and the next command that can write \
                 to the database stores it",
                folder.display()
            ),
            Notice::Aside { runs, why, folder, .. } => write!(
                f,
                "{runs} runs are not in the database yet: {why}; they are kept in `{}`, and the next command that can \
                 write to the database stores them",
                folder.display()
            ),
            Notice::Unkept { runs: 1, why, .. } => write!(f, "the run was not stored: {why}"),
            Notice::Unkept { runs, why, .. } => {
                write!(f, "{runs} runs were not stored: {why}")
            }
            Notice::Refused { why, .. } => f.write_str(why),
            Notice::Delivered { runs: 1, database } => {
                write!(f, "stored a waiting run in {}", database.display())
            }
            Notice::Delivered { runs, database } => {
                write!(f, "stored {runs} waiting runs in {}", database.display())
            }
            Notice::Waiting { runs: 1, why, folder } => {
                write!(f, "a run still waits in `{}`: {why}", folder.display())
            }
            Notice::Waiting { runs, why, folder } => {
                write!(f, "{runs} runs still wait in `{}`: {why}", folder.display())
            }
            Notice::Undelivered { path, why } => {
                write!(f, "the run in `{}` cannot be stored: {why}", path.display())
            }
        }
    }
}
