//! Patterns with `*` and `?` over names of weights and modules.

use types::matches_pattern;

/// Whether a pattern matches all of a name, or the path of a module that it is in.
///
/// `*` stands for any characters, dots too, `?` for one.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let ends = name.match_indices('.').map(|(end, _)| end).chain([name.len()]);
    ends.into_iter().any(|end| matches_pattern(pattern, &name[..end]))
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn stars_cross_dots_and_a_module_holds_what_is_in_it() {
        let name = "encoder.layer.0.attention.self.query.weight";
        for pattern in ["*", "*query*", "encoder.layer.0", "encoder.layer.?.attention", name] {
            assert!(matches(pattern, name), "{pattern}");
        }
        for pattern in ["", "query", "encoder.layer.1", "encoder.lay", "*key*", "*.weigh"] {
            assert!(!matches(pattern, name), "{pattern}");
        }
    }
}
