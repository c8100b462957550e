//! Dropout masks: drawn anew for every step, the same for the same seed.

use crate::DropoutMask;
use stats::{SplitMix, mix};
use types::{Elements, HostTensor};

/// Draws a mask: 0 with the probability `ratio`, else 1 ÷ (1 − `ratio`).
pub(super) fn draw(mask: &DropoutMask, seed: u64, step: u64, place: usize) -> HostTensor {
    let count = mask.dims.iter().product();
    let ratio = mask.ratio.clamp(0.0, 0.999_9);
    let kept = 1.0 / (1.0 - ratio);
    let dropped = (f64::from(ratio) * 2f64.powi(32)) as u64;
    let mut random = SplitMix::new(mix(seed ^ mix(step ^ mix(place as u64))));
    let mut value = || if random.number() >> 32 < dropped { 0.0 } else { kept };
    let elements = Elements::F32((0..count).map(|_| value()).collect());
    HostTensor { name: mask.name.clone(), dims: mask.dims.clone(), elements }
}

/// A mask that drops nothing.
pub(super) fn keep_all(mask: &DropoutMask) -> HostTensor {
    let elements = Elements::F32(vec![1.0; mask.dims.iter().product()]);
    HostTensor { name: mask.name.clone(), dims: mask.dims.clone(), elements }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_that_is_dropped_is_the_ratio_and_the_mean_stays_one() {
        let mask = DropoutMask { name: "m".into(), dims: vec![100, 1000], ratio: 0.1 };
        let Elements::F32(values) = draw(&mask, 1, 2, 3).elements else { panic!() };
        let dropped = values.iter().filter(|value| **value == 0.0).count() as f64 / 1e5;
        assert!((dropped - 0.1).abs() < 0.005, "{dropped}");
        let mean = values.iter().map(|value| f64::from(*value)).sum::<f64>() / 1e5;
        assert!((mean - 1.0).abs() < 0.005, "{mean}");
    }

    #[test]
    fn a_step_has_its_own_mask_and_a_seed_gives_it_again() {
        let mask = DropoutMask { name: "m".into(), dims: vec![64], ratio: 0.5 };
        assert_eq!(draw(&mask, 1, 2, 3), draw(&mask, 1, 2, 3));
        assert_ne!(draw(&mask, 1, 2, 3), draw(&mask, 1, 3, 3));
        assert_ne!(draw(&mask, 1, 2, 3), draw(&mask, 1, 2, 4));
    }
}
