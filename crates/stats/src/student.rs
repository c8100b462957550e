//! The 97.5 % points of the normal and of Student's distribution.

/// The 97.5 % point of the normal distribution: a two-sided interval of 95 %.
pub(crate) const Z: f64 = 1.959_963_984_540_054;

/// The 97.5 % point of Student's distribution, by its expansion in 1 ÷ degrees of freedom.
///
/// Within 0.1 % from 8 degrees on and within 3 % from 3 on; at 1 it says 9.7 instead of 12.7.
pub(crate) fn t(degrees: f64) -> f64 {
    let v = degrees.max(1.0);
    let z = [Z, Z.powi(3), Z.powi(5), Z.powi(7)];
    let first = (z[1] + z[0]) / 4.0;
    let second = (5.0 * z[2] + 16.0 * z[1] + 3.0 * z[0]) / 96.0;
    let third = (3.0 * z[3] + 19.0 * z[2] + 17.0 * z[1] - 15.0 * z[0]) / 384.0;
    Z + first / v + second / v.powi(2) + third / v.powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_points_are_those_of_the_printed_tables() {
        for (degrees, table) in [(10.0, 2.228), (20.0, 2.086), (30.0, 2.042), (120.0, 1.980)] {
            assert!((t(degrees) - table).abs() < 0.002, "{degrees}: {}", t(degrees));
        }
        assert!((t(3.0) / 3.182 - 1.0).abs() < 0.03);
        assert!((t(1e9) - Z).abs() < 1e-6);
    }
}
