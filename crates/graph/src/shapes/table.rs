//! The answer of inference: what is known of each value, by name.

use super::value::Value;
use crate::{DataType, Graph, Node};
use std::collections::HashMap;

/// What is known of each value of a graph.
#[derive(Debug, Clone, Default)]
pub struct Shapes {
    pub(crate) values: HashMap<String, Value>,
    /// The bodies inside control flow and function calls, by the index of their node.
    pub(crate) bodies: HashMap<usize, Vec<Body>>,
}

/// A graph inside a node, analysed once.
#[derive(Debug, Clone)]
pub(crate) struct Body {
    pub(crate) source: BodySource,
    pub(crate) shapes: Shapes,
    /// How often it runs; `None` if only a run can tell.
    pub(crate) times: Option<u64>,
}

/// Where a body is.
#[derive(Debug, Clone)]
pub(crate) enum BodySource {
    /// In the node's argument of this name.
    Attribute(String),
    /// In one of the model's functions, with the call's arguments filled in.
    Function(Box<Graph>),
}

impl Body {
    /// The body's graph.
    pub(crate) fn graph<'a>(&'a self, node: &'a Node) -> Option<&'a Graph> {
        match &self.source {
            BodySource::Attribute(name) => node.subgraph(name),
            BodySource::Function(graph) => Some(graph),
        }
    }
}

impl Shapes {
    /// The type and dims of a value; `None` if either is unknown.
    #[must_use]
    pub fn of(&self, name: &str) -> Option<(DataType, &[usize])> {
        let value = self.values.get(name)?;
        let known = value.dtype != DataType::Undefined;
        known.then_some(value.dtype).zip(value.dims.as_deref())
    }

    /// The dims of a value; `None` if they are unknown.
    #[must_use]
    pub fn dims(&self, name: &str) -> Option<&[usize]> {
        self.values.get(name)?.dims.as_deref()
    }

    /// The type of a value; `None` if it is unknown.
    #[must_use]
    pub fn dtype(&self, name: &str) -> Option<DataType> {
        self.values.get(name).map(|value| value.dtype).filter(|t| *t != DataType::Undefined)
    }

    /// The elements of a small integer value, where they follow from shapes and constants.
    #[must_use]
    pub fn integers(&self, name: &str) -> Option<Vec<i64>> {
        let numbers = self.values.get(name)?.numbers.as_ref()?;
        Some(numbers.iter().map(|number| *number as i64).collect())
    }

    /// Names of values whose dims are unknown, in alphabetical order.
    #[must_use]
    pub fn unknown(&self) -> Vec<&str> {
        let unknown = self.values.iter().filter(|(_, value)| value.dims.is_none());
        let mut names: Vec<&str> = unknown.map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names
    }

    /// Takes dims seen in a real run for values that are unknown; what was inferred stays.
    ///
    /// Nothing is inferred anew; [`infer_observed`](super::infer_observed) does that.
    pub fn fill(&mut self, observed: &[(String, Vec<usize>)]) {
        for (name, dims) in observed {
            if let Some(value) = self.values.get_mut(name) {
                value.dims.get_or_insert_with(|| dims.clone());
            }
        }
        for body in self.bodies.values_mut().flatten() {
            body.shapes.fill(observed);
        }
    }
}
