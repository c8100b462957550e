//! Matrix products with weights that a file keeps in blocks, as `MatMulNBits` of `com.microsoft`.
//!
//! A number of a block is `scale · code + least`. The operator multiplies `scale · (nibble − 8)`, which every engine that has it
//! does without a zero point. So a weight `W` becomes sums of such products, with the same numbers:
//!
//! - codes of 4 bits: one product; codes of more bits: one with the lower and one, whose scales are 16 times as large, with the
//!   upper 4 bits;
//! - what is left of each block is a constant, `least + 8 · scale` (and `+ 128 · scale` with upper bits). It is multiplied with the
//!   sum of the activations of that block: one more product, whose matrix has a number for each block. Where all of these are 0
//!   there is none.
//!
//! Products with the same activations (query, key and value; gate and up) become one, whose columns are then parted: a step has fewer
//! operators, and each of them more to do.
//!
//! Where an engine is slow at the end of columns that its vectors do not divide, columns are filled up with blocks of zeros, and the
//! activations with zeros.

use super::{
    ConvertError, Plan, Report,
    names::Names,
    plan::Made,
    recast::Recast,
    scope::{list_copies, uses, with_constants_as_weights},
    siblings,
};
use crate::{Attribute, DataType, Graph, Model, Node, Tensor};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt,
    sync::Arc,
};
use types::Precision;

/// Makes the bytes of a new weight of those of the original.
pub trait Repack: fmt::Debug + Send + Sync {
    /// Hands the new bytes over in order, in pieces; `bytes` are those of the whole original.
    fn run(&self, bytes: &[u8], sink: &mut dyn FnMut(&[u8]));
}

/// The blocks' codes, 4 bits of each, and their scales.
#[derive(Debug, Clone)]
pub struct BlockPart {
    /// `[columns, blocks, bytes of a block]`: two codes a byte, the first one in the lower half.
    pub codes: Arc<dyn Repack>,
    /// `[columns, blocks]`.
    pub scales: Arc<dyn Repack>,
}

/// A matrix whose columns a file keeps in blocks.
#[derive(Debug, Clone)]
pub struct BlockMatrix {
    /// Where it lies in the file.
    pub source: Tensor,
    /// Numbers in a column.
    pub rows: usize,
    /// How many columns.
    pub columns: usize,
    /// Numbers in a block.
    pub block: usize,
    /// The lower 4 bits, and the upper ones where there are more.
    pub parts: Vec<BlockPart>,
    /// What is left of each block, `[blocks, columns]`; `None` where that is 0.
    pub rest: Option<Arc<dyn Repack>>,
}

/// Plans a model whose products take their weights in blocks, where `find` knows those of a weight by its name.
///
/// Columns are filled up to a multiple of `filled` numbers; 1 leaves them as they are.
///
/// # Errors
/// Where no product has such a weight.
pub fn plan_blocks<'m>(
    source: &'m Model,
    filled: usize,
    find: &dyn Fn(&Tensor) -> Option<BlockMatrix>,
) -> Result<Plan<'m>, ConvertError> {
    let asked = Precision::Stored;
    let mut model = with_constants_as_weights(source);
    let nodes = std::mem::take(&mut model.graph.nodes);
    let mut blocks = Blocks {
        names: Names::of(&source.graph),
        nodes: Vec::new(),
        made: Vec::new(),
        matrices: HashMap::new(),
        sums: HashMap::new(),
        filled,
        longer: HashMap::new(),
        extra: Vec::new(),
        report: Report::new(asked),
    };
    let weights: HashMap<&str, &Tensor> =
        model.graph.initializers.iter().map(|tensor| (tensor.name.as_str(), tensor)).collect();
    let found = |node: &Node| {
        let (tensor, sides) = weight_of(node, &weights)?;
        let matrix = find(tensor).filter(|found| [found.rows, found.columns] == sides)?;
        Some(Product { weight: tensor.name.clone(), matrix })
    };
    let products: Vec<Option<Product>> = nodes.iter().map(found).collect();
    let mut families = siblings::families(&nodes, &products);
    let mut is_done = vec![false; nodes.len()];
    for (at, node) in nodes.iter().enumerate() {
        if is_done[at] {
            continue;
        }
        match (families.remove(&at), &products[at]) {
            (Some(family), _) => {
                family.members.iter().for_each(|member| is_done[*member] = true);
                let member = |at: &usize| Some((&nodes[*at], products[*at].as_ref()?));
                let members: Vec<(&Node, &Product)> =
                    family.members.iter().filter_map(member).collect();
                blocks.family(&members, &family.matrix, &source.graph);
            }
            (None, Some(Product { weight, matrix })) => {
                blocks.product(node, weight, matrix, &source.graph);
            }
            (None, None) => blocks.nodes.push(node.clone()),
        }
    }
    if blocks.matrices.is_empty() {
        let why = "none of its products has a weight that is kept in blocks".to_owned();
        return Err(ConvertError::Nothing { asked, why });
    }
    blocks.finish(source, model)
}

