//! Whether warm-up has settled.

/// How many windows in a row must agree.
pub const WINDOWS_COMPARED: usize = 3;

/// Whether the last three windows' medians agree: the largest at most `tolerance` (0.1 is 10 %) above the smallest.
///
/// Earlier windows are ignored; with fewer than three there is nothing to agree.
#[must_use]
pub fn windows_agree(medians: &[f64], tolerance: f64) -> bool {
    let Some(start) = medians.len().checked_sub(WINDOWS_COMPARED) else { return false };
    let last = &medians[start..];
    let low = last.iter().copied().fold(f64::INFINITY, f64::min);
    let high = last.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    last.iter().all(|median| median.is_finite()) && high <= low * (1.0 + tolerance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_three_windows_count() {
        assert!(windows_agree(&[9.0, 1.0, 1.05, 1.1], 0.101));
        assert!(!windows_agree(&[1.0, 1.0, 1.0, 1.2], 0.1));
        assert!(!windows_agree(&[1.0, 1.0], 0.1));
    }

    #[test]
    fn a_window_without_a_number_never_agrees() {
        assert!(!windows_agree(&[1.0, f64::NAN, 1.0], 0.1));
        assert!(!windows_agree(&[f64::INFINITY; 3], 0.1));
        assert!(windows_agree(&[0.0; 3], 0.0));
    }
}
