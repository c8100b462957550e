//! A real browser, with the runtime and the browser that the engine's own installer fetches.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod conformance;
mod endings;
mod refusals;

use engine::{Engine, EngineError, LoadRequest, LoadedModel, Loader, Places};
use graph::{DataType, Dim, GraphBuilder, Model, Tensor};
use modelmeter_engine_browser::Browser;
use std::{
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};
use types::{Device, Elements, HostTensor, Precision};

/// Our own folder of engines, with the runtime and the browser in it; fetched once for all runs of the tests.
fn places() -> Places {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("engines");
        let installer = Browser.installer().unwrap();
        installer.install(&Places::default(), &folder, None, &mut |_, _, _| {}).unwrap();
        folder
    });
    Places { installed: Some(folder.clone()), ..Places::default() }
}

/// One browser at a time: tests look at the processes of theirs.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn request(onnx: impl Into<PathBuf>, device: Device) -> LoadRequest {
    let request = LoadRequest::of_onnx(onnx, device, Precision::Fp32, 1);
    LoadRequest { places: places(), ..request }
}

fn load(onnx: &Path, device: Device) -> Result<Box<dyn LoadedModel>, EngineError> {
    Browser.load(&request(onnx, device))
}

/// `y = relu(x · w)` with a 2 × 2 weight.
fn dense() -> Model {
    let rows: [Dim; 2] = ["batch".into(), 2.into()];
    let mut builder = GraphBuilder::new("dense");
    let x = builder.input("x", DataType::Float, &rows);
    let y = builder.scope("encoder.dense", |b| {
        let weight = b.initializer(Tensor::from_f32s("w", &[2, 2], &[1.0, 2.0, 3.0, -4.0]));
        let product = b.node("MatMul", &[&x, &weight], &[]);
        b.node("Relu", &[&product], &[])
    });
    builder.output("y", &y, DataType::Float, &rows);
    builder.finish_model()
}

/// A product with an operator behind it that WebGPU does not have.
fn partly_elsewhere() -> Model {
    let rows: [Dim; 2] = ["batch".into(), 2.into()];
    let mut builder = GraphBuilder::new("mixed");
    let x = builder.input("x", DataType::Float, &rows);
    let weight = builder.initializer(Tensor::from_f32s("w", &[2, 2], &[1.0, 2.0, 3.0, -4.0]));
    let product = builder.node("MatMul", &[&x, &weight], &[]);
    let y = builder.node("Hardmax", &[&product], &[]);
    builder.output("y", &y, DataType::Float, &rows);
    builder.finish_model()
}

fn write(folder: &Path, model: &Model) -> PathBuf {
    let path = folder.join("model.onnx");
    model.write(&path).unwrap();
    path
}

fn input() -> Vec<HostTensor> {
    let elements = Elements::F32(vec![1.0, 1.0, 0.0, 1.0]);
    vec![HostTensor { name: "x".into(), dims: vec![2, 2], elements }]
}

/// What [`dense`] makes of [`input`].
const OUTPUT: [f32; 4] = [4.0, 0.0, 3.0, 0.0];