/// A product with a weight in blocks.
pub(super) struct Product {
    pub(super) weight: String,
    pub(super) matrix: BlockMatrix,
}

/// The weight of a product, with its rows and columns as the product uses it.
fn weight_of<'t>(
    node: &Node,
    weights: &HashMap<&str, &'t Tensor>,
) -> Option<(&'t Tensor, [usize; 2])> {
    let tensor = weights.get(node.input(1)?)?;
    let &[first, second] = tensor.dims.as_slice() else { return None };
    let is = |name: &str, wanted: i64| node.int(name).unwrap_or(wanted) == wanted;
    match node.op_type.as_str() {
        "MatMul" if node.is_standard() => Some((tensor, [first, second])),
        "Gemm" if node.is_standard() => {
            let is_plain = is("transA", 0) && node.float("alpha").unwrap_or(1.0) == 1.0;
            let sides = if is("transB", 0) { [first, second] } else { [second, first] };
            (is_plain && node.input(2).is_none()).then_some((tensor, sides))
        }
        _ => None,
    }
}

/// The dimensions of a product, which has as many as its activations; only outputs of the graph may have other than three.
fn rank(node: &Node, graph: &Graph) -> usize {
    let output = graph.outputs.iter().find(|output| node.outputs.contains(&output.name));
    let rank = output.and_then(|output| output.shape.as_ref()).map_or(3, Vec::len);
    if node.op_type == "Gemm" { 2 } else { rank }
}

/// Columns with something behind each.
#[derive(Debug)]
struct Filled {
    columns: Arc<dyn Repack>,
    /// Bytes of a column.
    length: usize,
    /// Bytes that follow it.
    more: usize,
    with: u8,
}

impl Filled {
    fn of(columns: &Arc<dyn Repack>, length: usize, more: usize, with: u8) -> Arc<dyn Repack> {
        let columns = Arc::clone(columns);
        match more {
            0 => columns,
            _ => Arc::new(Filled { columns, length, more, with }),
        }
    }
}

impl Repack for Filled {
    fn run(&self, bytes: &[u8], sink: &mut dyn FnMut(&[u8])) {
        let (mut at, mut made) = (0, Vec::new());
        self.columns.run(bytes, &mut |mut piece: &[u8]| {
            made.clear();
            while !piece.is_empty() {
                let (column, rest) = piece.split_at((self.length - at).min(piece.len()));
                made.extend_from_slice(column);
                (at, piece) = (at + column.len(), rest);
                if at == self.length {
                    made.resize(made.len() + self.more, self.with);
                    at = 0;
                }
            }
            sink(&made);
        });
    }
}

/// The names of a matrix in its new form.
#[derive(Clone)]
struct Names4 {
    parts: Vec<[String; 2]>,
    rest: Option<String>,
}

struct Blocks {
    names: Names,
    nodes: Vec<Node>,
    made: Vec<Made>,
    matrices: HashMap<String, Names4>,
    /// Sums of blocks by activation and block.
    sums: HashMap<(String, usize), String>,
    /// Columns have a multiple of so many numbers.
    filled: usize,
    /// Activations that were filled up, by what they were.
    longer: HashMap<String, String>,
    /// Tensors that count beside their weight.
    extra: Vec<String>,
    report: Report,
}

impl Blocks {
    /// Adds what takes the place of a product.
    fn product(&mut self, node: &Node, weight: &str, matrix: &BlockMatrix, graph: &Graph) {
        let names = match self.matrices.get(weight) {
            Some(known) => known.clone(),
            None => self.matrix(weight, matrix),
        };
        self.sum_of_products(node, &names, matrix, graph);
        if let Some(last) = self.nodes.last_mut() {
            last.outputs.clone_from(&node.outputs);
        }
        self.report.products += 1;
    }

