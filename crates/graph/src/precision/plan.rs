//! A conversion before its weights are made: the new graph, and the list of the weights it needs.

use super::{ConvertError, Converted, Report, recast::Recast};
use crate::{Attribute, DataType, Graph, Model, Tensor, TensorData, count_nonzeros, count_weights};
use std::{collections::HashMap, io, path::PathBuf};

/// Constants up to this many bytes stay in the graph itself: they are shapes, scalars and biases.
const SMALL: u64 = 1024;

/// A new weight that can be made.
#[derive(Debug, Clone)]
pub struct PlannedWeight {
    /// Its name.
    pub name: String,
    /// Its element type.
    pub dtype: DataType,
    /// Its dimensions.
    pub dims: Vec<usize>,
    source: Tensor,
    recast: Recast,
    /// Places among the initialisers: several where they share the bytes.
    places: Vec<usize>,
}

impl PlannedWeight {
    /// How many bytes it will have.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.dtype.size(self.dims.iter().product())
    }
}

/// What happened while a weight was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Values that were moved into the new format's range.
    pub clamped: u64,
    /// Values that are not zero.
    pub nonzeros: u64,
}

/// A conversion before its weights are made.
///
/// Each weight is made on its own, in pieces, from the original where it lies: at no time are two in memory.
#[derive(Debug)]
pub struct Plan<'m> {
    source: &'m Model,
    model: Model,
    weights: Vec<PlannedWeight>,
    report: Report,
}

/// An initialiser of the new graph: what it is made from, and how.
pub(crate) struct Made {
    pub(crate) name: String,
    pub(crate) dtype: DataType,
    pub(crate) dims: Vec<usize>,
    pub(crate) source: Tensor,
    pub(crate) recast: Recast,
}

impl Made {
    /// A weight as it is.
    pub(crate) fn kept(tensor: &Tensor) -> Made {
        Made {
            name: tensor.name.clone(),
            dtype: tensor.dtype,
            dims: tensor.dims.clone(),
            source: tensor.clone(),
            recast: Recast::Copy,
        }
    }
}

