//! Text in Markdown.

use crate::clean::clean;

/// Text that means nothing but itself.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            '|' | '*' | '_' | '\\' | '[' | ']' | '~' => out.extend(['\\', c]),
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_something_is_escaped() {
        assert_eq!(plain("a|b_<i>"), "a\\|b\\_&lt;i>");
    }
}
