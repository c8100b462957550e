//! Encryption between us and a server: the public authorities, nobody else.

use std::sync::Arc;
use tokio_rustls::{
    TlsConnector,
    rustls::{ClientConfig, RootCertStore, crypto::ring, pki_types::ServerName},
};

/// Makes encrypted connections to one server.
#[derive(Clone)]
pub(crate) struct Encryption {
    pub(crate) connector: TlsConnector,
    pub(crate) name: ServerName<'static>,
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
}
