//! Which weights may be trained, and which names stand for the same one.

use crate::{DataType, Graph, Model, Node, Tensor, TensorData, count::parameter_test};
use std::collections::{HashMap, HashSet};

/// The weights of a model that may be trained, in the model's order.
#[derive(Debug)]
pub(super) struct Parameters {
    list: Vec<Tensor>,
    by_name: HashMap<String, usize>,
    /// Other names of the same weights.
    aliases: HashMap<String, String>,
    /// Weights inside the bodies of control flow, by the names they have there.
    inner: HashSet<String>,
}

impl Parameters {
    pub(super) fn new(model: &Model) -> Parameters {
        let is_parameter = parameter_test(model);
        let graph = &model.graph;
        let constants = graph.nodes.iter().filter(|node| node.op_type == "Constant");
        let constants = constants.filter_map(|node| {
            let tensor = node.tensor("value")?;
            Some(Tensor { name: node.outputs.first()?.clone(), ..tensor.clone() })
        });
        let mut inner = HashSet::new();
        for (_, body) in graph.nodes.iter().flat_map(Node::subgraphs) {
            collect_inner(body, &is_parameter, &mut inner);
        }
        let mut found = Parameters {
            list: Vec::new(),
            by_name: HashMap::new(),
            aliases: HashMap::new(),
            inner,
        };
        let mut places = HashMap::new();
        for tensor in graph.initializers.iter().cloned().chain(constants) {
            let trained = is_parameter(&tensor.name, &tensor) || is_trained_scalar(&tensor);
            let float = tensor.dtype.is_float() && tensor.dtype != DataType::Double;
            if !trained || !float || is_fixed(model, &tensor) {
                continue;
            }
            // One place in a file under two names is one weight.
            if let TensorData::External { path, offset, length } = &tensor.data {
                let place = (path.clone(), *offset, *length, tensor.dims.clone());
                if let Some(first) = places.get(&place) {
                    found.aliases.insert(tensor.name.clone(), String::clone(first));
                    continue;
                }
                places.insert(place, tensor.name.clone());
            }
            found.by_name.insert(tensor.name.clone(), found.list.len());
            found.list.push(tensor);
        }
        found
    }

    /// Whether this is a weight, by any of its names.
    pub(super) fn is_known(&self, name: &str) -> bool {
        self.by_name.contains_key(name) || self.aliases.contains_key(name)
    }

    /// The weights inside the bodies of a node, in alphabetical order.
    pub(super) fn inside(&self, node: &Node) -> Vec<&str> {
        let mut found = Vec::new();
        for (_, body) in node.subgraphs() {
            let constants = body.nodes.iter().filter_map(|node| node.outputs.first());
            let names = body.initializers.iter().map(|tensor| &tensor.name).chain(constants);
            found.extend(names.filter_map(|name| self.inner.get(name).map(String::as_str)));
            body.nodes.iter().for_each(|node| found.extend(self.inside(node)));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The first name of a weight that is called by another.
    pub(super) fn alias(&self, name: &str) -> Option<&str> {
        self.aliases.get(name).map(String::as_str)
    }

    /// Whether a weight has other names.
    pub(super) fn is_shared(&self, name: &str) -> bool {
        self.aliases.values().any(|first| first == name)
    }

    /// Gives a weight one more name.
    pub(super) fn rename(&mut self, alias: &str, name: &str) {
        self.aliases.insert(alias.to_string(), name.to_string());
    }

    /// The weight of this name.
    pub(super) fn of(&self, name: &str) -> Option<&Tensor> {
        self.by_name.get(name).map(|index| &self.list[*index])
    }

    /// All weights.
    pub(super) fn all(&self) -> &[Tensor] {
        &self.list
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|tensor| tensor.name.as_str())
    }
}

fn collect_inner(
    graph: &Graph,
    is_parameter: &dyn Fn(&str, &Tensor) -> bool,
    found: &mut HashSet<String>,
) {
    for tensor in graph.initializers.iter().filter(|tensor| is_parameter(&tensor.name, tensor)) {
        found.insert(tensor.name.clone());
    }
    for node in &graph.nodes {
        if let (Some(tensor), Some(name)) = (node.tensor("value"), node.outputs.first())
            && is_parameter(name, tensor)
        {
            found.insert(name.clone());
        }
        node.subgraphs().for_each(|(_, body)| collect_inner(body, is_parameter, found));
    }
}

/// One number that is trained: it lies among the weights in a file of its own, or is called a scale (`logit_scale`).
fn is_trained_scalar(tensor: &Tensor) -> bool {
    let stored = matches!(tensor.data, TensorData::External { .. });
    let last = tensor.name.rsplit(['.', '/']).next().unwrap_or_default();
    tensor.dims.is_empty() && tensor.dtype.is_float() && (stored || last == "logit_scale")
}

/// Floats that nobody trains: what our own builders write as constants, and the frequencies of rotary positions.
fn is_fixed(model: &Model, tensor: &Tensor) -> bool {
    let own = model.producer == "modelmeter" && matches!(tensor.data, TensorData::Inline(_));
    let number = tensor.name.strip_prefix("constant_").unwrap_or_default();
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    own && is_number || tensor.name.contains("inv_freq")
}
