//! The memory pass against a real process whose allocations are scripted.

use crate::bench::{job, scripted};
use analysis::{check_leak, read_ledger};
use modelmeter_meter::{Launch, MemoryPass, memory_pass};
use std::{os::unix::net::UnixStream, sync::Arc, time::Duration};
use types::LeakVerdict;

fn pass(launch: &Launch) -> MemoryPass {
    let file = tempfile::NamedTempFile::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let found =
        memory_pass(&job(file.path()), launch, Duration::from_secs(60), folder.path(), &mut |_| {});
    assert_eq!(folder.path().read_dir().unwrap().count(), 0, "no file stays behind");
    found.unwrap()
}

fn verdict(pass: MemoryPass) -> (LeakVerdict, Option<f64>) {
    let allocations = pass.record.unwrap().allocations.value.unwrap();
    let ledger = read_ledger(&allocations).unwrap();
    let check = check_leak(ledger.levels, allocations.dropped);
    (check.verdict, check.growth)
}

#[test]
fn what_a_script_holds_is_its_peak_and_no_leak() {
    let pass = pass(&scripted("hold 7000003"));
    let ledger = read_ledger(pass.record.as_ref().unwrap().allocations.as_ref().value.unwrap());
    let ledger = ledger.unwrap();
    // The outputs of the fake are a dozen bytes, and nothing else is allocated.
    assert!((7_000_003..7_001_000).contains(&ledger.peak.0), "{}", ledger.peak.0);
    assert_eq!(ledger.live[0].bytes.0, 7_000_003);
    assert_eq!(ledger.node, "script");
    assert!(pass.system.peak.value.unwrap() > pass.system.average.value.unwrap());
    let cost = pass.cost.value.unwrap();
    assert!(cost.interval.low <= cost.value && cost.value <= cost.interval.high, "{cost:?}");
    assert!(!pass.is_shared);
    assert_eq!(verdict(pass).0, LeakVerdict::None);
}

#[test]
fn what_a_script_leaks_is_called_a_leak_with_its_size() {
    assert_eq!(verdict(pass(&scripted("leak 5003"))), (LeakVerdict::Leak, Some(5003.0)));
    // Also where only every other inference leaks.
    let (verdict, growth) = verdict(pass(&scripted("1us, leak 4000")));
    assert_eq!((verdict, growth.unwrap().round()), (LeakVerdict::Leak, 2000.0));
}

#[test]
fn a_worker_without_a_recorder_says_why() {
    let fake: engine::FakeEngine = "1us".parse().unwrap();
    let serve = move |stream: UnixStream| {
        let reader = std::io::BufReader::new(stream.try_clone().unwrap());
        let no_text = |_: &std::path::Path| Err("no tokenizer".to_owned());
        engine::serve(&[&fake], &no_text, reader, stream).unwrap();
    };
    let pass = pass(&Launch::Thread(Arc::new(serve)));
    assert!(pass.is_shared);
    let why = pass.record.unwrap().allocations.why.unwrap();
    assert!(why.contains("cannot record"), "{why}");
}
