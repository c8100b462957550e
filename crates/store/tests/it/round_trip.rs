use crate::{
    place::{Place, on_both},
    sample,
};
use modelmeter_store::{Coverage, Datum, Filter, StoreError};
use std::collections::BTreeMap;
use types::{
    Bytes, CacheBandwidth, Ceiling, Ceilings, Correction, Device, Direction, Import, Interval,
    Metric, Phase, Precision, Run, RunId, Samples, Stated, Unit, Unmeasured,
};

on_both!(
    a_run_comes_out_equal_to_what_went_in,
    a_run_of_another_tool_keeps_where_it_comes_from,
    a_run_without_samples_tags_or_metrics_comes_out_too,
    many_samples_come_out_in_their_order,
    a_beginning_of_the_id_is_enough_if_it_is_unique,
    the_same_id_is_not_stored_twice,
    a_number_that_is_not_finite_never_becomes_a_number,
    a_deleted_run_takes_everything_with_it_or_stays_whole,
    tags_come_and_go,
    ceilings_are_kept_by_machine_device_and_threads,
    the_fingerprint_is_another_one_after_every_change_and_the_same_without_one,
    a_measurement_on_a_busy_machine_lowers_no_ceiling,
    the_status_counts_and_vacuum_gives_space_back,
    the_status_says_what_was_measured_where_and_with_what,
    the_place_of_a_database_keeps_its_password,
);

fn a_run_comes_out_equal_to_what_went_in(place: &Place) {
    let store = place.open();
    let mut run = sample::run(1);
    run.unknown = BTreeMap::from([("work.activation_peak".into(), "nobody looked".into())]);
    store.insert_run(&run).unwrap();
    assert_eq!(store.run(&run.id.0).unwrap(), run);
}

/// Run number `n` as if another tool had measured it.
fn imported(n: u64) -> Run {
    let mut run = sample::run(n);
    run.imported = Some(Box::new(Import {
        tool: "optimum-benchmark".into(),
        version: Some("0.6.0".into()),
        file: "benchmark.json".into(),
        stated: BTreeMap::from([(
            Phase::Inference,
            Stated { median: Some(0.1), ..Stated::default() },
        )]),
        corrections: vec![Correction {
            what: "throughput.samples".into(),
            stated: Some(77.0),
            stored: Some(7.7),
            why: "ten times too many".into(),
        }],
        untold: vec!["cold.load".into()],
        profile: None,
    }));
    run
}

fn a_run_of_another_tool_keeps_where_it_comes_from(place: &Place) {
    let store = place.open();
    let run = imported(1);
    store.insert_run(&run).unwrap();
    assert_eq!(store.run(&run.id.0).unwrap(), run);
}

fn a_run_without_samples_tags_or_metrics_comes_out_too(place: &Place) {
    let store = place.open();
    let mut run = sample::run(1);
    run.samples.clear();
    run.warmup.nanos.clear();
    run.metrics.clear();
    run.probes.clear();
    run.tags.clear();
    run.summaries.clear();
    run.cell.sequence_length = None;
    store.insert_run(&run).unwrap();
    assert_eq!(store.run(&run.id.0).unwrap(), run);
    let row = &store.runs(&Filter::default()).unwrap()[0];
    assert_eq!((row.median, row.samples_per_second, row.memory_peak), (None, None, None));
}

fn many_samples_come_out_in_their_order(place: &Place) {
    let store = place.open();
    let mut run = sample::run(1);
    run.samples = vec![sample::samples(Phase::Inference, 3, 200_000)];
    run.samples[0].nanos[17] = u64::MAX;
    store.insert_run(&run).unwrap();
    assert_eq!(store.run(&run.id.0).unwrap().samples, run.samples);
}

