//! What each operator does to an axis whose indices shall be told apart.

use super::{
    flow::{Flow, Step, Tag, Trace},
    patch::Patch,
};
use crate::Node;

/// Operators that compute each number of their first input by itself.
const ALONE: [&str; 34] = [
    "Abs",
    "Cast",
    "CastLike",
    "Ceil",
    "Celu",
    "Clip",
    "Cos",
    "Dropout",
    "Elu",
    "Erf",
    "Exp",
    "FastGelu",
    "Floor",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "Identity",
    "IsInf",
    "IsNaN",
    "LeakyRelu",
    "Log",
    "Mish",
    "Neg",
    "Not",
    "QuickGelu",
    "Reciprocal",
    "Relu",
    "Round",
    "Sigmoid",
    "Sin",
    "Softplus",
    "Sqrt",
    "Swish",
    "Tanh",
];
/// Operators that compute each number out of those at the same place of all their inputs.
const TOGETHER: [&str; 17] = [
    "Add",
    "And",
    "BiasGelu",
    "Div",
    "Equal",
    "Greater",
    "GreaterOrEqual",
    "Less",
    "LessOrEqual",
    "Max",
    "Min",
    "Mul",
    "Or",
    "Pow",
    "PRelu",
    "Sub",
    "Where",
];
const REDUCTIONS: [&str; 7] = [
    "ReduceL2",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
];

/// Operators with a rule of their own.
const SHAPED: [&str; 17] = [
    "Concat",
    "Expand",
    "Flatten",
    "Gather",
    "Gemm",
    "LayerNormalization",
    "LogSoftmax",
    "MatMul",
    "RMSNormalization",
    "Reshape",
    "SimplifiedLayerNormalization",
    "Slice",
    "Softmax",
    "Split",
    "Squeeze",
    "Transpose",
    "Unsqueeze",
];

type Answer = Result<Step, String>;

/// Whether a rule here takes the node as ONNX defines it.
pub(super) fn follows(node: &Node) -> bool {
    let known = node.is_standard() || node.domain == "com.microsoft";
    let op = node.op_type.as_str();
    known && [&ALONE[..], &TOGETHER, &REDUCTIONS, &SHAPED].iter().any(|list| list.contains(&op))
}

/// What follows for the other values of a node from those that are known to carry the units.
pub(super) fn step(flow: &Flow<'_>, node: &Node, index: usize, trace: &Trace) -> Answer {
    let look = Look { flow, node, index, trace };
    match node.op_type.as_str() {
        op if ALONE.contains(&op) && look.input_tag(0).or(look.output_tag(0)).is_some() => {
            look.alone()
        }
        op if ALONE.contains(&op) => Ok(Step::default()),
        op if TOGETHER.contains(&op) => look.together(),
        op if REDUCTIONS.contains(&op) => look.reduction(),
        "Softmax" | "LogSoftmax" => look.not_over(-1, "a softmax over them mixes them"),
        "LayerNormalization" | "SimplifiedLayerNormalization" | "RMSNormalization" => look.norm(),
        "Transpose" => look.transpose(),
        "Reshape" => look.reshape(true),
        "Flatten" | "Squeeze" | "Unsqueeze" => look.reshape(false),
        "MatMul" => look.product(),
        "Gemm" => look.gemm(),
        "Split" => look.split(),
        "Slice" => look.slice(),
        "Concat" => look.concat(),
        "Gather" => look.gather(),
        "Expand" => look.expand(),
        // What is computed from a shape is computed anew.
        "Shape" | "Size" => Ok(Step::default()),
        op => Err(format!("`{op}` cannot be followed")),
    }
}

struct Look<'a> {
    flow: &'a Flow<'a>,
    node: &'a Node,
    index: usize,
    trace: &'a Trace,
}

