//! The optimiser as one pass over the weights: every number is read once and written once. Formulas as in PyTorch.

use super::{
    factors::{BETA_1, BETA_2, EPSILON, UpdateFactors},
    state::Weight,
    threads::share,
};
use types::Optimizer;

/// Elements that one thread takes at a time: enough to hide handing them over, few enough to share evenly.
const PIECE: usize = 1 << 16;

/// A stretch of a weight with its gradient.
struct Piece<'a> {
    values: &'a mut [f32],
    mean: &'a mut [f32],
    square: &'a mut [f32],
    gradient: Gradient<'a>,
}

#[derive(Clone, Copy)]
enum Gradient<'a> {
    /// One for each element.
    Given(&'a [f32]),
    /// All zeros.
    Zeros,
    /// All zeros, and so it always was: the means are zeros too, and the weight only decays.
    NeverAny,
}

/// A weight and the gradient that the engine holds of it, if it is a whole one.
pub(super) struct Task<'a> {
    pub(super) weight: &'a mut Weight,
    pub(super) gradient: Option<&'a [f32]>,
}

/// Moves all weights.
pub(super) fn update(tasks: Vec<Task<'_>>, factors: UpdateFactors, threads: usize) {
    let mut pieces = Vec::new();
    for task in tasks {
        cut(task, &mut pieces);
    }
    share(pieces, threads, |piece| apply(piece, factors));
}

/// Cuts a weight where threads share it, and around rows that have a gradient of their own.
fn cut<'a>(task: Task<'a>, pieces: &mut Vec<Piece<'a>>) {
    let Task { weight, gradient } = task;
    let width = weight.width();
    let is_summed = !weight.sum.is_empty();
    let Weight { values, mean, square, sum, rows, moved, .. } = weight;
    let gradient = if is_summed { Some(sum.as_slice()) } else { gradient };
    if let Some(gradient) = gradient {
        // Rows beside a whole gradient were added to the sum already.
        push(Piece { values, mean, square, gradient: Gradient::Given(gradient) }, pieces);
        return;
    }
    let mut touched: Vec<(&usize, &Vec<f32>)> = rows.iter().collect();
    touched.sort_unstable_by_key(|(row, _)| **row);
    let mut rest = Piece { values, mean, square, gradient: Gradient::Zeros };
    let mut done = 0;
    for (row, gradient) in touched {
        rest = push_quiet(rest, &moved[done.min(moved.len())..], row - done, width, pieces);
        let (mut own, after) = split(rest, width);
        own.gradient = Gradient::Given(gradient);
        pieces.push(own);
        done = row + 1;
        rest = after;
    }
    let left = rest.values.len() / width;
    push_quiet(rest, &moved[done.min(moved.len())..], left, width, pieces);
}

/// The first `count` rows, none of which has a gradient now; gives what is behind them.
fn push_quiet<'a>(
    mut rest: Piece<'a>,
    moved: &[bool],
    count: usize,
    width: usize,
    pieces: &mut Vec<Piece<'a>>,
) -> Piece<'a> {
    let moved = &moved[..count.min(moved.len())];
    for alike in moved.chunk_by(|one, next| one == next) {
        let (mut own, after) = split(rest, alike.len() * width);
        own.gradient = if alike[0] { Gradient::Zeros } else { Gradient::NeverAny };
        push(own, pieces);
        rest = after;
    }
    let (own, after) = split(rest, (count - moved.len()) * width);
    push(own, pieces);
    after
}

fn push<'a>(mut piece: Piece<'a>, pieces: &mut Vec<Piece<'a>>) {
    while piece.values.len() > PIECE {
        let (first, rest) = split(piece, PIECE);
        pieces.push(first);
        piece = rest;
    }
    if !piece.values.is_empty() {
        pieces.push(piece);
    }
}

fn split(piece: Piece<'_>, at: usize) -> (Piece<'_>, Piece<'_>) {
    // An optimiser without memory has empty slices there.
    let states = at.min(piece.mean.len());
    let (values, more_values) = piece.values.split_at_mut(at);
    let (mean, more_mean) = piece.mean.split_at_mut(states);
    let (square, more_square) = piece.square.split_at_mut(states);
    let (gradient, more_gradient) = match piece.gradient {
        Gradient::Given(gradient) => {
            let (first, rest) = gradient.split_at(at);
            (Gradient::Given(first), Gradient::Given(rest))
        }
        other => (other, other),
    };
    (
        Piece { values, mean, square, gradient },
        Piece {
            values: more_values,
            mean: more_mean,
            square: more_square,
            gradient: more_gradient,
        },
    )
}

