//! One connection to a PostgreSQL server, made again when it was lost.

use crate::{
    StoreError, address::Address, failure::DatabaseError, link::Link, tls::Encryption, value::Value,
};
use futures_util::StreamExt;
use std::{collections::HashMap, pin::Pin, time::Duration};
use tokio_postgres::{Row, RowStream, Statement, types::ToSql};

/// More prepared statements than that are forgotten; lists with many different filters make many.
const STATEMENTS: usize = 256;

/// How long a statement may take beyond waiting for others: ours take milliseconds, and a server whose disk hangs answers
/// everybody else.
const STATEMENT_LIMIT: Duration = Duration::from_secs(60);

/// One connection to a PostgreSQL server.
pub(crate) struct Server {
    address: Address,
    encryption: Encryption,
    patience: Duration,
    link: Link,
    prepared: HashMap<String, Statement>,
    /// The most that a statement may take; `None` while something is done that may take hours.
    limit: Option<Duration>,
}

impl Server {
    /// Connects; waits at most `patience` for what others hold.
    pub(crate) fn connect(address: Address, patience: Duration) -> Result<Server, StoreError> {
        let encryption = Encryption::trusting(&address.trust)?;
        let link = connect(&address, &encryption, patience)
            .map_err(|error| error.at(&address.place, "connect"))?;
        let limit = Some(patience + STATEMENT_LIMIT);
        Ok(Server { address, encryption, patience, link, prepared: HashMap::new(), limit })
    }

    /// Lets statements take as long as they need, or no longer; a server that is frozen is noticed all the same.
    pub(crate) fn unhurried(&mut self, is_unhurried: bool) {
        self.limit = (!is_unhurried).then_some(self.patience + STATEMENT_LIMIT);
    }

    /// Begins a transaction with these statements, on a new connection where the old one was lost.
    ///
    /// Nothing was done yet, so asking twice does nothing twice.
    pub(crate) fn begin(&mut self, statements: &str) -> Result<(), DatabaseError> {
        if !self.link.is_closed() {
            match self.batch(statements) {
                // Whoever answers nobody does not answer the next one either.
                Err(error) if error.is_lost() && !error.is_silent() => {}
                Err(error) => {
                    // The transaction may have begun before what refused; an answer of no use is none.
                    let _ = self.batch("ROLLBACK");
                    return Err(error);
                }
                Ok(()) => return Ok(()),
            }
        }
        self.link = connect(&self.address, &self.encryption, self.patience)?;
        self.prepared.clear();
        self.batch(statements)
    }

    /// Runs statements without values.
    pub(crate) fn batch(&mut self, statements: &str) -> Result<(), DatabaseError> {
        self.link.ask(self.limit, async |client| client.batch_execute(statements).await)
    }

    /// Runs a statement; how many rows it changed.
    pub(crate) fn execute(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<u64, DatabaseError> {
        let statement = self.prepared(sql)?;
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(Value::for_server).collect();
        self.link.ask(self.limit, async |client| client.execute(&statement, &values).await)
    }

    /// The rows that a statement answers with, as they come.
    pub(crate) fn query(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<Rows<'_>, DatabaseError> {
        let statement = self.prepared(sql)?;
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(Value::for_server).collect();
        let stream = self.link.ask(self.limit, async |client| {
            client.query_raw(&statement, values.iter().copied()).await
        })?;
        Ok(Rows { link: &self.link, limit: self.limit, stream: Box::pin(stream) })
    }

    /// The statement as the server understood it.
    pub(crate) fn prepared(&mut self, sql: &str) -> Result<Statement, DatabaseError> {
        if let Some(statement) = self.prepared.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.link.ask(self.limit, async |client| client.prepare(sql).await)?;
        if self.prepared.len() >= STATEMENTS {
            self.prepared.clear();
        }
        self.prepared.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }
}

/// The rows of an answer, as they come.
pub(crate) struct Rows<'a> {
    link: &'a Link,
    limit: Option<Duration>,
    stream: Pin<Box<RowStream>>,
}

impl Rows<'_> {
    /// The next row; `None` after the last.
    pub(crate) fn next(&mut self) -> Result<Option<Row>, DatabaseError> {
        let stream = &mut self.stream;
        self.link.wait(self.limit, async { stream.next().await.transpose() })
    }
}

fn connect(
    address: &Address,
    encryption: &Encryption,
    patience: Duration,
) -> Result<Link, DatabaseError> {
    let link = Link::connect(address, encryption)?;
    // A commit is on the server's disk before we report it, even if the server is configured with `synchronous_commit` off.
    let settings = format!(
        "SET lock_timeout = {};
         SELECT set_config('synchronous_commit', 'on', false)
         WHERE current_setting('synchronous_commit') = 'off'",
        patience.as_millis().clamp(1, 86_400_000)
    );
    link.ask(Some(STATEMENT_LIMIT), async |client| client.batch_execute(&settings).await)?;
    Ok(link)
}
