//! Products with the same activations, whose weights in blocks can stand beside each other.

use super::blocks::{BlockMatrix, BlockPart, Product, Repack};
use crate::{Node, TensorData};
use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
    sync::Arc,
};

/// Of a file that has the weights far apart, what lies between them is not read along: so many times their own size at most.
const SPREAD: usize = 3;

/// Products that become one.
pub(super) struct Family {
    /// Their places among the nodes.
    pub(super) members: Vec<usize>,
    /// All their columns.
    pub(super) matrix: BlockMatrix,
}

/// The families of a graph, by the place of their first member.
pub(super) fn families(nodes: &[Node], products: &[Option<Product>]) -> HashMap<usize, Family> {
    let mut users: HashMap<&str, usize> = HashMap::new();
    for input in nodes.iter().flat_map(|node| &node.inputs) {
        *users.entry(input).or_default() += 1;
    }
    type Kind<'n> = (&'n str, usize, usize, usize, bool);
    let mut alike: BTreeMap<Kind<'_>, Vec<(usize, &BlockMatrix)>> = BTreeMap::new();
    for (at, (node, product)) in nodes.iter().zip(products).enumerate() {
        let Some(Product { weight, matrix }) = product else { continue };
        // A weight that others use too stays as it is.
        let is_own = users.get(weight.as_str()) == Some(&1);
        if node.op_type == "MatMul" && is_own && matrix.columns > 0 {
            let BlockMatrix { rows, block, parts, rest, .. } = matrix;
            let kind = (node.inputs[0].as_str(), *rows, *block, parts.len(), rest.is_some());
            alike.entry(kind).or_default().push((at, matrix));
        }
    }
    let family = |members: Vec<(usize, &BlockMatrix)>| {
        let matrices: Vec<&BlockMatrix> = members.iter().map(|(_, matrix)| *matrix).collect();
        let members: Vec<usize> = members.iter().map(|(at, _)| *at).collect();
        Some((*members.first()?, Family { matrix: beside(&matrices)?, members }))
    };
    alike.into_values().filter(|members| members.len() > 1).filter_map(family).collect()
}

/// A name in the module that all of these nodes are in.
pub(super) fn common_name(nodes: &[&Node]) -> String {
    let mut names = nodes.iter().map(|node| node.name.split('.').collect::<Vec<_>>());
    let mut common = names.next().unwrap_or_default();
    for name in names {
        let length = common.iter().zip(&name).take_while(|(a, b)| a == b).count();
        common.truncate(length);
    }
    common.push("MatMul");
    common.join(".")
}

/// Matrices of the same rows and blocks beside each other.
fn beside(matrices: &[&BlockMatrix]) -> Option<BlockMatrix> {
    let mut places = Vec::new();
    let mut file = None;
    for matrix in matrices {
        let TensorData::External { path, offset, length } = &matrix.source.data else {
            return None;
        };
        if file.is_some_and(|known| known != path) {
            return None;
        }
        file = Some(path);
        places.push((usize::try_from(*offset).ok()?, usize::try_from(*length).ok()?));
    }
    let begin = places.iter().map(|(offset, _)| *offset).min()?;
    let ends = places.iter().map(|(offset, length)| offset.checked_add(*length));
    let end = ends.collect::<Option<Vec<usize>>>()?.into_iter().max()?;
    let size = places.iter().map(|(_, length)| *length).sum::<usize>();
    if end - begin > size.checked_mul(SPREAD)? {
        return None;
    }
    let ranges: Vec<Range<usize>> =
        places.iter().map(|(offset, length)| offset - begin..offset - begin + length).collect();
    let first = matrices.first()?;
    let mut source = first.source.clone();
    source.dims = vec![end - begin];
    source.data = TensorData::External {
        path: file?.clone(),
        offset: begin as u64,
        length: (end - begin) as u64,
    };
    let joined = |of: &dyn Fn(&BlockMatrix) -> Option<Arc<dyn Repack>>| {
        let one =
            |(matrix, range): (&&BlockMatrix, &Range<usize>)| Some((of(matrix)?, range.clone()));
        matrices.iter().zip(&ranges).map(one).collect::<Option<Vec<Source>>>()
    };
    let mut parts = Vec::new();
    for at in 0..first.parts.len() {
        let codes = joined(&|matrix| Some(Arc::clone(&matrix.parts[at].codes)))?;
        let scales = joined(&|matrix| Some(Arc::clone(&matrix.parts[at].scales)))?;
        parts.push(BlockPart { codes: Arc::new(Behind(codes)), scales: Arc::new(Behind(scales)) });
    }
    let rest: Option<Arc<dyn Repack>> = match &first.rest {
        Some(_) => Some(Arc::new(Beside {
            sources: joined(&|matrix| matrix.rest.clone())?,
            columns: matrices.iter().map(|matrix| matrix.columns).collect(),
        })),
        None => None,
    };
    let columns = matrices.iter().map(|matrix| matrix.columns).sum();
    Some(BlockMatrix { source, rows: first.rows, columns, block: first.block, parts, rest })
}