fn a_beginning_of_the_id_is_enough_if_it_is_unique(place: &Place) {
    let store = place.open();
    for id in ["abcd0001", "abcd0002", "beef0003", "beef00034"] {
        let mut run = sample::run(1);
        run.id = RunId(id.into());
        store.insert_run(&run).unwrap();
    }
    assert_eq!(store.run("abcd0002").unwrap().id.0, "abcd0002");
    assert_eq!(store.run("ABCD0001").unwrap().id.0, "abcd0001");
    assert_eq!(store.run("beef0003").unwrap().id.0, "beef0003", "a whole id means itself");
    match store.run("abcd").unwrap_err() {
        StoreError::Ambiguous { candidates, .. } => {
            assert_eq!(candidates, ["abcd0001", "abcd0002"]);
        }
        other => panic!("{other}"),
    }
    for unknown in ["ffff", "", "abcd0001x", "%"] {
        let error = store.run(unknown).unwrap_err();
        assert!(matches!(error, StoreError::NotFound { .. }), "{unknown}: {error}");
        assert!(error.hint().is_some());
    }
    assert_eq!(store.short_id(&RunId("abcd0001".into())).unwrap(), "abcd0001");
    assert_eq!(store.short_id(&RunId("cccccccc".into())).unwrap(), "cccc");
}

fn the_same_id_is_not_stored_twice(place: &Place) {
    let store = place.open();
    let run = sample::run(1);
    store.insert_run(&run).unwrap();
    let error = store.insert_run(&run).unwrap_err();
    assert!(matches!(error, StoreError::Duplicate { .. }), "{error}");
    assert_eq!(store.status().unwrap().runs, 1);
}

fn a_number_that_is_not_finite_never_becomes_a_number(place: &Place) {
    let store = place.open();
    let mut run = sample::run(1);
    run.metrics = vec![Metric::measured("cpu", Unit::Ratio, Direction::Neutral, f64::NAN)];
    store.insert_run(&run).unwrap();
    let metric = store.run(&run.id.0).unwrap().metrics.remove(0);
    assert_eq!(metric.value, None);
    assert!(metric.why.unwrap().contains("NaN"));

    let mut run = sample::run(2);
    run.work.coverage.0 = f64::INFINITY;
    let error = store.insert_run(&run).unwrap_err();
    assert!(matches!(error, StoreError::Unstorable { .. }), "{error}");
    assert_eq!(store.status().unwrap().runs, 1);
}

fn a_deleted_run_takes_everything_with_it_or_stays_whole(place: &Place) {
    let store = place.open();
    let (one, two) = (sample::run(1), sample::run(2));
    store.insert_run(&one).unwrap();
    store.insert_run(&two).unwrap();
    let unknown = RunId("none".into());
    assert!(store.delete(&[one.id.clone(), unknown]).is_err());
    assert_eq!(store.run(&one.id.0).unwrap(), one, "all or none");
    assert_eq!(store.delete(std::slice::from_ref(&one.id)).unwrap(), 1);
    assert!(store.run(&one.id.0).is_err());
    assert_eq!(store.run(&two.id.0).unwrap(), two);
    assert_eq!(store.delete(std::slice::from_ref(&two.id)).unwrap(), 1);
    for table in ["run", "document", "metric", "samples", "tag", "cell", "model"] {
        let left = store.query(&format!("SELECT COUNT(*) FROM {table}"), None).unwrap();
        assert_eq!(left.rows, [[Datum::Whole(0)]], "{table}");
    }
}

fn tags_come_and_go(place: &Place) {
    let store = place.open();
    let run = sample::run(1);
    store.insert_run(&run).unwrap();
    assert!(store.tag(&run.id, "fast").unwrap());
    assert!(!store.tag(&run.id, "fast").unwrap());
    assert_eq!(store.run(&run.id.0).unwrap().tags, ["baseline", "fast", "night ☾"]);
    assert!(store.untag(&run.id, "baseline").unwrap());
    assert!(!store.untag(&run.id, "baseline").unwrap());
    assert_eq!(store.run(&run.id.0).unwrap().tags, ["fast", "night ☾"]);
    for bad in ["", "  ", "two\nlines"] {
        assert!(matches!(store.tag(&run.id, bad), Err(StoreError::BadTag { .. })));
    }
    let unknown = RunId("none".into());
    assert!(matches!(store.tag(&unknown, "x"), Err(StoreError::NotFound { .. })));
}