impl<'m> Plan<'m> {
    /// `model` is the new graph, whose initialisers will be `made`, in this order.
    pub(crate) fn new(
        source: &'m Model,
        mut model: Model,
        made: Vec<Made>,
        report: Report,
    ) -> Result<Plan<'m>, ConvertError> {
        inline_inner(source, &mut model.graph)?;
        model.folder = None;
        model.graph.initializers.clear();
        let mut plan = Plan { source, model, weights: Vec::new(), report };
        let mut shared: HashMap<(PathBuf, u64, &str), usize> = HashMap::new();
        for made in made {
            let place = plan.model.graph.initializers.len();
            let Made { name, dtype, dims, source, recast } = made;
            let empty = TensorData::Inline(bytes::Bytes::new());
            let mut tensor = Tensor { name: name.clone(), dtype, dims: dims.clone(), data: empty };
            let weight = PlannedWeight { name, dtype, dims, source, recast, places: vec![place] };
            if let TensorData::Strings(_) = weight.source.data {
                tensor.data = weight.source.data;
            } else if weight.size() <= SMALL {
                let (data, tally) = plan.make(&weight)?;
                tensor.data = TensorData::Inline(data.into());
                plan.report.clamped += tally.clamped;
            } else if let TensorData::External { path, offset, .. } = &weight.source.data {
                let kind = match &weight.recast {
                    Recast::Copy => Some("copy"),
                    Recast::Narrow(_) => Some("narrow"),
                    Recast::Quantise { turned: false, .. } => Some("quantise"),
                    Recast::Quantise { turned: true, .. } => Some("quantise turned"),
                    // What is left out may differ from use to use.
                    Recast::Zero(_) | Recast::Cut(_) | Recast::Repack(_) => None,
                };
                let key = kind.map(|kind| (path.clone(), *offset, kind));
                let earlier = key.as_ref().and_then(|key| shared.get(key)).copied();
                match earlier.map(|index| &mut plan.weights[index]) {
                    Some(first) if first.dims == weight.dims => first.places.push(place),
                    _ => {
                        shared.extend(key.map(|key| (key, plan.weights.len())));
                        plan.weights.push(weight);
                    }
                }
            } else {
                plan.weights.push(weight);
            }
            plan.model.graph.initializers.push(tensor);
        }
        Ok(plan)
    }

    /// The format that the new graph computes in.
    pub(super) fn precision(&self) -> types::Precision {
        super::native_precision(&self.model)
    }

    /// The weights that are to be made.
    #[must_use]
    pub fn weights(&self) -> &[PlannedWeight] {
        &self.weights
    }

    /// Makes a weight: hands its bytes to `sink` in order, a piece at a time.
    ///
    /// # Errors
    /// Where the original cannot be read, or `sink` fails.
    pub fn write(
        &self,
        index: usize,
        sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<Tally, ConvertError> {
        self.write_weight(&self.weights[index], sink)
    }

    fn write_weight(
        &self,
        weight: &PlannedWeight,
        sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<Tally, ConvertError> {
        let bytes = self
            .source
            .bytes(&weight.source)
            .map_err(|source| ConvertError::Read { name: weight.source.name.clone(), source })?;
        let mut nonzeros = 0;
        let clamped = weight.recast.run(&bytes, &weight.dims, &mut |piece: &[u8]| {
            nonzeros += count_nonzeros(weight.dtype, piece);
            sink(piece)
        });
        let clamped =
            clamped.map_err(|source| ConvertError::Write { name: weight.name.clone(), source })?;
        Ok(Tally { clamped, nonzeros })
    }

    fn make(&self, weight: &PlannedWeight) -> Result<(Vec<u8>, Tally), ConvertError> {
        let mut data = Vec::new();
        let tally = self.write_weight(weight, &mut |piece| {
            data.extend_from_slice(piece);
            Ok(())
        })?;
        Ok((data, tally))
    }

    /// The finished model: where each weight was put, and what happened to it, in the order of [`Plan::weights`].
    #[must_use]
    pub fn finish(mut self, made: Vec<(TensorData, Tally)>) -> Converted {
        let mut nonzeros = HashMap::new();
        for tensor in &self.model.graph.initializers {
            if let TensorData::Inline(bytes) = &tensor.data {
                nonzeros.insert(tensor.name.clone(), count_nonzeros(tensor.dtype, bytes));
            }
        }
        for (weight, (data, tally)) in self.weights.iter().zip(made) {
            for place in &weight.places {
                let tensor = &mut self.model.graph.initializers[*place];
                tensor.data = data.clone();
                nonzeros.insert(tensor.name.clone(), tally.nonzeros);
            }
            self.report.clamped += tally.clamped;
        }
        self.report.bytes_before = count_weights(self.source).bytes;
        self.report.bytes_after = count_weights(&self.model).bytes;
        Converted { model: self.model, report: self.report, nonzeros }
    }

    /// The finished model with all its weights in memory.
    pub(super) fn finish_inline(self) -> Result<Converted, ConvertError> {
        let made = self.weights.iter().map(|weight| {
            let (data, tally) = self.make(weight)?;
            Ok((TensorData::Inline(data.into()), tally))
        });
        let made = made.collect::<Result<Vec<_>, ConvertError>>()?;
        Ok(self.finish(made))
    }
}

/// Brings tensors inside nodes along that lie in other files: those files stay behind.
fn inline_inner(source: &Model, graph: &mut Graph) -> Result<(), ConvertError> {
    let bring = |tensor: &mut Tensor| {
        if let TensorData::External { .. } = tensor.data {
            let bytes = source
                .bytes(tensor)
                .map_err(|source| ConvertError::Read { name: tensor.name.clone(), source })?;
            tensor.data = TensorData::Inline(bytes);
        }
        Ok(())
    };
    for attribute in graph.nodes.iter_mut().flat_map(|node| node.attributes.values_mut()) {
        match attribute {
            Attribute::Tensor(tensor) => bring(tensor)?,
            Attribute::Graph(inner) => {
                inner.initializers.iter_mut().try_for_each(bring)?;
                inline_inner(source, inner)?;
            }
            _ => {}
        }
    }
    Ok(())
}
