//! Models whose times are written in a script, and how they are measured: in real processes, by engines of the test.

#[path = "../../testing/scripted.rs"]
mod scripted;

use crate::folders;
use graph::{Attribute, DataType, GraphBuilder, Tensor};
use modelmeter::{Device, Engines, Folders, Profiler, Session, Store};
use std::{fs, path::PathBuf, sync::OnceLock};
use tempfile::TempDir;
use types::{Ceiling, Ceilings, Interval, Precision};

/// A folder with models and a database.
pub(crate) struct Scene {
    home: TempDir,
}

impl Scene {
    pub(crate) fn new() -> Scene {
        let scene = Scene { home: TempDir::new().unwrap() };
        // Known already, so that no test waits for them; a script does no work that they could bound.
        let high = Ceiling { value: 1e18, interval: Interval { low: 1e18, high: 1e18 } };
        let flops = vec![(Precision::Fp32, high)];
        let ceilings = Ceilings { flops, bandwidth: Some(high), ..Ceilings::of(Device::Cpu, 1) };
        scene.know(&ceilings);
        scene
    }

    /// Keeps ceilings of this machine in the database.
    pub(crate) fn know(&self, ceilings: &Ceilings) {
        let store = Store::open(&self.folders().database).unwrap();
        store.save_ceilings(&hardware::machine(), ceilings).unwrap();
    }

    pub(crate) fn folders(&self) -> Folders {
        folders(&self.home)
    }

    /// A session with the scene's database.
    pub(crate) fn session(&self) -> Session {
        Session::with_store(&self.folders().database).unwrap()
    }

    /// A model of one number a sample; each process that loads it follows the next line of the script.
    pub(crate) fn model(&self, name: &str, script: &str) -> String {
        self.rewrite(name, script);
        self.unscripted(name)
    }

    /// A model that engines run by their own scripts.
    pub(crate) fn unscripted(&self, name: &str) -> String {
        let mut builder = GraphBuilder::new(name);
        let x = builder.input("x", DataType::Float, &["batch".into(), 1.into()]);
        let y = builder.node("Add", &[&x, &x], &[]);
        builder.output("y", &y, DataType::Float, &["batch".into(), 1.into()]);
        let path = self.path(name, "onnx");
        builder.finish_model().write(&path).unwrap();
        path.to_string_lossy().into_owned()
    }

    /// Another script for a model that is there.
    pub(crate) fn rewrite(&self, name: &str, script: &str) {
        fs::write(self.path(name, "script"), script).unwrap();
    }

    /// How many processes loaded a model.
    pub(crate) fn loads(&self, name: &str) -> u64 {
        fs::metadata(self.path(name, "loads")).map_or(0, |found| found.len())
    }

    /// A model of one product with a square matrix, which other number formats can hold.
    pub(crate) fn product(&self, name: &str, side: usize, script: &str) -> String {
        let mut builder = GraphBuilder::new(name);
        let dims = ["batch".into(), side.into()];
        let x = builder.input("x", DataType::Float, &dims);
        let values: Vec<u8> =
            (0..side * side).flat_map(|i| (i as f32 / 1e4).to_le_bytes()).collect();
        let weight = Tensor::from_bytes("", DataType::Float, &[side, side], values);
        let weight = builder.node("Constant", &[], &[("value", Attribute::Tensor(weight))]);
        let y = builder.node("MatMul", &[&x, &weight], &[]);
        builder.output("y", &y, DataType::Float, &dims);
        let path = self.path(name, "onnx");
        builder.finish_model().write(&path).unwrap();
        fs::write(self.path(name, "script"), script).unwrap();
        path.to_string_lossy().into_owned()
    }

    /// A file of the scene.
    pub(crate) fn path(&self, name: &str, ending: &str) -> PathBuf {
        self.home.path().join(format!("{name}.{ending}"))
    }

    /// A short measurement of a model among the scripted engines.
    pub(crate) fn profiler(&self, model: &str) -> Profiler {
        Profiler::new(model)
            .engines(engines())
            .program(env!("CARGO_BIN_EXE_scripted-worker"))
            .offline(true)
            .folders(self.folders())
            .threads(1)
            .batch_size(1)
            .warmup(1)
            .runs(11)
    }
}

/// The scripted engines.
pub(crate) fn engines() -> Engines {
    static ENGINES: OnceLock<Engines> = OnceLock::new();
    *ENGINES.get_or_init(scripted::engines)
}
