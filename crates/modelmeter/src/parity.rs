//! Holds the outputs of all sides against the baseline's before anything is timed.

use crate::prepare::Prepared;
use analysis::{Tolerance, differences, part};
use types::{Cell, Elements, HostTensor, OutputParity, Parity};

/// Whether two cells have rows of the same number and length, so that their outputs have one shape.
pub(crate) fn has_same_rows(a: &Cell, b: &Cell) -> bool {
    (a.batch_size, a.sequence_length) == (b.batch_size, b.sequence_length)
}

/// The outputs of both that lie in rows and columns both have; `row` is where the second one's rows begin in the first.
fn common(a: &[HostTensor], b: &[HostTensor], row: usize) -> (Vec<HostTensor>, Vec<HostTensor>) {
    let mut both = (Vec::new(), Vec::new());
    for first in a {
        let Some(second) = b.iter().find(|other| other.name == first.name) else { continue };
        let begins = |axis: usize| if axis == 0 { row } else { 0 };
        let sizes = first.dims.iter().zip(&second.dims).enumerate();
        let dims: Vec<usize> =
            sizes.map(|(axis, (a, b))| a.saturating_sub(begins(axis)).min(*b)).collect();
        let parts = part(first, row, &dims).zip(part(second, 0, &dims));
        // What cannot be cut is left whole, and its shape then says that it differs.
        let (first, second) = parts.unwrap_or_else(|| (first.clone(), second.clone()));
        both.0.push(first);
        both.1.push(second);
    }
    both
}

/// The loss, and all gradients as one tensor: a gradient that is zero but for rounding has no direction of its own.
///
/// Those that a side has and another has not are left out; a weight that one of them does not train has none.
pub(crate) fn join_gradients(shown: &[Option<Vec<HostTensor>>]) -> Vec<Option<Vec<HostTensor>>> {
    let has = |tensors: &Vec<HostTensor>, name: &str| tensors.iter().any(|t| t.name == name);
    let of_all = |name: &str| shown.iter().flatten().all(|tensors| has(tensors, name));
    let join = |tensors: &Vec<HostTensor>| {
        let mut tensors: Vec<&HostTensor> = tensors.iter().filter(|t| of_all(&t.name)).collect();
        tensors.sort_by(|a, b| a.name.cmp(&b.name));
        let (losses, gradients): (Vec<&HostTensor>, Vec<&HostTensor>) =
            tensors.into_iter().partition(|tensor| tensor.name == "loss");
        let mut all = Vec::with_capacity(gradients.iter().map(|t| t.elements.len()).sum());
        for gradient in gradients {
            if let Elements::F32(values) = &gradient.elements {
                all.extend_from_slice(values);
            }
        }
        let (dims, elements) = (vec![all.len()], Elements::F32(all));
        let all = HostTensor { name: "gradients".into(), dims, elements };
        losses.into_iter().cloned().chain([all]).collect()
    };
    shown.iter().map(|tensors| tensors.as_ref().map(join)).collect()
}

/// Holds every side's outputs against the baseline's; `rows` says where each side's rows begin in the baseline's.
///
/// Sides with other batch sizes or lengths are held against what both have.
pub(crate) fn hold_against(
    prepared: &[Prepared],
    labels: &[String],
    baseline: usize,
    rows: &[usize],
    outputs: &[Option<Vec<HostTensor>>],
) -> Vec<Parity> {
    let Some(reference) = &outputs[baseline] else { return Vec::new() };
    let mut all = Vec::new();
    for (place, tensors) in outputs.iter().enumerate() {
        let Some(tensors) = tensors.as_ref().filter(|_| place != baseline) else { continue };
        let precisions = [baseline, place].map(|p| prepared[p].cell.precision);
        let tolerance = Tolerance::of(precisions[0], precisions[1]);
        let row = rows.get(place).copied().unwrap_or(0);
        let found = if has_same_rows(&prepared[baseline].cell, &prepared[place].cell) {
            differences(reference, tensors)
        } else {
            let (reference, tensors) = common(reference, tensors, row);
            differences(&reference, &tensors)
        };
        let mut held: Vec<OutputParity> = found
            .into_iter()
            .map(|difference| OutputParity {
                holds: difference.is_within(&tolerance),
                max_abs: difference.unlike.is_none().then_some(difference.max_abs),
                cosine: difference.unlike.is_none().then_some(difference.cosine),
                tolerance: tolerance
                    .difference
                    .is_finite()
                    .then_some(tolerance.difference * difference.magnitude.max(1.0)),
                why: difference.unlike.clone().or_else(|| {
                    let turned = difference.cosine < tolerance.cosine;
                    turned.then(|| format!("the cosine is {:.6}", difference.cosine))
                }),
                output: difference.output,
            })
            .collect();
        if held.is_empty() {
            held.push(OutputParity {
                output: reference.first().map(|t| t.name.clone()).unwrap_or_default(),
                max_abs: None,
                cosine: None,
                tolerance: None,
                holds: false,
                why: Some("the two have no output in common".into()),
            });
        }
        all.push(Parity {
            side: labels[place].clone(),
            reference: labels[baseline].clone(),
            holds: held.iter().all(|output| output.holds),
            outputs: held,
            first_difference: None,
        });
    }
    all
}