    /// Adds what takes the place of several products with the same activations: one, whose columns are then parted.
    fn family(&mut self, members: &[(&Node, &Product)], matrix: &BlockMatrix, graph: &Graph) {
        let Some(&(first, product)) = members.first() else { return };
        let nodes: Vec<&Node> = members.iter().map(|(node, _)| *node).collect();
        let beside = Node { name: siblings::common_name(&nodes), ..first.clone() };
        let name = format!("{}_and_{}_more", product.weight, members.len() - 1);
        let names = self.matrix(&name, matrix);
        for (_, product) in members {
            self.matrices.insert(product.weight.clone(), names.clone());
        }
        let sizes: Vec<i64> = members.iter().map(|(_, one)| one.matrix.columns as i64).collect();
        let all = self.sum_of_products(&beside, &names, matrix, graph);
        let sizes = self.constant(&sizes);
        self.add(&beside, "Split", &[&all, &sizes]);
        if let Some(last) = self.nodes.last_mut() {
            last.attributes.insert("axis".into(), (-1).into());
            last.outputs = members.iter().map(|(node, _)| node.outputs[0].clone()).collect();
        }
        self.report.products += members.len();
    }

    /// Adds the products whose sum is that with a matrix, and gives its name.
    fn sum_of_products(
        &mut self,
        node: &Node,
        names: &Names4,
        matrix: &BlockMatrix,
        graph: &Graph,
    ) -> String {
        let x = node.inputs[0].clone();
        let rows = self.filled_rows(matrix);
        let filled = match rows - matrix.rows {
            0 => x.clone(),
            more => self.fill(node, &x, more, graph),
        };
        let mut terms = Vec::new();
        for [codes, scales] in &names.parts {
            let term = self.add(node, "MatMulNBits", &[&filled, codes, scales]);
            let int = |value: usize| Attribute::Int(value as i64);
            let attributes = [
                ("K", int(rows)),
                ("N", int(matrix.columns)),
                ("bits", 4.into()),
                ("block_size", int(matrix.block)),
                // Activations of one row are rounded to 8 bits, block by block, as llama.cpp does.
                ("accuracy_level", 4.into()),
            ];
            if let Some(last) = self.nodes.last_mut() {
                last.domain = "com.microsoft".into();
                last.attributes.extend(attributes.map(|(name, value)| (name.to_owned(), value)));
            }
            terms.push(term);
        }
        if let Some(rest) = &names.rest {
            let sums = self.block_sums(node, &x, matrix, graph);
            terms.push(self.add(node, "MatMul", &[&sums, rest]));
        }
        while let [first, second, ..] = &terms[..] {
            let sum = self.add(node, "Add", &[&first.clone(), &second.clone()]);
            terms.splice(..2, [sum]);
        }
        terms.pop().unwrap_or_default()
    }

    /// The sum of each block of the activations, made once for all products with them.
    fn block_sums(&mut self, node: &Node, x: &str, matrix: &BlockMatrix, graph: &Graph) -> String {
        let key = (x.to_owned(), matrix.block);
        if let Some(known) = self.sums.get(&key) {
            return known.clone();
        }
        let rank = rank(node, graph);
        let mut shape = vec![0; rank.saturating_sub(1)];
        shape.extend([(matrix.rows / matrix.block) as i64, matrix.block as i64]);
        let shape = self.constant(&shape);
        let apart = self.add(node, "Reshape", &[x, &shape]);
        let axes = self.constant(&[-1]);
        let sums = self.add(node, "ReduceSum", &[&apart, &axes]);
        if let Some(last) = self.nodes.last_mut() {
            last.attributes.insert("keepdims".into(), 0.into());
        }
        self.sums.insert(key, sums.clone());
        sums
    }

    /// Numbers in a column as the products take it.
    fn filled_rows(&self, matrix: &BlockMatrix) -> usize {
        match self.filled.is_multiple_of(matrix.block) {
            true => matrix.rows.next_multiple_of(self.filled),
            false => matrix.rows,
        }
    }

    /// The activations with so many zeros more, made once for all products with them.
    fn fill(&mut self, node: &Node, x: &str, more: usize, graph: &Graph) -> String {
        if let Some(known) = self.longer.get(x) {
            return known.clone();
        }
        let mut pads = vec![0; 2 * rank(node, graph)];
        if let Some(last) = pads.last_mut() {
            *last = more as i64;
        }
        let pads = self.constant(&pads);
        let longer = self.add(node, "Pad", &[x, &pads]);
        self.longer.insert(x.to_owned(), longer.clone());
        longer
    }

