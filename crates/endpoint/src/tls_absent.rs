//! Built without the feature `network`: only plain connections.

use std::{convert::Infallible, io};
use tokio::net::TcpStream;

/// Never made.
pub(crate) type Encrypted = TcpStream;

/// None.
#[derive(Clone)]
pub(crate) struct Encryption(Infallible);

impl Encryption {
    /// Refuses.
    pub(crate) fn of(_host: &str) -> Result<Encryption, String> {
        Err("this build cannot encrypt: it lacks the feature `network`".into())
    }

    /// Never called.
    pub(crate) async fn greet(&self, _stream: TcpStream) -> io::Result<Encrypted> {
        match self.0 {}
    }
}

/// The connection itself.
pub(crate) fn socket(stream: &Encrypted) -> &TcpStream {
    stream
}
