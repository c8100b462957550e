//! The order in which an engine with a pool runs its steps.

use super::Step;
use crate::Graph;
use std::collections::{HashMap, HashSet};

/// The steps as they become ready, first come, first served; of those that are ready, the ones that need a buffer of
/// their own come before those that may write over an input, which may then be free to be written over.
///
/// The order decides who finds which buffer in the pool: a small value that comes late may sit in a large buffer.
pub(super) fn ready_order<'a>(graph: &'a Graph, steps: Vec<Step<'a>>) -> Vec<Step<'a>> {
    let mut makers: HashMap<&str, usize> = HashMap::new();
    for (index, step) in steps.iter().enumerate() {
        let outputs = graph.nodes[step.node].outputs.iter();
        makers.extend(outputs.map(|output| (output.as_str(), index)));
    }
    let mut readers: HashMap<&str, Vec<usize>> = HashMap::new();
    let mut waits: Vec<usize> = vec![0; steps.len()];
    let demanded = demanded(graph, &steps, &makers);
    for &index in &demanded {
        let reads = steps[index].reads.iter().copied();
        let made: HashSet<&str> = reads.filter(|name| makers.contains_key(name)).collect();
        waits[index] = made.len();
        made.into_iter().for_each(|name| readers.entry(name).or_default().push(index));
    }
    let mut ready: Vec<usize> =
        demanded.iter().copied().filter(|index| waits[*index] == 0).collect();
    let mut steps: Vec<Option<Step<'a>>> = steps.into_iter().map(Some).collect();
    let mut order = Vec::with_capacity(demanded.len());
    while !ready.is_empty() {
        let own = |index: &usize| steps[*index].as_ref().is_some_and(|step| !step.works_in_place);
        let next = ready.iter().position(own).unwrap_or(0);
        let Some(step) = steps[ready.remove(next)].take() else { continue };
        let outputs = graph.nodes[step.node].outputs.iter();
        order.push(step);
        // Each value is waited for once; a damaged file may make one twice.
        for reader in outputs.filter_map(|output| readers.remove(output.as_str())).flatten() {
            waits[reader] -= 1;
            if waits[reader] == 0 {
                ready.push(reader);
            }
        }
    }
    order
}

/// Every step that an output needs, each behind those whose values it reads.
fn demanded(graph: &Graph, steps: &[Step<'_>], makers: &HashMap<&str, usize>) -> Vec<usize> {
    let mut order = Vec::with_capacity(steps.len());
    let mut seen = vec![false; steps.len()];
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
            let reads = steps[index].reads.iter().rev();
            stack.extend(reads.filter_map(|name| makers.get(name)).map(|maker| (*maker, false)));
        }
    }
    order
}