fn ceiling(value: f64) -> Ceiling {
    Ceiling { value, interval: Interval { low: value * 0.98, high: value } }
}

fn ceilings(device: Device, threads: u32, fp32: f64) -> Ceilings {
    Ceilings {
        flops: vec![(Precision::Fp32, ceiling(fp32))],
        bandwidth: Some(ceiling(2e10)),
        caches: vec![CacheBandwidth { level: 1, size: Bytes(1 << 15), ceiling: ceiling(4e11) }],
        unmeasured: vec![Unmeasured { what: "int8".into(), why: "no unit".into() }],
        measured_at: 5,
        ..Ceilings::of(device, threads)
    }
}

fn the_fingerprint_is_another_one_after_every_change_and_the_same_without_one(place: &Place) {
    let store = place.open();
    let mut seen = vec![store.fingerprint().unwrap()];
    let mut is_new = |what: &str| {
        let now = place.open().fingerprint().unwrap();
        assert!(!seen.contains(&now), "{what}");
        seen.push(now);
    };
    let (first, second) = (sample::run(1), sample::run(2));
    store.insert_runs(&[first.clone(), second.clone()]).unwrap();
    is_new("two runs");
    store.save_ceilings(&sample::machine(), &ceilings(Device::Cpu, 2, 3e11)).unwrap();
    is_new("ceilings");
    store.save_ceilings(&sample::machine(), &ceilings(Device::Cpu, 2, 4e11)).unwrap();
    is_new("other ceilings");
    let whole = store.fingerprint().unwrap();
    // As many runs with the same names, one with another verdict.
    store.delete(std::slice::from_ref(&first.id)).unwrap();
    is_new("a run is gone");
    let mut other = first.clone();
    other.verdict.valid = !other.verdict.valid;
    store.insert_run(&other).unwrap();
    is_new("a run that is judged in another way");
    store.delete(std::slice::from_ref(&first.id)).unwrap();
    store.insert_run(&first).unwrap();
    assert_eq!(store.fingerprint().unwrap(), whole, "the same runs in another order");
    store.tag(&first.id, "a label").unwrap();
    assert_eq!(store.fingerprint().unwrap(), whole, "a label is no number");
}

fn ceilings_are_kept_by_machine_device_and_threads(place: &Place) {
    let store = place.open();
    let machine = sample::machine();
    let (cpu, gpu) = (ceilings(Device::Cpu, 2, 3e11), ceilings(Device::Cuda(1), 0, 5e13));
    for ceilings in [&gpu, &cpu] {
        store.save_ceilings(&machine, ceilings).unwrap();
    }
    assert_eq!(store.ceilings(&machine.key, Device::Cpu, 2).unwrap(), Some(cpu.clone()));
    assert_eq!(store.ceilings(&machine.key, Device::Cuda(1), 0).unwrap(), Some(gpu.clone()));
    assert_eq!(store.ceilings(&machine.key, Device::Cpu, 1).unwrap(), None);
    assert_eq!(store.ceilings(&machine.key, Device::Cuda(0), 0).unwrap(), None);
    assert_eq!(store.all_ceilings(&machine.key).unwrap(), [cpu.clone(), gpu]);
    assert_eq!(store.all_ceilings("another").unwrap(), []);
    let newer = Ceilings { bandwidth: None, measured_at: 6, ..cpu };
    store.save_ceilings(&machine, &newer).unwrap();
    assert_eq!(store.ceilings(&machine.key, Device::Cpu, 2).unwrap(), Some(newer));
}

