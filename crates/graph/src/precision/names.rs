//! Names for new nodes and values: beside the node they belong to, and never taken.

use crate::{Graph, Node, module_path};
use std::collections::HashSet;

/// The names of a graph, of its nodes and of its values.
pub(super) struct Names {
    nodes: HashSet<String>,
    values: HashSet<String>,
}

impl Names {
    pub(super) fn of(graph: &Graph) -> Names {
        let mut names = Names { nodes: HashSet::new(), values: HashSet::new() };
        names.collect(graph);
        names
    }

    fn collect(&mut self, graph: &Graph) {
        let infos = graph.inputs.iter().chain(&graph.outputs).chain(&graph.value_infos);
        self.values.extend(infos.map(|value| value.name.clone()));
        self.values.extend(graph.initializers.iter().map(|tensor| tensor.name.clone()));
        for node in &graph.nodes {
            self.nodes.insert(node.name.clone());
            self.values.extend(node.inputs.iter().chain(&node.outputs).cloned());
            for (_, inner) in node.subgraphs() {
                self.collect(inner);
            }
        }
    }

    /// A value's name that nobody has.
    pub(super) fn value(&mut self, wanted: &str) -> String {
        free(&mut self.values, wanted)
    }

    /// A name for a node of another operator in the module of `node`.
    pub(super) fn beside(&mut self, node: &Node, op_type: &str) -> String {
        let wanted = match module_prefix(node) {
            Some(prefix) => format!("{prefix}{op_type}"),
            None => op_type.to_owned(),
        };
        free(&mut self.nodes, &wanted)
    }
}

/// The name up to and with the separator behind its module; `None` if it names no module.
fn module_prefix(node: &Node) -> Option<String> {
    let path = module_path(&node.name, &node.op_type);
    if path.is_empty() {
        return None;
    }
    let separator = if node.name.contains('/') { '/' } else { '.' };
    let parts = |text: &str| text.split(['/', '.']).filter(|part| !part.is_empty()).count();
    // The last part is the operator, or the whole name is the module's.
    let prefix = match node.name.rsplit_once(separator) {
        Some((prefix, _)) if parts(&node.name) > parts(&path) => prefix,
        _ => node.name.trim_end_matches(separator),
    };
    Some(format!("{prefix}{separator}"))
}

fn free(taken: &mut HashSet<String>, wanted: &str) -> String {
    let mut name = wanted.to_owned();
    let mut number = 1;
    while !taken.insert(name.clone()) {
        name = format!("{wanted}_{number}");
        number += 1;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_node_stays_in_its_module() {
        let mut names = Names::of(&Graph::default());
        for (name, op, path) in [
            ("encoder.layer.0.query.MatMul", "MatMul", "encoder.layer.0.query"),
            ("/encoder/layer.0/query/MatMul_3", "MatMul", "encoder.layer.0.query"),
            ("encoder/dense", "MatMul", "encoder.dense"),
            ("MatMul_12", "MatMul", ""),
            ("/MatMul_3", "MatMul", ""),
            ("p2o.Conv.0", "Conv", ""),
            ("", "Gemm", ""),
        ] {
            let node = Node {
                name: name.into(),
                op_type: op.into(),
                domain: String::new(),
                inputs: Vec::new(),
                outputs: Vec::new(),
                attributes: Default::default(),
            };
            for _ in 0..2 {
                let made = names.beside(&node, "MatMulInteger");
                assert_eq!(module_path(&made, "MatMulInteger"), path, "`{name}` became `{made}`");
            }
        }
    }
}
