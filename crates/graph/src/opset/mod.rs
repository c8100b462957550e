//! The same graph in another version of ONNX's operator set.
//!
//! Between two versions an operator may only take more types, take a new argument, take an old one in another way, or
//! appear. What only takes more stays as it is; what can be said in both ways is rewritten; the rest is refused by name.

mod changes;
mod rewrite;

use crate::{Attribute, Graph, Model, Node};
use changes::{ADDED, CHANGED, SINCE};
use rewrite::Rewriter;
use std::{collections::HashSet, ops::RangeInclusive};

/// The versions that graphs can be written in: before 13 `Unsqueeze`, `Squeeze` and `Split` were called in another way.
pub const OPSETS: RangeInclusive<i64> = 13..=23;

/// Why a graph cannot be written in another version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpsetError {
    /// No graph can be written so.
    #[error(
        "graphs are written in opset {} to {}, not in {asked}",
        OPSETS.start(),
        OPSETS.end()
    )]
    Asked {
        /// The version that was asked for.
        asked: i64,
    },
    /// The graph is too old or too new to be understood well enough.
    #[error(
        "the graph is written in opset {found}; only opset {} to {} can be converted",
        OPSETS.start(),
        OPSETS.end()
    )]
    Found {
        /// The graph's version.
        found: i64,
    },
    /// The model has functions of its own.
    #[error("the model has functions of its own, which are not converted")]
    Functions,
    /// One operator stands in the way.
    #[error("`{node}` cannot be written in opset {asked}: {why}")]
    Operator {
        /// The node, or its operator where it has no name.
        node: String,
        /// The version that was asked for.
        asked: i64,
        /// Why not.
        why: String,
    },
}

impl Model {
    /// The version of standard ONNX operators that the graph uses.
    #[must_use]
    pub fn opset(&self) -> i64 {
        let found = self.opsets.get("").or_else(|| self.opsets.get("ai.onnx"));
        found.copied().unwrap_or(1)
    }

    /// The same model with the operators of another version; what it computes stays the same.
    ///
    /// # Errors
    /// Where the version is not among [`OPSETS`], or an operator means something else in it.
    pub fn with_opset(&self, asked: i64) -> Result<Model, OpsetError> {
        let found = self.opset();
        if !OPSETS.contains(&asked) {
            return Err(OpsetError::Asked { asked });
        }
        if found == asked {
            return Ok(self.clone());
        }
        if !OPSETS.contains(&found) {
            return Err(OpsetError::Found { found });
        }
        if !self.functions.is_empty() {
            return Err(OpsetError::Functions);
        }
        let mut taken = HashSet::new();
        names_of(&self.graph, &mut taken);
        let mut converter = Converter { from: found, to: asked, taken };
        let mut model = self.clone();
        model.graph = converter.graph(&self.graph)?;
        model.opsets.retain(|domain, _| !matches!(domain.as_str(), "" | "ai.onnx"));
        model.opsets.insert(String::new(), asked);
        model.ir_version = ir_version(asked);
        Ok(model)
    }
}

/// The format that came with a version of the operators; programs that know the operators know it.
fn ir_version(opset: i64) -> i64 {
    match opset {
        ..=14 => 7,
        15..=18 => 8,
        19..=20 => 9,
        21..=22 => 10,
        _ => 11,
    }
}

fn names_of(graph: &Graph, names: &mut HashSet<String>) {
    names.extend(graph.inputs.iter().map(|input| input.name.clone()));
    names.extend(graph.initializers.iter().map(|tensor| tensor.name.clone()));
    for node in &graph.nodes {
        names.insert(node.name.clone());
        names.extend(node.outputs.iter().cloned());
        node.subgraphs().for_each(|(_, inner)| names_of(inner, names));
    }
}

struct Converter {
    from: i64,
    to: i64,
    /// Names that no new value may have.
    taken: HashSet<String>,
}

impl Converter {
    fn graph(&mut self, graph: &Graph) -> Result<Graph, OpsetError> {
        let mut made = Graph { nodes: Vec::with_capacity(graph.nodes.len()), ..graph.clone() };
        for node in &graph.nodes {
            let mut node = node.clone();
            for attribute in node.attributes.values_mut() {
                if let Attribute::Graph(inner) = attribute {
                    **inner = self.graph(inner)?;
                }
            }
            if !node.is_standard() {
                made.nodes.push(node);
                continue;
            }
            let refused = |why: String| OpsetError::Operator {
                node: if node.name.is_empty() { node.op_type.clone() } else { node.name.clone() },
                asked: self.to,
                why,
            };
            self.check(&node).map_err(refused)?;
            if node.outputs.is_empty() {
                return Err(refused("it has no output".into()));
            }
            let mut rewriter = Rewriter { source: graph, made: &mut made, taken: &mut self.taken };
            match rewriter.node(&node, self.from, self.to) {
                Ok(true) => {}
                Ok(false) => made.nodes.push(node),
                Err(why) => {
                    let name = if node.name.is_empty() { node.op_type } else { node.name };
                    return Err(OpsetError::Operator { node: name, asked: self.to, why });
                }
            }
        }
        Ok(made)
    }

