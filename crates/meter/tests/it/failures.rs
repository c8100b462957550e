use crate::bench::{bench, job, measured, scripted, short_rule};
use engine::EngineErrorKind;
use modelmeter_meter::{Launch, Limit, MeterError, can_load, measure};
use std::time::Duration;
use types::{Bytes, LimitedBy, StoppingRule};

#[test]
fn a_crash_is_named_with_its_signal_and_the_parent_lives() {
    let (run, _) = measured("1ms, 1ms, crash", &short_rule());
    let MeterError::Died { how, out_of_memory, .. } = run.unwrap_err() else { panic!("not dead") };
    assert!(how.contains("SIGABRT"), "{how}");
    assert!(!out_of_memory);
}

#[test]
fn an_early_exit_is_named_with_its_status() {
    let (run, _) = measured("1ms, exit 7", &short_rule());
    let MeterError::Died { how, .. } = run.unwrap_err() else { panic!("not dead") };
    assert!(how.contains("status 7"), "{how}");
}

#[test]
fn a_hang_ends_at_the_timeout() {
    let rule = StoppingRule { timeout: Duration::from_secs(5), ..short_rule() };
    let (run, _) = measured("1ms, hang", &rule);
    let error = run.unwrap_err();
    assert!(matches!(error, MeterError::Timeout { doing: "run", .. }), "{error}");
    assert!(error.hint().unwrap().contains("--timeout"));
}

#[test]
fn a_worker_that_never_greets_is_a_timeout() {
    let rule = StoppingRule { timeout: Duration::from_millis(300), ..short_rule() };
    let (run, _) = measured("silent", &rule);
    assert!(matches!(run.unwrap_err(), MeterError::Timeout { doing: "start", .. }));
}

#[test]
fn a_failing_model_and_a_panic_are_told_in_the_engines_words() {
    let (run, _) = measured("1ms, fail no such kernel", &short_rule());
    assert_eq!(run.unwrap_err().to_string(), "no such kernel");
    let (run, _) = measured("1ms, panic", &short_rule());
    assert!(run.unwrap_err().to_string().contains("panicked"));
}

#[test]
fn a_program_that_does_not_exist_cannot_be_started() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let launch = Launch::Process {
        program: "/no/such/worker".into(),
        arguments: vec![],
        environment: vec![],
    };
    let error =
        measure(&job(file.path()), &bench(), &launch, &short_rule(), &mut |_| {}).unwrap_err();
    assert!(matches!(error, MeterError::Start { .. }));
}

#[test]
fn a_program_that_speaks_something_else_is_a_protocol_error() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let launch = Launch::Process {
        program: "/bin/echo".into(),
        arguments: vec!["hello".into()],
        environment: vec![],
    };
    let error =
        measure(&job(file.path()), &bench(), &launch, &short_rule(), &mut |_| {}).unwrap_err();
    assert!(matches!(error, MeterError::Protocol { .. }), "{error}");
}

#[test]
fn a_device_the_engine_does_not_have_is_refused_not_replaced() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut job = job(file.path());
    job.cell.device = types::Device::Cuda(0);
    let error = measure(&job, &bench(), &scripted("1ms"), &short_rule(), &mut |_| {}).unwrap_err();
    assert_eq!(error.engine_kind(), Some(EngineErrorKind::Unsupported));
}

#[test]
fn an_engine_that_hangs_or_eats_memory_is_no_help_and_is_gone() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let time = Duration::from_secs(2);
    assert!(can_load(&job(file.path()), "fake", &scripted("1ms"), Duration::from_secs(20)));
    assert!(!can_load(&job(file.path()), "fake", &scripted("hang"), time));
    let limit = Limit { bytes: Bytes(128 << 20), by: Some(LimitedBy::Rlimit) };
    let launch = Box::new(scripted("hold 268435456"));
    let held = Launch::Limited { launch, limit };
    assert!(!can_load(&job(file.path()), "fake", &held, Duration::from_secs(20)));
}

#[test]
fn a_worker_without_threads_is_the_systems_fault_and_not_the_files() {
    let said = "1ms, fail the pool got no thread: Resource temporarily unavailable";
    let (run, _) = measured(said, &short_rule());
    let error = run.unwrap_err();
    assert_eq!(error.engine_kind(), Some(EngineErrorKind::Unavailable), "{error}");
    assert_eq!(error.to_string(), "the system refused to start more threads");
    assert!(error.hint().unwrap().contains("ulimit -u"), "{:?}", error.hint());
}
