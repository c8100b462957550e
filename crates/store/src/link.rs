//! A connection to a server whose every answer is waited for by the clock.
//!
//! A server that is frozen (stopped, swapped out, behind a network that swallows everything) keeps its connections open
//! and says nothing; the system notices nothing either, because its kernel still acknowledges what we send. So after some
//! silence somebody else knocks: a server that lives lets them in, and then its answer is waited for on.

use crate::{
    address::Address,
    failure::{DatabaseError, ServerError},
    tls::Encryption,
};
use std::{
    cell::Cell,
    future::Future,
    pin::pin,
    time::{Duration, Instant},
};
use tokio::{
    runtime::{Builder, Runtime},
    task::JoinHandle,
    time::timeout,
};
use tokio_postgres::{Client, Error};

/// How long saying goodbye may take.
const GOODBYE: Duration = Duration::from_millis(200);

/// A connection with what drives it.
pub(crate) struct Link {
    address: Address,
    encryption: Encryption,
    client: Option<Client>,
    driver: Option<JoinHandle<()>>,
    /// Only ever `None` while it is dropped.
    runtime: Option<Runtime>,
    /// Whether an answer stayed out: what the server does with the question is not known any more.
    is_dead: Cell<bool>,
}

impl Link {
    /// Connects and logs in, within the time that the address gives.
    pub(crate) fn connect(
        address: &Address,
        encryption: &Encryption,
    ) -> Result<Link, DatabaseError> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| {
            DatabaseError::Server(ServerError::plain(format!(
                "no connection can be driven: {error}"
            )))
        })?;
        let connected = runtime.block_on(async {
            let connecting = address.config.connect(encryption.clone());
            timeout(address.connect_limit(), connecting).await
        });
        let mut link = Link {
            address: address.clone(),
            encryption: encryption.clone(),
            client: None,
            driver: None,
            runtime: Some(runtime),
            is_dead: Cell::new(false),
        };
        let (client, connection) = connected.map_err(|_| silence(address.connect_limit()))??;
        link.client = Some(client);
        link.driver = link.runtime.as_ref().map(|runtime| {
            runtime.spawn(async move {
                // What is wrong with it is told to whoever asks something.
                let _ = connection.await;
            })
        });
        Ok(link)
    }

    /// Whether nothing can be asked any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_dead.get() || self.client.as_ref().is_none_or(Client::is_closed)
    }

    /// Asks, and waits for the answer; at most for `limit`, and no longer than the server shows that it lives.
    pub(crate) fn ask<T>(
        &self,
        limit: Option<Duration>,
        question: impl AsyncFnOnce(&Client) -> Result<T, Error>,
    ) -> Result<T, DatabaseError> {
        match &self.client {
            Some(client) if !self.is_dead.get() => self.wait(limit, question(client)),
            _ => Err(DatabaseError::Server(ServerError::lost("the connection is closed".into()))),
        }
    }

    /// Waits for more of an answer, as [`Link::ask`] does.
    pub(crate) fn wait<T>(
        &self,
        limit: Option<Duration>,
        answer: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, DatabaseError> {
        let Some(runtime) = &self.runtime else {
            return Err(DatabaseError::Server(ServerError::lost(
                "the connection is closed".into(),
            )));
        };
        let begin = Instant::now();
        runtime.block_on(async {
            let mut answer = pin!(answer);
            loop {
                if let Ok(answered) = timeout(self.address.connect_limit(), answer.as_mut()).await {
                    return Ok(answered?);
                }
                let is_late = limit.is_some_and(|limit| begin.elapsed() >= limit);
                if !is_late && self.is_alive().await {
                    continue;
                }
                // It may have come while somebody else knocked.
                if let Ok(answered) = timeout(Duration::ZERO, answer.as_mut()).await {
                    return Ok(answered?);
                }
                self.is_dead.set(true);
                return Err(silence(begin.elapsed()));
            }
        })
    }

    /// Whether the server answers somebody else. A refusal is an answer.
    async fn is_alive(&self) -> bool {
        let knock = async {
            let connected = self.address.config.connect(self.encryption.clone()).await;
            let Ok((client, connection)) = connected else {
                // Refused, or nobody listens: then our own connection breaks by itself.
                return;
            };
            let driver = tokio::spawn(async move {
                let _ = connection.await;
            });
            // One in between may let us in where the server behind it is frozen.
            let _ = client.batch_execute("SELECT 1").await;
            drop(client);
            driver.abort();
        };
        timeout(self.address.connect_limit(), knock).await.is_ok()
    }
}

fn silence(waited: Duration) -> DatabaseError {
    let seconds = waited.as_secs_f64().round().max(1.0);
    DatabaseError::Server(ServerError::silent(format!("no answer for {seconds} s")))
}

impl Drop for Link {
    fn drop(&mut self) {
        drop(self.client.take());
        let Some(runtime) = self.runtime.take() else { return };
        if let Some(driver) = self.driver.take().filter(|_| !self.is_dead.get()) {
            // Without a goodbye the server would write into its log that we vanished; nobody waits long for that.
            let _ = runtime.block_on(async { timeout(GOODBYE, driver).await });
        }
        // A name that is still being looked up must not hold us.
        runtime.shutdown_background();
    }
}
