//! `modelmeter serve`: the live page.

use crate::{
    Exit, Failure,
    arguments::{Global, Serve},
    command::{folders, taken_port, watch},
    output,
};
use modelmeter::Folders;
use report::clean;
use serve::{Hook, Place, Program, ServeError, Server, Settings, Token};
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    iterator::Signals,
};
use std::{
    ffi::OsString,
    net::{SocketAddr, ToSocketAddrs},
    path::Path,
    process::{Command, Stdio},
};

/// The variable with a token of the user's own: other users can see arguments.
const TOKEN: &str = "MODELMETER_TOKEN";

pub(crate) fn run(arguments: &Serve, global: &Global) -> Result<Exit, Failure> {
    let folders = folders(global)?;
    let place = place(arguments)?;
    let chosen = chosen_token()?;
    if let Place::Address(address) = &place
        && !address.ip().is_loopback()
        && chosen.is_none()
    {
        let text = format!("other machines can reach {address}, and there is no token of your own");
        return Err(Failure::new(Exit::Wrong, text)
            .cause("whoever has the token can read every stored run; without TLS it can be read on the way")
            .hint(format!(
                "`export {TOKEN}=$(openssl rand -hex 16)` first, and put a proxy with TLS before it; or stay on this machine and use \
                 `ssh -L 7117:127.0.0.1:7117 HOST`"
            )));
    }
    let token = match chosen {
        Some(token) => token,
        None => kept_token(&folders.serve_token())?,
    };
    let base = base(arguments.base_path.as_deref())?;
    let mut hosts = arguments.host.clone();
    if let Place::Address(address) = &place
        && !address.ip().is_loopback()
    {
        hosts.push(address.ip().to_string());
    }
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(|error| {
        Failure::new(Exit::Cannot, "could not watch for Ctrl-C").cause(error.to_string())
    })?;
    let program = arguments.allow_measuring.then(|| program(&folders, global)).transpose()?;
    let settings = Settings {
        token: token.clone(),
        hosts,
        base: base.clone(),
        program,
        hook: hook(arguments.webhook.as_deref())?,
        folders,
    };
    let server = Server::bind(&place, settings).map_err(|error| refused(&error, &place))?;
    let page = server.address().map(|address| page(address, &base, &token));
    match (&page, &place) {
        (Some(page), _) => output::data(&format!("{page}\n"))?,
        (None, Place::Socket(path)) => {
            output::data(&format!("{}\n", path.display()))?;
            talk(global, &format!("the page needs this once: {base}/?token={}\n", token.text()));
        }
        (None, Place::Address(_)) => {}
    }
    if let Some(address) = server.address() {
        let port = address.port();
        talk(
            global,
            &format!(
                "from another machine: `ssh -L {port}:127.0.0.1:{port} HOST`, then the same address; Ctrl-C ends\n"
            ),
        );
        if !address.ip().is_loopback() {
            output::complain(
                "warning: other machines can reach this server; whoever has the token can read every stored run\n",
            );
        }
    }
    if arguments.open
        && let Some(page) = &page
    {
        open(page);
    }
    let stop = move || {
        signals.forever().next();
    };
    server.run(stop).map_err(|error| refused(&error, &place))?;
    Ok(Exit::Fine)
}

/// This program once more, with the same database. Its address may hold a password, so it is a variable and no argument.
fn program(folders: &Folders, global: &Global) -> Result<Program, Failure> {
    let path = std::env::current_exe().map_err(|error| {
        Failure::new(Exit::Cannot, "could not find this program").cause(error.to_string())
    })?;
    let mut arguments: Vec<OsString> = vec!["--cache".into(), folders.cache.clone().into()];
    if let Some(python) = &global.python {
        arguments.extend(["--python".into(), python.into()]);
    }
    let variables = vec![("MODELMETER_DB", folders.database.clone().into())];
    let plans = folders.engines.with_file_name("plans");
    Ok(Program { path, arguments, variables, plans, secrets: vec![TOKEN] })
}

