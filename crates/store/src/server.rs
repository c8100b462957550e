//! One connection to a PostgreSQL server, made again when it was lost.

use crate::{StoreError, address::Address, failure::DatabaseError, tls::Encryption, value::Value};
use postgres::{Client, RowIter, Statement, types::ToSql};
use std::{collections::HashMap, time::Duration};

/// More prepared statements than that are forgotten; lists with many different filters make many.
const STATEMENTS: usize = 256;

/// One connection to a PostgreSQL server.
pub(crate) struct Server {
    address: Address,
    encryption: Encryption,
    patience: Duration,
    client: Client,
    prepared: HashMap<String, Statement>,
}

impl Server {
    /// Connects; waits at most `patience` for what others hold.
    pub(crate) fn connect(address: Address, patience: Duration) -> Result<Server, StoreError> {
        let encryption = Encryption::trusting(&address.trust)?;
        let client = connect(&address, &encryption, patience)
            .map_err(|error| error.at(&address.place, "connect"))?;
        Ok(Server { address, encryption, patience, client, prepared: HashMap::new() })
    }

    /// Begins a transaction with these statements, on a new connection where the old one was lost.
    ///
    /// Nothing was done yet, so asking twice does nothing twice.
    pub(crate) fn begin(&mut self, statements: &str) -> Result<(), DatabaseError> {
        if !self.client.is_closed() {
            match self.batch(statements) {
                Err(error) if error.is_lost() => {}
                Err(error) => {
                    // The transaction may have begun before what refused; an answer of no use is none.
                    let _ = self.batch("ROLLBACK");
                    return Err(error);
                }
                Ok(()) => return Ok(()),
            }
        }
        self.client = connect(&self.address, &self.encryption, self.patience)?;
        self.prepared.clear();
        self.batch(statements)
    }

    /// Runs statements without values.
    pub(crate) fn batch(&mut self, statements: &str) -> Result<(), DatabaseError> {
        Ok(self.client.batch_execute(statements)?)
    }

    /// Runs a statement; how many rows it changed.
    pub(crate) fn execute(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<u64, DatabaseError> {
        let statement = self.prepared(sql)?;
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(Value::for_server).collect();
        Ok(self.client.execute(&statement, &values)?)
    }

    /// The rows that a statement answers with, as they come.
    pub(crate) fn query(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<RowIter<'_>, DatabaseError> {
        let statement = self.prepared(sql)?;
        Ok(self.client.query_raw(&statement, values.iter().map(Value::for_server))?)
    }

    /// The statement as the server understood it.
    pub(crate) fn prepared(&mut self, sql: &str) -> Result<Statement, DatabaseError> {
        if let Some(statement) = self.prepared.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(sql)?;
        if self.prepared.len() >= STATEMENTS {
            self.prepared.clear();
        }
        self.prepared.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }
}

fn connect(
    address: &Address,
    encryption: &Encryption,
    patience: Duration,
) -> Result<Client, DatabaseError> {
    let mut client = address.config.connect(encryption.clone())?;
    // A commit is on the server's disk before we say so, also where its keeper has chosen speed.
    client.batch_execute(&format!(
        "SET lock_timeout = {};
         SELECT set_config('synchronous_commit', 'on', false)
         WHERE current_setting('synchronous_commit') = 'off'",
        patience.as_millis().clamp(1, 86_400_000)
    ))?;
    Ok(client)
}
