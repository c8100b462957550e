//! How wide and how colourful; asked of the terminal by the caller, never here.

/// How a text report is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether to colour; colour is never the only signal.
    pub colour: bool,
    /// Columns to fill at most; fewer than 60 count as 60.
    pub width: usize,
}

/// Below this the summary stops being a table.
const NARROWEST: usize = 60;

impl Default for Style {
    fn default() -> Style {
        Style { colour: false, width: 80 }
    }
}

impl Style {
    /// Plain text of this width.
    #[must_use]
    pub fn plain(width: usize) -> Style {
        Style { colour: false, width }
    }

    /// Columns that may be used.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.width.max(NARROWEST)
    }

    pub(crate) fn paint(&self, text: &str, colour: Colour) -> String {
        if self.colour && !text.is_empty() {
            format!("\u{1b}[{}m{text}\u{1b}[0m", colour.code())
        } else {
            text.to_string()
        }
    }
}

/// What a colour means; which one it is stands in one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colour {
    Title,
    Label,
    Good,
    Warning,
    Bad,
}

impl Colour {
    fn code(self) -> &'static str {
        match self {
            Colour::Title => "1",
            Colour::Label => "2",
            Colour::Good => "32",
            Colour::Warning => "33",
            Colour::Bad => "31;1",
        }
    }
}
