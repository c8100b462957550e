//! Modules as a tree: what runs in each, and what lies inside it.

use crate::inside::{Part, Spend, Work};
use std::collections::HashMap;
use types::{Layer, LayerKind, LayerWork};

/// Operators named for a module at most; the rest are counted.
const NAMED: usize = 3;

/// A module of the tree.
#[derive(Default)]
struct Branch {
    path: String,
    depth: usize,
    own: f64,
    host: Option<f64>,
    calls: f64,
    operators: Vec<String>,
    work: Work,
    inside: Vec<usize>,
}

/// The modules of a model; the first is the model itself.
pub(crate) struct Tree {
    branches: Vec<Branch>,
    places: HashMap<String, usize>,
}

impl Tree {
    /// Modules that ran or that have work, in the order they ran.
    pub(crate) fn of(parts: &[Part], work: &[LayerWork]) -> Tree {
        let mut tree =
            Tree { branches: vec![Branch::default()], places: HashMap::from([(String::new(), 0)]) };
        for part in parts {
            let at = tree.branch(&part.module);
            let branch = &mut tree.branches[at];
            branch.own += part.seconds;
            branch.host = plus(branch.host, part.host);
            branch.calls = branch.calls.max(part.calls);
            if !branch.operators.contains(&part.operator) {
                branch.operators.push(part.operator.clone());
            }
        }
        for work in work.iter().filter(|work| work.flops.is_some() || work.bytes.is_some()) {
            let at = tree.branch(&work.path);
            tree.branches[at].work.add(work.flops, work.bytes);
        }
        tree
    }

    /// The module with this path, made with those around it where it is new.
    fn branch(&mut self, path: &str) -> usize {
        if let Some(&at) = self.places.get(path) {
            return at;
        }
        let around = self.branch(path.rsplit_once('.').map_or("", |(around, _)| around));
        let depth = if around == 0 { 0 } else { self.branches[around].depth + 1 };
        let at = self.branches.len();
        self.branches.push(Branch { path: path.to_owned(), depth, ..Branch::default() });
        self.branches[around].inside.push(at);
        self.places.insert(path.to_owned(), at);
        at
    }

    /// Every module before those inside it; what lies in no module comes last.
    pub(crate) fn layers(&self, spend: &Spend) -> Vec<Layer> {
        let mut layers = Vec::new();
        for &at in &self.branches[0].inside {
            self.tell(at, spend, &mut layers);
        }
        let root = &self.branches[0];
        if root.own > 0.0 || root.work != Work::default() {
            layers.push(self.layer(root, spend, root.own, (root.work, root.calls, root.host)));
        }
        layers
    }

    /// Tells a branch and what is inside; returns its time, work, calls and the host's time.
    fn tell(&self, at: usize, spend: &Spend, layers: &mut Vec<Layer>) -> (f64, Sums) {
        let branch = &self.branches[at];
        let place = layers.len();
        layers.push(self.layer(branch, spend, 0.0, (Work::default(), 0.0, None)));
        let mut total = branch.own;
        let (mut work, mut calls, mut host) = (branch.work, branch.calls, branch.host);
        for &inner in &branch.inside {
            let (seconds, (done, called, hosted)) = self.tell(inner, spend, layers);
            total += seconds;
            work.join(done);
            host = plus(host, hosted);
            if branch.calls == 0.0 {
                calls = calls.max(called);
            }
        }
        layers[place] = self.layer(branch, spend, total, (work, calls, host));
        (total, (work, calls, host))
    }

    fn layer(
        &self,
        branch: &Branch,
        spend: &Spend,
        total: f64,
        (work, calls, host): Sums,
    ) -> Layer {
        let first = branch.operators.first().map_or("", String::as_str);
        Layer {
            path: branch.path.clone(),
            depth: branch.depth,
            kind: LayerKind::of(&branch.path, first),
            class: class(&branch.operators),
            spent: spend.of(calls, total, branch.own, work, host),
        }
    }
}

/// Work, calls and the host's time.
type Sums = (Work, f64, Option<f64>);

fn plus(sum: Option<f64>, more: Option<f64>) -> Option<f64> {
    match (sum, more) {
        (None, None) => None,
        (sum, more) => Some(sum.unwrap_or(0.0) + more.unwrap_or(0.0)),
    }
}

/// What runs directly in a module: its class, or its operators.
fn class(operators: &[String]) -> String {
    let named = operators.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match operators.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}
