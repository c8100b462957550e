//! The weights of a training with what the optimiser remembers of them.

use crate::{EngineError, EngineErrorKind, TrainedParameter};
use std::{
    collections::HashMap,
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::Path,
};
use types::{Bytes, Optimizer};

/// One trained weight.
pub(super) struct Weight {
    pub(super) plan: TrainedParameter,
    pub(super) values: Vec<f32>,
    /// Running means of the gradient and of its square; empty if the optimiser keeps none.
    pub(super) mean: Vec<f32>,
    pub(super) square: Vec<f32>,
    /// Gradients of earlier batches of the same step; empty while there is none.
    pub(super) sum: Vec<f32>,
    /// Gradients of rows that were looked up, by row.
    pub(super) rows: HashMap<usize, Vec<f32>>,
    /// Which rows ever had a gradient, of a table whose gradients come by rows; the others have means of zero.
    pub(super) moved: Vec<bool>,
}

impl Weight {
    pub(super) fn read(
        plan: &TrainedParameter,
        optimizer: Optimizer,
    ) -> Result<Weight, EngineError> {
        let count = plan.dims.iter().product();
        let values = first_values(plan)?;
        let states = if optimizer.states() > 0 { count } else { 0 };
        let by_rows = plan.rows.is_some() && plan.gradient.is_none();
        let table = if by_rows { plan.dims.first().copied().unwrap_or(0) } else { 0 };
        Ok(Weight {
            moved: vec![false; table],
            plan: plan.clone(),
            values,
            mean: vec![0.0; states],
            square: vec![0.0; states],
            sum: Vec::new(),
            rows: HashMap::new(),
        })
    }

    /// Elements of a row, where the weight is a table.
    pub(super) fn width(&self) -> usize {
        self.plan.dims.iter().skip(1).product::<usize>().max(1)
    }

    /// Adds the gradient of a row that was looked up.
    pub(super) fn add_row(&mut self, row: usize, gradient: &[f32]) {
        if let Some(moved) = self.moved.get_mut(row) {
            *moved = true;
        }
        match self.rows.get_mut(&row) {
            Some(sum) => sum.iter_mut().zip(gradient).for_each(|(sum, one)| *sum += one),
            None => drop(self.rows.insert(row, gradient.to_vec())),
        }
    }

    /// The gradient as one tensor of the weight's dims, in `sum`: rows that were looked up are added to the rest.
    pub(super) fn add_rows(&mut self) {
        let width = self.width();
        self.sum.resize(self.values.len(), 0.0);
        for (row, gradient) in self.rows.drain() {
            let place = &mut self.sum[row * width..(row + 1) * width];
            place.iter_mut().zip(&gradient).for_each(|(sum, one)| *sum += one);
        }
    }

    /// What of `values`, which has the dims of the graphs, belongs to the weight itself.
    pub(super) fn own(&self, values: &[f32]) -> Vec<f32> {
        own_part(&self.plan, values)
    }

    /// Bytes of the weight itself and of what the optimiser remembers.
    pub(super) fn bytes(&self) -> (Bytes, Bytes) {
        let size = |count: usize| Bytes(4 * count as u64);
        (size(self.values.len()), size(self.mean.len() + self.square.len()))
    }
}

/// The first values of a weight, in the dims of the graphs.
///
/// # Errors
/// When its file cannot be read.
pub fn first_values(plan: &TrainedParameter) -> Result<Vec<f32>, EngineError> {
    let (count, own) = (plan.dims.iter().product::<usize>(), plan.own_dims.iter().product());
    let values = floats(&plan.file, plan.offset, own).map_err(|error| {
        let message = format!("could not read the first values of `{}`", plan.name);
        EngineError::new(EngineErrorKind::BadModel, message).with_source(error.to_string())
    })?;
    Ok(if own == count { values } else { spread(&values, plan) })
}

/// What of `values`, which has the dims of the graphs, belongs to the weight itself.
pub(super) fn own_part(plan: &TrainedParameter, values: &[f32]) -> Vec<f32> {
    if plan.dims == plan.own_dims {
        return values.to_vec();
    }
    let (width, own) = (last(&plan.dims), last(&plan.own_dims));
    let rows = plan.own_dims.iter().product::<usize>().checked_div(own).unwrap_or(0);
    let lines = values.chunks(width).take(rows);
    lines.flat_map(|line| line[..own].iter().copied()).collect()
}

/// Values in the dims of the graphs: zeros in the spare columns and rows.
fn spread(values: &[f32], plan: &TrainedParameter) -> Vec<f32> {
    let (width, own) = (last(&plan.dims), last(&plan.own_dims));
    let mut wide = vec![0.0; plan.dims.iter().product()];
    for (to, from) in wide.chunks_mut(width).zip(values.chunks(own)) {
        to[..own].copy_from_slice(from);
    }
    wide
}

/// Elements of a line.
fn last(dims: &[usize]) -> usize {
    dims.last().copied().unwrap_or(1).max(1)
}

/// Little-endian floats out of a file.
fn floats(path: &Path, offset: u64, count: usize) -> std::io::Result<Vec<f32>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = vec![0u8; 4 * count];
    file.read_exact(&mut bytes)?;
    let float = |four: &[u8]| f32::from_le_bytes([four[0], four[1], four[2], four[3]]);
    Ok(bytes.chunks_exact(4).map(float).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn spare_columns_and_rows_are_zeros_and_no_part_of_the_weight() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let own: Vec<f32> = (1..=6u8).map(f32::from).collect();
        file.write_all(&own.iter().flat_map(|one| one.to_le_bytes()).collect::<Vec<u8>>()).unwrap();
        for (dims, own_dims, wide) in [
            (vec![2, 4], vec![2, 3], vec![1.0, 2.0, 3.0, 0.0, 4.0, 5.0, 6.0, 0.0]),
            (vec![3, 3], vec![2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0, 0.0, 0.0]),
            (vec![8], vec![6], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0, 0.0]),
            (vec![2, 3], vec![2, 3], own.clone()),
        ] {
            let plan = TrainedParameter {
                name: "w".into(),
                dims,
                own_dims,
                file: file.path().into(),
                offset: 0,
                gradient: None,
                rows: None,
            };
            let weight = Weight::read(&plan, Optimizer::AdamW).unwrap();
            assert_eq!(weight.values, wide);
            assert_eq!(weight.mean.len(), wide.len());
            assert_eq!(weight.own(&weight.values), own);
        }
    }
}
