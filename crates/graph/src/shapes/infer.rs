//! The walk over a graph: each node once, in order, by the families' rules.

use super::{
    attention, control, elementwise,
    formula::{Symbols, bind, evaluate_shape},
    generate, layout, matrix, quantised, recurrent, reduce, select, signal,
    table::{Body, BodySource, Shapes},
    value::{Call, MOST_NUMBERS, Value},
    window,
};
use crate::{
    DataType, Graph, Model, Node, Tensor, ValueInfo,
    calls::Calls,
    onnx::{FunctionProto, function_body},
    tensor::numbers,
    trips::trips_name,
};
use prost::Message;
use std::{cell::Cell, collections::HashMap};

/// Bytes that everything known of a model's values may take. Real models stay below a few hundred MiB; a file of some
/// MiB whose functions call each other twice, or that copies a constant a million times, would need terabytes. What
/// comes after stays unknown, as a shape that only a run can show.
const ROOM: u64 = 1 << 29;

/// Bytes that one node of a body takes; bodies may be looked at many times.
const NODE: u64 = 1 << 12;

/// Bodies inside bodies deeper than this are left unknown; functions may not call themselves, but a damaged file can.
const DEEPEST: usize = 32;

/// The outputs of a node, where the family knows them.
type Family = fn(&Call<'_>) -> Option<Vec<Value>>;

/// The families in the order they are asked.
const FAMILIES: [Family; 11] = [
    elementwise::infer,
    layout::infer,
    select::infer,
    matrix::infer,
    reduce::infer,
    generate::infer,
    window::infer,
    attention::infer,
    quantised::infer,
    recurrent::infer,
    signal::infer,
];

/// Infers what can be known of every value when the inputs have these dims.
///
/// An input that is not listed has its declared dims, with names bound by the others.
#[must_use]
pub fn infer(model: &Model, inputs: &[(String, Vec<usize>)]) -> Shapes {
    infer_observed(model, inputs, &[])
}

/// Infers as [`infer`], and takes dims seen in a real run where inference cannot know them.
#[must_use]
pub fn infer_observed(
    model: &Model,
    inputs: &[(String, Vec<usize>)],
    observed: &[(String, Vec<usize>)],
) -> Shapes {
    infer_within(model, inputs, observed, ROOM)
}

/// Infers as [`infer_observed`] in so many bytes.
fn infer_within(
    model: &Model,
    inputs: &[(String, Vec<usize>)],
    observed: &[(String, Vec<usize>)],
    room: u64,
) -> Shapes {
    let given: HashMap<&str, &Vec<usize>> =
        inputs.iter().map(|(name, dims)| (name.as_str(), dims)).collect();
    let fed = model.graph.inputs.iter();
    let symbols =
        bind(fed.filter_map(|input| {
            given.get(input.name.as_str()).map(|dims| (input, dims.as_slice()))
        }));
    let functions = model
        .functions
        .iter()
        .filter_map(|wire| FunctionProto::decode(wire.clone()).ok())
        .map(|function| {
            let name = function.name.clone().unwrap_or_default();
            ((function.domain.clone().unwrap_or_default(), name), function)
        })
        .collect();
    let observed = observed.iter().map(|(name, dims)| (name.as_str(), dims)).collect();
    let (room, calls) = (Cell::new(room), Calls::new());
    let inference = Inference { model, functions, symbols, observed, room, calls };
    let values = model.graph.inputs.iter().map(|input| {
        let dims = match given.get(input.name.as_str()) {
            Some(dims) => Some(dims.to_vec()),
            None => inference.declared(input),
        };
        (input.name.clone(), Value { dtype: input.dtype, dims, numbers: None })
    });
    let values = values.collect();
    inference.graph(&model.graph, values, 0)
}

/// What is known of the outputs of a node without bodies; `None` if no family knows the operator.
pub(crate) fn infer_node(call: &Call<'_>) -> Option<Vec<Value>> {
    // Other domains have operators of the same names that mean something else.
    let known = call.node.is_standard() || call.node.domain == "com.microsoft";
    FAMILIES.iter().find_map(|family| known.then(|| family(call))?)
}

/// What holds for the whole model.
pub(crate) struct Inference<'m> {
    model: &'m Model,
    functions: HashMap<(String, String), FunctionProto>,
    symbols: Symbols,
    observed: HashMap<&'m str, &'m Vec<usize>>,
    /// Bytes that may still be taken.
    room: Cell<u64>,
    calls: Calls,
}

