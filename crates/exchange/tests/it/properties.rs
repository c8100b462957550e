//! Whatever a run is called and however long it took, it survives the trip.

use crate::sample;
use modelmeter_exchange::{Format, import, write};
use proptest::prelude::*;
use types::{Phase, Run, Samples};

fn trip(format: Format, run: &Run) -> Run {
    let mut out = Vec::new();
    write(format, [run], &mut out).unwrap();
    import("x", &out, Some(format)).unwrap().runs.remove(0)
}

fn finite() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), 1e-12..1e12f64, Just(f64::MAX), Just(f64::MIN_POSITIVE)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_samples_and_numbers_survive_json_lines(
        nanos in prop::collection::vec(any::<u64>(), 0..200),
        median in finite(),
        micros in any::<i64>(),
        name in ".*",
    ) {
        let mut run = sample::run(1);
        run.samples = vec![Samples { phase: Phase::Total, nanos }];
        run.started_at = micros;
        run.model.name = name;
        run.summaries.get_mut(&Phase::Total).unwrap().median = median;
        prop_assert_eq!(&trip(Format::JsonLines, &run), &run);
    }

    #[test]
    fn any_name_and_number_survives_flat_columns(
        name in "[^\u{0}]+",
        median in finite(),
        nanos in prop::collection::vec(0..i64::MAX as u64, 1..50),
    ) {
        let mut run = sample::run(1);
        run.model.name.clone_from(&name);
        run.cell.model.clone_from(&name);
        run.summaries.get_mut(&Phase::Total).unwrap().median = median;
        let csv = trip(Format::Csv, &run);
        prop_assert_eq!(&csv.cell.model, &name);
        prop_assert_eq!(csv.stated(Phase::Total).unwrap().median, Some(median));
        run.samples = vec![Samples { phase: Phase::Total, nanos: nanos.clone() }];
        let parquet = trip(Format::Parquet, &run);
        prop_assert_eq!(&parquet.cell.model, &name);
        prop_assert_eq!(parquet.samples_of(Phase::Total).unwrap(), nanos.as_slice());
    }
}
