//! Patterns over names: `*` stands for any characters, `?` for one.

/// Whether a pattern matches all of a name.
#[must_use]
pub fn matches_pattern(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n) = (0, 0);
    // Where the last star stands, and what it has taken.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(&c) if c == '?' || c == name[n] => (p, n) = (p + 1, n + 1),
            _ => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    (p, n) = (at + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_take_anything_and_a_question_mark_one_character() {
        for pattern in ["*", "bert*", "*base*", "b?rt-base", "b*t*e", "bert-base*"] {
            assert!(matches_pattern(pattern, "bert-base"), "{pattern}");
        }
        assert!(matches_pattern("gr??e", "größe"));
        for pattern in ["", "bert", "?bert-base", "*bas", "b*x*e"] {
            assert!(!matches_pattern(pattern, "bert-base"), "{pattern}");
        }
    }
}
