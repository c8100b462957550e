//! ONNX Runtime Web in a real browser: WebAssembly, WebGPU and WebNN.
//!
//! `locate` finds a browser and the runtime, `install` fetches both. `chromium` runs a browser, `server` gives it the page
//! (the folder `page`) and passes questions and answers, `page` says what they are. `files`, `load`, `model`, `session` and
//! `profile` make an engine of that, `trainer` one that trains. The page knows nothing of this program but its questions, so any browser that opens
//! it can be measured.

mod chromium;
mod convert;
mod files;
mod install;
mod load;
mod locate;
mod model;
mod page;
mod profile;
mod server;
mod session;
mod trainer;
mod user_agent;

use engine::{
    Availability, Engine, EngineError, GraphTrainer, Host, InstallProgress, Installer, LoadRequest,
    LoadedModel, Loader, Places, TrainerLoader, TrainingFiles, TrainingTraits,
};
use engine_onnxruntime::OnnxRuntime;
use std::path::{Path, PathBuf};
use types::{Bytes, Device, EngineOptions, GraphOptimisation, Precision};

/// The engine's name, in arguments and in our folders.
const ID: &str = "browser";

/// What it runs on.
const DEVICES: [Device; 3] = [Device::Wasm, Device::Webgpu, Device::Webnn];

/// The precisions of a device.
fn precisions(device: Device) -> &'static [Precision] {
    match device {
        Device::Wasm => &[Precision::Fp32, Precision::Int8],
        Device::Webgpu | Device::Webnn => &[Precision::Fp32, Precision::Fp16],
        _ => &[],
    }
}

/// A browser.
#[derive(Debug, Clone, Copy, Default)]
pub struct Browser;

impl Engine for Browser {
    fn id(&self) -> &'static str {
        ID
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["web", "chromium", "chrome", "ort-web", "onnxruntime-web"]
    }

    fn describe(&self) -> &'static str {
        "ONNX Runtime Web in a real browser: WebAssembly, WebGPU, WebNN"
    }

    fn availability(&self, places: &Places) -> Availability {
        if let Some(absent) = load::absent(places) {
            return Availability::Unavailable { why: absent.why, hint: absent.hint };
        }
        let version = locate::runtime(places).map(|runtime| runtime.version);
        Availability::Available { version: version.unwrap_or_default() }
    }

    fn origin(&self, places: &Places) -> Option<PathBuf> {
        locate::browser(places, Device::Wasm).ok().map(|browser| browser.program)
    }

    fn devices(&self, places: &Places) -> Vec<Device> {
        if load::absent(places).is_some() { Vec::new() } else { DEVICES.to_vec() }
    }

    fn precisions(&self, _places: &Places, device: Device) -> Vec<Precision> {
        precisions(device).to_vec()
    }

    fn library_variables(&self) -> &'static [&'static str] {
        &locate::VARIABLES
    }

    fn system_folders(&self) -> &'static [&'static str] {
        &locate::FOLDERS
    }

    fn serves_pages(&self) -> bool {
        true
    }

    fn native_reference(&self) -> Option<&'static str> {
        // The runtime in a page has the same kernels.
        Some(OnnxRuntime.id())
    }

    fn training(&self) -> Option<TrainingTraits> {
        // A step runs in the page as a whole, and only its phases are timed.
        Some(TrainingTraits { shows_steps: false, ..TrainingTraits::OF_GRAPHS })
    }

    fn fusing_options(&self, told: &EngineOptions) -> Option<EngineOptions> {
        // Without a level it does everything it can.
        let level = told.graph_optimisation.filter(|level| *level != GraphOptimisation::All);
        level.map(|_| EngineOptions { graph_optimisation: None, ..told.clone() })
    }

    fn own_memory(&self) -> Bytes {
        // Proportional on Linux (x86-64): the browser, its helpers and the page, before a model.
        Bytes(250_000_000)
    }

    fn host(&self) -> Host<'_> {
        Host::Worker(self)
    }

    fn installer(&self) -> Option<&dyn Installer> {
        Some(self)
    }
}

impl Installer for Browser {
    fn install(
        &self,
        places: &Places,
        folder: &Path,
        version: Option<&str>,
        progress: InstallProgress<'_>,
    ) -> Result<PathBuf, EngineError> {
        install::install(places, folder, version, progress)
    }
}

impl Loader for Browser {
    fn load(&self, request: &LoadRequest) -> Result<Box<dyn LoadedModel>, EngineError> {
        Ok(Box::new(load::load(request)?))
    }

    fn trainer_loader(&self) -> Option<&dyn TrainerLoader> {
        Some(self)
    }
}

impl TrainerLoader for Browser {
    fn trainer(
        &self,
        request: &LoadRequest,
        files: &TrainingFiles,
    ) -> Result<Box<dyn GraphTrainer>, EngineError> {
        Ok(Box::new(trainer::load(request, files)?))
    }
}
