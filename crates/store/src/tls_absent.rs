//! Built without the feature `network`: connections to a server are not encrypted.

use crate::{StoreError, address::Trust};
use tokio_postgres::{
    NoTls,
    tls::{MakeTlsConnect, NoTlsError, NoTlsStream},
};

/// None.
#[derive(Clone)]
pub(crate) struct Encryption;

impl Encryption {
    /// Where encryption is asked for, there is no connection.
    pub(crate) fn trusting(trust: &Trust) -> Result<Encryption, StoreError> {
        match trust {
            Trust::Anyone => Ok(Encryption),
            Trust::Public | Trust::File(_) => Err(StoreError::BadAddress {
                why: "this build cannot encrypt: it lacks the feature `network`".into(),
            }),
        }
    }
}

impl<S> MakeTlsConnect<S> for Encryption {
    type Stream = NoTlsStream;
    type TlsConnect = NoTls;
    type Error = NoTlsError;

    fn make_tls_connect(&mut self, _host: &str) -> Result<NoTls, NoTlsError> {
        Ok(NoTls)
    }
}
