//! Gradient-boosted trees on binned features: what is left of a time after physics. Deterministic for a seed.

use stats::SplitMix;

/// Bins of a feature; bin 0 is a missing value.
const BINS: usize = 64;
/// Pulls the value of small leaves towards zero, in units of weight.
const RIDGE: f64 = 1.0;

/// How trees are grown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Growth {
    /// How many trees.
    pub(crate) trees: usize,
    /// The share of a tree's answer that is taken.
    pub(crate) rate: f64,
    /// Leaves of a tree.
    pub(crate) leaves: usize,
    /// Rows of a leaf, at least.
    pub(crate) rows: usize,
    /// Share of the rows that a tree sees.
    pub(crate) row_share: f64,
    /// Share of the features that a tree sees.
    pub(crate) feature_share: f64,
    /// An error beyond this counts as this much: outliers must not steer a fit. In units of the target.
    pub(crate) clip: f64,
    /// Whether a leaf says the middle of its errors instead of their mean: half of all answers should be near.
    pub(crate) is_median: bool,
    /// Where the random choices begin.
    pub(crate) seed: u64,
}

/// Rows of features, one column after the other.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    pub(crate) columns: Vec<Vec<f64>>,
}

impl Table {
    /// The columns of rows of equal length.
    pub(crate) fn of<'a>(rows: impl Iterator<Item = &'a [f64]>, width: usize) -> Table {
        let mut columns = vec![Vec::new(); width];
        for row in rows {
            for (column, value) in columns.iter_mut().zip(row) {
                column.push(*value);
            }
        }
        Table { columns }
    }
}

#[derive(Debug, Clone, Copy)]
enum Node {
    Leaf(f64),
    /// Rows at or below the limit go to the first child, missing ones as the split learned.
    Split {
        feature: usize,
        limit: f64,
        missing_low: bool,
        low: usize,
        high: usize,
    },
}

/// A fitted ensemble of trees.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trees {
    base: f64,
    trees: Vec<Vec<Node>>,
}

impl Trees {
    /// The answer for one row.
    pub(crate) fn answer(&self, row: &[f64]) -> f64 {
        self.base + self.trees.iter().map(|tree| descend(tree, row)).sum::<f64>()
    }

    /// Fits targets; a row with twice the weight counts as two.
    pub(crate) fn fit(table: &Table, targets: &[f64], weights: &[f64], growth: &Growth) -> Trees {
        if targets.is_empty() {
            return Trees::default();
        }
        let binned = Binned::of(table);
        let mean_weight = weights.iter().sum::<f64>() / weights.len() as f64;
        let weights: Vec<f64> = weights.iter().map(|weight| weight / mean_weight).collect();
        let base = weighted_median(targets, &weights);
        let mut errors: Vec<f64> = targets.iter().map(|target| target - base).collect();
        let mut random = SplitMix::new(growth.seed);
        let mut trees = Vec::with_capacity(growth.trees);
        for _ in 0..growth.trees {
            let rows = chosen(targets.len(), growth.row_share, &mut random);
            let features = chosen(table.columns.len(), growth.feature_share, &mut random);
            let grower = Grower {
                binned: &binned,
                errors: &errors,
                weights: &weights,
                features: &features,
                growth,
            };
            let mut tree = grower.split(rows.clone());
            let leaves = binned.leaves(&tree, errors.len());
            if growth.is_median {
                grower.say_middles(&mut tree, &rows, &leaves);
            }
            for (error, leaf) in errors.iter_mut().zip(leaves) {
                if let Node::Leaf(value) = tree.nodes[usize::from(leaf)] {
                    *error -= value;
                }
            }
            trees.push(tree.nodes);
        }
        Trees { base, trees }
    }
}

fn descend(tree: &[Node], row: &[f64]) -> f64 {
    let mut at = 0;
    loop {
        match tree[at] {
            Node::Leaf(value) => return value,
            Node::Split { feature, limit, missing_low, low, high } => {
                let value = row[feature];
                let is_low = if value.is_nan() { missing_low } else { value <= limit };
                at = if is_low { low } else { high };
            }
        }
    }
}

/// A random subset in ascending order, never empty.
fn chosen(count: usize, share: f64, random: &mut SplitMix) -> Vec<u32> {
    let some: Vec<u32> =
        (0..count as u32).filter(|_| share >= 1.0 || random.unit() < share).collect();
    if some.is_empty() { (0..count as u32).collect() } else { some }
}

