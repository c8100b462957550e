//! One answer to one question, outside of any load: what a server says of itself.

use crate::{
    Address, HttpError, ResponseDecoder,
    clock::Clock,
    connection::{ConnectError, Destination},
    job::{Content, Target},
    tls::Encryption,
};
use std::{io, time::Duration};
use types::Protocol;

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// 200, 404.
    pub status: u16,
    /// What the body is.
    pub content_type: String,
    /// The body.
    pub body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The host is not known.
    #[error("the name `{host}` is not known")]
    Name {
        /// The host.
        host: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// No connection.
    #[error("no connection to {address}")]
    Connect {
        /// The address.
        address: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// No encryption.
    #[error("no encrypted connection to {address}: {why}")]
    Tls {
        /// The address.
        address: String,
        /// Why.
        why: String,
    },
    /// It took too long.
    #[error("no answer from {address} within {} s", limit.as_secs_f64())]
    Timeout {
        /// The address.
        address: String,
        /// How long it may take.
        limit: Duration,
    },
    /// It is no answer.
    #[error("{address} does not answer as HTTP does")]
    Http {
        /// The address.
        address: String,
        /// Why.
        #[source]
        source: HttpError,
    },
    /// It is too large.
    #[error("the answer from {address} is larger than {} MiB", most >> 20)]
    TooLarge {
        /// The address.
        address: String,
        /// How large it may be.
        most: usize,
    },
    /// The system.
    #[error("no network")]
    System(#[source] io::Error),
}

/// Asks for what is at an address. Redirects are answers like others: nobody follows them.
///
/// # Errors
/// Where no whole answer comes in time.
pub fn fetch(
    address: &Address,
    headers: &[(String, String)],
    limit: Duration,
    most: usize,
) -> Result<Fetched, FetchError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(FetchError::System)?;
    runtime.block_on(async {
        let fetched = tokio::time::timeout(limit, fetch_now(address, headers, most)).await;
        fetched.unwrap_or_else(|_| Err(FetchError::Timeout { address: address.to_string(), limit }))
    })
}

async fn fetch_now(
    address: &Address,
    headers: &[(String, String)],
    most: usize,
) -> Result<Fetched, FetchError> {
    let shown = || address.to_string();
    let addresses = address
        .resolve()
        .map_err(|source| FetchError::Name { host: address.host.clone(), source })?;
    let encryption = match address.encrypted {
        true => Some(
            Encryption::of(&address.host)
                .map_err(|why| FetchError::Tls { address: shown(), why })?,
        ),
        false => None,
    };
    let connected = Destination { addresses, encryption }.connect().await;
    let mut connection = connected.map_err(|error| match error {
        ConnectError::Refused(source) => FetchError::Connect { address: shown(), source },
        ConnectError::Tls(error) => FetchError::Tls { address: shown(), why: error.to_string() },
    })?;
    let target = Target {
        address: address.clone(),
        protocol: Protocol::Http,
        streaming: false,
        headers: headers.to_vec(),
    };
    let broken = |source| FetchError::Connect { address: shown(), source };
    connection.write_all(&target.request(&Content::default())).await.map_err(broken)?;
    let clock = Clock::started();
    let mut decoder = ResponseDecoder::new();
    let (mut body, mut buffer) = (Vec::new(), Vec::new());
    let unlike = |source| FetchError::Http { address: shown(), source };
    while !decoder.is_done() {
        let (count, _) = connection.read(&mut buffer, clock).await.map_err(broken)?;
        if count == 0 {
            decoder.finish().map_err(unlike)?;
            break;
        }
        let mut hear = |_: &crate::Head, part: &[u8]| body.extend_from_slice(part);
        decoder.feed(&buffer[..count], &mut hear).map_err(unlike)?;
        if body.len() > most {
            return Err(FetchError::TooLarge { address: shown(), most });
        }
    }
    let head = decoder.head().cloned().unwrap_or_default();
    Ok(Fetched { status: head.status, content_type: head.content_type, body })
}
