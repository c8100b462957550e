//! What tells cells apart beyond their columns, in words.

use crate::clean::clean;
use types::Variant;

/// What else was told, in words; text that is no variant (of a file that somebody else wrote) is shown as it is.
#[must_use]
pub fn variant(text: &str) -> String {
    clean(&Variant::parse(text).map_or_else(|| text.to_owned(), |variant| variant.words()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_is_words_and_anything_else_itself() {
        assert_eq!(
            variant(r#"{"text":true,"shapes_unrecorded":true}"#),
            "text, input shapes not recorded"
        );
        assert_eq!(variant(""), "");
        assert_eq!(variant("gr\u{1b}[31maph none"), "graph none");
    }
}
