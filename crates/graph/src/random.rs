//! Finds what draws random numbers: the outputs behind it differ from run to run, and between engines.

use crate::{
    Graph, Model, Node, Tensor,
    calls::Calls,
    onnx::{FunctionProto, function_body},
};
use prost::Message;
use std::collections::{HashMap, HashSet};

/// Functions that call themselves are a damaged file.
const DEEPEST: usize = 32;

/// An output that random numbers reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RandomOutput {
    /// The output.
    pub output: String,
    /// The name of the first node that draws, as the file has it.
    pub node: String,
    /// Its operator.
    pub op_type: String,
}

/// The outputs of a model that random numbers reach, bodies of control flow and functions included.
#[must_use]
pub fn random_outputs(model: &Model) -> Vec<RandomOutput> {
    let functions = model.functions.iter().filter_map(|wire| {
        let function = FunctionProto::decode(wire.clone()).ok()?;
        let key = (function.domain.clone().unwrap_or_default(), function.name.clone()?);
        Some((key, function))
    });
    let opset = model.opsets.get("").or_else(|| model.opsets.get("ai.onnx"));
    let search = Search {
        functions: functions.collect(),
        drops_by_default: opset.is_some_and(|version| *version < 7),
        calls: Calls::new(),
    };
    let mut reached = HashMap::new();
    search.graph(&model.graph, &mut reached, &mut HashMap::new(), 0);
    let outputs = model.graph.outputs.iter();
    let found = outputs.filter_map(|output| {
        let (node, op_type) = reached.get(&output.name)?.clone();
        Some(RandomOutput { output: output.name.clone(), node, op_type })
    });
    found.collect()
}

/// Where the numbers of a value were drawn: node and operator.
type Origin = (String, String);

struct Search {
    functions: HashMap<(String, String), FunctionProto>,
    /// Before operator set 7 a `Dropout` drops unless it says `is_test`.
    drops_by_default: bool,
    calls: Calls,
}

impl Search {
    /// Marks every value that random numbers reach; gives back where the first one is drawn.
    fn graph<'g>(
        &self,
        graph: &'g Graph,
        reached: &mut HashMap<String, Origin>,
        constants: &mut HashMap<&'g str, &'g Tensor>,
        depth: usize,
    ) -> Option<Origin> {
        constants.extend(graph.initializers.iter().map(|tensor| (tensor.name.as_str(), tensor)));
        let mut first = None;
        for node in &graph.nodes {
            if let (Some(tensor), Some(name)) = (node.tensor("value"), node.outputs.first()) {
                constants.insert(name, tensor);
            }
            let Some(origin) = self.node(node, reached, constants, depth) else { continue };
            first.get_or_insert_with(|| origin.clone());
            for output in node.outputs.iter().filter(|name| !name.is_empty()) {
                reached.insert(output.clone(), origin.clone());
            }
        }
        first
    }

    fn node<'g>(
        &self,
        node: &'g Node,
        reached: &mut HashMap<String, Origin>,
        constants: &mut HashMap<&'g str, &'g Tensor>,
        depth: usize,
    ) -> Option<Origin> {
        // How many random numbers there are is not random.
        if matches!(node.op_type.as_str(), "Shape" | "Size") {
            return None;
        }
        if self.draws(node, constants) {
            let name = if node.name.is_empty() { node.outputs.first()? } else { &node.name };
            return Some((name.clone(), node.op_type.clone()));
        }
        if let Some(origin) = node.inputs.iter().find_map(|name| reached.get(name)) {
            return Some(origin.clone());
        }
        if depth >= DEEPEST {
            return None;
        }
        let key = (node.domain.clone(), node.op_type.clone());
        if let Some(function) = self.functions.get(&key) {
            if !self.calls.take(function.node.len()) {
                return None;
            }
            let body = function_body(function, &node.attributes).ok()?;
            return self.graph(&body, &mut HashMap::new(), &mut HashMap::new(), depth + 1);
        }
        node.subgraphs().find_map(|(_, body)| {
            let used = captured(body).into_iter().find_map(|name| reached.get(name).cloned());
            used.or_else(|| self.graph(body, reached, constants, depth + 1))
        })
    }

    fn draws(&self, node: &Node, constants: &HashMap<&str, &Tensor>) -> bool {
        let is_on = |index: usize| {
            let flag = node.input(index).map(|name| constants.get(name));
            // What only the caller decides may be on.
            flag.is_some_and(|flag| {
                flag.and_then(|tensor| tensor.i64s()).is_none_or(|on| on.iter().any(|on| *on != 0))
            })
        };
        match (node.is_standard(), node.op_type.as_str()) {
            (
                true,
                "RandomNormal" | "RandomUniform" | "RandomNormalLike" | "RandomUniformLike"
                | "Multinomial" | "Bernoulli",
            ) => true,
            (true, "Dropout") => {
                (self.drops_by_default && node.int("is_test").unwrap_or(0) == 0) || is_on(2)
            }
            (false, "Sampling") => true,
            (false, "BitmaskDropout") => is_on(2),
            (false, "BiasDropout" | "BitmaskBiasDropout") => is_on(4),
            _ => false,
        }
    }
}

