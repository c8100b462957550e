//! ONNX Runtime, found where it is installed and loaded at run time.
//!
//! `locate` finds a library without loading it, `provider` says what its execution providers can use
//! here, `runtime` loads it once for the process, `load`, `model`, `session`, `profile` and `events` run models with
//! it, and `install` fetches one. How and when a model is run is the runner's business.

mod binding;
mod convert;
mod events;
mod explain;
mod generator;
mod install;
mod load;
mod locate;
mod memory;
mod model;
mod nvidia;
mod profile;
mod provider;
mod recorded;
mod register;
mod runner;
mod runtime;
mod session;
mod statistics;
mod version;

pub use install::install;
pub use profile::node_profile;

use engine::{
    Availability, Engine, EngineError, GeneratorLoader, GraphRunner, Host, InstallProgress,
    Installer, LoadRequest, LoadedModel, Loader, Places, ProfiledRunner, RunnerLoader,
    TrainingTraits,
};
use std::path::{Path, PathBuf};
use types::{Bytes, DecoderDialect, Device, EngineOptions, GraphOptimisation, Precision};

/// The engine's name, in arguments and in our folders.
const ID: &str = "onnxruntime";

/// ONNX Runtime.
#[derive(Debug, Clone, Copy, Default)]
pub struct OnnxRuntime;

impl Engine for OnnxRuntime {
    fn id(&self) -> &'static str {
        ID
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["ort", "onnx"]
    }

    fn describe(&self) -> &'static str {
        "ONNX Runtime as installed, with its execution providers"
    }

    fn availability(&self, places: &Places) -> Availability {
        locate::locate(places).into()
    }

    fn origin(&self, places: &Places) -> Option<PathBuf> {
        locate::locate(places).ok().map(|library| library.path)
    }

    fn devices(&self, places: &Places) -> Vec<Device> {
        locate::locate(places).map(|library| provider::devices(&library)).unwrap_or_default()
    }

    fn absence(&self, places: &Places, device: Device) -> Option<String> {
        match locate::locate(places) {
            Ok(library) => provider::absence(&library, device),
            Err(absent) => Some(absent.why),
        }
    }

    fn precisions(&self, _places: &Places, device: Device) -> Vec<Precision> {
        provider::precisions(device).to_vec()
    }

    fn library_variables(&self) -> &'static [&'static str] {
        &["ORT_DYLIB_PATH"]
    }

    fn variables(&self) -> &'static [&'static str] {
        // One of its providers is OpenVINO.
        &["ORT_*", "ONNXRUNTIME_*", "OPENVINO_*", "INTEL_OPENVINO_DIR", "OV_*"]
    }

    fn decoder_dialect(&self, device: Device) -> DecoderDialect {
        match device {
            Device::Cpu => DecoderDialect::Fused,
            // The attention of its CUDA provider computes in 16 bits only; others have none.
            _ => DecoderDialect::Standard,
        }
    }

    fn own_memory(&self) -> Bytes {
        // Resident on Linux (x86-64) with `feed-forward-baseline` at batch 1, less its weights.
        Bytes(39_000_000)
    }

    fn host(&self) -> Host<'_> {
        Host::Worker(self)
    }

    fn training(&self) -> Option<TrainingTraits> {
        Some(TrainingTraits {
            transposes_slowly: true,
            needs_spare_columns: true,
            ..TrainingTraits::OF_GRAPHS
        })
    }

    fn fusing_options(&self, told: &EngineOptions) -> Option<EngineOptions> {
        // Without a level it does everything it can.
        let level = told.graph_optimisation.filter(|level| *level != GraphOptimisation::All);
        level.map(|_| EngineOptions { graph_optimisation: None, ..told.clone() })
    }

    fn installer(&self) -> Option<&dyn Installer> {
        Some(self)
    }
}

impl Installer for OnnxRuntime {
    fn install(
        &self,
        places: &Places,
        folder: &Path,
        version: Option<&str>,
        progress: InstallProgress<'_>,
    ) -> Result<PathBuf, EngineError> {
        install(places.python.as_deref(), folder, version, progress)
    }
}

impl Loader for OnnxRuntime {
    fn load(&self, request: &LoadRequest) -> Result<Box<dyn LoadedModel>, EngineError> {
        load::load(request)
    }

    fn runner_loader(&self) -> Option<&dyn RunnerLoader> {
        Some(self)
    }

    fn generator_loader(&self) -> Option<&dyn GeneratorLoader> {
        Some(self)
    }
}

impl RunnerLoader for OnnxRuntime {
    fn runner(&self, request: &LoadRequest) -> Result<Box<dyn GraphRunner>, EngineError> {
        Ok(Box::new(runner::OrtRunner::new(request)?))
    }

    fn profiled_runner(
        &self,
        request: &LoadRequest,
    ) -> Result<Box<dyn ProfiledRunner>, EngineError> {
        Ok(Box::new(runner::ProfiledOrt::new(request)?))
    }
}
