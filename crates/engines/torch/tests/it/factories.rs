//! A user's own functions: those that work, and all the ways they do not.

use crate::worker::{Worker, floats, job, job_with, stranger, values};
use engine::{Detail, EngineErrorKind as Kind, LoadJob, Reply, Request};
use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};
use types::{Module, Phase, Precision};

const NETS: &str = r#"
import os, signal, sys, time
import torch
from beside import WIDTH

print("a file that talks on standard output")
os.system("echo so does a program that it starts")

class Net(torch.nn.Module):
    def __init__(self, act=None):
        super().__init__()
        self.layer = torch.nn.Linear(WIDTH, 2)
        with torch.no_grad():
            self.layer.weight.copy_(torch.tensor([[1.0, 3.0], [2.0, -4.0]]))
            self.layer.bias.zero_()
        self.act = act
        self.calls = 0

    def forward(self, x, *, scale=None):
        print("running")
        self.calls += 1
        if self.act is not None:
            self.act(self.calls)
        y = self.layer(x)
        return {"scores": y if scale is None else y * scale, "rest": (y[:1], {"twice": y + y})}

def fail_on_third(calls):
    if calls == 3:
        raise ValueError("the third time is one too many")

def working(): return Net()
def fragile(): return Net(fail_on_third)
def suicidal(): return Net(lambda calls: os.kill(os.getpid(), signal.SIGKILL))
def endless(): return Net(lambda calls: time.sleep(600))
def hungry(): return Net(lambda calls: torch.empty(1 << 60))
def number(): return 7
def raising(): raise KeyError("weights")
def leaving(): sys.exit(3)
def example_inputs(): return (torch.tensor([[1.0, 1.0], [0.0, 1.0]]),)
"#;

fn write(folder: &Path) -> PathBuf {
    fs::write(folder.join("beside.py"), "WIDTH = 2\n").unwrap();
    let file = folder.join("nets.py");
    fs::write(&file, NETS).unwrap();
    file
}

fn factory(file: &Path, function: &str) -> LoadJob {
    job(Some(Module::Factory { file: file.to_owned(), function: function.into() }))
}

#[test]
fn a_function_that_gives_no_module_is_refused_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path());
    let mut worker = Worker::start();
    let missing = folder.path().join("none.py");
    worker.refuse(&factory(&missing, "working"), Kind::BadModel);
    let broken = folder.path().join("broken.py");
    fs::write(&broken, "def make(:\n").unwrap();
    let failure = worker.refuse(&factory(&broken, "make"), Kind::BadModel);
    assert!(failure.causes[0].starts_with("SyntaxError"), "{failure:?}");
    let failure = worker.refuse(&factory(&file, "wrking"), Kind::BadModel);
    assert!(failure.message.contains("no function `wrking`"), "{failure:?}");
    assert!(failure.hint.unwrap().contains("`raising`"));
    let failure = worker.refuse(&factory(&file, "number"), Kind::BadModel);
    assert!(failure.message.contains("returned int"), "{failure:?}");
    let failure = worker.refuse(&factory(&file, "raising"), Kind::Failed);
    assert_eq!(failure.causes, ["KeyError: 'weights'"]);
    let failure = worker.refuse(&factory(&file, "leaving"), Kind::Failed);
    assert_eq!(failure.causes, ["SystemExit: 3"]);

    let mut two = factory(&file, "working");
    two.inputs = vec![stranger("x"), stranger("nobody")];
    let failure = worker.refuse(&two, Kind::BadInput);
    assert!(failure.message.contains("no input `nobody`"), "{failure:?}");
    let mut wrong = factory(&file, "working");
    wrong.inputs = vec![stranger("scale")];
    let failure = worker.refuse(&wrong, Kind::BadInput);
    assert!(failure.message.contains("needs `x` too"), "{failure:?}");
    let silent = folder.path().join("silent.py");
    fs::write(&silent, "import torch\ndef make(): return torch.nn.Linear(2, 2)\n").unwrap();
    let failure = worker.refuse(&factory(&silent, "make"), Kind::BadInput);
    assert!(failure.hint.unwrap().contains("`example_inputs()`"));

    // The same worker can still do what is right, and what goes wrong later does not end it.
    worker.load(&factory(&file, "fragile"));
    assert!(matches!(worker.ask(&Request::First), Reply::First(_)));
    let run = Request::Run { count: 2, budget: Duration::from_secs(60) };
    match worker.ask(&run) {
        Reply::Failed(failure) => {
            assert_eq!(failure.kind, Kind::Failed);
            assert_eq!(failure.causes, ["ValueError: the third time is one too many"]);
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(worker.ask(&run), Reply::Window(_)));
    assert!(!folder.path().join("__pycache__").exists(), "something was left in the user's folder");
}