fn apply(piece: Piece<'_>, factors: UpdateFactors) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has it.
            unsafe { with_avx512(piece, factors) };
            return;
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has both.
            unsafe { with_avx2(piece, factors) };
            return;
        }
    }
    plain(piece, factors);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn with_avx512(piece: Piece<'_>, factors: UpdateFactors) {
    plain(piece, factors);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn with_avx2(piece: Piece<'_>, factors: UpdateFactors) {
    plain(piece, factors);
}

#[inline(always)]
fn plain(piece: Piece<'_>, factors: UpdateFactors) {
    let Piece { values, mean, square, gradient } = piece;
    match (factors.optimizer, gradient) {
        (Optimizer::Sgd, Gradient::Given(gradient)) => {
            for (value, gradient) in values.iter_mut().zip(gradient) {
                *value -= factors.learning_rate * (gradient * factors.scale);
            }
        }
        (Optimizer::Sgd, _) => {}
        (_, Gradient::Given(gradient)) => {
            for (((value, mean), square), gradient) in
                values.iter_mut().zip(mean).zip(square).zip(gradient)
            {
                adam(value, mean, square, gradient * factors.scale, factors);
            }
        }
        (_, Gradient::NeverAny) if factors.kept == 1.0 => {}
        (_, Gradient::NeverAny) => values.iter_mut().for_each(|value| *value *= factors.kept),
        (_, Gradient::Zeros) => {
            for ((value, mean), square) in values.iter_mut().zip(mean).zip(square) {
                adam(value, mean, square, 0.0, factors);
            }
        }
    }
}

#[inline(always)]
fn adam(value: &mut f32, mean: &mut f32, square: &mut f32, gradient: f32, factors: UpdateFactors) {
    *mean = BETA_1 * *mean + (1.0 - BETA_1) * gradient;
    *square = BETA_2 * *square + (1.0 - BETA_2) * gradient * gradient;
    let deviation = square.sqrt() / factors.root + EPSILON;
    *value = *value * factors.kept - factors.step * *mean / deviation;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TrainedParameter;
    use std::collections::HashMap;
    use types::{Loss, Rate, Training};

    fn weight(values: Vec<f32>, dims: &[usize], states: bool) -> Weight {
        let count = if states { values.len() } else { 0 };
        Weight {
            plan: TrainedParameter {
                name: "w".into(),
                dims: dims.to_vec(),
                own_dims: dims.to_vec(),
                file: "none".into(),
                offset: 0,
                gradient: None,
                rows: None,
            },
            values,
            mean: vec![0.0; count],
            square: vec![0.0; count],
            sum: Vec::new(),
            rows: HashMap::new(),
            moved: vec![false; dims[0]],
        }
    }

    fn training(optimizer: Optimizer) -> Training {
        Training {
            optimizer,
            loss: Loss::Mse,
            learning_rate: Rate(0.1),
            accumulation: 1,
            checkpointing: false,
            world_size: 1,
        }
    }

    /// Values that `torch.optim` 2.15 gives for weights 1, −2, 0.5 and the gradients 0.3, −0.1, 0 then 0.1, 0.2, 0.
    #[test]
    fn two_steps_give_the_values_of_pytorch() {
        let cases = [
            (Optimizer::Sgd, [0.96, -2.01, 0.5]),
            (Optimizer::Adam, [0.812_893_6, -1.936_610_3, 0.5]),
            (Optimizer::AdamW, [0.810_994_6, -1.932_712_4, 0.499_000_5]),
        ];
        for (optimizer, expected) in cases {
            let mut weight = weight(vec![1.0, -2.0, 0.5], &[3], optimizer.states() > 0);
            for (step, gradient) in [(1, [0.3, -0.1, 0.0]), (2, [0.1, 0.2, 0.0])] {
                let factors = UpdateFactors::of(&training(optimizer), step);
                let task = Task { weight: &mut weight, gradient: Some(&gradient) };
                update(vec![task], factors, 2);
            }
            for (value, expected) in weight.values.iter().zip(expected) {
                assert!((value - expected).abs() < 2e-5, "{optimizer}: {value} {expected}");
            }
        }
    }

    #[test]
    fn rows_that_were_looked_up_move_as_in_a_whole_gradient_and_the_others_decay() {
        for optimizer in [Optimizer::Sgd, Optimizer::Adam, Optimizer::AdamW] {
            let values: Vec<f32> = (0..300_000).map(|at| (at % 17) as f32 - 8.0).collect();
            let mut sparse = weight(values.clone(), &[100_000, 3], optimizer.states() > 0);
            let mut dense = weight(values, &[100_000, 3], optimizer.states() > 0);
            // A row that comes again, one that stays away later, and one that comes late.
            for (step, rows) in
                [(1, vec![0, 7, 99_999]), (2, vec![7]), (3, vec![8, 7]), (4, vec![])]
            {
                let mut whole = vec![0.0; 300_000];
                for row in rows {
                    let gradient: Vec<f32> =
                        (0..3).map(|at| (row + at + step) as f32 * 1e-3 - 1.0).collect();
                    whole[3 * row..3 * row + 3].copy_from_slice(&gradient);
                    sparse.add_row(row, &gradient);
                }
                let factors = UpdateFactors::of(&training(optimizer), step as u64);
                update(vec![Task { weight: &mut sparse, gradient: None }], factors, 2);
                update(vec![Task { weight: &mut dense, gradient: Some(&whole) }], factors, 1);
                sparse.rows.clear();
                assert_eq!(sparse.values, dense.values, "{optimizer} {step}");
                assert_eq!(sparse.mean, dense.mean);
                assert_eq!(sparse.square, dense.square);
            }
        }
    }

    #[test]
    fn a_table_moved_by_one_sum_goes_on_by_rows() {
        let values: Vec<f32> = (0..12).map(|at| at as f32 - 5.0).collect();
        let [mut sparse, mut dense] = [(); 2].map(|()| weight(values.clone(), &[4, 3], true));
        let mut whole = vec![0.0; 12];
        whole[3..6].copy_from_slice(&[0.5, -0.25, 2.0]);
        sparse.add_row(1, &whole[3..6]);
        sparse.add_rows();
        let first = UpdateFactors::of(&training(Optimizer::AdamW), 1);
        update(vec![Task { weight: &mut sparse, gradient: None }], first, 1);
        update(vec![Task { weight: &mut dense, gradient: Some(&whole) }], first, 1);
        sparse.sum.clear();
        let second = UpdateFactors::of(&training(Optimizer::AdamW), 2);
        update(vec![Task { weight: &mut sparse, gradient: None }], second, 1);
        update(vec![Task { weight: &mut dense, gradient: Some(&[0.0; 12]) }], second, 1);
        assert_eq!(sparse.values, dense.values);
        assert_eq!(sparse.mean, dense.mean);
    }
}
