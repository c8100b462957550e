//! `torch.compile`: what it needs, and what is said of it.

use crate::{
    conformance::{EXPECTED, small_job},
    worker::{Worker, values},
};
use engine::{Detail, EngineErrorKind, Reply, Request};

#[test]
fn a_compiled_module_gives_the_same_answer_and_says_that_it_is_compiled() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let mut job = small_job(folder.path());
    job.request.options.compile = Some("default".into());
    let mut worker = Worker::start_with(&[("TORCHINDUCTOR_CACHE_DIR", cache.to_str().unwrap())]);
    let report = worker.load(&job);
    assert!(report.placement.starts_with("cpu") && report.placement.contains("compiled (default)"));
    assert!(matches!(worker.ask(&Request::First), Reply::First(_)));
    assert!(cache.exists(), "nothing was compiled");
    let outputs = worker.outputs(folder.path());
    for (value, expected) in values(&outputs, "output").iter().zip(EXPECTED) {
        assert!((value - expected).abs() < 1e-5, "{outputs:?}");
    }
    let profiled = worker.ask(&Request::Profile { count: 1, detail: Detail::Times });
    assert_eq!(profiled, Reply::Profiled { profile: None });
}

#[test]
fn without_a_compiler_nothing_is_compiled_and_the_reason_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let mut job = small_job(folder.path());
    job.request.options.compile = Some("default".into());
    let mut worker = Worker::start_with(&[
        ("TORCHINDUCTOR_CACHE_DIR", cache.to_str().unwrap()),
        ("CXX", "no-such-compiler"),
        ("PATH", "/nowhere"),
    ]);
    worker.load(&job);
    match worker.ask(&Request::First) {
        Reply::Failed(failure) => {
            assert_eq!(failure.kind, EngineErrorKind::Unsupported, "{failure:?}");
            assert!(failure.message.contains("no C++ compiler"), "{failure:?}");
            assert!(failure.hint.unwrap().contains("g++"));
        }
        other => panic!("{other:?}"),
    }
}
