//! Holds the outputs of all sides against the baseline's before anything is timed.

use crate::prepare::Prepared;
use analysis::{Tolerance, differences};
use types::{HostTensor, OutputParity, Parity};

/// Holds every side's outputs against the baseline's.
pub(crate) fn hold_against(
    prepared: &[Prepared],
    labels: &[String],
    baseline: usize,
    outputs: &[Option<Vec<HostTensor>>],
) -> Vec<Parity> {
    let Some(reference) = &outputs[baseline] else { return Vec::new() };
    let mut all = Vec::new();
    for (place, tensors) in outputs.iter().enumerate() {
        let Some(tensors) = tensors.as_ref().filter(|_| place != baseline) else { continue };
        let precisions = [baseline, place].map(|p| prepared[p].cell.precision);
        let tolerance = Tolerance::of(precisions[0], precisions[1]);
        let mut held: Vec<OutputParity> = differences(reference, tensors)
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
