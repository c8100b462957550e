//! Text and numbers as SVG takes them.

use std::fmt::{self, Write};

/// Text from outside as XML text or attribute value; characters that XML forbids become `�`.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// A length in pixels, to a hundredth and without idle zeros.
pub(super) struct Pixels(pub(super) f64);

impl fmt::Display for Pixels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{:.2}", self.0);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// A line of text at a place.
pub(super) fn text(out: &mut String, class: &str, x: f64, y: f64, words: &str) {
    let (x, y, words) = (Pixels(x), Pixels(y), escape(words));
    let _ = writeln!(out, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{words}</text>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_outside_is_markup() {
        assert_eq!(
            escape("<script>\"a\" & 'b'</script>\u{0}\u{1b}\u{ffff}"),
            "&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39;&lt;/script&gt;\u{fffd}\u{fffd}\u{fffd}"
        );
    }

    #[test]
    fn pixels_have_no_idle_zeros() {
        let shown = [0.0, 1.0, 10.5, 0.126, 100.0].map(|value| Pixels(value).to_string());
        assert_eq!(shown, ["0", "1", "10.5", "0.13", "100"]);
    }
}
