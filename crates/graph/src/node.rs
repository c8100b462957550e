//! Reading a node's arguments by name, with the type the operator expects.

use crate::{Attribute, Graph, Node, Tensor};

impl Node {
    /// The integer argument with this name.
    #[must_use]
    pub fn int(&self, name: &str) -> Option<i64> {
        match self.attributes.get(name) {
            Some(Attribute::Int(value)) => Some(*value),
            _ => None,
        }
    }

    /// The float argument with this name.
    #[must_use]
    pub fn float(&self, name: &str) -> Option<f32> {
        match self.attributes.get(name) {
            Some(Attribute::Float(value)) => Some(*value),
            _ => None,
        }
    }

    /// The text argument with this name; `None` also where it is not UTF-8.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.attributes.get(name) {
            Some(Attribute::String(value)) => std::str::from_utf8(value).ok(),
            _ => None,
        }
    }

    /// The integer list with this name.
    #[must_use]
    pub fn ints(&self, name: &str) -> Option<&[i64]> {
        match self.attributes.get(name) {
            Some(Attribute::Ints(values)) => Some(values),
            _ => None,
        }
    }

    /// The tensor argument with this name.
    #[must_use]
    pub fn tensor(&self, name: &str) -> Option<&Tensor> {
        match self.attributes.get(name) {
            Some(Attribute::Tensor(tensor)) => Some(tensor),
            _ => None,
        }
    }

    /// The subgraph with this name.
    #[must_use]
    pub fn subgraph(&self, name: &str) -> Option<&Graph> {
        match self.attributes.get(name) {
            Some(Attribute::Graph(graph)) => Some(graph),
            _ => None,
        }
    }

    /// Every subgraph with its argument's name.
    pub fn subgraphs(&self) -> impl Iterator<Item = (&str, &Graph)> {
        self.attributes.iter().filter_map(|(name, attribute)| match attribute {
            Attribute::Graph(graph) => Some((name.as_str(), &**graph)),
            _ => None,
        })
    }

    /// The name of the input at this place; `None` if it is omitted.
    #[must_use]
    pub fn input(&self, index: usize) -> Option<&str> {
        self.inputs.get(index).map(String::as_str).filter(|name| !name.is_empty())
    }

    /// Whether the operator is one of standard ONNX.
    #[must_use]
    pub fn is_standard(&self) -> bool {
        self.domain.is_empty() || self.domain == "ai.onnx"
    }
}
