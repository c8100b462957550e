//! The order in which an engine with a pool runs the nodes.

use super::overwrite::may_overwrite;
use crate::{Graph, Node, count::is_view};
use std::collections::{HashMap, HashSet};

/// The nodes as they become ready, first come, first served; of those that are ready, the ones that need a buffer of
/// their own come before those that may write over an input, which may then be free to be written over.
///
/// The order decides who finds which buffer in the pool: a small value that comes late may sit in a large buffer.
pub(super) fn ready_order(graph: &Graph) -> Vec<usize> {
    let mut makers: HashMap<&str, usize> = HashMap::new();
    for (index, node) in graph.nodes.iter().enumerate() {
        makers.extend(node.outputs.iter().map(|output| (output.as_str(), index)));
    }
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); graph.nodes.len()];
    let mut waits: Vec<usize> = vec![0; graph.nodes.len()];
    let demanded = demanded(graph, &makers);
    for &index in &demanded {
        let made: HashSet<usize> = super::steps::reads(&graph.nodes[index])
            .iter()
            .filter_map(|n| makers.get(n).copied())
            .collect();
        waits[index] = made.len();
        made.into_iter().for_each(|maker| readers[maker].push(index));
    }
    let mut ready: Vec<usize> =
        demanded.iter().copied().filter(|index| waits[*index] == 0).collect();
    let mut order = Vec::with_capacity(graph.nodes.len());
    while !ready.is_empty() {
        let next = ready.iter().position(|index| !works_in_place(&graph.nodes[*index]));
        let index = ready.remove(next.unwrap_or(0));
        order.push(index);
        for &reader in &readers[index] {
            waits[reader] -= 1;
            if waits[reader] == 0 {
                ready.push(reader);
            }
        }
    }
    order
}

fn works_in_place(node: &Node) -> bool {
    is_view(node) || (0..node.inputs.len()).any(|place| may_overwrite(node, place))
}

/// Every node that an output needs, each behind those whose values it reads.
fn demanded(graph: &Graph, makers: &HashMap<&str, usize>) -> Vec<usize> {
    let mut order = Vec::with_capacity(graph.nodes.len());
    let mut seen = vec![false; graph.nodes.len()];
    // A stack of our own: graphs are deeper than the call stack.
    let mut stack: Vec<(usize, bool)> = Vec::new();
    for output in &graph.outputs {
        stack.extend(makers.get(output.name.as_str()).map(|maker| (*maker, false)));
        while let Some((index, visited)) = stack.pop() {
            if visited {
                order.push(index);
                continue;
            }
            if std::mem::replace(&mut seen[index], true) {
                continue;
            }
            stack.push((index, true));
            let node = &graph.nodes[index];
            // What its bodies capture comes last; it has no order of its own.
            let mut captured: Vec<&str> = super::steps::reads(node).into_iter().collect();
            captured.retain(|name| !node.inputs.iter().any(|input| input == name));
            captured.sort_unstable();
            let names = node.inputs.iter().map(String::as_str).chain(captured);
            let needed: Vec<usize> = names.filter_map(|name| makers.get(name).copied()).collect();
            stack.extend(needed.into_iter().rev().map(|maker| (maker, false)));
        }
    }
    order
}
