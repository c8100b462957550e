//! Student's distribution, and the 97.5 % point of the normal one.
//!
//! Few processes are measured on a side, so two to four degrees of freedom are the rule here and the tails must be exact.

use crate::beta;

/// The 97.5 % point of the normal distribution: a two-sided interval of 95 %.
pub(crate) const Z: f64 = 1.959_963_984_540_054;

/// From here on the distribution is the normal one as far as a double can tell the points apart.
const NORMAL_FROM: f64 = 1e7;

/// The 97.5 % point for so many degrees of freedom, at least 1.
pub(crate) fn t(degrees: f64) -> f64 {
    if degrees >= NORMAL_FROM { Z } else { point(0.975, degrees.max(1.0)) }
}

/// The chance that a value as far from 0 as `t`, or farther, turns up: the two-sided p value.
pub(crate) fn two_sided(t: f64, degrees: f64) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    // x = v ÷ (v + t²) is exact in the tail, where 1 − the distribution would lose every digit.
    beta::incomplete(degrees / 2.0, 0.5, degrees / (degrees + t * t))
}

/// The point below which this share of the distribution lies; the share lies between ½ and 1.
///
/// Bisection: the tail falls without a step, so a few dozen halvings end at the last digits of a double.
pub(crate) fn point(share: f64, degrees: f64) -> f64 {
    let wanted = 2.0 * (1.0 - share);
    let (mut low, mut high) = (0.0, 1.0);
    while two_sided(high, degrees) > wanted {
        (low, high) = (high, high * 2.0);
    }
    for _ in 0..64 {
        let middle = (low + high) / 2.0;
        if two_sided(middle, degrees) > wanted {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(left: f64, right: f64) -> bool {
        (left / right - 1.0).abs() < 1e-9
    }

    /// Degrees, the 97.5 % and 80 % points, and the chance above 12, as scipy 1.17 gives them.
    const TABLE: [(f64, f64, f64, f64); 9] = [
        (1.0, 12.706_204_736_174_694, 1.376_381_920_471_173_8, 0.026_464_676_059_589_878),
        (2.0, 4.302_652_729_749_462, 1.060_660_171_779_821_4, 0.003_436_466_838_579_23),
        (3.0, 3.182_446_305_283_707_8, 0.978_472_312_363_304_2, 0.000_622_507_900_394_668_1),
        (4.0, 2.776_445_105_197_793_4, 0.940_964_577_235_181_6, 0.000_138_214_274_251_486_5),
        (5.0, 2.570_581_835_636_314_6, 0.919_543_780_240_827_1, 3.544_746_258_580_761e-5),
        (8.0, 2.306_004_135_204_166, 0.888_889_517_767_020_2, 1.071_933_373_844_384_6e-6),
        (9.5, 2.244_137_461_492_295_8, 0.881_111_776_319_084_7, 2.356_258_507_197_161_7e-7),
        (30.0, 2.042_272_456_301_237_8, 0.853_767_261_471_297_9, 2.790_092_707_599_630_3e-13),
        (120.0, 1.979_930_405_082_440_2, 0.844_626_837_743_131_6, 1.392_374_885_218_550_8e-22),
    ];

    #[test]
    fn points_and_tails_are_those_of_another_implementation() {
        for (degrees, upper, power, tail) in TABLE {
            assert!(close(t(degrees), upper), "{degrees}: {}", t(degrees));
            assert!(close(point(0.8, degrees), power), "{degrees}: {}", point(0.8, degrees));
            let above = two_sided(12.0, degrees) / 2.0;
            assert!(close(above, tail), "{degrees}: {above}");
        }
    }

    #[test]
    fn two_degrees_follow_the_closed_form() {
        for t in [0.1f64, 1.0, 3.7, 250.0] {
            let above = 1.0 - t / (2.0 + t * t).sqrt();
            assert!((two_sided(t, 2.0) - above).abs() < 1e-12, "{t}");
        }
    }

    #[test]
    fn the_ends_are_certain_and_impossible() {
        assert_eq!(two_sided(0.0, 3.0), 1.0);
        assert_eq!(two_sided(f64::INFINITY, 3.0), 0.0);
        assert!((t(1e6) / Z - 1.0).abs() < 1e-5);
        assert_eq!(t(1e9), Z);
    }
}
