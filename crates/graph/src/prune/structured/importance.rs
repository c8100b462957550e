//! Which units of a block matter most.

use super::{Importance, find::Found};
use crate::{
    Model, Tensor,
    prune::{PruneError, PruneOptions},
};

/// The units that stay, in order, and by what they were ranked.
pub(super) fn rank(
    source: &Model,
    model: &Model,
    found: &Found,
    keep: usize,
    options: &PruneOptions,
) -> Result<(Vec<usize>, Importance), PruneError> {
    let trace = &found.trace;
    let mut by_weight = vec![0f64; trace.units];
    let mut by_effect = vec![0f64; trace.units];
    let mut has_effect = false;
    for ((node, _), cut) in &trace.cuts {
        let tensor = model.graph.initializers.iter().find(|tensor| tensor.name == cut.tensor);
        let Some(tensor) = tensor.filter(|tensor| tensor.dims.len() == 2) else { continue };
        let squares = squares(source, tensor, cut.tag.axis)?;
        let scale = model.graph.nodes[*node]
            .input(0)
            .and_then(|name| options.scales.get(name))
            .filter(|scale| cut.summed && scale.len() == squares.len());
        for (index, square) in squares.iter().enumerate() {
            let unit = index / cut.tag.inner % trace.units;
            by_weight[unit] += square;
            if let Some(scale) = scale {
                by_effect[unit] += square * f64::from(scale[index]).powi(2);
            }
        }
        has_effect |= scale.is_some();
    }
    let (scores, importance) = match has_effect {
        true => (by_effect, Importance::Activation),
        false => (by_weight, Importance::Magnitude),
    };
    let mut order: Vec<usize> = (0..trace.units).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b)));
    order.truncate(keep);
    order.sort_unstable();
    Ok((order, importance))
}

/// The sum of squares at each index of an axis of a matrix.
fn squares(source: &Model, tensor: &Tensor, axis: usize) -> Result<Vec<f64>, PruneError> {
    let bytes = source
        .bytes(tensor)
        .map_err(|source| PruneError::Read { name: tensor.name.clone(), source })?;
    let columns = tensor.dims[1];
    let mut sums = vec![0f64; tensor.dims[axis]];
    for (row, values) in bytes.as_chunks::<4>().0.chunks(columns.max(1)).enumerate() {
        let square = |element: &[u8; 4]| f64::from(f32::from_le_bytes(*element)).powi(2);
        match axis {
            0 => sums[row] = values.iter().map(square).sum(),
            _ => sums.iter_mut().zip(values).for_each(|(sum, element)| *sum += square(element)),
        }
    }
    Ok(sums)
}
