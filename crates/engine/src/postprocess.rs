//! From a model's outputs to the answer people want; part of the end-to-end time.

use crate::{ElementsView, OutputView};
use types::Postprocess;

/// The answer: one row per sample.
pub type Answer = Vec<Vec<f32>>;

/// Turns the first output into the answer; other kinds of outputs are left as they are and give no answer.
///
/// `mask` is 1 for real tokens, row-major `[batch, sequence]`; without one every token counts.
#[must_use]
pub fn postprocess(kind: Postprocess, outputs: &[OutputView<'_>], mask: Option<&[i64]>) -> Answer {
    let Some(output) = outputs.first() else { return Vec::new() };
    let ElementsView::F32(values) = output.elements else { return Vec::new() };
    match (kind, output.dims.as_slice()) {
        (Postprocess::MeanPool, &[batch, sequence, width]) => {
            mean_pool(values, batch, sequence, width, mask)
        }
        (Postprocess::Argmax, &[batch, classes]) => argmax(values, batch, 1, classes),
        (Postprocess::Argmax, &[batch, sequence, classes]) => {
            argmax(values, batch, sequence, classes)
        }
        _ => Vec::new(),
    }
}

fn mean_pool(
    values: &[f32],
    batch: usize,
    sequence: usize,
    width: usize,
    mask: Option<&[i64]>,
) -> Answer {
    let mask = mask.filter(|mask| mask.len() == batch * sequence);
    (0..batch)
        .map(|sample| {
            let mut sum = vec![0f32; width];
            for token in 0..sequence {
                let at = sample * sequence + token;
                if mask.is_none_or(|mask| mask[at] != 0) {
                    let row = &values[at * width..(at + 1) * width];
                    sum.iter_mut().zip(row).for_each(|(total, x)| *total += x);
                }
            }
            // Dividing by the count cancels out when the vector is scaled to length 1.
            let length = sum.iter().map(|x| x * x).sum::<f32>().sqrt();
            if length > 0.0 {
                sum.iter_mut().for_each(|x| *x /= length);
            }
            sum
        })
        .collect()
}

/// The best class at the last position of every sample.
fn argmax(values: &[f32], batch: usize, sequence: usize, classes: usize) -> Answer {
    if sequence == 0 || classes == 0 {
        return Vec::new();
    }
    (0..batch)
        .map(|sample| {
            let start = ((sample + 1) * sequence - 1) * classes;
            let row = &values[start..start + classes];
            let best = row.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
            vec![best.map_or(0.0, |(index, _)| index as f32)]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output<'a>(dims: &[usize], values: &'a [f32]) -> OutputView<'a> {
        OutputView { name: "y", dims: dims.to_vec(), elements: ElementsView::F32(values) }
    }

    #[test]
    fn padding_is_left_out_of_the_mean() {
        let values = [3.0, 4.0, 100.0, 100.0];
        let answer =
            postprocess(Postprocess::MeanPool, &[output(&[1, 2, 2], &values)], Some(&[1, 0]));
        assert_eq!(answer, vec![vec![0.6, 0.8]]);
    }

    #[test]
    fn the_best_token_is_taken_at_the_last_position() {
        let values = [9.0, 0.0, 0.0, 1.0, 5.0, 2.0];
        let answer = postprocess(Postprocess::Argmax, &[output(&[1, 2, 3], &values)], None);
        assert_eq!(answer, vec![vec![1.0]]);
        let rows = postprocess(Postprocess::Argmax, &[output(&[2, 3], &values)], None);
        assert_eq!(rows, vec![vec![0.0], vec![1.0]]);
    }

    #[test]
    fn an_output_of_another_shape_gives_no_answer() {
        assert!(postprocess(Postprocess::MeanPool, &[output(&[4], &[0.0; 4])], None).is_empty());
        assert!(postprocess(Postprocess::Argmax, &[], None).is_empty());
    }
}