impl Inference<'_> {
    /// Takes so many bytes; whether there was room for them.
    pub(crate) fn take(&self, bytes: u64) -> bool {
        let left = self.room.get().checked_sub(bytes);
        self.room.set(left.unwrap_or(0));
        left.is_some()
    }

    /// The value, or only its type where there is no room for more.
    pub(crate) fn kept(&self, value: Value) -> Value {
        let count = |known: Option<usize>| known.unwrap_or(0) as u64;
        let numbers = count(value.numbers.as_ref().map(Vec::len));
        match self.take(8 * (numbers + count(value.dims.as_ref().map(Vec::len)))) {
            true => value,
            false => Value::unknown(value.dtype),
        }
    }

    fn declared(&self, value: &ValueInfo) -> Option<Vec<usize>> {
        evaluate_shape(&self.symbols, value.shape.as_ref()?)
    }

    /// How often a loop went round in a run, where one told.
    pub(crate) fn observed_rounds(&self, node: &Node) -> Option<u64> {
        let name = trips_name(node)?;
        self.observed.get(name.as_str())?.first().map(|rounds| *rounds as u64)
    }

    /// Infers one graph; `values` holds its inputs and what it captures.
    pub(crate) fn graph(
        &self,
        graph: &Graph,
        mut values: HashMap<String, Value>,
        depth: usize,
    ) -> Shapes {
        for tensor in &graph.initializers {
            values.insert(tensor.name.clone(), self.kept(self.constant(tensor)));
        }
        let declared: HashMap<&str, &ValueInfo> = graph
            .value_infos
            .iter()
            .chain(&graph.outputs)
            .map(|value| (value.name.as_str(), value))
            .collect();
        let mut bodies = HashMap::new();
        for (index, node) in graph.nodes.iter().enumerate() {
            if depth > 0 && !self.take(NODE) {
                break;
            }
            let inputs = node.inputs.iter().map(|name| values.get(name)).collect();
            let call = Call { node, inputs };
            let (outputs, inner) = self.node(&call, &values, depth);
            if !inner.is_empty() {
                bodies.insert(index, inner);
            }
            let mut outputs = outputs.unwrap_or_default().into_iter();
            for name in &node.outputs {
                let mut value =
                    outputs.next().unwrap_or_else(|| Value::unknown(DataType::Undefined));
                if name.is_empty() {
                    continue;
                }
                if value.dims.is_none() {
                    let seen = self.observed.get(name.as_str()).map(|dims| dims.to_vec());
                    let known = seen.or_else(|| self.declared(declared.get(name.as_str())?));
                    value.dims = known;
                }
                if let (DataType::Undefined, Some(info)) =
                    (value.dtype, declared.get(name.as_str()))
                {
                    value.dtype = info.dtype;
                }
                values.insert(name.clone(), self.kept(value));
            }
        }
        Shapes { values, bodies }
    }

    fn node(
        &self,
        call: &Call<'_>,
        values: &HashMap<String, Value>,
        depth: usize,
    ) -> (Option<Vec<Value>>, Vec<Body>) {
        let node = call.node;
        if depth < DEEPEST {
            let key = (node.domain.clone(), node.op_type.clone());
            if let Some(function) = self.functions.get(&key) {
                return self.function(function, call, depth);
            }
            if node.is_standard() && matches!(node.op_type.as_str(), "If" | "Loop" | "Scan") {
                return control::infer(self, call, values, depth);
            }
        }
        if node.is_standard() && node.op_type == "Constant" {
            return (self.constant_node(node), Vec::new());
        }
        (infer_node(call), Vec::new())
    }

    fn function(
        &self,
        function: &FunctionProto,
        call: &Call<'_>,
        depth: usize,
    ) -> (Option<Vec<Value>>, Vec<Body>) {
        // Each call has a copy of the body, with its constants.
        if !self.take(function.encoded_len() as u64) || !self.calls.take(function.node.len()) {
            return (None, Vec::new());
        }
        let Ok(graph) = function_body(function, &call.node.attributes) else {
            return (None, Vec::new());
        };
        let inputs = graph.inputs.iter().zip(&call.inputs);
        let values = inputs
            .filter_map(|(input, value)| Some((input.name.clone(), (*value)?.clone())))
            .collect();
        let shapes = self.graph(&graph, values, depth + 1);
        let outputs = outputs_of(&graph, &shapes);
        let source = BodySource::Function(Box::new(graph));
        (Some(outputs), vec![Body { source, shapes, times: Some(1) }])
    }

    /// What is known of a constant; its numbers only where they are few.
    fn constant(&self, tensor: &Tensor) -> Value {
        let elements = tensor.elements();
        let few = elements <= MOST_NUMBERS;
        let bytes = few.then(|| self.model.bytes(tensor).ok()).flatten();
        let numbers = bytes.and_then(|bytes| numbers(tensor.dtype, &bytes, elements));
        Value { dtype: tensor.dtype, dims: Some(tensor.dims.clone()), numbers }
    }

    fn constant_node(&self, node: &Node) -> Option<Vec<Value>> {
        if let Some(tensor) = node.tensor("value") {
            return Some(vec![self.constant(tensor)]);
        }
        generate::constant(node).map(|value| vec![value])
    }
}

