//! Control flow: bodies are analysed once, with the values they capture.

use super::{
    dims::axis,
    infer::{Inference, outputs_of},
    table::{Body, BodySource, Shapes},
    value::{Call, Value},
};
use crate::{DataType, Graph};
use std::collections::HashMap;

type Values = HashMap<String, Value>;
type Answer = (Option<Vec<Value>>, Vec<Body>);
/// Analyses the body of this name with these inputs.
type Run<'a> = dyn Fn(&str, Values) -> Option<(&'a Graph, Shapes)> + 'a;

/// Outputs and bodies of `If`, `Loop` and `Scan`.
pub(crate) fn infer(
    inference: &Inference<'_>,
    call: &Call<'_>,
    values: &Values,
    depth: usize,
) -> Answer {
    let run = |name: &str, inputs: Values| -> Option<(&Graph, Shapes)> {
        let graph = call.node.subgraph(name)?;
        let mut inner = captured(inference, graph, values);
        inner.extend(inputs);
        Some((graph, inference.graph(graph, inner, depth + 1)))
    };
    match call.node.op_type.as_str() {
        "If" => branches(call, &run),
        "Loop" => repeat(call, &run, inference.observed_rounds(call.node)),
        _ => scan(call, &run),
    }
}

/// Values of the outside that a body may use.
fn captured(inference: &Inference<'_>, graph: &Graph, values: &Values) -> Values {
    let mut found = Values::new();
    capture(inference, graph, values, &mut found);
    found
}

fn capture(inference: &Inference<'_>, graph: &Graph, values: &Values, found: &mut Values) {
    let outputs = graph.outputs.iter().map(|output| &output.name);
    for name in graph.nodes.iter().flat_map(|node| &node.inputs).chain(outputs) {
        if let Some(value) = values.get(name) {
            found.entry(name.clone()).or_insert_with(|| inference.kept(value.clone()));
        }
    }
    for (_, inner) in graph.nodes.iter().flat_map(|node| node.subgraphs()) {
        capture(inference, inner, values, found);
    }
}

fn body(name: &str, shapes: Shapes, times: Option<u64>) -> Body {
    Body { source: BodySource::Attribute(name.to_string()), shapes, times }
}

/// Both branches are analysed; an output is known where they agree, or where it is known which one runs.
fn branches<'a>(call: &Call<'_>, run: &Run<'a>) -> Answer {
    let (Some(yes), Some(no)) =
        (run("then_branch", Values::new()), run("else_branch", Values::new()))
    else {
        return (None, Vec::new());
    };
    let condition = call.numbers(0).and_then(|numbers| numbers.first()).map(|x| *x != 0.0);
    let (from_yes, from_no) = (outputs_of(yes.0, &yes.1), outputs_of(no.0, &no.1));
    let outputs = match condition {
        Some(true) => from_yes,
        Some(false) => from_no,
        None => from_yes.into_iter().zip(from_no).map(|(a, b)| agreed(a, &b)).collect(),
    };
    let times = |runs: bool| condition.map(|condition| u64::from(condition == runs));
    let bodies =
        vec![body("then_branch", yes.1, times(true)), body("else_branch", no.1, times(false))];
    (Some(outputs), bodies)
}

fn agreed(a: Value, b: &Value) -> Value {
    let dims = if a.dims == b.dims { a.dims } else { None };
    let numbers = if a.numbers == b.numbers { a.numbers } else { None };
    let dtype = if a.dtype == b.dtype { a.dtype } else { DataType::Undefined };
    Value { dtype, dims, numbers }
}

