//! Where the memory goes, on small models that the engine really runs.

use crate::{input, request, uncaptured::uncaptured, write_model};
use analysis::read_ledger;
use engine::{Loader, MemoryRecord, Untracked};
use graph::{DataType, GraphBuilder, Tensor};
use meter::Tracker;
use modelmeter_engine_rten::Rten;
use std::{
    path::{Path, PathBuf},
    process::Command,
};
use types::{Bytes, Elements, HostTensor};

const RUNS: u64 = 4;
const ROWS: usize = 1000;
const WIDE: usize = 4096;

/// From 16 columns to 4096 and back, with an activation between them.
fn write_wide_model(folder: &Path) -> PathBuf {
    let mut b = GraphBuilder::new("g");
    let x = b.input("x", DataType::Float, &[ROWS.into(), 16.into()]);
    let dense = |b: &mut GraphBuilder, name: &str, x: &str, from: usize, to: usize| {
        let weight = vec![0.01; from * to];
        b.scope(name, |b| {
            let weight =
                b.initializer(Tensor::from_f32s(format!("{name}.weight"), &[from, to], &weight));
            b.node("MatMul", &[x, &weight], &[])
        })
    };
    let narrow = dense(&mut b, "narrow", &x, 16, 16);
    let wide = dense(&mut b, "wide", &narrow, 16, WIDE);
    let active = b.scope("wide", |b| b.node("Relu", &[&wide], &[]));
    let back = dense(&mut b, "back", &active, WIDE, 8);
    b.output("y", &back, DataType::Float, &[ROWS.into(), 8.into()]);
    let path = folder.join("model.onnx");
    b.finish_model().write(&path).unwrap();
    path
}

fn remember(onnx: PathBuf, inputs: Vec<HostTensor>) -> MemoryRecord {
    uncaptured(move || {
        let model = Rten.load(&request(onnx)).unwrap();
        let mut session = model.session().unwrap();
        session.bind(&inputs).unwrap();
        session.infer().unwrap();
        let record = session.memory_reporter().unwrap().remember(RUNS, &Tracker).unwrap();
        assert!(!session.outputs().unwrap().is_empty(), "the last run left its outputs");
        record
    })
}

/// The recorder sees the whole process, so what other tests give back at the same time would count: a process of its own.
#[test]
fn a_large_activation_is_found_in_its_module() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "memory::finds_a_large_activation", "--ignored", "--nocapture"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("1 passed"), "{said}");
}

/// What the child of the test above does.
#[test]
#[ignore = "run by `a_large_activation_is_found_in_its_module`"]
fn finds_a_large_activation() {
    let folder = tempfile::tempdir().unwrap();
    let elements = Elements::F32(vec![1.0; ROWS * 16]);
    let inputs = vec![HostTensor { name: "x".into(), dims: vec![ROWS, 16], elements }];
    let record = remember(write_wide_model(folder.path()), inputs);
    let allocations = record.allocations.value.unwrap();
    assert_eq!((allocations.ends.len() as u64, allocations.dropped), (RUNS, 0));
    let ledger = read_ledger(&allocations).unwrap();
    let large = (ROWS * WIDE * 4) as u64;
    // One buffer: the activation works in place. What is beside it is far smaller.
    assert!((large..large + large / 20).contains(&ledger.peak.0), "{}", ledger.peak.0);
    assert_eq!((ledger.live[0].bytes, ledger.live[0].count), (Bytes(large), 1));
    assert_eq!(ledger.live[0].module, "wide");
    let wide = ledger.layers.iter().find(|layer| layer.path == "wide").unwrap();
    assert!(wide.at_peak.0 >= large && wide.allocated.0 >= large, "{wide:?}");
    let others: u64 = ledger.layers.iter().filter(|l| l.path != "wide").map(|l| l.at_peak.0).sum();
    assert!(others < large / 20, "{:?}", ledger.layers);
    // The wide value and the one before or behind it are in use; what the pool keeps is little more.
    let (used, reserved) = (record.in_use_peak.value.unwrap(), record.reserved_peak.value.unwrap());
    let narrow = (ROWS * 16 * 4) as u64;
    assert_eq!(used.0, large + narrow);
    assert!(used <= reserved && reserved == ledger.peak, "{used:?} {reserved:?}");
    // The harness allocates a little in the same process; a buffer that stays would be larger.
    let (least, most) = (ledger.levels.iter().min().unwrap(), ledger.levels.iter().max().unwrap());
    assert!(most - least < narrow as i64, "nothing stays behind: {:?}", ledger.levels);
}

#[test]
fn without_a_recorder_the_reason_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let onnx = write_model(folder.path(), "Identity");
    let record = uncaptured(move || {
        let model = Rten.load(&request(onnx)).unwrap();
        let mut session = model.session().unwrap();
        session.bind(&input()).unwrap();
        session.memory_reporter().unwrap().remember(1, &Untracked).unwrap()
    });
    assert!(record.allocations.value.is_none());
    let why = record.reserved_peak.why.unwrap();
    assert!(why.contains("cannot record"), "{why}");
}
