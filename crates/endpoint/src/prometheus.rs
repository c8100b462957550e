//! What a server counts itself: the text of Prometheus, and changes of it over a load.

use crate::{Address, fetch};
use std::{collections::BTreeMap, time::Duration};

/// The longest that it may take: it must not hold up the load.
const LIMIT: Duration = Duration::from_secs(5);
/// The most bytes of it.
const MOST: usize = 8 << 20;
/// The most numbers that are kept.
const NUMBERS: usize = 2000;

/// The numbers of a server by name and labels; `None` if it has none.
///
/// Looked for at `/metrics` of this address; Triton has them at another port than its answers.
#[must_use]
pub fn server_metrics(
    address: &Address,
    headers: &[(String, String)],
) -> Option<BTreeMap<String, f64>> {
    let told = fetch(&address.with_path("/metrics"), headers, LIMIT, MOST).ok()?;
    let text = String::from_utf8(told.body).ok()?;
    let is_text = told.status == 200 && !told.content_type.contains("html");
    let found = parse(&text);
    (is_text && !found.is_empty()).then_some(found)
}

/// Numbers out of the text of Prometheus. Buckets of histograms are left out: their sum and count say enough here.
#[must_use]
pub fn parse(text: &str) -> BTreeMap<String, f64> {
    let mut all = BTreeMap::new();
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        let Some((name, rest)) = name_of(line) else { continue };
        let bare = name.split('{').next().unwrap_or(name);
        let value = rest.split_whitespace().next().and_then(|value| value.parse::<f64>().ok());
        if let Some(value) = value.filter(|value| value.is_finite() && !bare.ends_with("_bucket")) {
            all.insert(name.to_owned(), value);
        }
        if all.len() >= NUMBERS {
            break;
        }
    }
    all
}

/// The name with its labels, in which quoted spaces and braces can stand, and what follows.
fn name_of(line: &str) -> Option<(&str, &str)> {
    let mut quoted = false;
    let mut escaped = false;
    let mut inside = false;
    for (place, c) in line.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '{' if !quoted => inside = true,
            '}' if !quoted => inside = false,
            c if c.is_whitespace() && !quoted && !inside => {
                return Some((&line[..place], &line[place..]));
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_by_name_and_labels() {
        let text = "# HELP llamacpp:tokens_predicted_total x\n# TYPE llamacpp:tokens_predicted_total counter\n\
            llamacpp:tokens_predicted_total 128\nnv_inference_count{model=\"a b}\\\"\",version=\"1\"} 7 1700000000\n\
            latency_bucket{le=\"0.1\"} 3\nlatency_sum 0.5\nbroken\nempty NaN\n";
        let found = parse(text);
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(found["llamacpp:tokens_predicted_total"], 128.0);
        assert_eq!(found["nv_inference_count{model=\"a b}\\\"\",version=\"1\"}"], 7.0);
        assert!(parse("<html><body>not found</body></html>").is_empty());
    }
}
