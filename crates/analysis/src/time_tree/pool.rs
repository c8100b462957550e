//! The same place in every block put together: `encoder.layer.*.attention`.

use super::{TimeNode, TimeTree};
use crate::layer_pool::pooling;
use std::{borrow::Cow, collections::HashMap};
use types::{Bytes, Flops, Layer, Pooling, Ratio, Roofline, Seconds, Spent};

impl TimeTree<'_> {
    /// The tree with one node for modules whose paths differ in numbers only; `None` if no two do.
    #[must_use]
    pub fn pooled(&self) -> Option<TimeTree<'static>> {
        let layers = self.nodes.iter().filter_map(|node| node.layer.as_deref());
        let mut pools = Pools { pooling: pooling(layers), ..Pools::default() };
        for node in &self.nodes {
            pools.add(node);
        }
        if pools.list.len() == self.nodes.len() {
            return None;
        }
        let mut tree = TimeTree { nodes: vec![TimeNode::model(self.nodes.first()?.label.clone())] };
        pools.write(0, 0, &mut tree);
        tree.add_up();
        Some(tree)
    }
}

/// Modules that stand at the same place.
struct Pool {
    /// The path of the first.
    path: String,
    layer: Option<Layer>,
    modules: usize,
    inside: Vec<usize>,
}

#[derive(Default)]
struct Pools {
    list: Vec<Pool>,
    /// The pool of each node, in the nodes' order.
    of_node: Vec<usize>,
    /// Pools by the pool around them and their path.
    known: HashMap<(usize, String), usize>,
    pooling: Pooling,
}

impl Pools {
    fn add(&mut self, node: &TimeNode<'_>) {
        let (Some(parent), Some(layer)) = (node.parent, node.layer.as_deref()) else {
            self.of_node.push(self.list.len());
            let path = String::new();
            self.list.push(Pool { path, layer: None, modules: 1, inside: Vec::new() });
            return;
        };
        let around = self.of_node[parent];
        let path = self.pooling.path(&node.path);
        let pool = *self.known.entry((around, path)).or_insert(self.list.len());
        self.of_node.push(pool);
        match self.list.get_mut(pool) {
            Some(Pool { layer: Some(known), modules, .. }) => {
                *modules += 1;
                merge(&mut known.spent, &layer.spent);
            }
            _ => {
                self.list[around].inside.push(pool);
                let (path, layer) = (node.path.clone(), Some(layer.clone()));
                self.list.push(Pool { path, layer, modules: 1, inside: Vec::new() });
            }
        }
    }

    /// Writes what lies inside a pool, every pool before what is inside it.
    fn write(&self, pool: usize, parent: usize, tree: &mut TimeTree<'static>) {
        for inside in &self.list[pool].inside {
            let Pool { path, layer: Some(layer), modules, .. } = &self.list[*inside] else {
                continue;
            };
            let path = if *modules > 1 { self.pooling.path(path) } else { path.clone() };
            let node = tree.nodes.len();
            tree.push(parent, path, Cow::Owned(layer.clone()), *modules);
            self.write(*inside, node, tree);
        }
    }
}

/// Adds time and work; the share of the attainable is the mean over the time, and none where the bounds differ.
fn merge(into: &mut Spent, other: &Spent) {
    into.roofline = into.roofline.zip(other.roofline).and_then(|(one, two)| {
        let (first, second) = (into.total.0, other.total.0);
        let attained = (one.attained.0 * first + two.attained.0 * second) / (first + second);
        let known = one.bound == two.bound && attained.is_finite();
        known.then_some(Roofline { bound: one.bound, attained: Ratio(attained) })
    });
    into.calls += other.calls;
    into.total = Seconds(into.total.0 + other.total.0);
    into.own = Seconds(into.own.0 + other.own.0);
    into.share = Ratio(into.share.0 + other.share.0);
    into.flops = match (into.flops, other.flops) {
        (Some(one), Some(two)) => Some(Flops(one.0.saturating_add(two.0))),
        (one, two) => one.or(two),
    };
    into.bytes = match (into.bytes, other.bytes) {
        (Some(one), Some(two)) => Some(Bytes(one.0.saturating_add(two.0))),
        (one, two) => one.or(two),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{Bound, LayerKind};

    fn spent(own: f64, attained: f64, bound: Bound) -> Spent {
        Spent {
            calls: 1.0,
            total: Seconds(own),
            own: Seconds(own),
            share: Ratio(0.1),
            flops: Some(Flops(10)),
            bytes: None,
            roofline: Some(Roofline { bound, attained: Ratio(attained) }),
            host: None,
        }
    }

    fn tree(paths: &[(&str, usize)]) -> TimeTree<'static> {
        let mut tree = TimeTree { nodes: vec![TimeNode::model("model".into())] };
        for (path, parent) in paths {
            let spent = spent(1.0, 0.5, Bound::Compute);
            let (kind, class) = (LayerKind::Other, String::new());
            let layer = Layer { path: (*path).into(), depth: 0, kind, class, spent };
            tree.push(*parent, (*path).into(), Cow::Owned(layer), 1);
        }
        tree.add_up();
        tree
    }

    #[test]
    fn the_same_place_in_every_block_is_one_node() {
        let blocks =
            [("h.0", 0), ("h.0.mlp", 1), ("h.1", 0), ("h.1.attn", 3), ("h.1.mlp", 3), ("ln_f", 0)];
        let pooled = tree(&blocks).pooled().unwrap();
        let nodes = pooled.nodes.iter().map(|node| (node.path.as_str(), node.modules, node.total));
        assert_eq!(
            nodes.collect::<Vec<_>>(),
            [
                ("", 1, 6.0),
                ("h.*", 2, 5.0),
                ("h.*.mlp", 2, 2.0),
                ("h.1.attn", 1, 1.0),
                ("ln_f", 1, 1.0)
            ]
        );
    }

    #[test]
    fn a_tree_without_repetition_is_not_drawn_twice() {
        assert!(tree(&[("conv1", 0), ("layer.0", 0), ("layer.0.conv", 2)]).pooled().is_none());
    }

    #[test]
    fn the_share_of_the_attainable_is_weighed_by_time() {
        let mut one = spent(3.0, 0.8, Bound::Compute);
        merge(&mut one, &spent(1.0, 0.4, Bound::Compute));
        let roofline = one.roofline.unwrap();
        assert!((roofline.attained.0 - 0.7).abs() < 1e-12);
        assert_eq!((roofline.bound, one.flops, one.calls), (Bound::Compute, Some(Flops(20)), 2.0));
        merge(&mut one, &spent(1.0, 0.4, Bound::Memory));
        assert!(one.roofline.is_none());
    }
}
