//! Where the memory goes in PyTorch, by module.

use crate::worker::{Worker, floats, job_with};
use engine::{MemoryRecord, Reply, Request, read_allocations};
use std::{fs, path::Path};
use types::{Allocations, Module};

const ROWS: usize = 512;
const WIDE: usize = 4096;

/// From 16 columns to 4096 and back; a module inside another one.
const SCRIPT: &str = "
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.block = torch.nn.Sequential(torch.nn.Linear(16, 4096), torch.nn.ReLU())
        self.back = torch.nn.Linear(4096, 8)
        self.kept = []

    def forward(self, x):
        return self.back(self.block(x))

class Leaking(Net):
    def forward(self, x):
        self.kept.append(torch.zeros(1000))
        return super().forward(x)

def net():
    return Net().eval()

def leaking():
    return Leaking().eval()
";

fn remember(function: &str, count: u64) -> (MemoryRecord, Allocations) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("net.py");
    fs::write(&file, SCRIPT).unwrap();
    let module = Module::Factory { file, function: function.into() };
    let x = floats("x", &[ROWS, 16], &vec![1.0; ROWS * 16]);
    let mut worker = Worker::start();
    worker.load(&job_with(module, &[x], folder.path()));
    assert!(matches!(worker.ask(&Request::First), Reply::First(_)));
    let events = folder.path().join("events");
    ask(&mut worker, count, &events)
}

fn ask(worker: &mut Worker, count: u64, events: &Path) -> (MemoryRecord, Allocations) {
    match worker.ask(&Request::Memory { count, events: events.to_owned() }) {
        Reply::Remembered { record: Some(mut record) } => {
            let mut allocations = record.allocations.value.take().unwrap();
            read_allocations(events, &mut allocations).unwrap();
            (*record, allocations)
        }
        other => panic!("{other:?}"),
    }
}

/// Bytes above the base after each inference.
fn levels(all: &Allocations) -> Vec<i64> {
    all.ends.iter().map(|end| all.sizes[..*end as usize].iter().sum()).collect()
}

#[test]
fn a_large_activation_is_found_in_its_module() {
    let (record, all) = remember("net", 3);
    assert_eq!((all.ends.len(), record.run_nanos.len()), (3, 3));
    let large = (ROWS * WIDE * 4) as i64;
    let makers: Vec<(&str, &str)> = (0..all.len())
        .filter(|at| all.sizes[*at] == large)
        .map(|at| &all.names[all.layers[at] as usize])
        .map(|name| (name.name.as_str(), name.kind.as_str()))
        .collect();
    let run = [("block.0", "Linear"), ("block.1", "ReLU")];
    assert_eq!(makers, [run, run, run].concat());
    // Both live at once, and nothing else of that size.
    let used = record.in_use_peak.value.unwrap().0 as i64;
    assert!((2 * large..2 * large + large / 10).contains(&used), "{used}");
    let weights = (16 * WIDE + WIDE + WIDE * 8 + 8) * 4;
    let base = record.base.value.unwrap().0;
    assert_eq!(base, (weights + ROWS * 16 * 4) as u64, "parameters and the input");
    assert!(record.reserved_peak.why.unwrap().contains("CPU"));
    assert_eq!(record.layers.value, Some(true));
    let outputs = (ROWS * 8 * 4) as i64;
    assert_eq!(levels(&all), [outputs; 3], "only the outputs stay");
}

#[test]
fn what_a_module_keeps_is_seen_after_every_inference() {
    let (_, all) = remember("leaking", 4);
    let levels = levels(&all);
    let steps: Vec<i64> = levels.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(steps, [4000; 3]);
}
