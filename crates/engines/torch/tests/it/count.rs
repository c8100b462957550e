//! What a program holds and takes, counted by PyTorch where no graph can be counted.

use crate::worker::{Worker, floats, job, job_with};
use engine::{ProgramCount, Reply, Request};
use std::{fs, path::Path};
use types::{Module, Precision};

const NETS: &str = r#"
import torch

class Strange(torch.nn.Module):
    """Sees its values: what it does depends on them."""
    def forward(self, x):
        return torch.linalg.eigvals(x @ x.T)

def plain():
    return torch.nn.Sequential(
        torch.nn.Linear(6, 4), torch.nn.BatchNorm1d(4), torch.nn.ReLU(), torch.nn.Linear(4, 2, bias=False)
    )
def half(): return plain().to(torch.bfloat16)
def strange(): return Strange()
def recurrent(): return torch.nn.LSTM(6, 4)
"#;

fn counted(folder: &Path, function: &str, precision: Precision) -> ProgramCount {
    let file = folder.join("nets.py");
    fs::write(&file, NETS).unwrap();
    let module = Module::Factory { file, function: function.into() };
    let mut load = job_with(module, &[floats("x", &[3, 6], &[0.5; 18])], folder);
    load.request.precision = precision;
    let mut worker = Worker::start();
    worker.load(&load);
    worker.ask(&Request::First);
    match worker.ask(&Request::Count) {
        Reply::Counted { count } => *count,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_program_is_counted_by_the_convention_of_the_graphs() {
    let folder = tempfile::tempdir().unwrap();
    let count = counted(folder.path(), "plain", Precision::Fp32);
    // 6 × 4 + 4, the norm's two times 4, 4 × 2; beside them the norm's statistics and its 64-bit counter.
    assert_eq!(count.parameters, 28 + 8 + 8);
    assert_eq!(count.weight_bytes, 4 * 44 + 2 * 16 + 8);
    let work = count.work.unwrap();
    // Products of 3 rows, the bias, two for every element of the norm, one for every element of ReLU.
    assert_eq!(work.flops, 3 * 6 * 4 * 2 + 12 + 2 * 12 + 12 + 3 * 4 * 2 * 2);
    assert_eq!(work.coverage, Some(1.0));
    assert!(work.uncounted.is_empty());
    assert_eq!(work.bytes_written, 4 * (12 * 3 + 6));
    assert!(work.activation_peak >= 4 * 24, "{work:?}");
}

#[test]
fn half_the_bits_are_counted_as_half_the_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let wide = counted(folder.path(), "plain", Precision::Fp32);
    for (function, precision) in [("plain", Precision::Bf16), ("half", Precision::Fp32)] {
        let narrow = counted(folder.path(), function, precision);
        assert_eq!(narrow.parameters, wide.parameters);
        assert_eq!((narrow.weight_bytes - 8) * 2, wide.weight_bytes - 8);
        let (narrow, wide) = (narrow.work.unwrap(), wide.work.clone().unwrap());
        assert_eq!((narrow.flops, narrow.bytes_written * 2), (wide.flops, wide.bytes_written));
    }
    let bytes = counted(folder.path(), "plain", Precision::Int8);
    assert_eq!(bytes.parameters, wide.parameters);
    assert!(bytes.weight_bytes < wide.weight_bytes, "{} bytes", bytes.weight_bytes);
    assert_eq!(bytes.work.unwrap().flops, wide.work.unwrap().flops);
}

#[test]
fn what_nobody_knows_the_cost_of_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let work = counted(folder.path(), "strange", Precision::Fp32).work.unwrap();
    assert!(work.uncounted[0].starts_with("linalg_eig"), "{work:?}");
    assert!(work.coverage.unwrap() < 1.0);
    let work = counted(folder.path(), "recurrent", Precision::Fp32).work.unwrap();
    assert!(work.uncounted.is_empty() && work.flops > 3 * (6 + 4) * 16 * 2, "{work:?}");
}

#[test]
fn counting_comes_after_loading() {
    let mut worker = Worker::start();
    assert!(matches!(worker.ask(&Request::Count), Reply::Failed(_)));
    let missing = job(Some(Module::Factory { file: "/none.py".into(), function: "f".into() }));
    worker.refuse(&missing, engine::EngineErrorKind::BadModel);
}