/// How the bytes of one matrix are made, and where it lies among those of all.
type Source = (Arc<dyn Repack>, Range<usize>);

/// Columns come one after the other: those of the next matrix follow.
#[derive(Debug)]
struct Behind(Vec<Source>);

impl Repack for Behind {
    fn run(&self, bytes: &[u8], sink: &mut dyn FnMut(&[u8])) {
        for (repack, range) in &self.0 {
            repack.run(&bytes[range.clone()], sink);
        }
    }
}

/// Rows of 32-bit numbers come one after the other: each row is made of one of every matrix.
#[derive(Debug)]
struct Beside {
    sources: Vec<Source>,
    columns: Vec<usize>,
}

impl Repack for Beside {
    fn run(&self, bytes: &[u8], sink: &mut dyn FnMut(&[u8])) {
        let made = self.sources.iter().map(|(repack, range)| {
            let mut made = Vec::new();
            repack.run(&bytes[range.clone()], &mut |piece| made.extend_from_slice(piece));
            made
        });
        let made: Vec<Vec<u8>> = made.collect();
        let mut rows: Vec<_> = made
            .iter()
            .zip(&self.columns)
            .map(|(made, columns)| made.chunks_exact(columns * size_of::<f32>()))
            .collect();
        let mut row = Vec::new();
        loop {
            row.clear();
            for part in &mut rows {
                let Some(part) = part.next() else { return };
                row.extend_from_slice(part);
            }
            sink(&row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Copy;

    impl Repack for Copy {
        fn run(&self, bytes: &[u8], sink: &mut dyn FnMut(&[u8])) {
            sink(bytes);
        }
    }

    fn run(repack: &dyn Repack, bytes: &[u8]) -> Vec<u8> {
        let mut made = Vec::new();
        repack.run(bytes, &mut |piece| made.extend_from_slice(piece));
        made
    }

    #[test]
    fn columns_follow_and_rows_are_put_together() {
        let copy = || -> Arc<dyn Repack> { Arc::new(Copy) };
        let bytes: Vec<u8> = (0..20).collect();
        let behind = Behind(vec![(copy(), 4..6), (copy(), 0..2)]);
        assert_eq!(run(&behind, &bytes), [4, 5, 0, 1]);
        // Two rows of one number and of one number.
        let beside = Beside { sources: vec![(copy(), 0..8), (copy(), 8..16)], columns: vec![1, 1] };
        assert_eq!(run(&beside, &bytes), [0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15]);
    }

    #[test]
    fn a_family_is_named_after_the_module_around_it() {
        let node = |name: &str| Node {
            name: name.into(),
            op_type: "MatMul".into(),
            domain: String::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            attributes: BTreeMap::new(),
        };
        let (query, key) =
            (node("layers.0.attn.q_proj.MatMul"), node("layers.0.attn.k_proj.MatMul"));
        assert_eq!(common_name(&[&query, &key]), "layers.0.attn.MatMul");
    }
}