fn a_measurement_on_a_busy_machine_lowers_no_ceiling(place: &Place) {
    let store = place.open();
    let machine = sample::machine();
    let quiet = ceilings(Device::Cpu, 2, 3e11);
    assert_eq!(store.raise_ceilings(&machine, &quiet).unwrap(), quiet);
    let mut busy = ceilings(Device::Cpu, 2, 1e11);
    busy.flops.push((Precision::Int8, ceiling(9e11)));
    busy.measured_at = 9;
    let standing = store.raise_ceilings(&machine, &busy).unwrap();
    assert_eq!(standing.flops_at(Precision::Fp32), Some(ceiling(3e11)));
    assert_eq!(standing.flops_at(Precision::Int8), Some(ceiling(9e11)));
    assert_eq!(standing.measured_at, 9);
    assert_eq!(store.ceilings(&machine.key, Device::Cpu, 2).unwrap(), Some(standing));
}

fn the_status_counts_and_vacuum_gives_space_back(place: &Place) {
    let store = place.open();
    assert!(store.is_created());
    let empty = store.status().unwrap();
    assert_eq!((empty.runs, empty.samples, empty.oldest), (0, 0, None));
    for n in 0..30 {
        let mut run = sample::run(n);
        // Drawn so that little can be squeezed: what comes back is then far more than the tables themselves.
        let noise =
            |i: u64| (i + n).wrapping_mul(i ^ 0x9e37_79b9_7f4a_7c15).rotate_left(i as u32 % 64);
        run.samples =
            vec![Samples { phase: Phase::Inference, nanos: (0..20_000).map(noise).collect() }];
        store.insert_run(&run).unwrap();
    }
    let status = store.status().unwrap();
    assert_eq!((status.runs, status.models, status.machines, status.cells), (30, 1, 1, 1));
    assert_eq!(status.samples, 30 * 20);
    assert_eq!(status.oldest, Some(sample::run(0).started_at));
    assert_eq!(status.newest, Some(sample::run(29).started_at));
    assert!(status.size.0 > 1_000_000, "{:?}", status.size);
    let ids: Vec<RunId> = (0..30).map(|n| sample::run(n).id).collect();
    store.delete(&ids).unwrap();
    let freed = store.vacuum().unwrap();
    assert!(freed > 1_000_000, "{freed} bytes");
    store.check().unwrap();
    assert!(!place.open().is_created());
}

fn the_status_says_what_was_measured_where_and_with_what(place: &Place) {
    let store = place.open();
    for n in 0..3 {
        store.insert_run(&sample::run(n)).unwrap();
    }
    let mut other = sample::run(3);
    other.cell.batch_size = 8;
    other.verdict.valid = false;
    store.insert_run(&other).unwrap();
    // The same model as another file, and another machine.
    let mut elsewhere = sample::run(4);
    elsewhere.model.fingerprint = "decaf".into();
    elsewhere.environment.machine.key = "m-0ther".into();
    elsewhere.environment.machine.hostname = "bench-2".into();
    store.insert_run(&elsewhere).unwrap();
    let status = store.status().unwrap();
    assert_eq!((status.models, status.machines, status.cells, status.runs), (2, 2, 2, 5));
    let coverage = |machine: &str, hostname: &str, cells, runs, valid| Coverage {
        model: "distilbert-base-uncased".into(),
        machine: machine.into(),
        hostname: hostname.into(),
        engine: "rten".into(),
        cells,
        runs,
        valid,
    };
    let expected =
        [coverage("m-0ther", "bench-2", 1, 1, 1), coverage("m-5ca1ab1e", "bench-1", 2, 4, 3)];
    assert_eq!(status.coverage, expected);
}

fn the_place_of_a_database_keeps_its_password(place: &Place) {
    let store = place.open();
    let shown = format!("{} {:?} {:?}", store.path().display(), store, store.status().unwrap());
    assert!(!shown.contains("s3cret"), "{shown}");
    assert_eq!(store.is_on_server(), place.is_server());
}
