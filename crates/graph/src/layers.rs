//! Which module a node belongs to, and what kind of layer that is, from its name and operator.

use crate::Node;
use types::LayerKind;

/// The module path in a node's name: `encoder.layer.0.attention.self.query` out of
/// `/encoder/layer.0/attention/self/query/MatMul_1`; empty if the name holds none.
#[must_use]
pub fn module_path(name: &str, op_type: &str) -> String {
    let separator = if name.contains('/') { '/' } else { '.' };
    let mut parts: Vec<&str> = name.split(separator).filter(|part| !part.is_empty()).collect();
    let is_number = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
    // `p2o.Conv.0`: a prefix, the operator, a number.
    if let [_, operator, number] = parts[..]
        && operator == op_type
        && is_number(&number)
    {
        return String::new();
    }
    if parts.last().is_some_and(|last| is_operator(last, op_type)) {
        parts.pop();
    }
    // A name that is one word says nothing of a module: `MatMul_12`, `node_linear_3`, `123`.
    if parts.len() == 1 && separator == '.' && (parts[0] == name || is_number(&parts[0])) {
        return String::new();
    }
    parts.join(".")
}

/// Whether a part of a name is the operator, perhaps with a number: `MatMul`, `MatMul_12`, `Conv2D`, `node_MatMul_3`.
fn is_operator(part: &str, op_type: &str) -> bool {
    let part = part.strip_prefix("node_").unwrap_or(part);
    let Some(start) = part.get(..op_type.len()) else { return false };
    let rest = &part[op_type.len()..];
    !op_type.is_empty()
        && start.eq_ignore_ascii_case(op_type)
        && rest.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'_' | b':' | b'D'))
}

/// The kind of layer a node belongs to; the path's words come first, then its operator.
#[must_use]
pub fn layer_kind(node: &Node) -> LayerKind {
    LayerKind::of(&module_path(&node.name, &node.op_type), &node.op_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_in_every_exporters_names() {
        let path = |name, op| module_path(name, op);
        assert_eq!(
            path("encoder.layer.0.attention.query.MatMul", "MatMul"),
            "encoder.layer.0.attention.query"
        );
        assert_eq!(path("encoder.layer.0.Relu_1", "Relu"), "encoder.layer.0");
        assert_eq!(
            path("/encoder/layer.0/attention/self/query/MatMul", "MatMul"),
            "encoder.layer.0.attention.self.query"
        );
        assert_eq!(path("/MatMul_3", "MatMul"), "");
        assert_eq!(path("node_MatMul_12", "MatMul"), "");
        assert_eq!(path("MatMul_12", "MatMul"), "");
        assert_eq!(path("p2o.Conv.0", "Conv"), "");
        assert_eq!(path("model/conv2d/Conv2D", "Conv"), "model.conv2d");
        assert_eq!(path("", "Add"), "");
    }

    fn kind(name: &str, op: &str) -> LayerKind {
        layer_kind(&Node {
            name: name.to_string(),
            op_type: op.to_string(),
            domain: String::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            attributes: Default::default(),
        })
    }

    #[test]
    fn kinds_follow_words_then_operators() {
        assert_eq!(kind("embeddings.word_embeddings.Gather", "Gather"), LayerKind::Embedding);
        assert_eq!(
            kind("encoder.layer.0.attention.self.query.MatMul", "MatMul"),
            LayerKind::Attention
        );
        assert_eq!(kind("encoder.layer.0.attention.output.LayerNorm.Add", "Add"), LayerKind::Norm);
        assert_eq!(kind("encoder.layer.0.intermediate.dense.MatMul", "MatMul"), LayerKind::Mlp);
        assert_eq!(kind("encoder.layer.0.output.dense.MatMul", "MatMul"), LayerKind::Mlp);
        assert_eq!(kind("h.0.mlp.c_fc.Gemm", "Gemm"), LayerKind::Mlp);
        assert_eq!(kind("lm_head.MatMul", "MatMul"), LayerKind::Head);
        assert_eq!(kind("Conv_3", "Conv"), LayerKind::Conv);
        assert_eq!(kind("x", "LayerNormalization"), LayerKind::Norm);
        assert_eq!(kind("Add_3", "Add"), LayerKind::Other);
    }
}
