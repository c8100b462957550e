//! Encryption between us and a server: the public authorities, nobody else.

use std::{io, sync::Arc};
use tokio::net::TcpStream;
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{ClientConfig, RootCertStore, crypto::ring, pki_types::ServerName},
};

/// An encrypted connection.
pub(crate) type Encrypted = TlsStream<TcpStream>;

/// Makes encrypted connections to one server.
#[derive(Clone)]
pub(crate) struct Encryption {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl Encryption {
    /// For the server of this name.
    pub(crate) fn of(host: &str) -> Result<Encryption, String> {
        let name = ServerName::try_from(host.to_owned()).map_err(|error| error.to_string())?;
        let roots = RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let config = builder.with_root_certificates(roots).with_no_client_auth();
        Ok(Encryption { connector: TlsConnector::from(Arc::new(config)), name })
    }

    /// Encrypts what is sent over a connection.
    pub(crate) async fn greet(&self, stream: TcpStream) -> io::Result<Encrypted> {
        self.connector.connect(self.name.clone(), stream).await
    }
}

/// The connection underneath.
pub(crate) fn socket(stream: &Encrypted) -> &TcpStream {
    stream.get_ref().0
}
