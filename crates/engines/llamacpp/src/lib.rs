//! llama.cpp, found where it is installed and loaded at run time. It generates, and nothing else.
//!
//! `locate` finds a library without loading it, `install` fetches one, `api` has its functions, `log` its
//! complaints, `parameters` the blocks it is told with, `runtime` loads it once for the process. `model`, `threads`,
//! `context` and `batch` own what it makes, `instruments` times its modules, and `generator` puts them together. How and when is the worker's business.

mod api;
mod batch;
mod context;
mod generator;
mod install;
mod instruments;
mod locate;
mod log;
mod model;
mod parameters;
mod runtime;
mod settings;
mod threads;

pub use install::{TRIED, install};

use engine::{
    Availability, CacheFormat, Engine, EngineError, EngineErrorKind, Generator, GeneratorLoader,
    GeneratorRequest, Host, InstallProgress, Installer, LoadRequest, LoadedModel, Loader, Places,
    Takes,
};
use std::path::{Path, PathBuf};
use types::{Device, EngineOptions, Precision};

/// The engine's name, in arguments and in our folders.
const ID: &str = "llamacpp";

/// llama.cpp.
#[derive(Debug, Clone, Copy, Default)]
pub struct LlamaCpp;

impl Engine for LlamaCpp {
    fn id(&self) -> &'static str {
        ID
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["llama.cpp", "llama-cpp", "llama", "ggml"]
    }

    fn describe(&self) -> &'static str {
        "llama.cpp as installed, generates from `.gguf` files on the CPU"
    }

    fn availability(&self, places: &Places) -> Availability {
        locate::locate(places).into()
    }

    fn cache_types(&self, told: &EngineOptions) -> Vec<CacheFormat> {
        settings::cache_formats(told)
    }

    fn origin(&self, places: &Places) -> Option<PathBuf> {
        locate::locate(places).ok().map(|library| library.path)
    }

    fn devices(&self, places: &Places) -> Vec<Device> {
        locate::locate(places).map(|_| vec![Device::Cpu]).unwrap_or_default()
    }

    fn absence(&self, places: &Places, device: Device) -> Option<String> {
        match locate::locate(places) {
            Ok(_) if device == Device::Cpu => None,
            Ok(_) => Some("Modelmeter runs llama.cpp only on the CPU".to_owned()),
            Err(absent) => Some(absent.why),
        }
    }

    fn precisions(&self, _places: &Places, _device: Device) -> Vec<Precision> {
        vec![Precision::Stored]
    }

    fn takes(&self) -> Takes {
        Takes::Gguf
    }

    fn library_variables(&self) -> &'static [&'static str] {
        &[locate::VARIABLE]
    }

    fn generates(&self) -> bool {
        true
    }

    fn reads_windows(&self) -> bool {
        true
    }

    fn waits_busily(&self) -> bool {
        // Its threads spin at a barrier after every operator: on a busy machine one loop took 11 to 300 ms a step.
        true
    }

    fn host(&self) -> Host<'_> {
        Host::Worker(self)
    }

    fn installer(&self) -> Option<&dyn Installer> {
        Some(self)
    }
}

impl Installer for LlamaCpp {
    fn install(
        &self,
        _places: &Places,
        folder: &Path,
        version: Option<&str>,
        progress: InstallProgress<'_>,
    ) -> Result<PathBuf, EngineError> {
        install(Path::new("npm"), folder, version, progress)
    }
}

impl Loader for LlamaCpp {
    fn load(&self, _request: &LoadRequest) -> Result<Box<dyn LoadedModel>, EngineError> {
        let message = "engine `llamacpp` generates text and nothing else";
        Err(EngineError::new(EngineErrorKind::Unsupported, message)
            .with_hint("`modelmeter generate MODEL.gguf --engine llamacpp` measures that"))
    }

    fn generator_loader(&self) -> Option<&dyn GeneratorLoader> {
        Some(self)
    }
}

impl GeneratorLoader for LlamaCpp {
    fn generator(
        &self,
        request: &GeneratorRequest<'_>,
    ) -> Result<Option<Box<dyn Generator>>, EngineError> {
        Ok(Some(Box::new(generator::LlamaGenerator::new(request)?)))
    }
}