/// Names that a body reads and does not make.
fn captured(graph: &Graph) -> Vec<&str> {
    let made: HashSet<&str> = graph
        .nodes
        .iter()
        .flat_map(|node| &node.outputs)
        .chain(graph.inputs.iter().map(|input| &input.name))
        .map(String::as_str)
        .collect();
    let read = graph.nodes.iter().flat_map(|node| {
        let own = node.inputs.iter().map(String::as_str);
        own.chain(node.subgraphs().flat_map(|(_, body)| captured(body)))
    });
    let read = read.chain(graph.outputs.iter().map(|output| output.name.as_str()));
    read.filter(|name| !name.is_empty() && !made.contains(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Attribute, DataType, Dim, GraphBuilder, onnx::function_wire};

    const TWO: [Dim; 1] = [Dim::Fixed(2)];

    fn names(model: &Model) -> Vec<(String, String)> {
        let found = random_outputs(model).into_iter();
        found.map(|random| (random.output, random.op_type)).collect()
    }

    #[test]
    fn only_outputs_behind_the_draw_are_random() {
        let mut builder = GraphBuilder::new("test");
        let x = builder.input("x", DataType::Float, &TWO);
        let noise = builder.node("RandomNormalLike", &[&x], &[]);
        let shape = builder.node("Shape", &[&noise], &[]);
        let noisy = builder.node("Add", &[&x, &noise], &[]);
        let plain = builder.node("Relu", &[&x], &[]);
        builder.output("noisy", &noisy, DataType::Float, &TWO);
        builder.output("plain", &plain, DataType::Float, &TWO);
        builder.output("shape", &shape, DataType::Int64, &[1.into()]);
        let model = builder.finish_model();
        assert_eq!(names(&model), [("noisy".into(), "RandomNormalLike".into())]);
    }

    fn dropout(flag: Option<u8>) -> Model {
        let mut builder = GraphBuilder::new("test");
        let x = builder.input("x", DataType::Float, &TWO);
        let ratio = builder.initializer(Tensor::from_f32s("ratio", &[], &[0.5]));
        let y = match flag {
            Some(flag) => {
                let flag = Tensor::from_bytes("mode", DataType::Bool, &[], vec![flag]);
                let flag = builder.initializer(flag);
                builder.node("Dropout", &[&x, &ratio, &flag], &[])
            }
            None => builder.node("Dropout", &[&x, &ratio], &[]),
        };
        builder.output("y", &y, DataType::Float, &TWO);
        builder.finish_model()
    }

    #[test]
    fn a_dropout_draws_only_in_training_mode() {
        assert_eq!(names(&dropout(Some(1))), [("y".into(), "Dropout".into())]);
        assert_eq!(names(&dropout(Some(0))), []);
        assert_eq!(names(&dropout(None)), []);
    }

    #[test]
    fn a_draw_inside_a_branch_or_a_function_is_found() {
        let branch = |draws: bool| {
            let mut body = GraphBuilder::new("branch");
            let y = match draws {
                true => body.node("RandomUniform", &[], &[("shape", vec![2].into())]),
                false => body.node("Identity", &["x"], &[]),
            };
            body.output("branch_y", &y, DataType::Float, &TWO);
            Attribute::Graph(Box::new(body.finish()))
        };
        let mut builder = GraphBuilder::new("test");
        builder.input("x", DataType::Float, &TWO);
        let flag = builder.input("flag", DataType::Bool, &[]);
        let attributes = [("then_branch", branch(true)), ("else_branch", branch(false))];
        let y = builder.node("If", &[&flag], &attributes);
        builder.output("y", &y, DataType::Float, &TWO);
        assert_eq!(names(&builder.finish_model()), [("y".into(), "RandomUniform".into())]);

        let mut body = GraphBuilder::new("Draw");
        body.input("x", DataType::Float, &[]);
        let y = body.node("Bernoulli", &["x"], &[]);
        body.output("y", &y, DataType::Float, &[]);
        let mut builder = GraphBuilder::new("test");
        let x = builder.input("x", DataType::Float, &TWO);
        let y = builder.add("local", "Draw", &[&x], &[], 1).swap_remove(0);
        builder.output("y", &y, DataType::Float, &TWO);
        let mut model = builder.finish_model();
        model.functions = vec![function_wire("local", &body.finish(), &[])];
        assert_eq!(names(&model), [("y".into(), "Bernoulli".into())]);
    }
}
