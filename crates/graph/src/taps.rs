//! Makes what comes out of every module visible, to find where two computations part.

use crate::{DataType, Model, ValueInfo, module_path};
use std::collections::{HashMap, HashSet};

/// What leaves one module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tap {
    /// The module's path.
    pub module: String,
    /// The value that leaves it.
    pub value: String,
}

/// The same model with one more output for every module: what its last node makes.
///
/// Only 32-bit floats are tapped, in the order they are computed; `is_float` tells which values are.
#[must_use]
pub fn tap(model: &Model, is_float: &dyn Fn(&str) -> bool) -> (Model, Vec<Tap>) {
    let graph = &model.graph;
    let mut last: HashMap<String, usize> = HashMap::new();
    for (place, node) in graph.nodes.iter().enumerate() {
        let path = module_path(&node.name, &node.op_type);
        let mut path = path.as_str();
        while !path.is_empty() {
            last.insert(path.to_owned(), place);
            path = path.rsplit_once('.').map_or("", |(above, _)| above);
        }
    }
    let mut modules: Vec<(usize, String)> =
        last.into_iter().map(|(path, place)| (place, path)).collect();
    // Of several modules that end with one node the innermost is named.
    modules.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.len().cmp(&a.1.len())));
    let mut tapped = model.clone();
    let mut known: HashSet<String> = graph.outputs.iter().map(|o| o.name.clone()).collect();
    let mut taps = Vec::new();
    let mut seen = HashSet::new();
    for (place, module) in modules {
        let Some(value) = graph.nodes[place].outputs.first().filter(|name| is_float(name)) else {
            continue;
        };
        if !seen.insert(value.clone()) {
            continue;
        }
        if known.insert(value.clone()) {
            let info = ValueInfo { name: value.clone(), dtype: DataType::Float, shape: None };
            tapped.graph.outputs.push(info);
        }
        taps.push(Tap { module, value: value.clone() });
    }
    (tapped, taps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dim, GraphBuilder};

    #[test]
    fn every_module_shows_what_leaves_it() {
        let mut builder = GraphBuilder::new("test");
        let x = builder.input("x", DataType::Float, &[Dim::Fixed(2)]);
        builder.push_scope("layer.0");
        builder.push_scope("dense");
        let h = builder.node("Relu", &[&x], &[]);
        builder.pop_scope();
        let h = builder.node("Neg", &[&h], &[]);
        builder.pop_scope();
        let y = builder.node("Abs", &[&h], &[]);
        builder.output("y", &y, DataType::Float, &[Dim::Fixed(2)]);
        let model = builder.finish_model();
        let (tapped, taps) = tap(&model, &|_| true);
        let modules: Vec<&str> = taps.iter().map(|tap| tap.module.as_str()).collect();
        assert_eq!(modules, ["layer.0.dense", "layer.0"]);
        assert_eq!(tapped.graph.outputs.len(), 3);
        let (untapped, none) = tap(&model, &|_| false);
        assert!(none.is_empty());
        assert_eq!(untapped, model);
    }
}