fn weighted_median(values: &[f64], weights: &[f64]) -> f64 {
    let pairs: Vec<(f64, f64)> = values.iter().copied().zip(weights.iter().copied()).collect();
    crate::quantile::weighted(pairs, 0.5).unwrap_or(0.0)
}

/// Features as small numbers, and where one bin ends.
struct Binned {
    /// Of every feature, the bin of every row.
    bins: Vec<Vec<u8>>,
    /// Of every feature, the largest value of bins 1, 2, ….
    limits: Vec<Vec<f64>>,
}

impl Binned {
    fn of(table: &Table) -> Binned {
        let mut binned = Binned { bins: Vec::new(), limits: Vec::new() };
        for column in &table.columns {
            let mut known: Vec<f64> = column.iter().copied().filter(|v| !v.is_nan()).collect();
            known.sort_by(f64::total_cmp);
            let mut distinct = known.clone();
            distinct.dedup();
            let limits = if distinct.len() < BINS {
                distinct
            } else {
                let at =
                    |step: usize| known[(step * known.len() / (BINS - 1)).min(known.len()) - 1];
                let mut limits: Vec<f64> = (1..BINS).map(at).collect();
                limits.dedup();
                limits
            };
            let bin = |value: &f64| match value.is_nan() {
                true => 0,
                false => {
                    1 + limits.partition_point(|limit| limit < value).min(limits.len() - 1) as u8
                }
            };
            binned.bins.push(column.iter().map(bin).collect());
            binned.limits.push(limits);
        }
        binned
    }

    /// The leaf of every row: a tree has few.
    fn leaves(&self, tree: &Tree, rows: usize) -> Vec<u16> {
        (0..rows).map(|row| self.leaf(tree, row) as u16).collect()
    }

    /// The leaf of a row.
    fn leaf(&self, tree: &Tree, row: usize) -> usize {
        let mut at = 0;
        loop {
            match tree.nodes[at] {
                Node::Leaf(_) => return at,
                Node::Split { feature, missing_low, low, high, .. } => {
                    let bin = self.bins[feature][row];
                    let is_low = if bin == 0 { missing_low } else { bin <= tree.bins[at] };
                    at = if is_low { low } else { high };
                }
            }
        }
    }
}

/// A tree with the bins of its splits, which are quicker to follow than its limits.
struct Tree {
    nodes: Vec<Node>,
    bins: Vec<u8>,
}

/// Sum of error × weight, of weight, and of rows.
#[derive(Clone, Copy, Default)]
struct Cell {
    error: f64,
    weight: f64,
    rows: u32,
}

impl Cell {
    fn add(&mut self, other: Cell) {
        self.error += other.error;
        self.weight += other.weight;
        self.rows += other.rows;
    }

    fn minus(self, other: Cell) -> Cell {
        Cell {
            error: self.error - other.error,
            weight: self.weight - other.weight,
            rows: self.rows - other.rows,
        }
    }

    fn score(self) -> f64 {
        self.error * self.error / (self.weight + RIDGE)
    }
}

/// What the cells of all features of a node hold.
type Histogram = Vec<[Cell; BINS]>;

#[derive(Clone, Copy)]
struct Cut {
    gain: f64,
    feature: usize,
    bin: u8,
    missing_low: bool,
}

struct Open {
    node: usize,
    rows: Vec<u32>,
    histogram: Histogram,
    cut: Cut,
}

struct Grower<'a> {
    binned: &'a Binned,
    errors: &'a [f64],
    weights: &'a [f64],
    features: &'a [u32],
    growth: &'a Growth,
}

