//! Numbers that a schedule is drawn from.

use stats::Generator;

/// Between 0 and 1, neither of them.
pub(crate) fn unit(generator: &mut Generator) -> f64 {
    ((generator.number() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

/// The exponential distribution with mean 1.
pub(crate) fn exponential(generator: &mut Generator) -> f64 {
    -unit(generator).ln()
}

/// The gamma distribution with this shape and mean 1 (Marsaglia and Tsang, 2000).
pub(crate) fn gamma(generator: &mut Generator, shape: f64) -> f64 {
    if shape < 1.0 {
        // Their method needs a shape of at least 1; a power of a uniform number corrects for one more.
        let correction = (unit(generator).ln() / shape).exp();
        return gamma_from_one(generator, shape + 1.0) * correction / shape;
    }
    gamma_from_one(generator, shape) / shape
}

fn gamma_from_one(generator: &mut Generator, shape: f64) -> f64 {
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let normal = generator.normal();
        let v = (1.0 + c * normal).powi(3);
        if v > 0.0 && unit(generator).ln() < 0.5 * normal * normal + d - d * v + d * v.ln() {
            return d * v;
        }
    }
}

/// Which of so many contents each request has: every content once before any of them comes again, in an order of the seed.
#[must_use]
pub fn draw_order(requests: usize, contents: usize, seed: u64) -> Vec<u32> {
    let mut generator = Generator::new(seed);
    let mut deck: Vec<u32> = (0..contents.min(u32::MAX as usize) as u32).collect();
    let mut order = Vec::with_capacity(requests);
    while order.len() < requests && !deck.is_empty() {
        for place in (1..deck.len()).rev() {
            deck.swap(place, generator.below(place + 1));
        }
        order.extend(deck.iter().take(requests - order.len()));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(mut draw: impl FnMut() -> f64) -> (f64, f64) {
        let drawn: Vec<f64> = (0..40_000).map(|_| draw()).collect();
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / drawn.len() as f64;
        (mean, variance)
    }

    #[test]
    fn gamma_has_the_mean_of_one_and_the_variance_of_its_shape() {
        for shape in [0.1, 0.25, 1.0, 4.0, 100.0] {
            let mut generator = Generator::new(7);
            let (mean, variance) = moments(|| gamma(&mut generator, shape));
            assert!((mean - 1.0).abs() < 0.06, "{shape}: mean {mean}");
            assert!((variance * shape - 1.0).abs() < 0.15, "{shape}: variance {variance}");
        }
    }

    #[test]
    fn an_exponential_number_has_its_mean_as_deviation() {
        let mut generator = Generator::new(3);
        let (mean, variance) = moments(|| exponential(&mut generator));
        assert!((mean - 1.0).abs() < 0.02 && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
    }

    #[test]
    fn no_content_comes_twice_before_every_other_came_once() {
        let order = draw_order(25, 10, 1);
        for round in order.chunks(10).take(2) {
            let mut seen = round.to_vec();
            seen.sort_unstable();
            assert_eq!(seen, (0..10).collect::<Vec<u32>>());
        }
        assert_eq!(order.len(), 25);
        assert_eq!(order, draw_order(25, 10, 1));
        assert_ne!(order, draw_order(25, 10, 2));
        assert!(draw_order(5, 0, 1).is_empty());
    }
}
