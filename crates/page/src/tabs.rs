//! Parts of which one shows at a time: radio buttons and a style sheet, so that no script is needed. On paper all show.

use crate::html::Html;

/// A part with its name and its content.
#[derive(Debug, Clone)]
pub struct Tab {
    /// What stands on the button that shows it.
    pub name: &'static str,
    /// What it shows.
    pub body: Html,
}

/// Writes the parts; `group` makes their names unique in the page, `level` is that of their headings.
pub(crate) fn tabs(html: &mut Html, group: &str, about: &str, level: Level, parts: Vec<Tab>) {
    html.open("div", &[("class", "tabs")]);
    html.open("div", &[("class", "bar-of-tabs"), ("role", "radiogroup"), ("aria-label", about)]);
    for (number, part) in parts.iter().enumerate() {
        let id = format!("{group}-{number}");
        let mut attributes =
            vec![("type", "radio"), ("name", group), ("id", &id), ("class", "unseen")];
        // A button that is chosen from the start.
        if number == 0 {
            attributes.push(("checked", ""));
        }
        html.open("input", &attributes);
        html.element("label", &[("for", &id)], part.name);
    }
    html.close("div");
    for (number, part) in parts.into_iter().enumerate() {
        let id = format!("{group}-{number}-title");
        html.open("section", &[("class", "panel"), ("aria-labelledby", &id)]);
        html.element(level.name(), &[("id", &id), ("class", "panel-title")], part.name);
        html.append(part.body);
        html.close("section");
    }
    html.close("div");
}

/// The level of a heading; none is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Level(pub(crate) usize);

impl Level {
    pub(crate) fn name(self) -> &'static str {
        ["h1", "h2", "h3", "h4", "h5", "h6"][self.0.clamp(1, 6) - 1]
    }

    pub(crate) fn below(self) -> Level {
        Level(self.0 + 1)
    }
}