    /// The new weights of a matrix.
    fn matrix(&mut self, weight: &str, matrix: &BlockMatrix) -> Names4 {
        let BlockMatrix { source, rows, columns, block, parts, rest } = matrix;
        let (blocks, more) = (rows / block, (self.filled_rows(matrix) - rows) / block);
        let mut make = |ending: &str, dtype, dims: Vec<usize>, repack: &Arc<dyn Repack>| {
            let name = self.names.value(&format!("{weight}_{ending}"));
            let recast = Recast::Repack(Arc::clone(repack));
            self.made.push(Made {
                name: name.clone(),
                dtype,
                dims,
                source: source.clone(),
                recast,
            });
            name
        };
        let mut made = Names4 { parts: Vec::new(), rest: None };
        for (part, ending) in parts.iter().zip(["low", "high"]) {
            let dims = vec![*columns, blocks + more, block / 2];
            let bytes = block / 2;
            // Two codes of zero: 8 is the middle.
            let codes = Filled::of(&part.codes, blocks * bytes, more * bytes, 0x88);
            let codes = make(&format!("{ending}_quantized"), DataType::Uint8, dims, &codes);
            let dims = vec![*columns, blocks + more];
            let bytes = size_of::<f32>();
            let scales = Filled::of(&part.scales, blocks * bytes, more * bytes, 0);
            let scales = make(&format!("{ending}_scale"), DataType::Float, dims, &scales);
            made.parts.push([codes, scales]);
        }
        made.rest =
            rest.as_ref().map(|rest| make("rest", DataType::Float, vec![blocks, *columns], rest));
        self.extra.extend(made.parts.iter().skip(1).map(|[codes, _]| codes.clone()));
        self.extra.extend(made.rest.clone());
        self.matrices.insert(weight.to_owned(), made.clone());
        made
    }

    fn constant(&mut self, values: &[i64]) -> String {
        let words: Vec<String> = values.iter().map(ToString::to_string).collect();
        let name = format!("blocks_{}", words.join("_"));
        if !self.made.iter().any(|made| made.name == name) {
            self.made.push(Made::kept(&Tensor::from_i64s(&name, &[values.len()], values)));
        }
        name
    }

    /// Adds a node with one output in the module of another, and gives the output's name.
    fn add(&mut self, beside: &Node, op_type: &str, inputs: &[&str]) -> String {
        let name = self.names.beside(beside, op_type);
        let output = self.names.value(&format!("{name}_output_0"));
        self.nodes.push(Node {
            name,
            op_type: op_type.to_owned(),
            domain: String::new(),
            inputs: inputs.iter().map(ToString::to_string).collect(),
            outputs: vec![output.clone()],
            attributes: BTreeMap::new(),
        });
        output
    }

    fn finish<'m>(mut self, source: &'m Model, mut model: Model) -> Result<Plan<'m>, ConvertError> {
        let mut used: HashSet<String> = self.nodes.iter().flat_map(uses).collect();
        used.extend(model.graph.outputs.iter().map(|output| output.name.clone()));
        // A weight that an embedding uses too stays beside its blocks, and counts once.
        for (name, made) in &self.matrices {
            if used.contains(name) {
                self.extra.extend(made.parts.first().map(|[codes, _]| codes.clone()));
            }
        }
        self.extra.sort_unstable();
        list_copies(&mut model, &self.extra);
        let is_gone = |name: &String| self.matrices.contains_key(name) && !used.contains(name);
        let kept = model.graph.initializers.iter().filter(|tensor| !is_gone(&tensor.name));
        let mut made: Vec<Made> = kept.map(Made::kept).collect();
        made.append(&mut self.made);
        model.graph.nodes = self.nodes;
        model.opsets.entry("com.microsoft".into()).or_insert(1);
        Plan::new(source, model, made, self.report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct InPieces(usize);

    impl Repack for InPieces {
        fn run(&self, bytes: &[u8], sink: &mut dyn FnMut(&[u8])) {
            bytes.chunks(self.0).for_each(sink);
        }
    }

    #[test]
    fn every_column_is_filled_up_whatever_the_pieces() {
        for piece in 1..8 {
            let columns: Arc<dyn Repack> = Arc::new(InPieces(piece));
            let mut made = Vec::new();
            let filled = Filled::of(&columns, 3, 2, 0x88);
            filled.run(&[1, 2, 3, 4, 5, 6], &mut |piece| made.extend_from_slice(piece));
            assert_eq!(made, [1, 2, 3, 0x88, 0x88, 4, 5, 6, 0x88, 0x88], "{piece}");
        }
    }
}
