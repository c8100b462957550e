//! Where a database is: a file, or a server with what it takes to talk to it.

use crate::StoreError;
use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio_postgres::config::{Config, Host, SslMode};

/// The beginnings of a server's address.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// What settings in the other form of an address (`host=… password=…`) begin with.
const SETTINGS: [&str; 8] =
    ["host", "hostaddr", "port", "dbname", "user", "password", "service", "sslmode"];

/// What is wrong with an address that was copied with its surroundings.
const SPACE: &str = "there is a space or a line break before or after it";

/// How long the first contact may take where the address does not say `connect_timeout`; a server further away than that is
/// not there.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a silent connection is believed in: a measurement may lie between two runs, a dead server must be noticed.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// Whom to trust on an encrypted connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Anybody: encrypted where the server can, as `sslmode=prefer` means everywhere.
    Anyone,
    /// Whom the public authorities vouch for.
    Public,
    /// Whom the authorities in this file vouch for.
    File(PathBuf),
}

/// A server's address, taken apart.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    pub(crate) config: Config,
    pub(crate) trust: Trust,
    /// The address without its secrets, to be shown.
    pub(crate) place: PathBuf,
}

/// Whether this names a server rather than a file.
#[must_use]
pub fn is_server(location: &Path) -> bool {
    location.to_str().is_some_and(|text| SCHEMES.iter().any(|scheme| text.starts_with(scheme)))
}

/// The database as it may be shown: a server's address without its password, a file as it is, and of what is neither nothing.
#[must_use]
pub fn shown(location: &Path) -> PathBuf {
    match is_server(location) {
        true => Address::parse(location)
            .map_or_else(|_| PathBuf::from("postgres://"), |found| found.place),
        false if check_location(location).is_err() => PathBuf::from("not understood"),
        false => location.to_owned(),
    }
}

/// Refuses what is meant as a server's address and is not understood: as the name of a file it would make folders that are
/// called like a password. What is there already is a path, whatever it is called.
///
/// # Errors
/// [`StoreError::BadAddress`], which repeats nothing of it but a scheme.
pub fn check_location(location: &Path) -> Result<(), StoreError> {
    if is_server(location) {
        return Address::parse(location).map(|_| ());
    }
    if fs::symlink_metadata(location).is_ok() {
        return Ok(());
    }
    let text = location.to_string_lossy();
    match misread(&text, location) {
        Some(why) => Err(StoreError::BadAddress { why }),
        None => Ok(()),
    }
}

/// Why a location that is no server is no new file either.
fn misread(text: &str, location: &Path) -> Option<String> {
    let trimmed = text.trim();
    if trimmed.len() < text.len() && is_server(Path::new(trimmed)) {
        return Some(SPACE.into());
    }
    if let Some((scheme, _)) = trimmed.split_once("://") {
        let is_word =
            |c: char| c.is_ascii_alphanumeric() || c == '+' || c == '-' || c == '.' || c == '_';
        // Only a scheme: what else stands before it may be a secret.
        let named = !scheme.is_empty() && scheme.len() <= 32 && scheme.chars().all(is_word);
        let with = if named { format!(", not with `{scheme}://`") } else { String::new() };
        return Some(format!("a server's begins with `postgres://`{with}"));
    }
    if trimmed.get(..5).is_some_and(|begin| begin.eq_ignore_ascii_case("jdbc:")) {
        return Some("a server's begins with `postgres://`, not with `jdbc:`".into());
    }
    let lower = trimmed.to_ascii_lowercase();
    let first = lower.split('=').next().filter(|first| first.len() < lower.len());
    if first.is_some_and(|first| SETTINGS.contains(&first.trim())) || lower.contains("password=") {
        return Some("settings in the form `host=… password=…` are not supported".into());
    }
    // A folder may be called so; a file that we would make, or folders for it, may not.
    let with_sign = location
        .ancestors()
        .find(|part| part.file_name().is_some_and(|name| name.to_string_lossy().contains('@')))?;
    let is_folder = with_sign != location && with_sign.is_dir();
    (!is_folder).then(|| "it has an `@`, but does not begin with `postgres://`".into())
}

