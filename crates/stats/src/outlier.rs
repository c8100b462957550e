//! Samples far from the rest; reported, never deleted.

/// A modified Z-score above this marks an outlier (Iglewicz and Hoaglin, 1993).
pub const MODIFIED_Z_LIMIT: f64 = 3.5;

/// Makes the MAD of a normal distribution its standard deviation: the 75 % point of the normal distribution.
const MAD_SCALE: f64 = 0.6745;

/// Makes the mean absolute deviation of a normal distribution its standard deviation: √(π ÷ 2).
const MEAN_DEVIATION_SCALE: f64 = 1.253_314;

/// How many of the absolute deviations from the median are outliers.
///
/// Where more than half the samples are equal the MAD is 0 and says nothing; the mean absolute deviation then takes its
/// place. Where all are equal there are none.
pub(crate) fn count(deviations: &[f64], mad: f64) -> u64 {
    let unit = if mad > 0.0 {
        mad / MAD_SCALE
    } else {
        MEAN_DEVIATION_SCALE * deviations.iter().sum::<f64>() / deviations.len() as f64
    };
    if unit <= 0.0 {
        return 0;
    }
    deviations.iter().filter(|&&deviation| deviation / unit > MODIFIED_Z_LIMIT).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_three_and_a_half_scaled_deviations() {
        // One MAD is 10, so the limit lies at 3.5 × 10 ÷ 0.6745 = 51.89.
        assert_eq!(count(&[10.0, 51.8, 51.9, 0.0], 10.0), 1);
    }

    #[test]
    fn one_odd_sample_among_equal_ones_is_found() {
        let mut deviations = vec![0.0; 20];
        deviations.push(5.0);
        assert_eq!(count(&deviations, 0.0), 1);
        assert_eq!(count(&[0.0; 20], 0.0), 0);
    }
}
