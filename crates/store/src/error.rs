//! What can go wrong with a store, and what to try.

use std::{error::Error, io, path::PathBuf};

/// What can go wrong with a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The folder for the file cannot be made.
    #[error("could not create the folder `{}` for the database", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// There is something else than a file at the path.
    #[error("could not open the database `{}`: it is not a file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The file cannot be opened.
    #[error("could not open the database `{}`", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// What should be a server's address is none.
    #[error("the address of the database is not valid: {why}")]
    BadAddress {
        /// What is wrong with it, without its secrets.
        why: String,
    },
    /// There is no server, or it went away.
    #[error("could not reach the database `{}`: {detail}", path.display())]
    Unreachable {
        /// The server's address without the password.
        path: PathBuf,
        /// Why.
        detail: String,
    },
    /// The server does not let us in.
    #[error("the database `{}` refused the login: {detail}", path.display())]
    Login {
        /// The server's address without the password.
        path: PathBuf,
        /// What it said.
        detail: String,
    },
    /// The server has no such database.
    #[error("there is no database `{}`: {detail}", path.display())]
    NoDatabase {
        /// The server's address without the password.
        path: PathBuf,
        /// What it said.
        detail: String,
    },
    /// The connection could not be encrypted.
    #[error("could not encrypt the connection to the database `{}`: {detail}", path.display())]
    Encryption {
        /// The server's address without the password.
        path: PathBuf,
        /// Why.
        detail: String,
    },
    /// The user may not do that.
    #[error("this user has no permission to {doing} in the database `{}`: {detail}", path.display())]
    Denied {
        /// The server's address without the password.
        path: PathBuf,
        /// What we were doing: `store a run`.
        doing: &'static str,
        /// What the server said.
        detail: String,
    },
    /// The file is no SQLite database.
    #[error("`{}` is not a database", path.display())]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// The file is a database of something else.
    #[error("`{}` is a database, but not of modelmeter", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The database was written by a newer version of this program.
    #[error(
        "the database `{}` has schema version {found}, but this program supports only up to {known}",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest version known here.
        known: i64,
    },
    /// The database was written by an older version of this program and cannot be brought up to date.
    #[error(
        "the database `{}` has schema version {found} and is read-only; it must be migrated to {known} before it can \
         be read",
        path.display()
    )]
    Older {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The version that is read here.
        known: i64,
    },
    /// The file is damaged.
    #[error("the database `{}` is damaged: {detail}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What was found.
        detail: String,
    },
    /// The file was removed or replaced while it was open.
    #[error("the database `{}` was removed or replaced while it was open", path.display())]
    Moved {
        /// The file.
        path: PathBuf,
    },
    /// There is no space left.
    #[error("could not write to the database `{}`: the disk is full", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// Another process holds the database for too long.
    #[error("the database `{}` is locked by another process", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The file may be read but not written.
    #[error("could not write to the database `{}`: it is read-only", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// The database refused for another reason.
    #[error("could not {doing} in the database `{}`", path.display())]
    Query {
        /// The file.
        path: PathBuf,
        /// What we were doing: `store a run`.
        doing: &'static str,
        /// Why.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// No run begins with these digits.
    #[error("no run begins with `{prefix}`")]
    NotFound {
        /// What was asked for.
        prefix: String,
    },
    /// Several runs begin with these digits.
    #[error("several runs begin with `{prefix}`: {}", list(candidates))]
    Ambiguous {
        /// What was asked for.
        prefix: String,
        /// The first few of them.
        candidates: Vec<String>,
    },
    /// A run with this id is already stored.
    #[error("a run with the id `{id}` is already stored")]
    Duplicate {
        /// The id.
        id: String,
    },
    /// The run holds something that cannot be read back.
    #[error("could not store run `{id}`: {why}")]
    Unstorable {
        /// The id.
        id: String,
        /// What.
        why: String,
    },
    /// Another worker has the cell by now.
    #[error("worker `{worker}` no longer has cell `{key}` of plan `{plan}`")]
    LeaseLost {
        /// The plan.
        plan: String,
        /// The cell.
        key: String,
        /// Who had leased it.
        worker: String,
    },
    /// A question that would change something.
    #[error("only queries that read are allowed")]
    Writes,
    /// A question that the database does not understand.
    #[error("the query is not valid: {detail}")]
    BadQuery {
        /// What it said.
        detail: String,
    },
    /// An answer of a kind that we cannot show.
    #[error("column `{column}` of the result has the unsupported type `{kind}`")]
    BadColumn {
        /// The column.
        column: String,
        /// Its type.
        kind: String,
    },
    /// A run could not be put aside or looked after.
    #[error("could not {doing} `{}`", path.display())]
    Spool {
        /// The file or folder.
        path: PathBuf,
        /// What we were doing: `put a run aside in`.
        doing: &'static str,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A tag that nobody could type.
    #[error("`{tag}` cannot be a tag")]
    BadTag {
        /// The tag.
        tag: String,
    },
}

/// At most eight names, in backticks.
fn list(candidates: &[String]) -> String {
    let shown: Vec<String> = candidates.iter().take(8).map(|id| format!("`{id}`")).collect();
    let more = if candidates.len() > 8 { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

impl StoreError {
    /// Whether something else should have been asked, rather than the machine or the file being at fault.
    #[must_use]
    pub fn is_asked_wrongly(&self) -> bool {
        matches!(
            self,
            StoreError::Folder { .. }
                | StoreError::NotAFile { .. }
                | StoreError::NotADatabase { .. }
                | StoreError::Foreign { .. }
                | StoreError::Newer { .. }
                | StoreError::Older { .. }
                | StoreError::BadAddress { .. }
                | StoreError::Login { .. }
                | StoreError::NoDatabase { .. }
                | StoreError::Writes
                | StoreError::BadQuery { .. }
                | StoreError::BadColumn { .. }
                | StoreError::NotFound { .. }
                | StoreError::Ambiguous { .. }
                | StoreError::BadTag { .. }
        )
    }

    /// Whether the same may work later, because the database is away, busy or full; a run must not be lost for that.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        matches!(
            self,
            StoreError::Unreachable { .. }
                | StoreError::Locked { .. }
                | StoreError::Full { .. }
                | StoreError::ReadOnly { .. }
                | StoreError::Login { .. }
                | StoreError::NoDatabase { .. }
                | StoreError::Encryption { .. }
                | StoreError::Denied { .. }
                | StoreError::Unreadable { .. }
                | StoreError::Query { .. }
        )
    }

    /// Whether a run that the database refused for this is to be kept elsewhere; not one that nobody could read back, nor one
    /// that is there already.
    #[must_use]
    pub fn keeps_run(&self) -> bool {
        !matches!(self, StoreError::Unstorable { .. } | StoreError::Duplicate { .. })
    }

    /// What to try next, if there is something.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            StoreError::Folder { .. } | StoreError::NotAFile { .. } => {
                "use a file in a writable folder".into()
            }
            StoreError::Unreadable { .. } | StoreError::ReadOnly { .. } => {
                "check the permissions of the file and of its folder, or use another file".into()
            }
            StoreError::BadAddress { .. } => {
                "an address is `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=require`; a file is given by its \
                 path, as in `--db runs.db`".into()
            }
            StoreError::Unreachable { .. } => {
                "check that the server runs and that host and port are correct".into()
            }
            StoreError::Login { .. } => {
                "check user and password in the address (`postgres://USER:PASSWORD@HOST/DATABASE`), and the server's \
                 `pg_hba.conf`".into()
            }
            StoreError::NoDatabase { .. } => {
                "create it with `createdb`, or use another; tables are created automatically".into()
            }
            StoreError::Encryption { .. } => {
                "give the server's certificate authority with `sslrootcert=FILE`; `sslmode=prefer` encrypts without \
                 verifying the server".into()
            }
            StoreError::Denied { .. } => {
                "let the owner of the database create the tables, or grant this user the privileges".into()
            }
            StoreError::NotADatabase { .. } | StoreError::Foreign { .. } => {
                "use another database; this one was not changed".into()
            }
            StoreError::Newer { .. } => {
                "update modelmeter, or use another database; this one was not changed".into()
            }
            StoreError::Older { path, .. } => format!(
                "`cp '{}' copy.db` and use `--db copy.db`, or let its owner run `modelmeter db init`",
                path.display()
            ),
            StoreError::Corrupt { .. } => {
                "restore the database from a backup, or move it away to start a new one".into()
            }
            StoreError::Full { .. } => {
                "free some space or use a database on another disk; the runs stored before are safe"
                    .into()
            }
            StoreError::Moved { path } => {
                format!("restore it, or create a new one with `modelmeter db init --db '{}'`", path.display())
            }
            StoreError::Writes => "only `SELECT` and similar statements are allowed".into(),
            StoreError::BadColumn { column, .. } => {
                format!("convert it to text: `CAST({column} AS TEXT)`")
            }
            StoreError::Spool { .. } => {
                "check the permissions of the folder and the free space".into()
            }
            StoreError::Locked { .. } => {
                "wait for the other process to finish and try again".into()
            }
            StoreError::NotFound { .. } => "`modelmeter runs list` shows the ids".into(),
            StoreError::Ambiguous { .. } => "give more digits of the id".into(),
            StoreError::BadTag { .. } => {
                "a tag is one to 100 characters without line breaks, not only spaces".into()
            }
            StoreError::Query { .. }
            | StoreError::BadQuery { .. }
            | StoreError::LeaseLost { .. }
            | StoreError::Duplicate { .. }
            | StoreError::Unstorable { .. } => return None,
        };
        Some(hint)
    }
}
