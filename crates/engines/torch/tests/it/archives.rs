//! Programs in files: what runs, and what is refused before any of it runs.

use crate::worker::{Worker, can_leave_network, floats, job, job_with, run_script, script, values};
use engine::{Detail, EngineErrorKind as Kind, LoadJob, Reply, Request};
use std::{path::Path, slice};
use types::{Module, Precision};

fn archive(path: &Path) -> Module {
    Module::Archive { path: path.to_owned() }
}

fn trusted(module: Module) -> LoadJob {
    let mut job = job(Some(module));
    job.request.options.allow_pickle = true;
    job
}

#[test]
fn pickles_run_only_where_they_are_trusted_and_programs_always() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    run_script(&script("make_programs.py"), folder);
    let input = floats("x", &[2, 2], &[1.0, 1.0, 0.0, 1.0]);
    let expected = [4.0, -2.0, 3.0, -4.0];

    let mut worker = Worker::start();
    let missing = job(Some(archive(&folder.join("none.pt2"))));
    worker.refuse(&missing, Kind::BadModel);
    let whole = std::fs::read(folder.join("script.ts")).unwrap();
    std::fs::write(folder.join("cut.pt2"), &whole[..whole.len() / 2]).unwrap();
    let failure = worker.refuse(&job(Some(archive(&folder.join("cut.pt2")))), Kind::BadModel);
    assert!(failure.causes[0].contains("truncated or damaged"), "{failure:?}");
    std::fs::write(folder.join("text.pt"), "not a program").unwrap();
    worker.refuse(&job(Some(archive(&folder.join("text.pt")))), Kind::BadModel);

    for name in ["module.pt", "old.pt", "trap.pt"] {
        let failure = worker.refuse(&job(Some(archive(&folder.join(name)))), Kind::Unsupported);
        assert!(failure.message.contains("can run any code"), "{failure:?}");
        assert!(failure.hint.unwrap().contains("--allow-pickle"));
    }
    assert!(!folder.join("sprung").exists(), "a pickle ran its code");
    let failure = worker.refuse(&trusted(archive(&folder.join("weights.pth"))), Kind::BadModel);
    assert!(failure.message.contains("weights and no program"), "{failure:?}");

    let mut half = job_with(archive(&folder.join("script.ts")), slice::from_ref(&input), folder);
    half.request.precision = Precision::Bf16;
    worker.refuse(&half, Kind::Unsupported);
    half.request.precision = Precision::Fp32;
    half.request.options.compile = Some("default".into());
    let failure = worker.refuse(&half, Kind::Unsupported);
    assert!(failure.message.contains("TorchScript"), "{failure:?}");

    let mut pickled = job_with(archive(&folder.join("module.pt")), slice::from_ref(&input), folder);
    pickled.request.options.allow_pickle = true;
    worker.load(&pickled);
    assert_eq!(values(&worker.outputs(folder), "output"), expected);

    for name in ["script.ts", "exported.pt2"] {
        let mut worker = Worker::start();
        assert!(worker.has_our_network());
        worker.load(&job_with(archive(&folder.join(name)), slice::from_ref(&input), folder));
        // A file that somebody else made gets none, where the system can take it away.
        assert_eq!(worker.has_our_network(), !can_leave_network(), "{name}");
        let outputs = worker.outputs(folder);
        assert_eq!(values(&outputs, "output.0"), expected, "{name}");
        assert_eq!(values(&outputs, "output.1"), [8.0, -4.0, 6.0, -8.0], "{name}");
        let profiled = worker.ask(&Request::Profile { count: 1, detail: Detail::Times });
        assert_eq!(profiled, Reply::Profiled { profile: None }, "{name}");
    }
}