impl Address {
    pub(crate) fn parse(location: &Path) -> Result<Address, StoreError> {
        let bad = |why: &str| StoreError::BadAddress { why: why.to_owned() };
        let text = location.to_str().ok_or_else(|| bad("it is not valid Unicode"))?;
        if text.trim() != text {
            return Err(bad(SPACE));
        }
        // A second one would make the end of a password a part of the host, and so be shown.
        if text.matches('@').count() > 1 {
            return Err(bad("it has more than one `@`; in a name or password, write `%40`"));
        }
        // Otherwise the beginning of a password would be taken for the user, and be shown.
        let credentials = text.split_once("://").and_then(|(_, rest)| rest.split_once('@'));
        if credentials.is_some_and(|(credentials, _)| credentials.contains(['/', '?', '#'])) {
            return Err(bad(
                "there is a `/`, `?` or `#` before the `@`; in a name or password, write `%2F`, `%3F` and `%23`",
            ));
        }
        let (base, parameters) = text.split_once('?').unwrap_or((text, ""));
        let mut kept = Vec::new();
        let (mut mode, mut authorities) = (None, None);
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            match parameter.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value),
                Some(("sslrootcert", value)) => authorities = Some(decode(value)),
                _ => kept.push(parameter),
            }
        }
        let address = format!("{base}?{}", kept.join("&"));
        let mut config: Config = address.parse().map_err(|error: tokio_postgres::Error| {
            // The reason names the option at fault, never what was given for it.
            let reason = std::error::Error::source(&error).map(ToString::to_string);
            bad(&reason.unwrap_or_else(|| error.to_string()))
        })?;
        let trust = match (mode.unwrap_or("prefer"), authorities) {
            ("disable" | "prefer", _) => Trust::Anyone,
            ("require" | "verify-full", Some(file)) if file != "system" => Trust::File(file.into()),
            ("require" | "verify-full", _) => Trust::Public,
            _ => {
                return Err(bad(
                    "`sslmode` is one of `disable`, `prefer`, `require` and `verify-full`",
                ));
            }
        };
        config.ssl_mode(match mode {
            Some("disable") => SslMode::Disable,
            None | Some("prefer") => SslMode::Prefer,
            _ => SslMode::Require,
        });
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(bad("it has no host"));
        }
        if config.get_user().is_none() {
            return Err(bad("it has no user"));
        }
        if config.get_application_name().is_none() {
            config.application_name("modelmeter");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        config
            .keepalives_idle(KEEPALIVE)
            .keepalives_interval(KEEPALIVE / 3)
            .keepalives_retries(3)
            .tcp_user_timeout(KEEPALIVE);
        let place = place_of(&config);
        Ok(Address { config, trust, place })
    }
}

impl Address {
    /// How long logging in may take, and any other answer before it is asked whether the server lives.
    pub(crate) fn connect_limit(&self) -> Duration {
        let one = self.config.get_connect_timeout().copied().unwrap_or(CONNECT_TIMEOUT);
        let hosts = self.config.get_hosts().len().max(self.config.get_hostaddrs().len()).max(1);
        one * u32::try_from(hosts).unwrap_or(1)
    }
}

/// The address without password and parameters.
fn place_of(config: &Config) -> PathBuf {
    let ports = config.get_ports();
    let hosts = config.get_hosts().iter().enumerate().map(|(index, host)| {
        let port = ports.get(index).or(ports.first()).copied().unwrap_or(5432);
        let host = match host {
            Host::Tcp(name) if name.contains(':') => format!("[{name}]"),
            Host::Tcp(name) => name.clone(),
            Host::Unix(folder) => folder.display().to_string().replace('/', "%2F"),
        };
        if port == 5432 { host } else { format!("{host}:{port}") }
    });
    let hosts = hosts.collect::<Vec<_>>().join(",");
    let user = config.get_user().unwrap_or_default();
    let database = config.get_dbname().unwrap_or(user);
    PathBuf::from(format!("postgres://{user}@{hosts}/{database}"))
}

