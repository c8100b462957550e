//! What was left out because it is not valid: how many, why, how to see it all the same and how to measure it again.

use crate::clean::clean;
use number::count;
use types::InvalidRuns;

/// Stands behind a number that cannot be believed.
pub(crate) const NOT_VALID: char = '!';

/// The same in tables.
pub(crate) const NOT_VALID_MARK: &str = "!";

/// `36 not valid: 30 × other work, 6 × too few samples`.
#[must_use]
pub fn not_valid(runs: &InvalidRuns) -> String {
    let each: Vec<String> = runs
        .by_count()
        .into_iter()
        .map(|(reason, runs)| format!("{} × {}", count(runs), reason.words()))
        .collect();
    format!("{} not valid: {}", count(runs.total()), each.join(", "))
}

/// What to do where cells have no valid run: sentences, each of which ends in a command.
#[must_use]
pub(crate) fn remedies(cells: u64, again: Option<&str>, is_included: bool) -> Vec<String> {
    let mut remedies = Vec::new();
    if cells == 0 {
        return remedies;
    }
    if let Some(again) = again {
        let more = match cells {
            1 => String::new(),
            _ => " (the newest; `modelmeter runs list --invalid` lists all)".to_owned(),
        };
        remedies.push(format!("measure again{more}: `{}`", clean(again)));
    }
    if !is_included {
        remedies.push("`--include-invalid` shows them, marked".into());
    }
    remedies
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::ReasonCode;

    #[test]
    fn reasons_are_counted_the_most_frequent_first() {
        let mut runs = InvalidRuns::default();
        runs.add(ReasonCode::TooFewSamples, 6);
        runs.add(ReasonCode::BusyMachine, 30);
        assert_eq!(not_valid(&runs), "36 not valid: 30 × other work, 6 × too few samples");
    }

    #[test]
    fn a_remedy_is_a_command_and_only_where_something_is_missing() {
        assert!(remedies(0, Some("x"), false).is_empty());
        let all = remedies(2, Some("modelmeter profile m"), false);
        assert!(all[0].ends_with("`modelmeter profile m`") && all[0].contains("--invalid"));
        assert!(all[1].starts_with("`--include-invalid`"));
        assert_eq!(remedies(1, None, true), Vec::<String>::new());
    }
}
