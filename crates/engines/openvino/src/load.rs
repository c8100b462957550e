//! Loads a model step by step, each step with its own reason to refuse.

use crate::{
    api::Api,
    fault::Fault,
    hardware, locate,
    model::OpenVinoModel,
    names,
    recipe::{Counters, Recipe, bad_model, no_device},
    runtime::Core,
};
use engine::{EngineError, EngineErrorKind, LoadRequest};
use std::path::Path;
use types::{Device, Precision};

pub(crate) fn load(request: &LoadRequest) -> Result<OpenVinoModel, EngineError> {
    let found = locate::find(&request.places)?;
    check_device(&found.path, request.device)?;
    if !hardware::precisions(request.device).contains(&request.precision) {
        return Err(cannot_compute(request));
    }
    let names = names::read(&request.onnx).map_err(|error| bad_model(&request.onnx, error))?;
    let api = Api::open(&found.path).map_err(|fault| {
        let message = format!("could not open `{}`", found.path.display());
        EngineError::new(EngineErrorKind::Unavailable, message)
            .with_hint("`pip install --force-reinstall openvino`")
            .with_source(fault)
    })?;
    let recipe = Recipe::new(api, request);
    let core = recipe.core(Counters::Off)?;
    ask_device(&core, &recipe.device, request)?;
    let (model, compiled) = recipe.compile(&core)?;
    let failed = |fault: Fault| {
        EngineError::new(EngineErrorKind::Failed, "OpenVINO does not report what it compiled")
            .with_source(fault)
    };
    let ports = (model.inputs().map_err(failed)?, model.outputs().map_err(failed)?);
    Ok(OpenVinoModel::new(recipe, compiled, request, names, ports))
}

fn check_device(library: &Path, device: Device) -> Result<(), EngineError> {
    if !matches!(device, Device::Cpu | Device::Xpu(_) | Device::Npu) {
        return Err(no_device(device));
    }
    match hardware::absence(library, device) {
        Some(why) => Err(no_device(device).with_source(why)),
        None => Ok(()),
    }
}

/// What only OpenVINO itself can tell; the CPU is always there, and asking would load every plugin.
fn ask_device(core: &Core, device: &str, request: &LoadRequest) -> Result<(), EngineError> {
    if request.device != Device::Cpu {
        let failed = |fault: Fault| no_device(request.device).with_source(fault);
        let available = core.available_devices().map_err(failed)?;
        let is_first = device == "GPU.0" && available.iter().any(|name| name == "GPU");
        if !is_first && !available.iter().any(|name| name == device) {
            let there = available.join(", ");
            return Err(no_device(request.device).with_source(format!("OpenVINO sees {there}")));
        }
    }
    let wanted = match request.precision {
        Precision::Fp16 => "FP16",
        Precision::Bf16 => "BF16",
        // Every plugin takes these; quantised graphs run even where nothing speeds them up.
        Precision::Fp32 | Precision::Int8 | Precision::Stored => return Ok(()),
    };
    let capabilities = core.property(device, "OPTIMIZATION_CAPABILITIES");
    let capabilities = capabilities.map_err(|fault| cannot_compute(request).with_source(fault))?;
    match capabilities.split([' ', ',']).any(|word| word == wanted) {
        true => Ok(()),
        false => {
            let source = format!("OpenVINO's {device} has {capabilities}");
            Err(cannot_compute(request).with_source(source))
        }
    }
}

fn cannot_compute(request: &LoadRequest) -> EngineError {
    let message = format!(
        "engine `openvino` cannot compute in {} on `{}`",
        request.precision, request.device
    );
    EngineError::new(EngineErrorKind::Unsupported, message)
        .with_hint("`--precision fp32` works here")
}
