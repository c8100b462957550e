//! What a browser says of itself, in the few words that a table has room for.

/// The browsers and how they call themselves; one that pretends to be another comes before it.
const BROWSERS: [(&str, &str); 6] = [
    ("Edg/", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("HeadlessChrome/", "Chromium"),
    ("Chrome/", "Chrome"),
    ("Version/", "Safari"),
];

/// The systems and the words by which they are known.
const SYSTEMS: [(&str, &str); 6] = [
    ("Android", "android"),
    ("iPhone", "ios"),
    ("iPad", "ios"),
    ("Windows", "windows"),
    ("Macintosh", "macos"),
    ("Linux", "linux"),
];

/// `Firefox 153.0`.
pub(crate) fn browser(agent: &str) -> String {
    let found = BROWSERS.iter().find_map(|(mark, name)| {
        let (_, rest) = agent.split_once(mark)?;
        let version: String =
            rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        Some(format!("{name} {version}"))
    });
    found.unwrap_or_else(|| "an unknown browser".to_owned())
}

/// `android`.
pub(crate) fn system(agent: &str) -> &'static str {
    SYSTEMS.iter().find(|(mark, _)| agent.contains(mark)).map_or("unknown", |(_, name)| name)
}

/// Whether it shows no window.
pub(crate) fn is_headless(agent: &str) -> bool {
    agent.contains("Headless")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_and_systems_are_known_by_what_they_say() {
        for (agent, name, os) in [
            (
                "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/156.0.0.0 Safari/537.36",
                "Chromium 156.0.0.0",
                "linux",
            ),
            (
                "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/139.0.0.0 Mobile Safari/537.36",
                "Chrome 139.0.0.0",
                "android",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1",
                "Safari 18.5",
                "ios",
            ),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/139.0.0.0 Safari/537.36 Edg/139.0.0.0",
                "Edge 139.0.0.0",
                "windows",
            ),
            (
                "Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:141.0) Gecko/20100101 Firefox/141.0",
                "Firefox 141.0",
                "macos",
            ),
            ("curl", "an unknown browser", "unknown"),
        ] {
            assert_eq!((browser(agent).as_str(), system(agent)), (name, os));
        }
        assert!(is_headless("HeadlessChrome/1") && !is_headless("Chrome/1"));
    }
}
