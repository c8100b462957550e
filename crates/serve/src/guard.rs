//! Who may ask: one decision for every request, before anything is read.

use crate::{
    query::Query,
    request::{below, cookie},
    token::Token,
};
use axum::http::{HeaderMap, Method, Uri, header};

/// What is known of who may ask.
#[derive(Debug)]
pub(crate) struct Guard {
    pub(crate) token: Token,
    /// Names by which this server may be called, without ports, in lower case.
    pub(crate) hosts: Vec<String>,
    /// The name of the cookie: ports of one host share their cookies.
    pub(crate) cookie: String,
    /// The path that a proxy puts before everything.
    pub(crate) base: String,
    /// Whether anything may be changed.
    pub(crate) is_open: bool,
}

/// What becomes of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// It is answered.
    Welcome,
    /// The token is right: it becomes a cookie, and the address is asked for again without it.
    Settle,
    /// It is refused with this status, for this reason.
    Refuse(u16, &'static str),
}

impl Guard {
    pub(crate) fn decide(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Decision {
        let host = header_text(headers, &header::HOST).or(uri.host());
        // A page elsewhere may have its name point here; then the name is not one of ours.
        if !host.is_some_and(|host| self.knows(host)) {
            return Decision::Refuse(
                421,
                "this server is not called by that name; `--host NAME` allows one",
            );
        }
        let is_safe = method == Method::GET || method == Method::HEAD;
        if !is_safe && !is_same_origin(headers, host.unwrap_or_default()) {
            return Decision::Refuse(403, "the request comes from another page");
        }
        // Style and script say nothing of what is stored, and the page that asks for the token needs them.
        let path = below(uri.path(), &self.base).unwrap_or_default();
        if is_safe && path.starts_with("/assets/") {
            return Decision::Welcome;
        }
        let query = Query::parse(uri.query().unwrap_or_default());
        let bearer = header_text(headers, &header::AUTHORIZATION)
            .and_then(|text| text.strip_prefix("Bearer "));
        if bearer.is_some_and(|text| self.token.is(text.trim())) {
            return self.may(is_safe);
        }
        if query.get("token").is_some_and(|text| self.token.is(text)) && is_safe {
            return Decision::Settle;
        }
        if cookie(headers, &self.cookie).is_some_and(|text| self.token.is_cookie(&text)) {
            return self.may(is_safe);
        }
        Decision::Refuse(
            401,
            "this page needs the token that `modelmeter serve` shows when it starts",
        )
    }

    fn may(&self, is_safe: bool) -> Decision {
        match is_safe || self.is_open {
            true => Decision::Welcome,
            false => {
                Decision::Refuse(403, "this server is read-only; `--allow-measuring` changes that")
            }
        }
    }

    fn knows(&self, host: &str) -> bool {
        let name = without_port(host).to_ascii_lowercase();
        self.hosts.contains(&name)
    }
}

/// `localhost:80` without the port, `[::1]:80` without port and brackets.
pub(crate) fn without_port(host: &str) -> &str {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split(']').next().unwrap_or(rest);
    }
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

/// Whether a page of this server sent it, as far as a browser says; other programs say nothing.
fn is_same_origin(headers: &HeaderMap, host: &str) -> bool {
    let site = headers.get("sec-fetch-site").and_then(|value| value.to_str().ok());
    if site.is_some_and(|site| site != "same-origin" && site != "none") {
        return false;
    }
    match headers.get(header::ORIGIN).map(|value| value.to_str().unwrap_or_default()) {
        None => true,
        // A policy of referrers between us may hide the origin; pages elsewhere can send this too, so only the browser's
        // word for the site counts.
        Some("null") => site == Some("same-origin"),
        Some(origin) => {
            let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
            rest.is_some_and(|rest| rest.eq_ignore_ascii_case(host))
        }
    }
}

fn header_text<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    fn guard(is_open: bool) -> Guard {
        let token = Token::chosen(TOKEN).unwrap();
        let hosts = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
        Guard { token, hosts, cookie: "modelmeter-7117".into(), base: String::new(), is_open }
    }

