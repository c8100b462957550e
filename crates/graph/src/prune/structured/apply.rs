//! Writes the smaller graph: weights cut, sizes in shapes changed, and every shape checked again.

use super::{
    Block, BlockKind, Importance, TensorCut,
    find::Found,
    flow::{Flow, Tag},
    patch::{Patch, patch},
};
use crate::{
    Attribute, Model, Node, Plan, Report, Shapes, Tensor, infer,
    precision::{Made, Recast},
    prune::{Cutting, PruneError, PruneOptions, STRUCTURED},
};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};
use types::Precision;

/// What stays of a weight: by axis, the indices.
type Keep = BTreeMap<usize, Arc<[usize]>>;

/// Sizes to change in one input of a node: by place, the patch with the units before and after.
type Places = BTreeMap<usize, (Patch, usize, usize)>;

/// The graph with what was chosen cut away.
pub(super) fn apply<'m>(
    source: &'m Model,
    mut model: Model,
    shapes: &Shapes,
    chosen: Vec<(Found, Vec<usize>, Importance)>,
    options: &PruneOptions,
) -> Result<(Plan<'m>, Vec<Block>), PruneError> {
    let mut keeps: HashMap<(usize, usize), Keep> = HashMap::new();
    let mut places: BTreeMap<(usize, usize), Places> = BTreeMap::new();
    let mut expected: Vec<(String, Tag, usize)> = Vec::new();
    let mut unlisted: HashSet<usize> = HashSet::new();
    for (found, kept, _) in &chosen {
        let trace = &found.trace;
        for (key, cut) in &trace.cuts {
            let indices: Arc<[usize]> = cut.tag.indices(trace.units, kept).into();
            keeps.entry(*key).or_default().insert(cut.tag.axis, indices);
        }
        for ((node, input, place), patch) in &trace.patches {
            let change = (*patch, trace.units, kept.len());
            places.entry((*node, *input)).or_default().insert(*place, change);
        }
        expected.extend(trace.tags.iter().map(|(name, tag)| (name.clone(), *tag, kept.len())));
        unlisted.extend(&trace.unlisted);
    }
    let label = chosen.first().map(|(found, ..)| found.label.clone()).unwrap_or_default();
    let unfit = |why: String| {
        let unfit = vec![super::Unfit { node: label.clone(), why }];
        PruneError::NotFound { kinds: vec![BlockKind::Heads], unfit }
    };
    let flow = Flow::new(&model, shapes);
    let mut names = NewNames::of(&model);
    let mut nodes = Vec::with_capacity(model.graph.nodes.len());
    let mut added: Vec<Tensor> = Vec::new();
    let (renamed, cuts) = weights(&model, &keeps, &mut names);
    for (index, node) in model.graph.nodes.iter().enumerate() {
        let mut node = node.clone();
        for ((_, input), places) in places.range((index, 0)..(index + 1, 0)) {
            let operand = node.inputs[*input].clone();
            let patched = patch(&flow, &operand, places, &mut |base| names.free(base));
            if let Some(patched) = patched.map_err(unfit)? {
                node.inputs[*input] = patched.input;
                added.extend(patched.tensors);
                nodes.extend(patched.node);
            }
        }
        for (place, input) in node.inputs.iter_mut().enumerate() {
            if let Some(name) = renamed.get(&(index, place)) {
                input.clone_from(name);
            }
        }
        if unlisted.contains(&index) {
            node.attributes.remove("split");
        }
        nodes.push(node);
    }
    let blocks = blocks(&chosen, &flow);
    let mut made = Vec::new();
    for tensor in &model.graph.initializers {
        match cuts.get(&tensor.name) {
            None => made.push(Made::kept(tensor)),
            Some(new) => {
                for (name, keep) in new {
                    made.push(cut(tensor, name, keep));
                }
            }
        }
    }
    made.extend(added.iter().map(Made::kept));
    model.graph.nodes = nodes;
    let carried: HashSet<&str> = expected.iter().map(|(name, ..)| name.as_str()).collect();
    model.graph.value_infos.retain(|info| !carried.contains(info.name.as_str()));
    drop_unused(&mut model, &mut made);
    check(&model, &made, shapes, &expected, options).map_err(unfit)?;
    model.metadata.insert(STRUCTURED.to_owned(), words(&blocks));
    let plan = Plan::new(source, model, made, Report::new(Precision::Fp32))?;
    Ok((plan, blocks))
}

/// Names that nobody has yet.
struct NewNames(HashSet<String>);

impl NewNames {
    fn of(model: &Model) -> NewNames {
        let tensors = model.graph.initializers.iter().map(|tensor| tensor.name.clone());
        let made = model.graph.nodes.iter().flat_map(|node| node.outputs.iter().cloned());
        let fed = model.graph.inputs.iter().map(|input| input.name.clone());
        NewNames(tensors.chain(made).chain(fed).collect())
    }

    fn free(&mut self, base: &str) -> String {
        let mut number = 1;
        loop {
            let name = format!("{base}.cut_{number}");
            if self.0.insert(name.clone()) {
                return name;
            }
            number += 1;
        }
    }
}

type Renamed = HashMap<(usize, usize), String>;
type Cuts = HashMap<String, Vec<(String, Keep)>>;