    /// Whether the operator exists in the other version and means the same there, or a rewrite is known.
    fn check(&self, node: &Node) -> Result<(), String> {
        let op = node.op_type.as_str();
        let (low, high) = (self.from.min(self.to), self.from.max(self.to));
        if let Some((_, since)) = SINCE.iter().find(|(name, _)| *name == op)
            && *since > self.to
            && !rewrite::DECOMPOSED.contains(&op)
        {
            return Err(format!("`{op}` exists from opset {since} on"));
        }
        if let Some((_, version, what)) = CHANGED
            .iter()
            .find(|(name, version, _)| *name == op && low < *version && *version <= high)
        {
            return Err(format!("opset {version} changed {what}"));
        }
        if self.to > self.from {
            return Ok(());
        }
        let news = ADDED
            .iter()
            .filter(|(name, version, _)| *name == op && low < *version && *version <= high);
        for (_, version, attribute) in news {
            // A new argument that only says what was always so may be left out.
            let value = node.attributes.get(*attribute);
            if value.is_some_and(|value| !changes::is_default(op, attribute, value)) {
                return Err(format!("it uses `{attribute}`, which exists from opset {version} on"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataType, GraphBuilder, Tensor};

    fn model(op: &str, inputs: &[&str], attributes: &[(&str, Attribute)]) -> Model {
        let mut builder = GraphBuilder::new("g");
        builder.input("x", DataType::Float, &[2.into(), 4.into()]);
        builder.initializer(Tensor::from_f32s("scale", &[4], &[1.0; 4]));
        builder.initializer(Tensor::from_f32s("bias", &[4], &[0.0; 4]));
        let y = builder.scope("norm", |builder| builder.node(op, inputs, attributes));
        builder.output("y", &y, DataType::Float, &[2.into(), 4.into()]);
        builder.finish_model()
    }

    fn kinds(model: &Model) -> Vec<&str> {
        model.graph.nodes.iter().map(|node| node.op_type.as_str()).collect()
    }

    #[test]
    fn a_norm_is_taken_apart_where_it_does_not_exist_yet() {
        let axis = [("axis", Attribute::Int(-1))];
        let model = model("LayerNormalization", &["x", "scale", "bias"], &axis);
        assert_eq!(kinds(&model.with_opset(18).unwrap()), ["LayerNormalization"]);
        let old = model.with_opset(13).unwrap();
        assert_eq!(
            kinds(&old),
            ["ReduceMean", "Sub", "Mul", "ReduceMean", "Add", "Sqrt", "Div", "Mul", "Add"]
        );
        assert!(old.graph.nodes.iter().all(|node| node.name.starts_with("norm.")));
        assert_eq!(old.graph.nodes.last().unwrap().outputs, ["y"]);
        assert_eq!((old.opset(), old.ir_version), (13, 7));
    }

    #[test]
    fn axes_move_between_attribute_and_input() {
        let axes = [("axes", Attribute::Ints(vec![-1])), ("keepdims", Attribute::Int(1))];
        let old = model("ReduceMean", &["x"], &axes);
        let new = old.with_opset(18).unwrap();
        assert_eq!(new.graph.nodes[0].inputs.len(), 2);
        assert!(!new.graph.nodes[0].attributes.contains_key("axes"));
        let back = new.with_opset(17).unwrap();
        assert_eq!(back.graph.nodes[0].ints("axes"), Some(&[-1][..]));
        assert_eq!(back.graph.nodes, old.graph.nodes);
    }

    #[test]
    fn what_means_something_else_or_is_not_there_is_refused_by_name() {
        let gelu = model("Gelu", &["x"], &[]);
        let mut newer = gelu.clone();
        newer.opsets.insert(String::new(), 20);
        let error = newer.with_opset(19).unwrap_err().to_string();
        assert!(error.contains("norm.Gelu") && error.contains("from opset 20 on"), "{error}");
        let reshape = model("Shape", &["x"], &[("start", Attribute::Int(1))]);
        let error = reshape.with_opset(14).unwrap_err().to_string();
        assert!(error.contains("`start`"), "{error}");
        assert_eq!(gelu.with_opset(12), Err(OpsetError::Asked { asked: 12 }));
        assert_eq!(gelu.with_opset(99), Err(OpsetError::Asked { asked: 99 }));
        newer.opsets.insert(String::new(), 11);
        assert_eq!(newer.with_opset(17), Err(OpsetError::Found { found: 11 }));
    }
}