    fn decide(guard: &Guard, method: &str, uri: &str, lines: &[(&'static str, &str)]) -> Decision {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, value.parse().unwrap());
        }
        guard.decide(&method.parse().unwrap(), &uri.parse().unwrap(), &headers)
    }

    fn status(decision: &Decision) -> u16 {
        match decision {
            Decision::Welcome => 200,
            Decision::Settle => 303,
            Decision::Refuse(status, _) => *status,
        }
    }

    #[test]
    fn every_attempt_gets_what_it_deserves() {
        let guard = guard(false);
        let open = self::guard(true);
        let held = format!("modelmeter-7117={}", guard.token.cookie());
        let host = ("host", "127.0.0.1:7117");
        let bearer = ("authorization", "Bearer 0123456789abcdef");
        let cookie = ("cookie", held.as_str());
        let ask =
            |guard: &Guard, method, uri, lines: &[_]| status(&decide(guard, method, uri, lines));
        assert_eq!(ask(&guard, "GET", "/", &[host]), 401);
        assert_eq!(ask(&guard, "GET", "/?token=0123456789abcdee", &[host]), 401);
        assert_eq!(ask(&guard, "GET", "/?token=0123456789abcdef", &[host]), 303);
        assert_eq!(ask(&guard, "GET", "/", &[host, cookie]), 200);
        assert_eq!(ask(&guard, "GET", "/", &[host, bearer]), 200);
        assert_eq!(ask(&guard, "GET", "/", &[host, ("cookie", "modelmeter-7117=x")]), 401);
        let token = ("cookie", "modelmeter-7117=0123456789abcdef");
        assert_eq!(ask(&guard, "GET", "/", &[host, token]), 401, "the token is no cookie");
        // Another name, whatever the secret.
        for name in ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:7117", ""] {
            assert_eq!(ask(&guard, "GET", "/", &[("host", name), bearer]), 421, "{name}");
        }
        assert_eq!(ask(&guard, "GET", "/", &[bearer]), 421);
        for name in ["localhost:9", "LOCALHOST", "[::1]:7117"] {
            assert_eq!(ask(&guard, "GET", "/", &[("host", name), bearer]), 200, "{name}");
        }
        // Changes.
        let ours = ("origin", "http://127.0.0.1:7117");
        assert_eq!(ask(&guard, "POST", "/api/runs", &[host, cookie, ours]), 403, "read-only");
        assert_eq!(ask(&open, "POST", "/api/runs", &[host, cookie, ours]), 200);
        assert_eq!(ask(&open, "DELETE", "/api/runs/x", &[host, bearer]), 200, "a program");
        for origin in ["http://evil.example", "http://127.0.0.1:9", "null", "file://"] {
            let lines = [host, cookie, ("origin", origin)];
            assert_eq!(ask(&open, "POST", "/api/runs", &lines), 403, "{origin}");
        }
        for site in ["cross-site", "same-site"] {
            for origin in [ours, ("origin", "null")] {
                let lines = [host, cookie, origin, ("sec-fetch-site", site)];
                assert_eq!(ask(&open, "POST", "/api/runs", &lines), 403, "{site} {origin:?}");
            }
            let lines = [host, cookie, ("sec-fetch-site", site)];
            assert_eq!(ask(&open, "POST", "/api/runs", &lines), 403, "{site}");
        }
        // A form of our own page whose origin is hidden.
        let hidden = [host, cookie, ("origin", "null"), ("sec-fetch-site", "same-origin")];
        assert_eq!(ask(&open, "POST", "/api/runs", &hidden), 200);
        let nobody = [host, cookie, ("origin", "null"), ("sec-fetch-site", "none")];
        assert_eq!(ask(&open, "POST", "/api/runs", &nobody), 403);
        // Style and script, for whoever calls the server by its name.
        assert_eq!(ask(&guard, "GET", "/assets/x.css", &[host]), 200);
        assert_eq!(ask(&guard, "GET", "/assets/x.css", &[("host", "evil.example")]), 421);
        assert_eq!(ask(&guard, "GET", "/assets", &[host]), 401);
        assert_eq!(ask(&open, "POST", "/assets/x.css", &[host]), 401);
        assert_eq!(
            ask(&open, "POST", "/?token=0123456789abcdef", &[host]),
            401,
            "no change by an address"
        );
    }
}
