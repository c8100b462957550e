//! What tells cells apart beyond their columns, in words.

use crate::clean::clean;

/// What else was told; where it is a training's document only the optimiser's name.
#[must_use]
pub fn variant(text: &str) -> String {
    let text = clean(text);
    let Some((before, document)) = text.split_once('{') else { return text };
    let name = document.split_once("\"optimizer\":\"").and_then(|(_, rest)| rest.split('"').next());
    let after = document.rsplit_once('}').map_or("", |(_, after)| after);
    let parts = [before, name.unwrap_or(""), after].map(|part| part.trim_matches([' ', ',']));
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_trainings_document_the_optimiser_is_said() {
        let text = r#"hint latency, {"optimizer":"adamw","loss":"mse","learning_rate":0.1}, text"#;
        assert_eq!(variant(text), "hint latency, adamw, text");
        assert_eq!(variant("text"), "text");
        assert_eq!(variant("{"), "");
    }
}
