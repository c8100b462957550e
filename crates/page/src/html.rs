//! The only place that writes HTML: words from outside can enter it as text or as the value of an attribute, and both are escaped.

use draw::Drawn;

/// A page under way.
///
/// Names of elements and attributes are written in our own sources; everything else is escaped.
#[derive(Debug, Clone, Default)]
pub struct Html(String);

/// The attributes of an element.
pub type Attributes<'a> = &'a [(&'static str, &'a str)];

impl Html {
    /// Words that mean nothing but themselves.
    pub fn text(&mut self, text: &str) {
        escape(text, &mut self.0);
    }

    /// Begins an element.
    pub fn open(&mut self, name: &'static str, attributes: Attributes<'_>) {
        self.0.push('<');
        self.0.push_str(name);
        for (name, value) in attributes {
            self.0.push(' ');
            self.0.push_str(name);
            if !value.is_empty() {
                self.0.push_str("=\"");
                escape(value, &mut self.0);
                self.0.push('"');
            }
        }
        self.0.push('>');
    }

    /// Ends an element.
    pub fn close(&mut self, name: &'static str) {
        self.0.push_str("</");
        self.0.push_str(name);
        self.0.push('>');
        if ["div", "section", "tr", "table", "ul", "dl", "details", "figure", "header"]
            .contains(&name)
        {
            self.0.push('\n');
        }
    }

    /// An element with words in it.
    pub fn element(&mut self, name: &'static str, attributes: Attributes<'_>, text: &str) {
        self.inside(name, attributes, |html| html.text(text));
    }

    /// An element with whatever is written meanwhile.
    pub fn inside(
        &mut self,
        name: &'static str,
        attributes: Attributes<'_>,
        fill: impl FnOnce(&mut Html),
    ) {
        self.open(name, attributes);
        fill(self);
        self.close(name);
    }

    /// Words in which backticks mark what can be typed.
    pub fn prose(&mut self, text: &str) {
        let parts: Vec<&str> = text.split('`').collect();
        if parts.len().is_multiple_of(2) {
            return self.text(text);
        }
        for (number, part) in parts.into_iter().enumerate() {
            match number % 2 {
                0 => self.text(part),
                _ => self.element("code", &[], part),
            }
        }
    }

    /// What stands in our own sources: style, script, signs.
    pub fn raw(&mut self, text: &'static str) {
        self.0.push_str(text);
    }

    /// A picture; the crate that draws it escapes what is in it.
    pub(crate) fn picture(&mut self, drawn: &Drawn) {
        self.0.push_str(drawn.svg.trim_end());
    }

    /// A drawing of ours that nothing active can be in; the crate that drew it escaped what is in it.
    pub fn drawing(&mut self, svg: &str) {
        self.0.push_str(svg.trim_end());
    }

    /// Colours as the pictures have them.
    pub(crate) fn colours(&mut self, theme: draw::Theme) {
        self.0.push_str(&draw::variables(theme));
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// What was written apart.
    pub fn append(&mut self, other: Html) {
        self.0.push_str(&other.0);
    }

    /// The text of it.
    #[must_use]
    pub fn finish(self) -> String {
        self.0
    }
}

fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' => out.push('\n'),
            // Neither a page nor its reader has use for them, and some turn around what follows.
            c if c.is_control() || is_turning(c) => {}
            c => out.push(c),
        }
    }
}

/// Signs that change the direction of their neighbours, or are no characters.
fn is_turning(c: char) -> bool {
    matches!(c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_words_and_values_stay_values() {
        let mut html = Html::default();
        html.element("b", &[("title", "\"><i>"), ("hidden", "")], "<script>&'\u{202e}\u{0}");
        assert_eq!(
            html.finish(),
            "<b title=\"&quot;&gt;&lt;i&gt;\" hidden>&lt;script&gt;&amp;&#39;</b>"
        );
    }

    #[test]
    fn what_can_be_typed_is_marked_only_where_every_mark_has_its_pair() {
        let prose = |text: &str| {
            let mut html = Html::default();
            html.prose(text);
            html.finish()
        };
        assert_eq!(prose("add `--x <N>`"), "add <code>--x &lt;N&gt;</code>");
        assert_eq!(prose("a ` b"), "a ` b");
    }
}