fn hook(url: Option<&str>) -> Result<Option<Hook>, Failure> {
    let Some(url) = url else { return Ok(None) };
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    if rest.is_none_or(|rest| rest.is_empty() || rest.starts_with('/')) {
        let text = "`--webhook` is not an address: it must begin with `http://` or `https://`";
        return Err(Failure::new(Exit::Wrong, text)
            .hint("`--webhook https://hooks.example.org/services/…`, in quotes"));
    }
    let url = url.to_owned();
    Ok(Some(Box::new(move |_, document| {
        if let Err(why) = watch::post(&url, &document.to_string()) {
            output::complain(&format!("warning: the webhook did not accept the message: {why}\n"));
        }
    })))
}

fn talk(global: &Global, text: &str) {
    if !global.quiet {
        output::complain(text);
    }
}

fn place(arguments: &Serve) -> Result<Place, Failure> {
    if let Some(path) = &arguments.socket {
        output::check_folder(path)?;
        return Ok(Place::Socket(path.clone()));
    }
    let text = arguments.listen.trim();
    // A port alone is one of this machine.
    let whole = match text.strip_prefix(':').unwrap_or(text).parse::<u16>() {
        Ok(port) => format!("127.0.0.1:{port}"),
        Err(_) => text.to_owned(),
    };
    let found = whole.to_socket_addrs().ok().and_then(|mut all| all.next());
    found.map(Place::Address).ok_or_else(|| {
        Failure::new(Exit::Wrong, format!("`{}` is not an address with a port", clean(text)))
            .hint("`modelmeter serve --listen 127.0.0.1:7117`")
    })
}

fn chosen_token() -> Result<Option<Token>, Failure> {
    let Some(text) = std::env::var(TOKEN).ok().filter(|text| !text.trim().is_empty()) else {
        return Ok(None);
    };
    Token::chosen(&text).map(Some).map_err(|why| {
        Failure::new(Exit::Wrong, format!("the token in {TOKEN} cannot be used: {why}"))
            .hint(format!("`export {TOKEN}=$(openssl rand -hex 16)`"))
    })
}

fn kept_token(path: &Path) -> Result<Token, Failure> {
    Token::kept_in(path).map_err(|error| {
        let text = format!("could not keep the token in `{}`", path.display());
        Failure::new(Exit::Cannot, text)
            .cause(error.to_string())
            .hint(format!("`export {TOKEN}=$(openssl rand -hex 16)` needs no file"))
    })
}

/// A path without an end, as it stands before others.
fn base(path: Option<&str>) -> Result<String, Failure> {
    let text = path.unwrap_or_default().trim_matches('/');
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.~/".contains(c);
    if !text.chars().all(fits) || text.split('/').any(|part| part == "..") {
        let text = format!("`--base-path {}` is not a path of an address", clean(text));
        return Err(
            Failure::new(Exit::Wrong, text).hint("`modelmeter serve --base-path /modelmeter`")
        );
    }
    Ok(if text.is_empty() { String::new() } else { format!("/{text}") })
}

/// The first address, with the token in it.
fn page(address: SocketAddr, base: &str, token: &Token) -> String {
    let mut seen = address;
    if address.ip().is_unspecified() {
        seen.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
    }
    format!("http://{seen}{base}/?token={}", token.text())
}

fn open(page: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    engine::keep_secrets(&mut command);
    let opened =
        command.arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    if opened.is_err() {
        output::complain("warning: no browser could be opened; the address above works in any\n");
    }
}

fn refused(error: &ServeError, place: &Place) -> Failure {
    let failure = Failure::new(Exit::Cannot, error.to_string());
    let failure = match std::error::Error::source(error) {
        Some(cause) => failure.cause(cause.to_string()),
        None => failure,
    };
    match (error, place) {
        (ServeError::Taken(address), _) => taken_port::explain(failure, *address, "serve"),
        (_, Place::Address(_)) => failure.hint("`modelmeter serve --listen 127.0.0.1:7117`"),
        (_, Place::Socket(_)) => failure.hint("give a path where nothing is yet"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_path_has_no_end_and_leads_nowhere_else() {
        assert_eq!(base(None).unwrap(), "");
        assert_eq!(base(Some("/team/models/")).unwrap(), "/team/models");
        for wrong in ["/a?b", "../x", "a b", "<x>"] {
            assert!(base(Some(wrong)).is_err(), "{wrong}");
        }
    }
}