#[test]
fn a_module_that_prints_runs_on_its_own_inputs() {
    let folder = tempfile::tempdir().unwrap();
    let mut worker = Worker::start();
    worker.load(&factory(&write(folder.path()), "working"));
    // It is the user's own program and may fetch what it needs.
    assert!(worker.has_our_network());
    match worker.ask(&Request::First) {
        Reply::First(first) => {
            let shapes = [
                ("scores".to_owned(), vec![2, 2]),
                ("rest.0".to_owned(), vec![1, 2]),
                ("rest.1.twice".to_owned(), vec![2, 2]),
            ];
            assert_eq!(first.outputs, shapes);
        }
        other => panic!("{other:?}"),
    }
    let outputs = worker.outputs(folder.path());
    assert_eq!(values(&outputs, "scores"), [4.0, -2.0, 3.0, -4.0]);
    assert!(outputs.iter().all(|output| !output.name.starts_with("module:")));
    let inside = worker.outputs_inside(folder.path());
    assert_eq!(values(&inside, "module:layer"), [4.0, -2.0, 3.0, -4.0]);
    assert_eq!(inside.len(), outputs.len() + 1);
    match worker.ask(&Request::Profile { count: 3, detail: Detail::Times }) {
        Reply::Profiled { profile: Some(profile) } => {
            let seen: Vec<_> =
                profile.nodes.iter().map(|n| (n.path.as_str(), n.kind.as_str(), n.calls)).collect();
            assert_eq!(seen, [("", "Net", 3), ("layer", "Linear", 3)]);
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(
        worker.ask(&Request::Observe { values: vec!["x".into()] }),
        Reply::Observed { shapes } if shapes.is_empty()
    ));
}

#[test]
fn inputs_go_in_by_name_or_by_order_in_the_modules_own_precision() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path());
    let module = Module::Factory { file, function: "working".into() };
    let (x, scale) = (floats("x", &[1, 2], &[1.0, 1.0]), floats("scale", &[1], &[10.0]));
    let mut named = job_with(module.clone(), &[scale, x], folder.path());
    named.request.precision = Precision::Bf16;
    let mut worker = Worker::start();
    worker.load(&named);
    let outputs = worker.outputs(folder.path());
    let scores = outputs.iter().find(|output| output.name == "scores").unwrap();
    // 40 and -20 as bf16.
    assert_eq!(scores.elements, types::Elements::Bf16(vec![0x4220, 0xc1a0]));

    let other = floats("image", &[1, 2], &[1.0, 1.0]);
    let mut worker = Worker::start();
    worker.load(&job_with(module, &[other], folder.path()));
    assert_eq!(values(&worker.outputs(folder.path()), "scores"), [4.0, -2.0]);
    match worker.ask(&Request::Run { count: 2, budget: Duration::from_secs(60) }) {
        Reply::Window(window) => {
            assert_eq!(window.samples.len(), 1);
            assert_eq!(window.samples[0].phase, Phase::Inference);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_module_that_asks_for_too_much_memory_is_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let mut worker = Worker::start();
    worker.load(&factory(&write(folder.path()), "hungry"));
    match worker.ask(&Request::First) {
        Reply::Failed(failure) => {
            assert_eq!(failure.message, "out of memory on `cpu`");
            assert!(failure.hint.unwrap().contains("--batch-size"));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_module_that_ends_the_worker_ends_its_stream() {
    let folder = tempfile::tempdir().unwrap();
    let mut worker = Worker::start();
    worker.load(&factory(&write(folder.path()), "suicidal"));
    worker.tell(&Request::First);
    assert_eq!(worker.hear(), None);
}

#[test]
fn a_module_that_never_answers_can_be_ended() {
    let folder = tempfile::tempdir().unwrap();
    let mut worker = Worker::start();
    worker.load(&factory(&write(folder.path()), "endless"));
    worker.tell(&Request::First);
    worker.child.kill().unwrap();
    assert_eq!(worker.hear(), None);
}
