//! A connection to a server, plain or encrypted. Every read says when it returned.

use crate::{
    clock::Clock,
    tls::{Encrypted, Encryption, socket},
};
use std::{future::poll_fn, io, net::SocketAddr, pin::Pin, task::Poll};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

/// The most bytes of one read.
const PART: usize = 16 << 10;

/// Where connections go.
#[derive(Clone)]
pub(crate) struct Destination {
    pub(crate) addresses: Vec<SocketAddr>,
    pub(crate) encryption: Option<Encryption>,
}

/// Why there is no connection.
#[derive(Debug)]
pub(crate) enum ConnectError {
    Refused(io::Error),
    Tls(io::Error),
}

enum Stream {
    Plain(TcpStream),
    Encrypted(Box<Encrypted>),
}

/// A connection.
pub(crate) struct Connection {
    stream: Stream,
    /// Requests that were answered on it.
    pub(crate) used: u64,
}

impl Destination {
    /// Connects to the first number that answers.
    pub(crate) async fn connect(&self) -> Result<Connection, ConnectError> {
        let mut refused = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
        for address in &self.addresses {
            match TcpStream::connect(address).await {
                Ok(stream) => return self.greet(stream).await,
                Err(error) => refused = error,
            }
        }
        Err(ConnectError::Refused(refused))
    }

    async fn greet(&self, stream: TcpStream) -> Result<Connection, ConnectError> {
        stream.set_nodelay(true).map_err(ConnectError::Refused)?;
        let stream = match &self.encryption {
            None => Stream::Plain(stream),
            Some(encryption) => {
                let encrypted = encryption.greet(stream).await;
                Stream::Encrypted(Box::new(encrypted.map_err(ConnectError::Tls)?))
            }
        };
        Ok(Connection { stream, used: 0 })
    }
}

impl Connection {
    fn pinned(&mut self) -> Pin<&mut (dyn ReadWrite + '_)> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::<&mut TcpStream>::new(stream),
            Stream::Encrypted(stream) => Pin::<&mut Encrypted>::new(stream),
        }
    }

    /// Whether the server has closed it, or said something that nobody asked for.
    pub(crate) fn is_stale(&self) -> bool {
        let socket = match &self.stream {
            Stream::Plain(stream) => stream,
            // What nobody asked for, and waits to be read with the first answer: tickets of the session (TLS 1.3).
            Stream::Encrypted(_) if self.used == 0 => return false,
            Stream::Encrypted(stream) => socket(stream),
        };
        let mut byte = [0u8; 1];
        // Nothing to read is what a quiet connection says.
        !matches!(socket.try_read(&mut byte), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Writes as much as the system takes at once, without waiting; a request that is small is gone whole.
    pub(crate) fn write_now(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Stream::Plain(stream) = &mut self.stream else { return Ok(0) };
        match stream.try_write(bytes) {
            Ok(written) => Ok(written),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Writes everything.
    pub(crate) async fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = poll_fn(|context| self.pinned().poll_write(context, bytes)).await?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            bytes = &bytes[written..];
        }
        poll_fn(|context| self.pinned().poll_flush(context)).await
    }

    /// Reads what there is: how many bytes (0 at the end), and when.
    pub(crate) async fn read(
        &mut self,
        into: &mut Vec<u8>,
        clock: Clock,
    ) -> io::Result<(usize, u64)> {
        into.resize(PART, 0);
        poll_fn(|context| {
            let mut buffer = ReadBuf::new(into);
            match self.pinned().poll_read(context, &mut buffer) {
                Poll::Ready(Ok(())) => Poll::Ready(Ok((buffer.filled().len(), clock.now()))),
                Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }
}

trait ReadWrite: AsyncRead + AsyncWrite {}
impl<T: AsyncRead + AsyncWrite> ReadWrite for T {}
