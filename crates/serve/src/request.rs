//! A request, read out of HTTP.

use crate::query::{Query, decoded};
use axum::http::{HeaderMap, Method, Uri, header};

/// What somebody asks for.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: Method,
    /// The parts of the path, decoded.
    pub(crate) path: Vec<String>,
    pub(crate) query: Query,
    /// The columns that this browser keeps.
    pub(crate) columns: Option<String>,
    pub(crate) body: Vec<u8>,
    /// Whether a person waits for the answer: a browser opens it as a page.
    pub(crate) wants_page: bool,
    /// Whether a link of another site was followed; browsers then keep our cookie back.
    pub(crate) is_linked_elsewhere: bool,
}

impl Request {
    /// `None` for a path that is not below the base, or that tries to leave it.
    pub(crate) fn new(
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        base: &str,
    ) -> Option<Request> {
        let path = below(uri.path(), base)?;
        let path: Vec<String> =
            path.split('/').filter(|part| !part.is_empty()).map(decoded).collect();
        if path.iter().any(|part| part == ".." || part == "." || part.contains(['/', '\\', '\0'])) {
            return None;
        }
        Some(Request {
            method: method.clone(),
            path,
            query: Query::parse(uri.query().unwrap_or_default()),
            columns: cookie(headers, "modelmeter-columns"),
            body: Vec::new(),
            wants_page: has(headers, "accept", |text| text.contains("text/html")),
            is_linked_elsewhere: has(headers, "sec-fetch-mode", |text| text == "navigate")
                && has(headers, "sec-fetch-site", |text| text == "cross-site"),
        })
    }
}

fn has(headers: &HeaderMap, name: &str, fits: impl Fn(&str) -> bool) -> bool {
    headers.get(name).and_then(|value| value.to_str().ok()).is_some_and(fits)
}

/// The path below the base.
pub(crate) fn below<'a>(path: &'a str, base: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(base)?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// The value of a cookie.
pub(crate) fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let lines = headers.get_all(header::COOKIE).into_iter().filter_map(|line| line.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';'));
    pairs.find_map(|pair| {
        let (known, value) = pair.trim().split_once('=')?;
        (known == name).then(|| decoded(value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str, base: &str) -> Option<Vec<String>> {
        let request = Request::new(&Method::GET, &text.parse().unwrap(), &HeaderMap::new(), base);
        request.map(|request| request.path)
    }

    #[test]
    fn a_path_stays_below_the_base() {
        assert_eq!(path("/runs/ab%20c", ""), Some(vec!["runs".into(), "ab c".into()]));
        assert_eq!(path("/team/runs/", "/team"), Some(vec!["runs".into()]));
        assert_eq!(path("/team", "/team"), Some(vec![]));
        for wrong in ["/runs", "/teams/runs"] {
            assert_eq!(path(wrong, "/team"), None, "{wrong}");
        }
        for wrong in ["/assets/../x", "/assets/%2e%2e/x", "/a%2fb", "/a%5cb", "/a%00b"] {
            assert_eq!(path(wrong, ""), None, "{wrong}");
        }
    }
}
