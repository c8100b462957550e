//! Ranges: the tree of those that were open inside each other, and which one was open on a thread at a moment.

use crate::read::Recording;
use gpu_inject::format::{Event, MODULE_MARK};
use std::collections::{BTreeMap, HashMap};
use types::GpuRange;

/// The range in which everything happens that happens in none.
pub(super) const NONE: u32 = 0;
/// What the hook of `--modules` calls the backward pass, which runs on a thread of its own.
const BACKWARD: &str = "(backward)";
/// Most ranges that are kept apart; a program that numbers its ranges may have any number of names.
const MOST: usize = 1 << 16;
/// Ranges inside each other that are told apart.
const DEEPEST: usize = 200;
/// Names of a path, the innermost ones.
const PATH: usize = 16;

/// A range inside another, however often it was opened.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) parent: u32,
    pub(super) name: String,
    pub(super) domain: u32,
    pub(super) is_module: bool,
    pub(super) calls: u64,
    /// Nanoseconds in which it was open, all times together.
    pub(super) host: u64,
}

/// All ranges of a process.
pub(super) struct Ranges {
    pub(super) nodes: Vec<Node>,
    /// By thread: from when on which range is the innermost.
    changes: HashMap<u32, Vec<(u64, u32)>>,
    /// The range in which a node of a graph was made.
    graph_nodes: HashMap<u64, u32>,
    /// Backward passes: from, to, range.
    backward: Vec<(u64, u64, u32)>,
}

/// A range that is open.
struct Open {
    node: u32,
    domain: u32,
    since: u64,
}

impl Ranges {
    pub(super) fn of(recording: &Recording) -> Ranges {
        let root = Node {
            parent: NONE,
            name: String::new(),
            domain: 0,
            is_module: false,
            calls: 0,
            host: 0,
        };
        let mut ranges = Ranges {
            nodes: vec![root],
            changes: HashMap::new(),
            graph_nodes: HashMap::new(),
            backward: Vec::new(),
        };
        let mut threads: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (at, event) in recording.events.iter().enumerate() {
            threads.entry(event.thread).or_default().push(at);
        }
        let mut children = HashMap::new();
        let mut free: HashMap<u64, (u32, u64)> = HashMap::new();
        for (thread, mut events) in threads {
            // Two blocks of one thread may have been written in the wrong order.
            events.sort_by_key(|at| recording.events[*at].time);
            ranges.follow(recording, thread, &events, &mut children, &mut free);
        }
        for (node, original) in &recording.clones {
            if let Some(range) = ranges.graph_nodes.get(original).copied() {
                ranges.graph_nodes.insert(*node, range);
            }
        }
        // Of passes inside each other the outermost counts, which lasts until all of them are over.
        ranges.backward.sort_unstable_by_key(|(from, to, _)| (*from, u64::MAX - *to));
        let mut until = 0;
        ranges.backward.retain(|(_, to, _)| {
            let is_outside = *to > until;
            until = until.max(*to);
            is_outside
        });
        ranges
    }

    fn follow(
        &mut self,
        recording: &Recording,
        thread: u32,
        events: &[usize],
        children: &mut HashMap<(u32, u32, u32), u32>,
        free: &mut HashMap<u64, (u32, u64)>,
    ) {
        let mut open: Vec<Open> = Vec::new();
        let mut changes: Vec<(u64, u32)> = Vec::new();
        for event in events.iter().map(|at| &recording.events[*at]) {
            let inner = open.last().map_or(NONE, |range| range.node);
            let domain = u32::try_from(event.first).unwrap_or(0);
            match event.event {
                Event::Push => {
                    let node = match open.len() < DEEPEST {
                        true => self.child(recording, inner, event.text, domain, children),
                        false => inner,
                    };
                    self.nodes[node as usize].calls += 1;
                    open.push(Open { node, domain, since: event.time });
                    changes.push((event.time, node));
                }
                Event::Pop => {
                    let Some(at) = open.iter().rposition(|range| range.domain == domain) else {
                        continue;
                    };
                    let ended = open.remove(at);
                    self.close(&ended, event.time);
                    changes.push((event.time, open.last().map_or(NONE, |range| range.node)));
                }
                Event::Start => {
                    let node = self.child(recording, NONE, event.text, domain, children);
                    self.nodes[node as usize].calls += 1;
                    free.insert(event.number, (node, event.time));
                }
                Event::Stop => {
                    if let Some((node, since)) = free.remove(&event.first) {
                        let host = &mut self.nodes[node as usize].host;
                        *host = host.saturating_add(event.time.saturating_sub(since));
                    }
                }
                Event::Node => {
                    self.graph_nodes.insert(event.first, inner);
                }
                Event::Mark | Event::Part => {}
            }
        }
        if !changes.is_empty() {
            self.changes.insert(thread, changes);
        }
    }