/// What is known of a graph's outputs.
pub(crate) fn outputs_of(graph: &Graph, shapes: &Shapes) -> Vec<Value> {
    graph
        .outputs
        .iter()
        .map(|output| match shapes.values.get(&output.name) {
            Some(value) => value.clone(),
            None => Value::unknown(output.dtype),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Attribute, GraphBuilder, analyse, onnx::function_wire};

    #[test]
    fn a_function_is_inferred_with_the_calls_arguments() {
        let mut body = GraphBuilder::new("Turn");
        body.input("x", DataType::Float, &[]);
        let turned =
            body.node("Transpose", &["x"], &[("perm", Attribute::String(b"order".into()))]);
        let y = body.node("Relu", &[&turned], &[]);
        body.output("y", &y, DataType::Float, &[]);
        let mut builder = GraphBuilder::new("g");
        let x = builder.input("x", DataType::Float, &[2.into(), 3.into()]);
        let call = builder.add("local", "Turn", &[&x], &[("order", vec![1, 0].into())], 1);
        let z = builder.node("Relu", &[&call[0]], &[]);
        builder.output("z", &z, DataType::Float, &[3.into(), 2.into()]);
        let mut model = builder.finish_model();
        // In a function's body an argument of this text stands for the call's argument of that name.
        model.functions = vec![function_wire("local", &body.finish(), &[("perm", "order")])];
        let shapes = infer(&model, &[]);
        assert_eq!(shapes.of(&call[0]), Some((DataType::Float, &[3, 2][..])));
        let analysis = analyse(&model, &[]);
        assert_eq!(analysis.work.flops.0, 6 + 6);
        assert_eq!(analysis.work.coverage.0, 1.0);
        assert_eq!(analysis.work.activation_peak.map(|bytes| bytes.0), Some(24 + 48 + 24));
    }

    #[test]
    fn functions_that_call_each_other_twice_end_soon_and_stay_unknown() {
        let mut builder = GraphBuilder::new("g");
        let x = builder.input("x", DataType::Float, &[2.into()]);
        let call = builder.add("local", "F0", &[&x], &[], 1);
        let y = builder.node("Relu", &[&x], &[]);
        let mut model = builder.finish_model();
        // 2³⁰ nodes if every call were followed.
        let function = |level: usize| {
            let mut body = GraphBuilder::new(format!("F{level}"));
            body.input("x", DataType::Float, &[]);
            let inner = format!("F{}", level + 1);
            let a = body.add("local", &inner, &["x"], &[], 1).swap_remove(0);
            let b = body.add("local", &inner, &[&a], &[], 1).swap_remove(0);
            body.output("y", &b, DataType::Float, &[]);
            function_wire("local", &body.finish(), &[])
        };
        model.functions = (0..30).map(function).collect();
        let shapes = infer_within(&model, &[], &[], 1 << 24);
        assert_eq!(shapes.dims(&call[0]), None);
        assert_eq!(
            shapes.dtype(&y),
            Some(DataType::Float),
            "the graph itself is walked to its end"
        );
    }

    #[test]
    fn copies_of_a_constant_are_followed_as_far_as_there_is_room() {
        let mut builder = GraphBuilder::new("g");
        let numbers = vec![1; MOST_NUMBERS];
        let mut name = builder.initializer(Tensor::from_i64s("c", &[MOST_NUMBERS], &numbers));
        let first = builder.node("Identity", &[&name], &[]);
        for _ in 0..40 {
            name = builder.node("Identity", &[&name], &[]);
        }
        let shapes = infer_within(&builder.finish_model(), &[], &[], 1 << 20);
        assert_eq!(shapes.dims(&first), Some(&[MOST_NUMBERS][..]));
        assert_eq!(shapes.dtype(&name), Some(DataType::Int64));
        assert_eq!(shapes.dims(&name), None);
    }

    #[test]
    fn a_function_that_calls_itself_stays_unknown() {
        let mut body = GraphBuilder::new("Again");
        body.input("x", DataType::Float, &[]);
        let y = body.add("local", "Again", &["x"], &[], 1).swap_remove(0);
        body.output("y", &y, DataType::Float, &[]);
        let mut builder = GraphBuilder::new("g");
        let x = builder.input("x", DataType::Float, &[2.into()]);
        let call = builder.add("local", "Again", &[&x], &[], 1);
        let mut model = builder.finish_model();
        model.functions = vec![function_wire("local", &body.finish(), &[])];
        assert_eq!(infer(&model, &[]).dims(&call[0]), None);
    }

    #[test]
    fn functions_that_call_each_other_twice_are_not_walked_for_ever() {
        let body = |name: &str, inner: &str| {
            let mut body = GraphBuilder::new(name);
            body.input("x", DataType::Float, &[]);
            let once = body.add("local", inner, &["x"], &[], 1).swap_remove(0);
            let twice = body.add("local", inner, &[&once], &[], 1).swap_remove(0);
            body.output("y", &twice, DataType::Float, &[]);
            function_wire("local", &body.finish(), &[])
        };
        let mut builder = GraphBuilder::new("g");
        let x = builder.input("x", DataType::Float, &[2.into()]);
        let y = builder.add("local", "f0", &[&x], &[], 1).swap_remove(0);
        builder.output("y", &y, DataType::Float, &[2.into()]);
        let mut model = builder.finish_model();
        // Two to the power of thirty calls.
        model.functions =
            (0..30).map(|at| body(&format!("f{at}"), &format!("f{}", at + 1))).collect();
        let analysis = analyse(&model, &[]);
        assert!(analysis.work.coverage.0 < 1.0);
        assert!(crate::random_outputs(&model).is_empty());
        assert_eq!(infer(&model, &[]).dims("y"), Some(&[2][..]));
    }
}