impl Look<'_> {
    fn input_tag(&self, place: usize) -> Option<Tag> {
        let name = self.node.input(place)?;
        match self.flow.weights.contains_key(name) {
            // A weight carries units only where this very node uses it so.
            true => self.trace.cuts.get(&(self.index, place)).map(|cut| cut.tag),
            false => self.trace.tags.get(name).copied(),
        }
    }

    fn output_tag(&self, place: usize) -> Option<Tag> {
        self.trace.tags.get(self.node.outputs.get(place)?).copied()
    }

    fn input_dims(&self, place: usize) -> Result<&[usize], String> {
        let name = self.node.input(place).unwrap_or_default();
        self.flow.dims(name).ok_or_else(|| format!("the shape of `{name}` is not known"))
    }

    fn output_dims(&self, place: usize) -> Result<&[usize], String> {
        let name = self.node.outputs.get(place).map(String::as_str).unwrap_or_default();
        self.flow.dims(name).ok_or_else(|| format!("the shape of `{name}` is not known"))
    }

    fn integers(&self, place: usize) -> Option<Vec<i64>> {
        self.flow.shapes.integers(self.node.input(place)?)
    }

    /// A list that is an argument or an input.
    fn list(&self, name: &str, place: usize) -> Option<Vec<i64>> {
        self.node.ints(name).map(<[i64]>::to_vec).or_else(|| self.integers(place))
    }

    fn pass(&self, input: Tag, output: Tag) -> Answer {
        Ok(Step { inputs: vec![(0, input, false)], outputs: vec![(0, output)], ..Step::default() })
    }

    fn alone(&self) -> Answer {
        match self.input_tag(0).or(self.output_tag(0)) {
            Some(tag) => self.pass(tag, tag),
            None => Ok(Step::default()),
        }
    }

    fn not_over(&self, default: i64, why: &str) -> Answer {
        let Some(tag) = self.input_tag(0).or(self.output_tag(0)) else {
            return Ok(Step::default());
        };
        let rank = self.input_dims(0)?.len();
        let axis = axis_of(self.node.int("axis").unwrap_or(default), rank);
        if axis == tag.axis { Err(why.into()) } else { self.pass(tag, tag) }
    }

    fn norm(&self) -> Answer {
        let Some(tag) = self.input_tag(0).or(self.output_tag(0)) else {
            return Err("a norm mixes them".into());
        };
        let axis = axis_of(self.node.int("axis").unwrap_or(-1), self.input_dims(0)?.len());
        if tag.axis >= axis {
            Err("a norm over them mixes them".into())
        } else {
            self.pass(tag, tag)
        }
    }

    fn together(&self) -> Answer {
        let out = self.output_dims(0)?;
        let of_input = |place: usize| {
            let tag = self.input_tag(place)?;
            let missing = out.len().checked_sub(self.input_dims(place).ok()?.len())?;
            Some(Tag { axis: tag.axis + missing, ..tag })
        };
        let places = 0..self.node.inputs.len();
        let Some(tag) = self.output_tag(0).or_else(|| places.clone().find_map(of_input)) else {
            return Ok(Step::default());
        };
        let mut step = Step { outputs: vec![(0, tag)], ..Step::default() };
        for place in places.filter(|place| self.node.input(*place).is_some()) {
            let dims = self.input_dims(place)?;
            let missing = out.len().checked_sub(dims.len()).ok_or("shapes do not follow")?;
            if tag.axis >= missing && dims[tag.axis - missing] != 1 {
                step.inputs.push((place, Tag { axis: tag.axis - missing, ..tag }, false));
            }
        }
        Ok(step)
    }

    fn reduction(&self) -> Answer {
        let rank = self.input_dims(0)?.len();
        let axes = self.list("axes", 1).ok_or("a sum over them mixes them")?;
        let axes: Vec<usize> = axes.into_iter().map(|axis| axis_of(axis, rank)).collect();
        let stays = self.node.int("keepdims").unwrap_or(1) != 0;
        let gone = |axis: usize| if stays { 0 } else { axes.iter().filter(|a| **a < axis).count() };
        let input = match (self.input_tag(0), self.output_tag(0)) {
            (Some(tag), _) => tag,
            (None, Some(tag)) => {
                let found =
                    (0..rank).find(|axis| !axes.contains(axis) && axis - gone(*axis) == tag.axis);
                Tag { axis: found.ok_or("a sum over them mixes them")?, ..tag }
            }
            (None, None) => return Ok(Step::default()),
        };
        if axes.contains(&input.axis) {
            return Err("a sum over them mixes them".into());
        }
        self.pass(input, Tag { axis: input.axis - gone(input.axis), ..input })
    }

    fn transpose(&self) -> Answer {
        let rank = self.input_dims(0)?.len();
        let order: Vec<usize> = match self.node.ints("perm") {
            Some(order) => order.iter().map(|axis| axis_of(*axis, rank)).collect(),
            None => (0..rank).rev().collect(),
        };
        let to = |axis: usize| order.iter().position(|from| *from == axis);
        match (self.input_tag(0), self.output_tag(0)) {
            (Some(tag), _) => {
                let axis = to(tag.axis).ok_or("its order is broken")?;
                self.pass(tag, Tag { axis, ..tag })
            }
            (None, Some(tag)) => {
                let axis = *order.get(tag.axis).ok_or("its order is broken")?;
                self.pass(Tag { axis, ..tag }, tag)
            }
            (None, None) => Ok(Step::default()),
        }
    }

    fn reshape(&self, has_shape: bool) -> Answer {
        let (before, after) = (self.input_dims(0)?, self.output_dims(0)?);
        let units = self.trace.units;
        let apart = "it does not keep them apart";
        let (input, output) = match (self.input_tag(0), self.output_tag(0)) {
            (Some(tag), _) => (tag, moved(before, tag, after, units).ok_or(apart)?),
            (None, Some(tag)) => (moved(after, tag, before, units).ok_or(apart)?, tag),
            (None, None) => return Ok(Step::default()),
        };
        let mut step = self.pass(input, output)?;
        if has_shape {
            step.patches.push(((1, output.axis), Patch::Size(output)));
        }
        Ok(step)
    }

    fn product(&self) -> Answer {
        let [a, b] = [self.input_dims(0)?.len(), self.input_dims(1)?.len()];
        let out = self.output_dims(0)?.len();
        if a < 2 || b < 2 {
            return Err("a product with a vector cannot be followed".into());
        }
        let mut step = Step::default();
        let ranks = [a, b];
        if let Some(tag) = self.output_tag(0) {
            match out - tag.axis {
                1 => step.inputs.push((1, Tag { axis: b - 1, ..tag }, false)),
                2 => step.inputs.push((0, Tag { axis: a - 2, ..tag }, false)),
                back => {
                    for (place, rank) in ranks.into_iter().enumerate() {
                        if rank >= back && self.input_dims(place)?[rank - back] != 1 {
                            step.inputs.push((place, Tag { axis: rank - back, ..tag }, false));
                        }
                    }
                }
            }
        }
        for (place, rank) in ranks.into_iter().enumerate() {
            let Some(tag) = self.input_tag(place) else { continue };
            let back = rank - tag.axis;
            match (place, back) {
                (0, 1) => step.inputs.push((1, Tag { axis: b - 2, ..tag }, true)),
                (1, 2) => step.inputs.push((0, Tag { axis: a - 1, ..tag }, true)),
                _ => step.outputs.push((0, Tag { axis: out - back, ..tag })),
            }
        }
        Ok(step)
    }

    fn gemm(&self) -> Answer {
        let flag = |name| self.node.int(name).unwrap_or(0) != 0;
        if flag("transA") {
            return Err("a product with turned activations cannot be followed".into());
        }
        let (summed, made) = if flag("transB") { (1, 0) } else { (0, 1) };
        let mut step = Step::default();
        let tag = |axis, tag: Tag| Tag { axis, ..tag };
        let of_output = self.output_tag(0).or_else(|| {
            let weight = self.input_tag(1).filter(|t| t.axis == made)?;
            Some(tag(1, weight))
        });
        if let Some(found) = of_output {
            step.outputs.push((0, found));
            match found.axis {
                0 => step.inputs.push((0, tag(0, found), false)),
                _ => {
                    step.inputs.push((1, tag(made, found), false));
                    if self.node.input(2).is_some() {
                        let dims = self.input_dims(2)?;
                        if dims.last().is_some_and(|size| *size != 1) {
                            step.inputs.push((2, tag(dims.len() - 1, found), false));
                        }
                    }
                }
            }
        }
        match self.input_tag(0) {
            Some(found) if found.axis == 1 => step.inputs.push((1, tag(summed, found), true)),
            Some(found) => step.outputs.push((0, tag(0, found))),
            None => {}
        }
        if let Some(found) = self.input_tag(1).filter(|t| t.axis == summed) {
            step.inputs.push((0, tag(1, found), true));
        }
        Ok(step)
    }

    fn split(&self) -> Answer {
        let rank = self.input_dims(0)?.len();
        let axis = axis_of(self.node.int("axis").unwrap_or(0), rank);
        let count = self.node.outputs.len();
        let known = (0..count).find_map(|place| self.output_tag(place));
        let (input, output) = match (self.input_tag(0), known) {
            (Some(tag), _) if tag.axis != axis => (tag, tag),
            (None, Some(tag)) if tag.axis != axis => (tag, tag),
            (Some(tag), _) => match tag.parts.is_multiple_of(count) {
                true => (tag, Tag { parts: tag.parts / count, ..tag }),
                false => return Err("it splits them".into()),
            },
            (None, Some(tag)) => (Tag { parts: tag.parts * count, ..tag }, tag),
            (None, None) => return Ok(Step::default()),
        };
        let mut step = Step { inputs: vec![(0, input, false)], ..Step::default() };
        for place in (0..count).filter(|place| !self.node.outputs[*place].is_empty()) {
            if self.output_dims(place)?.get(output.axis) != Some(&output.size(self.trace.units)) {
                return Err("it splits them unevenly".into());
            }
            step.outputs.push((place, output));
        }
        if input.axis == axis {
            step.unlist = self.node.ints("split").is_some();
            if self.node.input(1).is_some() {
                let each = (0..count).map(|place| ((1, place), Patch::Size(output)));
                step.patches.extend(each);
            }
        }
        Ok(step)
    }

    fn slice(&self) -> Answer {
        let (before, after) = (self.input_dims(0)?, self.output_dims(0)?);
        let known = self.input_tag(0).or(self.output_tag(0));
        let Some(tag) = known else { return Ok(Step::default()) };
        if before[tag.axis] == after[tag.axis] {
            return self.pass(tag, tag);
        }
        // One part out of several that lie behind each other: query out of query, key and value.
        let lists = self.list("starts", 1).zip(self.list("ends", 2));
        let (starts, _) = lists.ok_or("it cuts at a place that is computed")?;
        let axes = self.list("axes", 3).unwrap_or_else(|| (0..starts.len() as i64).collect());
        let place = axes.iter().position(|axis| axis_of(*axis, before.len()) == tag.axis);
        let place = place.ok_or("it cuts through them")?;
        let unit = self.trace.units * tag.inner;
        let start = usize::try_from(starts[place]).map_err(|_| "it counts from the end")?;
        let (whole, part) = (before[tag.axis], after[tag.axis]);
        if part != unit
            || whole % unit != 0
            || start % unit != 0
            || self.node.ints("starts").is_some()
        {
            return Err("it cuts through them".into());
        }
        let input = Tag { parts: whole / unit, ..tag };
        let output = Tag { parts: 1, ..tag };
        let mut step = self.pass(input, output)?;
        let first = Tag { parts: start / unit, ..tag };
        let last = Tag { parts: start / unit + 1, ..tag };
        if first.parts > 0 {
            step.patches.push(((1, place), Patch::Size(first)));
        }
        // An end beyond the last part is the end whatever the size.
        step.patches.push(((2, place), Patch::End(last)));
        Ok(step)
    }

    fn concat(&self) -> Answer {
        let places = 0..self.node.inputs.len();
        let Some(tag) =
            self.output_tag(0).or_else(|| places.clone().find_map(|p| self.input_tag(p)))
        else {
            return Ok(Step::default());
        };
        if axis_of(self.node.int("axis").unwrap_or(0), self.output_dims(0)?.len()) == tag.axis {
            return Err("it joins them with others".into());
        }
        let inputs = places.map(|place| (place, tag, false)).collect();
        Ok(Step { inputs, outputs: vec![(0, tag)], ..Step::default() })
    }

    fn gather(&self) -> Answer {
        let rank = self.input_dims(0)?.len();
        let taken = self.input_dims(1)?.len();
        let axis = axis_of(self.node.int("axis").unwrap_or(0), rank);
        match (self.input_tag(0), self.output_tag(0)) {
            (Some(tag), _) if tag.axis == axis => Err("it picks some of them".into()),
            (Some(tag), _) => {
                let to = if tag.axis < axis { tag.axis } else { tag.axis + taken - 1 };
                self.pass(tag, Tag { axis: to, ..tag })
            }
            (None, Some(tag)) if tag.axis < axis => self.pass(tag, tag),
            (None, Some(tag)) if tag.axis >= axis + taken => {
                self.pass(Tag { axis: tag.axis + 1 - taken, ..tag }, tag)
            }
            (None, Some(_)) => Err("they are indices".into()),
            (None, None) => Ok(Step::default()),
        }
    }

    fn expand(&self) -> Answer {
        let (before, after) = (self.input_dims(0)?.len(), self.output_dims(0)?);
        let missing = after.len() - before;
        let of_input = self.input_tag(0).map(|tag| Tag { axis: tag.axis + missing, ..tag });
        let Some(tag) = of_input.or(self.output_tag(0)) else { return Ok(Step::default()) };
        let mut step = Step { outputs: vec![(0, tag)], ..Step::default() };
        if tag.axis < missing || self.input_dims(0)?[tag.axis - missing] == 1 {
            return Err("it repeats one of them".into());
        }
        step.inputs.push((0, Tag { axis: tag.axis - missing, ..tag }, false));
        let shape = self.input_dims(1)?.first().copied().unwrap_or(0);
        if let Some(place) = (tag.axis + shape).checked_sub(after.len()) {
            step.patches.push(((1, place), Patch::Size(tag)));
        }
        Ok(step)
    }
}