/// The first round's shapes; a value that the body gives another shape is unknown in every round.
fn repeat<'a>(call: &Call<'_>, run: &Run<'a>, observed: Option<u64>) -> Answer {
    let Some(graph) = call.node.subgraph("body") else { return (None, Vec::new()) };
    let carried = call.inputs.len().saturating_sub(2);
    let mut start: Vec<Value> =
        vec![Value::new(DataType::Int64, vec![]), Value::new(DataType::Bool, vec![])];
    for index in 2..call.inputs.len() {
        let value = call.inputs[index].cloned();
        let value = value.unwrap_or_else(|| Value::unknown(DataType::Undefined));
        // What is carried changes from round to round, so its numbers are not known.
        start.push(Value { numbers: None, ..value });
    }
    let inputs = |start: &[Value]| -> Values {
        let names = graph.inputs.iter().map(|input| input.name.clone());
        names.zip(start.iter().cloned()).collect()
    };
    let Some((_, mut shapes)) = run("body", inputs(&start)) else { return (None, Vec::new()) };
    let mut outputs = outputs_of(graph, &shapes);
    let changed: Vec<usize> = (0..carried)
        .filter(|i| outputs.get(1 + i).is_none_or(|output| output.dims != start[2 + i].dims))
        .collect();
    if !changed.is_empty() {
        for index in changed {
            start[2 + index].dims = None;
        }
        if let Some((_, again)) = run("body", inputs(&start)) {
            shapes = again;
            outputs = outputs_of(graph, &shapes);
        }
    }
    // A condition that the body passes on unchanged, or a constant true, leaves the trip count in charge.
    let forever = outputs.first().is_some_and(|output| match graph.inputs.get(1) {
        Some(input) if graph.outputs[0].name == input.name => true,
        _ => output.numbers.as_deref() == Some(&[1.0]) || passes_on(graph),
    });
    let most = call.ints(0).and_then(|list| list.first().copied());
    let times = most.filter(|_| forever).and_then(|most| u64::try_from(most).ok()).or(observed);
    let result = outputs
        .into_iter()
        .skip(1)
        .enumerate()
        .map(|(index, output)| match (index < carried, times, output.dims) {
            (true, _, dims) => Value { dims, numbers: None, ..output },
            // Each round adds a row.
            (false, Some(times), Some(mut dims)) => {
                dims.insert(0, usize::try_from(times).unwrap_or(usize::MAX));
                Value::new(output.dtype, dims)
            }
            (false, _, _) => Value::unknown(output.dtype),
        })
        .collect();
    (Some(result), vec![body("body", shapes, times)])
}

/// Whether the body's condition is its own input behind `Identity` or `Cast`.
fn passes_on(graph: &Graph) -> bool {
    let (Some(input), Some(output)) = (graph.inputs.get(1), graph.outputs.first()) else {
        return false;
    };
    let maker = graph.nodes.iter().find(|node| node.outputs.contains(&output.name));
    maker.is_some_and(|node| {
        matches!(node.op_type.as_str(), "Identity" | "Cast") && node.input(0) == Some(&input.name)
    })
}

fn scan<'a>(call: &Call<'_>, run: &Run<'a>) -> Answer {
    let Some(graph) = call.node.subgraph("body") else { return (None, Vec::new()) };
    let Some(scanned) = call.node.int("num_scan_inputs").and_then(|n| usize::try_from(n).ok())
    else {
        return (None, Vec::new());
    };
    let Some(states) = call.inputs.len().checked_sub(scanned) else { return (None, Vec::new()) };
    let along = |name: &str, index: usize| {
        call.node.ints(name).and_then(|list| list.get(index).copied()).unwrap_or(0)
    };
    let mut rounds = None;
    let mut inputs = Values::new();
    for (index, input) in graph.inputs.iter().enumerate() {
        let outer = call.inputs.get(index).copied().flatten();
        let mut value =
            Value { numbers: None, ..outer.cloned().unwrap_or(Value::unknown(input.dtype)) };
        if index >= states {
            value.dims = value.dims.and_then(|mut dims| {
                let at = axis(along("scan_input_axes", index - states), dims.len())?;
                rounds = Some(dims.remove(at));
                Some(dims)
            });
        }
        inputs.insert(input.name.clone(), value);
    }
    let Some((_, shapes)) = run("body", inputs) else { return (None, Vec::new()) };
    let outputs = outputs_of(graph, &shapes)
        .into_iter()
        .enumerate()
        .map(|(index, output)| {
            if index < states {
                return Value { numbers: None, ..output };
            }
            let dims = output.dims.zip(rounds).and_then(|(mut dims, rounds)| {
                let at = axis(along("scan_output_axes", index - states), dims.len() + 1)?;
                dims.insert(at, rounds);
                Some(dims)
            });
            Value { dims, dtype: output.dtype, numbers: None }
        })
        .collect();
    (Some(outputs), vec![body("body", shapes, rounds.map(|rounds| rounds as u64))])
}