/// What becomes of each weight: cut under its own name where everybody wants it so, else one copy for each wish.
fn weights(
    model: &Model,
    keeps: &HashMap<(usize, usize), Keep>,
    names: &mut NewNames,
) -> (Renamed, Cuts) {
    let mut uses: BTreeMap<&str, Vec<(usize, usize)>> = BTreeMap::new();
    for (index, node) in model.graph.nodes.iter().enumerate() {
        for (place, name) in node.inputs.iter().enumerate() {
            uses.entry(name).or_default().push((index, place));
        }
    }
    let (mut renamed, mut cuts) = (Renamed::new(), Cuts::new());
    for tensor in &model.graph.initializers {
        let uses = uses.get(tensor.name.as_str()).map_or(&[][..], Vec::as_slice);
        if !uses.iter().any(|key| keeps.contains_key(key)) {
            continue;
        }
        let is_output = model.graph.outputs.iter().any(|output| output.name == tensor.name);
        let whole = Keep::new();
        let mut wishes: Vec<(String, Keep)> = Vec::new();
        for key in uses {
            let keep = keeps.get(key).unwrap_or(&whole);
            let known = wishes.iter().find(|(_, wish)| wish == keep).map(|(name, _)| name.clone());
            let name = known.unwrap_or_else(|| {
                let first = wishes.is_empty() && !is_output;
                let name = match first || keep.is_empty() {
                    true => tensor.name.clone(),
                    false => names.free(&tensor.name),
                };
                wishes.push((name.clone(), keep.clone()));
                name
            });
            if name != tensor.name {
                renamed.insert(*key, name);
            }
        }
        // Two wishes must not have one name: the whole one keeps it.
        if wishes.len() > 1
            && wishes[0].0 == tensor.name
            && wishes[1..].iter().any(|(name, _)| *name == tensor.name)
        {
            let name = names.free(&tensor.name);
            let keep = wishes[0].1.clone();
            for key in uses.iter().filter(|key| keeps.get(key) == Some(&keep)) {
                renamed.insert(*key, name.clone());
            }
            wishes[0].0 = name;
        }
        cuts.insert(tensor.name.clone(), wishes);
    }
    (renamed, cuts)
}

fn cut(tensor: &Tensor, name: &str, keep: &Keep) -> Made {
    if keep.is_empty() {
        return Made { name: name.to_owned(), ..Made::kept(tensor) };
    }
    let cutting = Cutting {
        dims: tensor.dims.clone(),
        width: tensor.dtype.size(1) as usize,
        keep: keep.iter().map(|(axis, keep)| (*axis, Arc::clone(keep))).collect(),
    };
    Made {
        name: name.to_owned(),
        dims: cutting.made(),
        recast: Recast::Cut(cutting),
        ..Made::kept(tensor)
    }
}

fn blocks(chosen: &[(Found, Vec<usize>, Importance)], flow: &Flow<'_>) -> Vec<Block> {
    let block = |(found, kept, importance): &(Found, Vec<usize>, Importance)| {
        let trace = &found.trace;
        let mut cuts: Vec<TensorCut> = Vec::new();
        for cut in trace.cuts.values() {
            let dims = flow.dims(&cut.tensor).map(<[usize]>::to_vec).unwrap_or_default();
            let keep = cut.tag.indices(trace.units, kept);
            let one = TensorCut { tensor: cut.tensor.clone(), axis: cut.tag.axis, dims, keep };
            if !cuts.contains(&one) {
                cuts.push(one);
            }
        }
        Block {
            label: found.label.clone(),
            kind: found.kind,
            units: trace.units,
            kept: kept.clone(),
            importance: *importance,
            cuts,
        }
    };
    chosen.iter().map(block).collect()
}

/// Constants that nobody uses any more are left away.
fn drop_unused(model: &mut Model, made: &mut Vec<Made>) {
    fn used(node: &Node, names: &mut HashSet<String>) {
        names.extend(node.inputs.iter().cloned());
        for attribute in node.attributes.values() {
            if let Attribute::Graph(inner) = attribute {
                inner.nodes.iter().for_each(|node| used(node, names));
                names.extend(inner.outputs.iter().map(|output| output.name.clone()));
            }
        }
    }
    let mut names: HashSet<String> = HashSet::new();
    model.graph.nodes.iter().for_each(|node| used(node, &mut names));
    names.extend(model.graph.outputs.iter().map(|output| output.name.clone()));
    made.retain(|one| names.contains(&one.name));
}

/// Every value that carried units must have the smaller size now, and every output the same as before.
fn check(
    model: &Model,
    made: &[Made],
    before: &Shapes,
    expected: &[(String, Tag, usize)],
    options: &PruneOptions,
) -> Result<(), String> {
    let mut small = model.clone();
    small.graph.initializers = made
        .iter()
        .map(|one| Tensor { name: one.name.clone(), dims: one.dims.clone(), ..one.source.clone() })
        .collect();
    let shapes = infer(&small, &options.inputs);
    for (name, tag, units) in expected {
        let size = shapes.dims(name).and_then(|dims| dims.get(tag.axis)).copied();
        if size != Some(tag.size(*units)) {
            return Err(format!("the size of `{name}` would not follow"));
        }
    }
    for output in &model.graph.outputs {
        if shapes.dims(&output.name) != before.dims(&output.name) {
            return Err(format!("output `{}` would change its shape", output.name));
        }
    }
    Ok(())
}

fn words(blocks: &[Block]) -> String {
    let of = |kind: BlockKind| {
        let mut each: Vec<&Block> = blocks.iter().filter(|block| block.kind == kind).collect();
        each.dedup_by_key(|block| (block.kept.len(), block.units));
        let words = each
            .first()
            .map(|block| format!("{} of {} {} stay", block.kept.len(), block.units, kind.units()));
        words.into_iter()
    };
    of(BlockKind::Heads).chain(of(BlockKind::Neurons)).collect::<Vec<_>>().join(", ")
}