/// Where the units lie when the same numbers have other dimensions; `None` if they are not kept apart.
fn moved(from: &[usize], tag: Tag, to: &[usize], units: usize) -> Option<Tag> {
    let step = from[tag.axis + 1..].iter().product::<usize>() * tag.inner;
    let mut below = to.iter().product::<usize>();
    for (axis, size) in to.iter().enumerate() {
        below /= (*size).max(1);
        if below <= step && step < below * size {
            let inner = step / below;
            let whole = step.is_multiple_of(below) && size.is_multiple_of(inner * units);
            return whole.then(|| Tag { axis, parts: size / (inner * units), inner });
        }
    }
    None
}

fn axis_of(axis: i64, rank: usize) -> usize {
    let axis = if axis < 0 { axis + rank as i64 } else { axis };
    usize::try_from(axis).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_found_again_in_other_dimensions() {
        let flat = Tag { axis: 2, parts: 1, inner: 64 };
        let apart = Tag { axis: 2, parts: 1, inner: 1 };
        assert_eq!(moved(&[2, 7, 768], flat, &[2, 7, 12, 64], 12), Some(apart));
        assert_eq!(moved(&[2, 7, 12, 64], apart, &[2, 7, 768], 12), Some(flat));
        let fused = Tag { axis: 2, parts: 3, inner: 64 };
        let third = Tag { axis: 3, parts: 1, inner: 1 };
        assert_eq!(moved(&[2, 7, 2304], fused, &[2, 7, 3, 12, 64], 12), Some(third));
        // Groups of three heads share a key.
        let group = Tag { axis: 2, parts: 1, inner: 3 };
        assert_eq!(moved(&[2, 7, 12, 64], group, &[2, 7, 768], 4).unwrap().inner, 192);
        // Single columns are not heads.
        let columns = Tag { axis: 2, parts: 1, inner: 1 };
        assert_eq!(moved(&[2, 7, 768], columns, &[2, 7, 12, 64], 768), None);
    }
}
