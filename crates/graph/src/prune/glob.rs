//! Patterns with `*` and `?` over names of weights and modules.

/// Whether a pattern matches all of a name, or the path of a module that it is in.
///
/// `*` stands for any characters, dots too, `?` for one.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let ends = (0..=name.len()).filter(|&end| end == name.len() || name[end] == '.');
    ends.into_iter().any(|end| whole(&pattern, &name[..end]))
}

fn whole(pattern: &[char], name: &[char]) -> bool {
    let (mut p, mut n) = (0, 0);
    // Where the last star stands, and what it has swallowed.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(&c) if c == '?' || c == name[n] => (p, n) = (p + 1, n + 1),
            _ => match star {
                Some((at, swallowed)) => {
                    star = Some((at, swallowed + 1));
                    (p, n) = (at + 1, swallowed + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
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
