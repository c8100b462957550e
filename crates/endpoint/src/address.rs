//! Where a served model is: `http://127.0.0.1:8080/v1`.

use serde::{Deserialize, Serialize};
use std::{
    fmt,
    net::{IpAddr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket},
    str::FromStr,
};

/// An address of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// Whether the connection is encrypted.
    pub encrypted: bool,
    /// A name or a number, without the brackets of IPv6.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The path with the query, at least `/`.
    pub path: String,
}

/// A text that is no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{address}` is not an address of a server: {why}")]
pub struct AddressError {
    address: String,
    why: &'static str,
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Address, AddressError> {
        let wrong = |why| AddressError { address: without_secrets(text), why };
        let (scheme, rest) = text
            .split_once("://")
            .ok_or_else(|| wrong("it has to begin with http:// or https://"))?;
        let encrypted = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            _ => return Err(wrong("it has to begin with http:// or https://")),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if authority.contains('@') {
            return Err(wrong("a name and a password do not belong into it; use `--key-env`"));
        }
        let path = path.split('#').next().unwrap_or_default();
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        if path.chars().chain(authority.chars()).any(|c| c.is_whitespace() || c.is_control()) {
            return Err(wrong("it contains a space"));
        }
        if !path.is_ascii() {
            return Err(wrong("write characters beyond ASCII as %XX"));
        }
        let (host, port) =
            split_port(authority).ok_or_else(|| wrong("its port is not a number"))?;
        if host.is_empty() {
            return Err(wrong("it has no host"));
        }
        let port = port.unwrap_or(if encrypted { 443 } else { 80 });
        Ok(Address { encrypted, host: host.to_owned(), port, path })
    }
}

/// What people may see: a password in an address is cut out.
fn without_secrets(text: &str) -> String {
    match (text.split_once("://"), text.find('@')) {
        (Some((scheme, _)), Some(at)) => format!("{scheme}://…{}", &text[at..]),
        _ => text.to_owned(),
    }
}

fn split_port(authority: &str) -> Option<(&str, Option<u16>)> {
    if let Some(inner) = authority.strip_prefix('[') {
        let (host, rest) = inner.split_once(']')?;
        host.parse::<Ipv6Addr>().ok()?;
        return match rest.strip_prefix(':') {
            Some(port) => Some((host, Some(port.parse().ok()?))),
            None => rest.is_empty().then_some((host, None)),
        };
    }
    match authority.split_once(':') {
        Some((host, port)) => Some((host, Some(port.parse().ok().filter(|port| *port > 0)?))),
        None => Some((authority, None)),
    }
}

impl Address {
    /// The same server with another path.
    #[must_use]
    pub fn with_path(&self, path: &str) -> Address {
        Address { path: path.to_owned(), ..self.clone() }
    }

    /// The path without the query.
    #[must_use]
    pub fn bare_path(&self) -> &str {
        self.path.split('?').next().unwrap_or_default()
    }

    /// Host and port as they stand in a request.
    #[must_use]
    pub fn authority(&self) -> String {
        let host = match self.host.contains(':') {
            true => format!("[{}]", self.host),
            false => self.host.clone(),
        };
        let usual = if self.encrypted { 443 } else { 80 };
        if self.port == usual { host } else { format!("{host}:{}", self.port) }
    }

    /// The numbers of the host.
    ///
    /// # Errors
    /// Where the name is not known.
    pub fn resolve(&self) -> std::io::Result<Vec<SocketAddr>> {
        Ok((self.host.as_str(), self.port).to_socket_addrs()?.collect())
    }
}

/// Whether every one of these numbers is this machine: a loopback, or a number that one of its own devices has.
#[must_use]
pub fn is_local(addresses: &[SocketAddr]) -> bool {
    // A socket can be bound only to a number of this machine; nothing is sent.
    let is_own =
        |ip: IpAddr| ip.is_loopback() || (!ip.is_unspecified() && UdpSocket::bind((ip, 0)).is_ok());
    !addresses.is_empty() && addresses.iter().all(|address| is_own(address.ip()))
}

impl fmt::Display for Address {
    /// Without the query, in which keys can stand.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.encrypted { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority(), self.bare_path())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_with_their_parts() {
        for (text, encrypted, host, port, path) in [
            ("http://localhost", false, "localhost", 80, "/"),
            ("http://127.0.0.1:8080/v1", false, "127.0.0.1", 8080, "/v1"),
            (
                "HTTPS://api.example.com/v1/chat?x=1#top",
                true,
                "api.example.com",
                443,
                "/v1/chat?x=1",
            ),
            ("http://[::1]:9000", false, "::1", 9000, "/"),
            ("http://host?q=1", false, "host", 80, "/?q=1"),
        ] {
            let found: Address = text.parse().unwrap();
            let parts = (found.encrypted, found.host.as_str(), found.port, found.path.as_str());
            assert_eq!(parts, (encrypted, host, port, path), "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_told_why() {
        for (text, told) in [
            ("localhost:8080", "http://"),
            ("ftp://x", "http://"),
            ("http://", "no host"),
            ("http://x:y", "port"),
            ("http://x:0", "port"),
            ("http://x:99999", "port"),
            ("http://a b/", "space"),
            ("http://x/ä", "%XX"),
            ("http://[::1", "port"),
            ("http://user:secret@x/", "--key-env"),
        ] {
            let error = text.parse::<Address>().unwrap_err().to_string();
            assert!(error.contains(told), "{text}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn what_people_see_has_no_query() {
        let address: Address = "http://127.0.0.1:8080/v1?key=secret".parse().unwrap();
        assert_eq!(address.to_string(), "http://127.0.0.1:8080/v1");
        assert_eq!(address.with_path("/v2").to_string(), "http://127.0.0.1:8080/v2");
        let six: Address = "http://[::1]:80/".parse().unwrap();
        assert_eq!(six.authority(), "[::1]");
    }

    #[test]
    fn only_this_machine_is_local() {
        let local = |text: &str| is_local(&[text.parse().unwrap()]);
        assert!(local("127.0.0.1:80") && local("[::1]:80"));
        assert!(!local("192.0.2.1:80"), "a number that is only for documents");
        assert!(!is_local(&[]));
    }
}
