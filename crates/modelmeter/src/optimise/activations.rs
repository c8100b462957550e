//! What flows inside a model on given texts: how strong each channel is, and which range each value has.

use crate::{
    Error, Profiler,
    changed_graph::ChangedGraph,
    prepare,
    scratch::{Scratch, bytes_of},
};
use graph::{DataType, Scales, ValueInfo};
use meter::{Depth, outputs_of};
use std::collections::HashMap;
use types::{Elements, Event, HostTensor};

/// Texts that go into the model at once; more are looked at one batch after the other.
const BATCH: usize = 8;

/// Shows every value with one of these names, batch by batch, on the profiler's texts.
fn observe(
    profiler: &Profiler,
    texts: &[String],
    names: &[String],
    sink: &mut dyn FnMut(Event),
    see: &mut dyn FnMut(&HostTensor),
) -> Result<(), Error> {
    for lines in texts.chunks(BATCH) {
        let mut one = profiler.clone().batch_size(lines.len()).text(lines.to_vec());
        one.sequence_length = None;
        let ready = prepare::prepare(&one, sink)?;
        let shapes = ready.shapes();
        let needed = bytes_of(&shapes, names.iter().map(String::as_str));
        let mut model = ready.graph().clone();
        let known: Vec<String> = model.graph.outputs.iter().map(|o| o.name.clone()).collect();
        let wanted = names.iter().filter(|name| !known.contains(name));
        for name in wanted.filter(|name| shapes.dtype(name) == Some(DataType::Float)) {
            let info = ValueInfo { name: name.clone(), dtype: DataType::Float, shape: None };
            model.graph.outputs.push(info);
        }
        let refine = |seen: &[(String, Vec<usize>)]| ready.count_again(seen);
        let mut job = ready.job(&refine);
        let file = ChangedGraph::write(&model, &job.onnx)
            .map_err(|source| Error::Write { path: job.onnx.clone(), source })?;
        job.onnx = file.path().to_owned();
        let launch = one.launch(&ready)?;
        let folder = Scratch::make("the activations", needed)?;
        let timeout = one.rule.timeout;
        let tensors = outputs_of(&job, &launch, timeout, folder.path(), Depth::Outputs)?;
        tensors.iter().filter(|tensor| names.contains(&tensor.name)).for_each(&mut *see);
    }
    Ok(())
}

/// How strong each channel of these values is: the root of the sum of its squares.
pub(super) fn strengths(
    profiler: &Profiler,
    texts: &[String],
    names: &[String],
    sink: &mut dyn FnMut(Event),
) -> Result<Scales, Error> {
    let mut sums: HashMap<String, Vec<f64>> = HashMap::new();
    observe(profiler, texts, names, sink, &mut |tensor| {
        let (Elements::F32(values), Some(&width)) = (&tensor.elements, tensor.dims.last()) else {
            return;
        };
        let sums = sums.entry(tensor.name.clone()).or_insert_with(|| vec![0.0; width]);
        for row in values.chunks(width.max(1)) {
            sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += f64::from(*x) * f64::from(*x));
        }
    })?;
    let root = |sums: Vec<f64>| sums.into_iter().map(|sum| sum.sqrt() as f32).collect();
    Ok(sums.into_iter().map(|(name, sums)| (name, root(sums))).collect())
}

/// The smallest and the largest number of each of these values.
pub(super) fn ranges(
    profiler: &Profiler,
    texts: &[String],
    names: &[String],
    sink: &mut dyn FnMut(Event),
) -> Result<HashMap<String, (f32, f32)>, Error> {
    let mut ranges: HashMap<String, (f32, f32)> = HashMap::new();
    observe(profiler, texts, names, sink, &mut |tensor| {
        let Elements::F32(values) = &tensor.elements else { return };
        let empty = (f32::INFINITY, f32::NEG_INFINITY);
        let range = ranges.entry(tensor.name.clone()).or_insert(empty);
        for value in values {
            *range = (range.0.min(*value), range.1.max(*value));
        }
    })?;
    Ok(ranges)
}
