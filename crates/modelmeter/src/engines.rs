//! The engines, one line each.

use engine::Engine;

/// Every engine this build knows, in the order in which `auto` tries them: what was fastest on a CPU comes first, what
/// takes seconds to start last.
pub const ENGINES: &[&dyn Engine] = &[
    &engine_onnxruntime::OnnxRuntime,
    &engine_openvino::OpenVino,
    &engine_rten::Rten,
    &engine_torch::Torch,
];

/// Other names of engines, as people and other tools call them; stored runs have the engine's own id.
const ALIASES: &[(&str, &str)] =
    &[("ort", "onnxruntime"), ("onnx", "onnxruntime"), ("ov", "openvino"), ("pytorch", "torch")];

/// The id of the engine that a name stands for; a name that nobody knows stays as it is.
#[must_use]
pub fn engine_id(name: &str) -> &str {
    let alias = ALIASES.iter().find(|(alias, _)| name.eq_ignore_ascii_case(alias));
    alias.map_or(name, |(_, id)| id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_alias_stands_for_an_engine_and_hides_none() {
        for (alias, id) in ALIASES {
            assert!(ENGINES.iter().any(|engine| engine.id() == *id), "{id}");
            assert!(ENGINES.iter().all(|engine| engine.id() != *alias), "{alias}");
        }
        assert_eq!(engine_id("ORT"), "onnxruntime");
        assert_eq!(engine_id("abacus"), "abacus");
    }
}
