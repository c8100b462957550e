//! Where engines are looked for; only the command line reads arguments and environment, so it is handed in.
//!
//! The current folder is never among them: opening a model in a downloaded folder must not run that folder's code.

use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read},
    net::SocketAddr,
    path::PathBuf,
};

/// Where engines are looked for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Places {
    /// The Python interpreter whose packages count: the one given, the active environment's, or the first on the path.
    pub python: Option<PathBuf>,
    /// Libraries named outright, by engine: `onnxruntime` from `ORT_DYLIB_PATH`.
    pub libraries: BTreeMap<String, PathBuf>,
    /// Our own folder of installed engines, one folder an engine.
    pub installed: Option<PathBuf>,
    /// `node_modules` folders that the user named (`NODE_PATH`).
    pub node_modules: Vec<PathBuf>,
    /// Folders of the system's libraries.
    pub system: Vec<PathBuf>,
    /// Where a browser elsewhere opens a page, in the place of a browser that we start.
    pub page: Option<PageAddress>,
}

/// Where a page is served.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PageAddress {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// What the path of the page begins with; who does not know it gets nothing.
    pub secret: String,
}

/// The shortest secret that a user may choose.
const SHORTEST: usize = 8;

impl PageAddress {
    /// A page at this address, behind a secret that nobody guesses.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub fn fresh(listen: SocketAddr) -> io::Result<PageAddress> {
        let mut bytes = [0; 16];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let secret = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(PageAddress { listen, secret })
    }

    /// A page behind this secret; `None` if it is too short or does not go into an address as it is.
    #[must_use]
    pub fn behind(listen: SocketAddr, secret: &str) -> Option<PageAddress> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let is_good = secret.len() >= SHORTEST && secret.chars().all(is_plain);
        is_good.then(|| PageAddress { listen, secret: secret.to_owned() })
    }

    /// What a browser opens.
    #[must_use]
    pub fn url(&self, host: &str) -> String {
        format!("http://{host}:{}/{}/", self.listen.port(), self.secret)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ_and_a_bad_one_is_refused() {
        let listen = SocketAddr::from(([127, 0, 0, 1], 8790));
        let fresh = || PageAddress::fresh(listen).unwrap();
        assert_ne!(fresh(), fresh());
        assert_eq!(fresh().secret.len(), 32);
        for secret in ["", "short", "with/slash", "with space x", "ünïcödé-secret"] {
            assert_eq!(PageAddress::behind(listen, secret), None, "{secret}");
        }
        let page = PageAddress::behind(listen, "my-phone-1").unwrap();
        assert_eq!(page.url("example.org"), "http://example.org:8790/my-phone-1/");
    }
}
