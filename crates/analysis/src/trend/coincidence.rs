//! What became different together with a level: a version, a kernel, the model's file.

use std::collections::BTreeMap;

/// So many are told; a machine that was set up anew differs in everything.
const MOST: usize = 4;

/// In what two runs' surroundings differ, in words.
pub(super) fn differences(
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
) -> Vec<String> {
    let mut found: Vec<String> = after
        .iter()
        .filter_map(|(name, new)| match before.get(name) {
            Some(old) if old == new => None,
            Some(old) => Some(format!("{name} {old} → {new}")),
            None => Some(format!("{name} {new} is new")),
        })
        .collect();
    let gone = before.keys().filter(|name| !after.contains_key(*name));
    found.extend(gone.map(|name| format!("{name} is gone")));
    let more = found.len().saturating_sub(MOST);
    if more > 0 {
        found.truncate(MOST);
        found.push(format!("{more} more"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn what_differs_is_told_and_what_does_not_is_not() {
        let before =
            facts(&[("kernel", "6.1"), ("onnxruntime", "1.30"), ("governor", "powersave")]);
        let after = facts(&[("kernel", "6.1"), ("onnxruntime", "1.31"), ("driver", "580")]);
        let found = differences(&before, &after);
        assert_eq!(found, ["driver 580 is new", "onnxruntime 1.30 → 1.31", "governor is gone"]);
        assert!(differences(&before, &before).is_empty());
    }
}
