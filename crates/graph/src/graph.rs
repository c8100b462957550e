//! Walking a graph with everything inside it.

use crate::{Attribute, Graph, Tensor};

impl Graph {
    /// Every constant tensor: initialisers, `Constant` nodes and other tensor arguments, subgraphs included.
    #[must_use]
    pub fn tensors(&self) -> Vec<&Tensor> {
        let mut found = Vec::new();
        self.collect_tensors(&mut found);
        found
    }

    fn collect_tensors<'a>(&'a self, found: &mut Vec<&'a Tensor>) {
        found.extend(&self.initializers);
        for attribute in self.nodes.iter().flat_map(|node| node.attributes.values()) {
            match attribute {
                Attribute::Tensor(tensor) => found.push(tensor),
                Attribute::Graph(graph) => graph.collect_tensors(found),
                _ => {}
            }
        }
    }
}