/// Text of an address with its `%2F` turned back.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let digits = tail.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
        match digits.and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            Some(value) if byte == b'%' => {
                bytes.push(value);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(byte);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Address, StoreError> {
        Address::parse(Path::new(text))
    }

    #[test]
    fn an_address_is_shown_without_its_password() {
        for (given, shown) in [
            ("postgres://ann:s3cret@db.example/runs", "postgres://ann@db.example/runs"),
            ("postgresql://ann:s3c%40ret@db:6543", "postgres://ann@db:6543/ann"),
            ("postgres://ann:s3cret@[::1]/runs?sslmode=disable", "postgres://ann@[::1]/runs"),
            ("postgres://ann@%2Frun%2Fpg/runs?password=s3cret", "postgres://ann@%2Frun%2Fpg/runs"),
        ] {
            let address = parse(given).unwrap();
            assert_eq!(address.place.to_str(), Some(shown));
            assert!(!format!("{address:?}").contains("s3c"), "{address:?}");
        }
    }

    #[test]
    fn a_wrong_address_says_what_is_wrong_and_keeps_the_secret() {
        for (given, word) in [
            ("postgres://ann:s3cret@s3cret@db/runs", "%40"),
            ("postgres://ann:s3cret@db:notaport/runs", "port"),
            ("postgres://ann:s3cret@db/runs?sslmode=maybe", "sslmode"),
            ("postgres://ann:s3cret@db/runs?colour=red", "colour"),
            ("postgres://ann:s3cret@/runs", "no host"),
            ("postgres://db/runs", "user"),
            ("postgres://ann/s3cret@db/runs", "%2F"),
            ("postgres://ann:s3/cret@db/runs", "%2F"),
        ] {
            let error = parse(given).unwrap_err();
            let text = format!("{error} {error:?} {:?}", error.hint());
            assert!(text.contains(word), "{given}: {text}");
            assert!(!text.contains("s3cret") && !text.contains("s3/cret"), "{text}");
            assert!(error.is_asked_wrongly());
        }
    }

    #[test]
    fn the_mode_of_encryption_says_whom_to_trust() {
        let of = |parameters: &str| {
            let address = parse(&format!("postgres://ann@db/runs?{parameters}")).unwrap();
            (address.config.get_ssl_mode(), address.trust)
        };
        assert_eq!(of(""), (SslMode::Prefer, Trust::Anyone));
        assert_eq!(of("sslmode=disable"), (SslMode::Disable, Trust::Anyone));
        assert_eq!(of("sslmode=require"), (SslMode::Require, Trust::Public));
        let file = Trust::File("/etc/own ca.pem".into());
        assert_eq!(
            of("sslmode=verify-full&sslrootcert=%2Fetc/own%20ca.pem"),
            (SslMode::Require, file)
        );
    }

    #[test]
    fn a_path_is_no_server() {
        assert!(is_server(Path::new("postgresql://ann@db/runs")));
        for path in ["store.db", "postgres:/x", "file:x", "C:/x", "my=runs.db", "runs of May.db"] {
            assert!(!is_server(Path::new(path)), "{path}");
            assert_eq!(shown(Path::new(path)), Path::new(path));
            check_location(Path::new(path)).unwrap();
        }
    }

    #[test]
    fn what_resembles_an_address_is_neither_a_file_nor_repeated() {
        for given in [
            "postgresql+psycopg2://ann:s3cret@db/runs",
            "mysql://ann:s3cret@db/runs",
            "POSTGRES://ann:s3cret@db/runs",
            "jdbc:postgresql://db/runs?user=ann&password=s3cret",
            "jdbc:sqlite:s3cret",
            " postgres://ann:s3cret@db/runs",
            "postgres://ann:s3cret@db/runs\n",
            "host=db user=ann password=s3cret dbname=runs",
            "dbname=runs host=s3cret",
            "file.db?PASSWORD=s3cret",
            "ann:s3cret@db/runs",
            "ann:s3cret@db",
            "postgres:/ann:s3cret@db/runs",
            "/var/ann:s3cret://x",
        ] {
            let error = check_location(Path::new(given)).unwrap_err();
            let text = format!("{error} {error:?} {:?}", error.hint());
            assert!(!text.contains("s3cret"), "{text}");
            assert!(error.is_asked_wrongly() && error.hint().is_some(), "{text}");
            assert!(!shown(Path::new(given)).to_string_lossy().contains("s3cret"), "{given}");
            assert!(crate::Store::open(given).is_err(), "{given}");
        }
    }

    #[test]
    fn a_path_that_is_there_may_be_called_anything() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("ann@work");
        fs::create_dir(&home).unwrap();
        check_location(&home.join("runs.db")).unwrap();
        check_location(&home.join("new/runs.db")).unwrap();
        check_location(&home.join("ann@db")).unwrap_err();
        fs::write(home.join("ann@db"), "").unwrap();
        check_location(&home.join("ann@db")).unwrap();
    }
}
