//! One request and its answer.

use crate::{
    answer::{AnswerReader, Failure},
    clock::Clock,
    connection::{ConnectError, Connection, Destination},
};
use std::cell::Cell;
use types::RequestOutcome;

/// A request on its way.
pub(crate) struct Exchange<'a> {
    /// Its bytes.
    pub(crate) request: &'a [u8],
    /// How many of them the system has already.
    pub(crate) written: usize,
    /// When the first of them was handed to it.
    pub(crate) sent: &'a Cell<Option<u64>>,
    pub(crate) clock: Clock,
    pub(crate) destination: &'a Destination,
    /// Counts connections that are opened.
    pub(crate) connections: &'a Cell<u64>,
}

impl Exchange<'_> {
    /// Sends what is left of the request and reads the answer; when it ended, and the connection if it can be used again.
    ///
    /// A server may close a connection that it had kept just when the request goes out. Where not one byte of an answer has come
    /// on a connection that was used before, the request is sent once more on a new one, as every client does.
    pub(crate) async fn run(
        mut self,
        mut kept: Option<Connection>,
        reader: &mut AnswerReader,
    ) -> Result<(u64, Option<Connection>), Failure> {
        loop {
            let mut connection = match kept.take() {
                Some(connection) => connection,
                None => self.connect().await?,
            };
            let was_used = connection.used > 0;
            match self.once(&mut connection, reader).await {
                Ok(ended) => {
                    connection.used += 1;
                    return Ok((ended, reader.keeps_connection().then_some(connection)));
                }
                Err(failure) => {
                    let again = was_used
                        && failure.outcome == RequestOutcome::Closed
                        && reader.is_untouched();
                    if !again {
                        return Err(failure);
                    }
                    self.written = 0;
                }
            }
        }
    }

    async fn connect(&self) -> Result<Connection, Failure> {
        self.connections.set(self.connections.get() + 1);
        self.destination.connect().await.map_err(|error| match error {
            ConnectError::Refused(error) => {
                Failure::new(RequestOutcome::Connect, error.to_string())
            }
            ConnectError::Tls(error) => Failure::new(RequestOutcome::Tls, error.to_string()),
        })
    }

    async fn once(
        &self,
        connection: &mut Connection,
        reader: &mut AnswerReader,
    ) -> Result<u64, Failure> {
        if self.sent.get().is_none() {
            self.sent.set(Some(self.clock.now()));
        }
        let closed =
            |error: std::io::Error| Failure::new(RequestOutcome::Closed, error.to_string());
        let rest = self.request.get(self.written..).unwrap_or_default();
        if !rest.is_empty() {
            connection.write_all(rest).await.map_err(closed)?;
        }
        let mut buffer = Vec::new();
        loop {
            let (count, at) = connection.read(&mut buffer, self.clock).await.map_err(closed)?;
            let is_whole = match count {
                0 => {
                    reader.close()?;
                    true
                }
                count => reader.feed(&buffer[..count], at)?,
            };
            if is_whole {
                reader.conclude(at)?;
                return Ok(at);
            }
        }
    }
}
