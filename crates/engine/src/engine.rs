//! What an engine says of itself before anything is loaded, and the abilities it may have.

use crate::{EngineError, Loader, Places, TrainingTraits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};
use types::{Bytes, DecoderDialect, Device, EngineOptions, Precision};

/// Whether an engine works here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
        /// How to make it work.
        hint: String,
    },
}

/// A way to execute models.
///
/// Questions must be cheap, a few milliseconds or one short look at another program: `devices` and `auto` ask every
/// engine. What only loading can show is said by loading.
pub trait Engine: Send + Sync {
    /// Its stable name in arguments, tables and the store: `rten`.
    fn id(&self) -> &'static str;

    /// Other names that people and other tools use for it, in lower case; results always have its id.
    fn aliases(&self) -> &'static [&'static str] {
        &[]
    }

    /// One line about it.
    fn describe(&self) -> &'static str;

    /// Whether it works here, or why not and what would help.
    fn availability(&self, places: &Places) -> Availability;

    /// The file that its code comes from, where it is not our own: a library, an interpreter.
    fn origin(&self, _places: &Places) -> Option<PathBuf> {
        None
    }

    /// The devices it can use here; empty if it is unavailable.
    fn devices(&self, places: &Places) -> Vec<Device>;

    /// Why it cannot use a device that it would use elsewhere, where it knows.
    fn absence(&self, _places: &Places, _device: Device) -> Option<String> {
        None
    }

    /// Its own device that is meant by a name for a whole family of devices; `None` for every other name.
    fn device_meant_by(&self, _places: &Places, _wish: Device) -> Option<Device> {
        None
    }

    /// The precisions it can run on a device.
    fn precisions(&self, places: &Places, device: Device) -> Vec<Precision>;

    /// What it takes a model from.
    fn takes(&self) -> Takes {
        Takes::Onnx
    }

    /// Variables of the environment that name its library or its folder, the first that is set counts; the command line
    /// reads them into [`Places::libraries`].
    fn library_variables(&self) -> &'static [&'static str] {
        &[]
    }

    /// Folders of the system in which it is usually installed, beside those of all libraries.
    fn system_folders(&self) -> &'static [&'static str] {
        &[]
    }

    /// Variables of the environment that it reads itself; its worker gets them beside [`crate::INHERITED`]. One that ends
    /// with `*` stands for all that begin so.
    fn variables(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether it is part of this program: always there, runs graphs on the CPU and shows every value of them.
    fn is_embedded(&self) -> bool {
        false
    }

    /// Whether other engines are compared with it by default.
    fn is_reference(&self) -> bool {
        false
    }

    /// Whether it runs models in a page that any browser can open ([`Places::page`]).
    fn serves_pages(&self) -> bool {
        false
    }

    /// The id of the native engine with whose outputs its own are compared before it is measured, because both compute alike;
    /// another one where that is not here. `None`: its outputs are not compared.
    fn native_reference(&self) -> Option<&'static str> {
        None
    }

    /// How it trains; `None` if it only infers.
    fn training(&self) -> Option<TrainingTraits> {
        None
    }

    /// Whether it generates text token by token.
    fn generates(&self) -> bool {
        match self.host() {
            Host::Worker(loader) => {
                loader.generator_loader().is_some() || loader.runner_loader().is_some()
            }
            Host::Program(_) => false,
        }
    }

    /// The operators in which it generates fastest on a device. A user may ask for the standard ones ([`crate::DECODER`]).
    fn decoder_dialect(&self, _device: Device) -> DecoderDialect {
        DecoderDialect::Standard
    }

    /// The rows of a weight in blocks that its product with one row divides without a remainder: where a weight has others, it is
    /// filled up to a multiple of them. 1 where it does not matter.
    fn block_rows(&self) -> usize {
        1
    }

    /// Whether a step of generating reads no more of the cache than the window of each layer; others read all and mask it.
    fn reads_windows(&self) -> bool {
        false
    }

    /// Whether its threads wait busily for each other, so that other work slows it far more than its own share.
    fn waits_busily(&self) -> bool {
        false
    }

    /// Whether its worker measures what a device can do at best. The processors are measured without an engine.
    fn calibrates(&self) -> bool {
        false
    }

    /// Options with which it would fuse more operators than with these; `None` if it has no such option or it is on.
    fn fusing_options(&self, _told: &EngineOptions) -> Option<EngineOptions> {
        None
    }

    /// Number formats that it can keep the cache of a language model in, each with everything that it is then told.
    fn cache_types(&self, _told: &EngineOptions) -> Vec<CacheFormat> {
        Vec::new()
    }

    /// Whether it keeps within a limit of a device's own memory that its program is told ([`crate::DEVICE_MEMORY`]).
    fn limits_memory_on(&self, _device: Device) -> bool {
        false
    }

    /// What it takes before any weight is in, about: for estimates before a measurement. 0 where nobody has measured it.
    fn own_memory(&self) -> Bytes {
        Bytes(0)
    }

    /// Where it runs.
    fn host(&self) -> Host<'_>;

    /// The ability to fetch itself, where it has it.
    fn installer(&self) -> Option<&dyn Installer> {
        None
    }

    /// Starts a worker that reads weights which exist only as a pickle ([`Request::Unpickle`](crate::Request::Unpickle)),
    /// where it has one.
    fn pickle_reader(&self) -> Option<&dyn Starter> {
        None
    }
}

/// Hears how a download goes on: bytes done, bytes in all where known, and what is being done.
pub type InstallProgress<'a> = &'a mut dyn FnMut(u64, Option<u64>, &str);

/// Fetches an engine.
pub trait Installer {
    /// Fetches the engine into a folder of its own below `folder`, in this version or the newest, and tells where its
    /// library is. What is there already is not fetched again; what is cut off leaves nothing behind.
    ///
    /// # Errors
    /// When it cannot be fetched or written.
    fn install(
        &self,
        places: &Places,
        folder: &Path,
        version: Option<&str>,
        progress: InstallProgress<'_>,
    ) -> Result<PathBuf, EngineError>;
}

/// A number format for the cache of a language model.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheFormat {
    /// Its name: `f16`, `q8_0`.
    pub name: String,
    /// Bytes of one number, scales included.
    pub bytes: f64,
    /// All options of the engine with it.
    pub options: EngineOptions,
}

/// What an engine takes a model from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// An ONNX file.
    Onnx,
    /// A framework's module.
    Module,
    /// A file of llama.cpp; nothing but generating.
    Gguf,
}

impl Takes {
    /// Why such an engine cannot run the other kind of model.
    #[must_use]
    pub fn refusal(self) -> &'static str {
        match self {
            Takes::Onnx => {
                "it runs ONNX graphs, and this model is available only as a PyTorch module"
            }
            Takes::Module => "it runs PyTorch modules, and this model is an ONNX file",
            Takes::Gguf => "it only generates text, and only from `.gguf` files",
        }
    }
}

/// Where an engine runs.
pub enum Host<'a> {
    /// In our own worker.
    Worker(&'a dyn Loader),
    /// In a program of its own that speaks the protocol.
    Program(&'a dyn Starter),
}

/// Says how a worker of another program is started.
pub trait Starter {
    /// The program that speaks the protocol on its standard streams.
    ///
    /// # Errors
    /// When it is not here.
    fn command(&self, places: &Places) -> Result<WorkerCommand, EngineError>;
}

/// A program to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerCommand {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// What its environment has beside what every worker inherits ([`crate::INHERITED`]).
    pub environment: Vec<(OsString, OsString)>,
}
