//! From the name of a node to the module it belongs to.
//!
//! Engines are asked for `module/Operator`. Some names are not in their hands: a runtime renames what it fuses, and
//! exporters have ways of their own.

use crate::LayerTime;
use std::collections::HashSet;

/// What the names of a profile are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// A framework's modules, one inside the other; a module may be called like its class.
    Modules,
    /// Nodes of a graph.
    Nodes,
}

impl Names {
    /// Modules where an entry lies inside another one; no node lies inside a node.
    #[must_use]
    pub fn of(layers: &[LayerTime]) -> Names {
        let paths: HashSet<&str> = layers.iter().map(|layer| layer.path.as_str()).collect();
        let inside = |path: &str| ancestry(path).skip(1).any(|around| paths.contains(around));
        if paths.iter().any(|path| inside(path)) { Names::Modules } else { Names::Nodes }
    }
}

/// The path of the module behind a node's or a module's name; empty if the name says none.
///
/// A framework's own module is its own path. `encoder.layer.0/Add_1` belongs to `encoder.layer.0`, and so do a node
/// `encoder.layer.0.Add_1` of kind `Add` and the exporter's `/encoder/layer.0/Add_1`.
#[must_use]
pub fn module_of(name: &str, kind: &str, names: Names) -> String {
    // What ONNX Runtime puts before the name of a product that took in its activation.
    let name = name.strip_prefix("fused ").unwrap_or(name);
    if let Some(scoped) = name.strip_prefix('/') {
        let parts: Vec<&str> = scoped.split('/').filter(|part| !part.is_empty()).collect();
        return parts.split_last().map_or_else(String::new, |(_, modules)| modules.join("."));
    }
    match name.split_once('/') {
        // A fusion's mark stands behind the whole old name, operator included: `query.MatMul/MatMulAddFusion`.
        Some((node, mark)) if mark.trim_end_matches('/').ends_with("Fusion") => parent(node).into(),
        Some((module, _)) => module.into(),
        None if names == Names::Modules => name.into(),
        None => match name.rsplit_once('.') {
            Some((module, last)) if is_operator(last, kind) => module.into(),
            None if is_operator(name, kind) => String::new(),
            _ => name.into(),
        },
    }
}

/// The path of the module around this one; empty at the top.
fn parent(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(parent, _)| parent)
}

/// The path itself and every module around it, from the inside out, the model itself left out.
pub fn ancestry(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| Some(parent(path))).take_while(|path| !path.is_empty())
}

/// The innermost module that both lie in; empty if that is the model itself.
#[must_use]
pub fn common_module<'a>(left: &'a str, right: &str) -> &'a str {
    ancestry(left).find(|module| ancestry(right).any(|other| other == *module)).unwrap_or("")
}

/// Whether a part of a name is the operator: its kind, perhaps numbered (`Add_1`, `BiasGelu_token_12`), or the plain
/// operator that a fused kind ends with (`MatMul` for `FusedMatMul`).
fn is_operator(part: &str, kind: &str) -> bool {
    let numbered = |text: &str| {
        text.strip_prefix('_').is_some_and(|rest| {
            let digits = rest.strip_prefix("token_").unwrap_or(rest);
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    let stem = match part.find('_') {
        Some(at) if numbered(&part[at..]) => &part[..at],
        _ => part,
    };
    let fused = kind.strip_prefix("Fused").is_some_and(|plain| plain == stem);
    !kind.is_empty() && (stem == kind || fused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_of_every_kind_lead_to_their_module() {
        let layer = "encoder.layer.0";
        for (name, kind, module) in [
            (".attention.self.query/MatMul", "MatMul", ".attention.self.query"),
            (".attention.self/Reshape_3", "Reshape", ".attention.self"),
            // As our builder writes them and ONNX Runtime 1.31 reports them.
            (".attention.self.query.MatMul", "MatMul", ".attention.self.query"),
            (".output.LayerNorm.LayerNormalization", "LayerNormalization", ".output.LayerNorm"),
            (".attention.self.MatMul/MatMulScaleFusion/", "FusedMatMul", ".attention.self"),
            (".attention.self.MatMul", "FusedMatMul", ".attention.self"),
            (".output.Add_1", "Add", ".output"),
        ] {
            let found = module_of(&format!("{layer}{name}"), kind, Names::Nodes);
            assert_eq!(found, format!("{layer}{module}"), "{name}");
        }
        for (name, kind, module) in [
            ("fused pooler.dense.MatMul/MatMulAddFusion", "FusedGemm", "pooler.dense"),
            ("BiasGelu", "BiasGelu", ""),
            ("BiasGelu_token_12", "BiasGelu", ""),
            ("Unsqueeze_2", "Unsqueeze", ""),
            ("/Cast", "Cast", ""),
            // As the exporter of PyTorch writes them.
            (
                "/encoder/layer.0/attention/self/query/MatMul",
                "MatMul",
                "encoder.layer.0.attention.self.query",
            ),
        ] {
            assert_eq!(module_of(name, kind, Names::Nodes), module, "{name}");
        }
    }

    #[test]
    fn a_module_called_like_its_class_is_no_operator() {
        let layer = |path: &str, kind: &str| LayerTime {
            path: path.into(),
            kind: kind.into(),
            calls: 1,
            nanos: 1,
            phase: None,
        };
        let modules = [layer("output.LayerNorm", "LayerNorm"), layer("output", "BertOutput")];
        assert_eq!(Names::of(&modules), Names::Modules);
        assert_eq!(module_of("output.LayerNorm", "LayerNorm", Names::Modules), "output.LayerNorm");
        assert_eq!(module_of("", "BertModel", Names::Modules), "");
        let nodes = [
            layer("output.LayerNorm.LayerNormalization", "LayerNormalization"),
            layer("Cast", "Cast"),
        ];
        assert_eq!(Names::of(&nodes), Names::Nodes);
    }

    #[test]
    fn two_paths_meet_in_their_innermost_common_module() {
        assert_eq!(common_module("a.b.c", "a.b.d.e"), "a.b");
        assert_eq!(common_module("a.b", "a.b.c"), "a.b");
        assert_eq!(common_module("a.bc", "a.b"), "a");
        assert_eq!(common_module("a", "b"), "");
    }
}
