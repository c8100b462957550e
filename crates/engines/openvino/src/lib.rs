//! OpenVINO, found where it is installed and loaded at run time.
//!
//! Nothing is linked: `locate` finds OpenVINO's C library by looking at files, `api` opens it when a model is loaded,
//! `runtime`, `request` and `tensor` own what it hands out, and the rest plugs that into the socket.
//!
//! A model is compiled when it is loaded, with the shapes its file leaves open left open, so that compiling is load
//! time. Against shapes fixed before compiling, DistilBERT's inferences took 1.00 to 1.04 × the time in interleaved
//! runs (batch 4 × 128, 1 × 128 and 1 × 16, on a busy machine): too little to compile anew for every shape.

mod api;
mod fault;
mod generator;
mod hardware;
mod load;
mod locate;
mod model;
mod names;
mod profile;
mod recipe;
mod recorded;
mod request;
mod runtime;
mod session;
mod tensor;
mod times;
mod version;

use engine::{
    Availability, Engine, EngineError, GeneratorLoader, Host, LoadRequest, LoadedModel, Loader,
    Places,
};
use std::path::PathBuf;
use types::{Bytes, Device, Precision};

/// OpenVINO.
#[derive(Debug, Clone, Copy, Default)]
pub struct OpenVino;

impl Engine for OpenVino {
    fn id(&self) -> &'static str {
        "openvino"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["ov"]
    }

    fn describe(&self) -> &'static str {
        "OpenVINO as installed here, ONNX on CPUs and on Intel's GPUs and NPUs"
    }

    fn availability(&self, places: &Places) -> Availability {
        locate::find(places).into()
    }

    fn origin(&self, places: &Places) -> Option<PathBuf> {
        locate::find(places).ok().map(|found| found.path)
    }

    fn devices(&self, places: &Places) -> Vec<Device> {
        locate::find(places).map(|found| hardware::devices(&found.path)).unwrap_or_default()
    }

    fn absence(&self, places: &Places, device: Device) -> Option<String> {
        hardware::absence(&locate::find(places).ok()?.path, device)
    }

    fn device_meant_by(&self, places: &Places, wish: Device) -> Option<Device> {
        let first = || self.devices(places).first().copied().unwrap_or(Device::Cpu);
        (wish == Device::Openvino).then(first)
    }

    fn precisions(&self, places: &Places, device: Device) -> Vec<Precision> {
        match self.devices(places).contains(&device) {
            true => hardware::precisions(device),
            false => Vec::new(),
        }
    }

    fn library_variables(&self) -> &'static [&'static str] {
        &["OPENVINO_INSTALL_DIR", "INTEL_OPENVINO_DIR"]
    }

    fn system_folders(&self) -> &'static [&'static str] {
        &["/opt/intel/openvino"]
    }

    fn variables(&self) -> &'static [&'static str] {
        &["OPENVINO_*", "INTEL_OPENVINO_DIR", "OV_*"]
    }

    fn own_memory(&self) -> Bytes {
        // Resident on Linux (x86-64) with `feed-forward-baseline` at batch 1, less its weights.
        Bytes(68_000_000)
    }

    fn host(&self) -> Host<'_> {
        Host::Worker(self)
    }
}

impl Loader for OpenVino {
    fn load(&self, request: &LoadRequest) -> Result<Box<dyn LoadedModel>, EngineError> {
        Ok(Box::new(load::load(request)?))
    }

    fn generator_loader(&self) -> Option<&dyn GeneratorLoader> {
        Some(self)
    }
}
