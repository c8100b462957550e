//! Whether numbers change step by step or slide: a step against a smooth curve.

/// The curve's degree: a slide, a bend, and a bend back.
const DEGREE: i32 = 3;

/// What a level is free in: itself and where it begins.
const FREE_OF_A_LEVEL: f64 = 2.0;

/// By how much the logarithm of the likelihood must speak for the step, doubled: about seven to one.
const MARGIN: f64 = 3.0;

/// Whether a smooth curve explains the numbers nearly as well as levels that end at these places, each paid for by what it is free in;
/// `alike` is how much neighbours resemble each other, and so how much fewer numbers these are than they seem.
pub(crate) fn is_as_good(values: &[f64], ends: &[usize], alike: f64) -> bool {
    let count = values.len() as f64;
    let off = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
    };
    let paid = |left: f64, free: f64| left / (count - free).max(1.0);
    let starts = [0].into_iter().chain(ends.iter().copied());
    let around: f64 = starts.zip(ends).map(|(from, to)| off(&values[from..*to])).sum();
    let stepped = paid(around, FREE_OF_A_LEVEL * ends.len() as f64);
    let beside = beside_a_curve(values);
    let curved = paid(dot(&beside, &beside), f64::from(DEGREE) + 1.0);
    let fewer = count * (1.0 - alike) / (1.0 + alike);
    // Multiplied out, so that a step without any noise around it needs no division by 0.
    curved <= stepped * (MARGIN / fewer).exp()
}

/// What a curve leaves of the numbers; powers of the place, each made orthogonal to those before.
pub(crate) fn beside_a_curve(values: &[f64]) -> Vec<f64> {
    let last = (values.len() - 1) as f64;
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let mut left = values.to_vec();
    for power in 0..=DEGREE {
        let place = |at: usize| (2.0 * at as f64 / last - 1.0).powi(power);
        let mut next: Vec<f64> = (0..values.len()).map(place).collect();
        basis.iter().for_each(|known| take_away(&mut next, known));
        let length = dot(&next, &next).sqrt();
        next.iter_mut().for_each(|next| *next /= length);
        take_away(&mut left, &next);
        basis.push(next);
    }
    left
}

/// Takes away what lies in this direction, which has length 1.
fn take_away(from: &mut [f64], direction: &[f64]) {
    let part = dot(from, direction);
    from.iter_mut().zip(direction).for_each(|(from, direction)| *from -= part * direction);
}

fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}
