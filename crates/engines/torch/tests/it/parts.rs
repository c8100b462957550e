//! Modules of a worker whose GPU keeps records: the records are those of a stand-in, everything else is real.

use crate::worker::{Worker, floats, job_with};
use engine::{Detail, LoadJob, NodeProfile, Reply, Request};
use gpu::{Injection, Recording, Wish};
use std::{fs, path::Path, process::Command};
use types::Module;

/// Modules that launch "kernels" of 4 µs on the stand-in, which run a little later.
const NETS: &str = r#"
import ctypes, os, time
import torch

mock = ctypes.CDLL(os.environ["MOCK_LIBRARY"], ctypes.RTLD_GLOBAL)
mock.mock_now.restype = ctypes.c_uint64
mock.mock_kernel.argtypes = [ctypes.c_uint64, ctypes.c_uint32, ctypes.c_char_p]
# What the driver does when CUDA is used for the first time.
ctypes.CDLL(os.environ["MODELMETER_GPU_LIBRARY"]).InitializeInjection()
correlation = 0

def launch(count):
    global correlation
    for _ in range(count):
        correlation += 1
        now = mock.mock_now()
        mock.mock_kernel(now, correlation, b"gemm")
        while mock.mock_now() < now + 20_000:
            pass

class Leaf(torch.nn.Module):
    def __init__(self, count):
        super().__init__()
        self.count = count

    def forward(self, x):
        launch(self.count)
        return x + 1

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = Leaf(1), Leaf(2)

    def forward(self, x):
        launch(1)
        return self.two(self.one(x))

def net(): return Net()
"#;

fn load_job(folder: &Path) -> LoadJob {
    let file = folder.join("nets.py");
    fs::write(&file, NETS).unwrap();
    let module = Module::Factory { file, function: "net".into() };
    job_with(module, &[floats("x", &[1, 2], &[1.0, 2.0])], folder)
}

/// The stand-in for CUPTI of the crate `gpu`.
fn stand_in(folder: &Path) -> std::path::PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../gpu/tests/it/cupti.c");
    let library = folder.join("libcupti.so");
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let status = Command::new(compiler)
        .args(["-O1", "-w", "-shared", "-fPIC", "-Wl,-soname,libcupti.so", "-o"])
        .args([&library, &source])
        .status();
    assert!(status.unwrap().success());
    library
}

fn profile(worker: &mut Worker) -> NodeProfile {
    match worker.ask(&Request::Profile { count: 3, detail: Detail::Times }) {
        Reply::Profiled { profile: Some(profile) } => profile,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_gpus_records_say_how_long_it_worked_for_each_module() {
    let folder = tempfile::tempdir().unwrap();
    let mock = stand_in(folder.path());
    let injection = Injection::unpack(folder.path()).unwrap();
    let recordings = folder.path().join("recording");
    fs::create_dir(&recordings).unwrap();
    let mut environment: Vec<(String, String)> = injection
        .variables(&recordings, &Wish::default(), |_| None)
        .into_iter()
        .map(|(name, value)| (name.into_string().unwrap(), value.into_string().unwrap()))
        .filter(|(name, _)| name != "PYTHONPATH" && name != "MODELMETER_GPU_CUPTI")
        .collect();
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    environment.push((engine::parts::RECORDER.into(), text(injection.library())));
    environment.push(("MODELMETER_GPU_CUPTI".into(), text(&mock)));
    environment.push(("MOCK_LIBRARY".into(), text(&mock)));
    let pairs: Vec<(&str, &str)> =
        environment.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let mut worker = Worker::start_with(&pairs);
    worker.load(&load_job(folder.path()));
    let first = profile(&mut worker);
    let second = profile(&mut worker);
    let paths: Vec<(&str, u64)> =
        second.nodes.iter().map(|node| (node.path.as_str(), node.calls)).collect();
    assert_eq!(paths, [("", 3), ("one", 3), ("two", 3)]);
    let numbers = second.parts.clone().unwrap();
    assert_eq!(first.parts.as_deref(), Some(&numbers[..]));
    // Everything is in the file before the worker leaves.
    let (found, unread) = gpu::recordings(&recordings).unwrap();
    assert!(unread.is_empty());
    let recording: &Recording = &found[0];
    assert_eq!(recording.lasting_problems(), []);
    let runs = recording.parted_runs();
    let told: Vec<(usize, bool)> = runs.iter().map(|run| (run.turn, run.is_in_parts)).collect();
    let turn = |turn| {
        [(turn, false), (turn, false), (turn, false), (turn, true), (turn, true), (turn, true)]
    };
    assert_eq!(told, [turn(0), turn(1)].concat());
    for run in &runs {
        assert_eq!(run.busy, 4 * 4000);
        assert_eq!(run.busy + run.idle(), run.length);
        if run.is_in_parts {
            let device: Vec<u64> = numbers.iter().map(|number| run.parts[number].device).collect();
            assert_eq!(device, [4000, 4000, 8000]);
            // Every launch waits 20 µs.
            let hosts = numbers.iter().zip([20_000, 20_000, 40_000]);
            for (number, least) in hosts {
                assert!(run.parts[number].host >= least, "{run:?}");
            }
        }
    }
    // A module is as it was before.
    let same = second.nodes.iter().map(|node| node.calls).sum::<u64>();
    assert_eq!(same, 9);
}
