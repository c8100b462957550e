//! Engine → loaded model → session: what costs differently is a different type.

use crate::{EngineError, OutputView};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use types::{Device, ElementType, HostTensor, Precision};

/// Whether an engine works here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum Availability {
    /// It works.
    Available {
        /// Its version.
        version: String,
    },
    /// It does not.
    Unavailable {
        /// Why not.
        why: String,
        /// What would make it work.
        hint: String,
    },
}

/// A model to load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadRequest {
    /// The ONNX file.
    pub onnx: PathBuf,
    /// Where it shall run; never `Auto`.
    pub device: Device,
    /// The number format.
    pub precision: Precision,
    /// Threads the engine may use.
    pub threads: u32,
}

/// An input or output as the engine sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignatureValue {
    /// Its name.
    pub name: String,
    /// Its element type, where the engine tells.
    pub dtype: Option<ElementType>,
    /// Its dimensions; `None` inside is a dynamic one, `None` outside an unknown rank.
    pub dims: Option<Vec<Option<usize>>>,
}

/// What goes into a model and what comes out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    /// What must be bound.
    pub inputs: Vec<SignatureValue>,
    /// What an inference leaves behind.
    pub outputs: Vec<SignatureValue>,
}

/// A way to execute models.
pub trait Engine: Send + Sync {
    /// Its stable name in arguments, tables and the store: `rten`.
    fn id(&self) -> &'static str;

    /// One line about it.
    fn describe(&self) -> &'static str;

    /// Whether it works here, or why not and what would help.
    fn availability(&self) -> Availability;

    /// The devices it can use here; empty where it is unavailable.
    fn devices(&self) -> Vec<Device>;

    /// The precisions it can run on a device.
    fn precisions(&self, device: Device) -> Vec<Precision>;

    /// Reads the model and makes it ready.
    ///
    /// # Errors
    /// When the file, the device, the precision or an operator is not for this engine.
    fn load(&self, request: &LoadRequest) -> Result<Box<dyn LoadedModel>, EngineError>;
}

/// A model whose weights are in.
pub trait LoadedModel {
    /// What goes in and comes out.
    fn signature(&self) -> Signature;

    /// Where it really runs; recorded, never assumed.
    fn placement(&self) -> String;

    /// Something that can run.
    ///
    /// # Errors
    /// When the engine cannot set it up.
    fn session(&self) -> Result<Box<dyn Session + '_>, EngineError>;
}

/// A model with its inputs bound.
pub trait Session {
    /// Takes the inputs; conversion and upload happen here, outside the timed part.
    ///
    /// # Errors
    /// When a name, type or shape does not fit.
    fn bind(&mut self, inputs: &[HostTensor]) -> Result<(), EngineError>;

    /// Runs once on the bound inputs; returns only when the device has finished.
    ///
    /// # Errors
    /// When the model fails.
    fn infer(&mut self) -> Result<(), EngineError>;

    /// What the last inference left behind, without a copy where the engine can.
    ///
    /// # Errors
    /// When nothing was inferred yet or an output cannot be shown.
    fn outputs(&self) -> Result<Vec<OutputView<'_>>, EngineError>;

    /// The ability to tell the shapes of intermediate values, where the engine has it.
    fn shape_observer(&mut self) -> Option<&mut dyn ShapeObserver> {
        None
    }
}

/// Tells the shapes that intermediate values really have; fills what static inference cannot know.
pub trait ShapeObserver {
    /// Runs once and returns the shapes of those values that exist in the engine's graph.
    ///
    /// # Errors
    /// When the run fails.
    fn observe(&mut self, values: &[String]) -> Result<Vec<(String, Vec<usize>)>, EngineError>;
}