impl Grower<'_> {
    /// The node with the largest gain is split first, as long as there are leaves left.
    fn split(&self, rows: Vec<u32>) -> Tree {
        let histogram = self.histogram(&rows);
        let mut tree = Tree { nodes: vec![Node::Leaf(0.0)], bins: vec![0] };
        let mut open = Vec::new();
        tree.nodes[0] = Node::Leaf(self.value(&rows));
        self.consider(0, rows, histogram, &mut open);
        let mut leaves = 1;
        while leaves < self.growth.leaves {
            let best = (0..open.len()).max_by(|one, other| {
                open[*one].cut.gain.total_cmp(&open[*other].cut.gain).then(other.cmp(one))
            });
            let Some(best) = best else { break };
            let parent: Open = open.swap_remove(best);
            let Cut { feature, bin, missing_low, .. } = parent.cut;
            let bins = &self.binned.bins[feature];
            let (low_rows, high_rows): (Vec<u32>, Vec<u32>) =
                parent.rows.iter().copied().partition(|row| match bins[*row as usize] {
                    0 => missing_low,
                    own => own <= bin,
                });
            let (low, high) = (tree.nodes.len(), tree.nodes.len() + 1);
            tree.nodes.push(Node::Leaf(self.value(&low_rows)));
            tree.nodes.push(Node::Leaf(self.value(&high_rows)));
            tree.bins.extend([0, 0]);
            let limit = self.binned.limits[feature][usize::from(bin) - 1];
            tree.nodes[parent.node] = Node::Split { feature, limit, missing_low, low, high };
            tree.bins[parent.node] = bin;
            leaves += 1;
            // The smaller child is counted, the larger is what is left of the parent.
            let is_low_smaller = low_rows.len() <= high_rows.len();
            let smaller = self.histogram(if is_low_smaller { &low_rows } else { &high_rows });
            let larger = parent
                .histogram
                .iter()
                .zip(&smaller)
                .map(|(all, part)| std::array::from_fn(|at| all[at].minus(part[at])))
                .collect();
            let (low_cells, high_cells) =
                if is_low_smaller { (smaller, larger) } else { (larger, smaller) };
            self.consider(low, low_rows, low_cells, &mut open);
            self.consider(high, high_rows, high_cells, &mut open);
        }
        tree
    }

    fn error(&self, row: u32) -> f64 {
        self.errors[row as usize].clamp(-self.growth.clip, self.growth.clip)
    }

    /// Every leaf says the middle of the errors of its rows.
    fn say_middles(&self, tree: &mut Tree, rows: &[u32], leaves: &[u16]) {
        let mut of_leaf: Vec<Vec<(f64, f64)>> = vec![Vec::new(); tree.nodes.len()];
        for row in rows {
            let row = *row as usize;
            of_leaf[usize::from(leaves[row])].push((self.errors[row], self.weights[row]));
        }
        for (node, pairs) in of_leaf.into_iter().enumerate().filter(|(_, pairs)| !pairs.is_empty())
        {
            let middle = crate::quantile::middle(pairs);
            tree.nodes[node] = Node::Leaf(self.growth.rate * middle);
        }
    }

    fn value(&self, rows: &[u32]) -> f64 {
        let mut all = Cell::default();
        for row in rows {
            let weight = self.weights[*row as usize];
            all.add(Cell { error: self.error(*row) * weight, weight, rows: 1 });
        }
        self.growth.rate * all.error / (all.weight + RIDGE)
    }

    fn histogram(&self, rows: &[u32]) -> Histogram {
        let cells: Vec<(f64, f64)> = rows
            .iter()
            .map(|row| {
                let weight = self.weights[*row as usize];
                (self.error(*row) * weight, weight)
            })
            .collect();
        let mut histogram = vec![[Cell::default(); BINS]; self.features.len()];
        for (feature, bins) in self.features.iter().zip(&mut histogram) {
            let own = &self.binned.bins[*feature as usize];
            for (row, (error, weight)) in rows.iter().zip(&cells) {
                let cell = &mut bins[usize::from(own[*row as usize]) % BINS];
                cell.error += error;
                cell.weight += weight;
                cell.rows += 1;
            }
        }
        histogram
    }

    fn consider(&self, node: usize, rows: Vec<u32>, histogram: Histogram, open: &mut Vec<Open>) {
        if rows.len() < 2 * self.growth.rows {
            return;
        }
        if let Some(cut) = self.best_cut(&histogram) {
            open.push(Open { node, rows, histogram, cut });
        }
    }

    fn best_cut(&self, histogram: &Histogram) -> Option<Cut> {
        let least = self.growth.rows as u32;
        let mut best: Option<Cut> = None;
        for (feature, bins) in self.features.iter().zip(histogram) {
            let mut all = Cell::default();
            bins.iter().for_each(|cell| all.add(*cell));
            let missing = bins[0];
            let ways: &[bool] = if missing.rows > 0 { &[true, false] } else { &[true] };
            for missing_low in ways {
                let mut low = if *missing_low { missing } else { Cell::default() };
                let limits = self.binned.limits[*feature as usize].len();
                for (bin, cell) in bins.iter().enumerate().take(limits).skip(1) {
                    low.add(*cell);
                    let high = all.minus(low);
                    if low.rows < least || high.rows < least || cell.rows == 0 {
                        continue;
                    }
                    let gain = low.score() + high.score() - all.score();
                    if gain > 1e-9 && best.is_none_or(|best| gain > best.gain) {
                        let (feature, bin) = (*feature as usize, bin as u8);
                        best = Some(Cut { gain, feature, bin, missing_low: *missing_low });
                    }
                }
            }
        }
        best
    }
}