    fn close(&mut self, range: &Open, time: u64) {
        let node = &mut self.nodes[range.node as usize];
        node.host = node.host.saturating_add(time.saturating_sub(range.since));
        if node.is_module && node.name == BACKWARD {
            self.backward.push((range.since, time, range.node));
        }
    }

    fn child(
        &mut self,
        recording: &Recording,
        parent: u32,
        text: u32,
        domain: u32,
        children: &mut HashMap<(u32, u32, u32), u32>,
    ) -> u32 {
        if let Some(known) = children.get(&(parent, text, domain)) {
            return *known;
        }
        if self.nodes.len() >= MOST {
            return parent;
        }
        let name = recording.text(text);
        let plain = name.strip_prefix(char::from(MODULE_MARK));
        let node = self.nodes.len() as u32;
        self.nodes.push(Node {
            parent,
            name: plain.unwrap_or(name).to_owned(),
            domain,
            is_module: plain.is_some(),
            calls: 0,
            host: 0,
        });
        children.insert((parent, text, domain), node);
        node
    }

    /// The innermost range of a thread at a moment.
    pub(super) fn at(&self, thread: u32, time: u64) -> u32 {
        let changes = self.changes.get(&thread).map_or(&[][..], Vec::as_slice);
        let after = changes.partition_point(|(from, _)| *from <= time);
        let innermost = after.checked_sub(1).map_or(NONE, |at| changes[at].1);
        if innermost != NONE {
            return innermost;
        }
        // A thread without an open range: the backward pass runs on one while the program's own thread waits. It opens ranges
        // itself where modules are computed again (activation checkpointing).
        let after = self.backward.partition_point(|(from, _, _)| *from <= time);
        let last = after.checked_sub(1).map(|at| self.backward[at]);
        last.filter(|(_, to, _)| time < *to).map_or(NONE, |(_, _, node)| node)
    }

    /// The range in which a graph's node was made.
    pub(super) fn of_graph_node(&self, node: u64) -> Option<u32> {
        self.graph_nodes.get(&node).copied()
    }

    /// A range and those around it, the innermost first.
    pub(super) fn upwards(&self, node: u32) -> impl Iterator<Item = &Node> {
        let step =
            |at: &u32| Some(self.nodes[*at as usize].parent).filter(|parent| *parent != NONE);
        let first = Some(node).filter(|node| *node != NONE);
        std::iter::successors(first, step).map(|at| &self.nodes[at as usize])
    }

    /// The innermost module around a moment.
    pub(super) fn module(&self, node: u32) -> Option<&str> {
        self.upwards(node).find(|range| range.is_module).map(|range| range.name.as_str())
    }

    /// Whether any range is a module.
    pub(super) fn has_modules(&self) -> bool {
        self.nodes.iter().any(|node| node.is_module)
    }

    /// The names of the ranges around a moment that are no modules, joined.
    pub(super) fn path(&self, node: u32) -> String {
        let mut names: Vec<&str> = self
            .upwards(node)
            .filter(|range| !range.is_module)
            .map(|range| range.name.as_str())
            .take(PATH)
            .collect();
        names.reverse();
        names.join(" / ")
    }

    /// What a person calls the place: the module if there is one, the path of ranges otherwise.
    pub(super) fn place(&self, node: u32) -> String {
        self.module(node).map_or_else(|| self.path(node), str::to_owned)
    }

    /// The tree in the order of the first opening; `kernels` are the times of kernels by range.
    pub(super) fn tree(&self, recording: &Recording, kernels: &HashMap<u32, u64>) -> Vec<GpuRange> {
        let mut total = vec![0_u64; self.nodes.len()];
        for (node, time) in kernels {
            let sum = &mut total[*node as usize];
            *sum = sum.saturating_add(*time);
        }
        let mut inside: Vec<Vec<u32>> = vec![Vec::new(); self.nodes.len()];
        // A range is made after the one around it.
        for node in (1..self.nodes.len()).rev() {
            let parent = self.nodes[node].parent as usize;
            total[parent] = total[parent].saturating_add(total[node]);
            inside[parent].push(node as u32);
        }
        let mut list = Vec::new();
        let mut open: Vec<(u32, u32)> =
            inside[NONE as usize].iter().map(|node| (*node, 0)).collect();
        while let Some((at, depth)) = open.pop() {
            if list.len() >= super::MOST_ROWS {
                break;
            }
            let node = &self.nodes[at as usize];
            let domain = recording.text(node.domain);
            list.push(GpuRange {
                name: node.name.clone(),
                depth,
                domain: (node.domain != 0).then(|| domain.to_owned()),
                is_module: node.is_module,
                calls: node.calls,
                host: super::seconds(node.host),
                kernels: super::seconds(total[at as usize]),
            });
            // The last in is the first out; children were listed backwards.
            open.extend(inside[at as usize].iter().map(|node| (*node, depth + 1)));
        }
        list
    }
}
