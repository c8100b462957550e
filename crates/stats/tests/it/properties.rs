use modelmeter_stats::{median, median_error, median_interval, summarise};
use proptest::prelude::*;

fn samples() -> impl Strategy<Value = Vec<u64>> {
    let value = prop_oneof![Just(0u64), 1u64..50, 1_000u64..1_000_000_000];
    prop::collection::vec(value, 1..150)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn percentiles_climb_from_the_smallest_to_the_largest(nanos in samples()) {
        let s = summarise(&nanos, 1).unwrap();
        let ladder = [s.min, s.median, s.p90, s.p95, s.p99, s.p999, s.max];
        prop_assert!(ladder.windows(2).all(|pair| pair[0] <= pair[1]), "{ladder:?}");
        prop_assert!(s.min <= s.mean && s.mean <= s.max);
        prop_assert!(s.mad <= s.max - s.min + 1e-15);
        prop_assert!(s.outliers <= s.count / 2);
    }

    #[test]
    fn the_order_of_the_samples_matters_to_the_intervals_only(
        nanos in samples(), rotation in 0usize..1000,
    ) {
        let one = summarise(&nanos, 1).unwrap();
        let mut other = nanos.clone();
        other.rotate_left(rotation % nanos.len());
        other.reverse();
        let mut two = summarise(&other, 1).unwrap();
        (two.ci95_mean, two.ci95_median) = (one.ci95_mean, one.ci95_median);
        prop_assert_eq!(one, two);
    }

    #[test]
    fn a_change_of_unit_scales_every_number(nanos in samples(), factor in 1u64..1000) {
        let one = summarise(&nanos, 7).unwrap();
        let scaled: Vec<u64> = nanos.iter().map(|x| x * factor).collect();
        let two = summarise(&scaled, 7).unwrap();
        let by = factor as f64;
        for (small, large) in [
            (one.mean, two.mean), (one.std, two.std), (one.median, two.median),
            (one.mad, two.mad), (one.p99, two.p99), (one.max, two.max),
            (one.ci95_mean.low, two.ci95_mean.low), (one.ci95_mean.high, two.ci95_mean.high),
            (one.ci95_median.low, two.ci95_median.low), (one.ci95_median.high, two.ci95_median.high),
        ] {
            prop_assert!((small * by - large).abs() <= 1e-9 * large.max(1e-9), "{small} {large}");
        }
        prop_assert_eq!(one.unsupported, two.unsupported);
    }

    #[test]
    fn an_interval_holds_its_own_estimate(nanos in samples()) {
        let s = summarise(&nanos, 3).unwrap();
        prop_assert!(s.ci95_mean.low <= s.mean && s.mean <= s.ci95_mean.high);
        prop_assert!(s.ci95_median.low <= s.median && s.median <= s.ci95_median.high);
        let interval = median_interval(&nanos).unwrap();
        prop_assert!(interval.low <= s.median && s.median <= interval.high);
        prop_assert!(s.min <= interval.low && interval.high <= s.max);
        prop_assert_eq!(median(&nanos), Some(s.median));
        let error = median_error(&nanos);
        prop_assert_eq!(error, interval.relative_half_width(s.median));
    }
}

#[test]
fn long_lists_take_the_short_way_and_keep_the_promises() {
    let nanos: Vec<u64> = (0..300_000u64).map(|i| 1_000_000 + i * 7919 % 10_007).collect();
    let s = summarise(&nanos, 0).unwrap();
    assert_eq!(Some(s.ci95_median), median_interval(&nanos));
    assert!(s.ci95_mean.low < s.mean && s.mean < s.ci95_mean.high);
    assert!(s.unsupported.is_empty());
    assert_eq!(s, summarise(&nanos, 99).unwrap());
}
