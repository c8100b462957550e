//! Reads and compiles a model, and says plainly why when it cannot.

use crate::{
    api::Api,
    fault::Fault,
    hardware, locate,
    model::OpenVinoModel,
    names::{self, Names},
    runtime::{Compiled, Core, Model},
};
use engine::{EngineError, EngineErrorKind, LoadRequest};
use std::path::{Path, PathBuf};
use types::{Device, PerformanceHint, Precision};

/// Everything that is needed to compile the model, once for running and once for looking at its nodes.
pub(crate) struct Recipe {
    pub(crate) api: &'static Api,
    /// OpenVINO's name of the device.
    pub(crate) device: String,
    onnx: PathBuf,
    properties: Vec<(String, String)>,
}

/// Whether the plugin times its nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counters {
    /// As people run it.
    Off,
    /// For a profile.
    On,
}

pub(crate) fn load(request: &LoadRequest) -> Result<OpenVinoModel, EngineError> {
    let found = locate::find(&request.places).map_err(|missing| {
        EngineError::new(EngineErrorKind::Unavailable, missing.why).with_hint(missing.hint)
    })?;
    let device = device_name(&found.library, request.device)?;
    if !hardware::precisions(request.device).contains(&request.precision) {
        return Err(cannot_compute(request));
    }
    let names = names::read(&request.onnx).map_err(|error| bad_model(&request.onnx, error))?;
    let api = Api::open(&found.library).map_err(|fault| {
        let message = format!("could not open `{}`", found.library.display());
        EngineError::new(EngineErrorKind::Unavailable, message)
            .with_hint("`pip install --force-reinstall openvino`")
            .with_source(fault)
    })?;
    let recipe =
        Recipe { api, device, onnx: request.onnx.clone(), properties: properties(request) };
    let core = recipe.core(Counters::Off)?;
    ask_device(&core, &recipe.device, request)?;
    let (model, compiled) = recipe.compile(&core)?;
    finish(recipe, request, &names, &model, compiled)
}

impl Recipe {
    /// OpenVINO with every property set, one after the other so that a refused one is named.
    pub(crate) fn core(&self, counters: Counters) -> Result<Core, EngineError> {
        let core = Core::new(self.api).map_err(|fault| {
            EngineError::new(EngineErrorKind::Unavailable, "OpenVINO does not start")
                .with_hint("`pip install --force-reinstall openvino`")
                .with_source(fault)
        })?;
        for (key, value) in &self.properties {
            core.set(&self.device, key, value)
                .map_err(|fault| self.refused(&core, key, value, fault))?;
        }
        if counters == Counters::On {
            let set = core.set(&self.device, "PERF_COUNT", "YES");
            set.map_err(|fault| self.refused(&core, "PERF_COUNT", "YES", fault))?;
        }
        Ok(core)
    }

    /// Reads the file and makes it ready.
    pub(crate) fn compile(&self, core: &Core) -> Result<(Model, Compiled), EngineError> {
        let model = core.read(&self.onnx).map_err(|fault| explain(&self.onnx, fault))?;
        let compiled = core.compile(&model, &self.device).map_err(|fault| {
            let message = format!("engine `openvino` cannot run `{}`", self.onnx.display());
            EngineError::new(EngineErrorKind::Unsupported, message)
                .with_hint("another engine may run it; `modelmeter devices` lists them")
                .with_source(fault)
        })?;
        Ok((model, compiled))
    }

    fn refused(&self, core: &Core, key: &str, value: &str, fault: Fault) -> EngineError {
        let known = core.property(&self.device, "SUPPORTED_PROPERTIES").unwrap_or_default();
        let known: Vec<&str> = known.split_whitespace().collect();
        let message = format!("engine `openvino` refuses the setting `{key}={value}`");
        let error = EngineError::new(EngineErrorKind::Unsupported, message).with_source(fault);
        match known.is_empty() || known.contains(&key) {
            true => error,
            false => error.with_hint(format!("{} knows {}", self.device, known.join(", "))),
        }
    }
}

/// What we ask of the plugin, then what the user asks of it, who has the last word.
fn properties(request: &LoadRequest) -> Vec<(String, String)> {
    let mut properties = Vec::new();
    let mut set = |key: &str, value: &str| properties.push((key.to_owned(), value.to_owned()));
    // Left alone, the plugin computes fp32 models in bf16 or fp16 where the processor is faster in it.
    set("INFERENCE_PRECISION_HINT", inference_precision(request.device, request.precision));
    match request.options.hint.unwrap_or(PerformanceHint::Latency) {
        PerformanceHint::Latency => {
            set("PERFORMANCE_HINT", "LATENCY");
            if request.device == Device::Cpu {
                // On machines with several sockets the hint alone would mean a stream each.
                set("NUM_STREAMS", "1");
            }
        }
        PerformanceHint::Throughput => set("PERFORMANCE_HINT", "THROUGHPUT"),
    }
    if request.device == Device::Cpu {
        set("INFERENCE_NUM_THREADS", &request.threads.max(1).to_string());
    }
    for (key, value) in &request.options.settings {
        set(key, value);
    }
    properties
}

/// What the parts of the model that are not quantised are computed in.
pub(crate) fn inference_precision(device: Device, precision: Precision) -> &'static str {
    match (device, precision) {
        (_, Precision::Fp16) | (Device::Npu, _) => "f16",
        (_, Precision::Bf16) => "bf16",
        (_, Precision::Fp32 | Precision::Int8) => "f32",
    }
}

fn device_name(library: &Path, device: Device) -> Result<String, EngineError> {
    let name = match device {
        Device::Cpu => Some("CPU".to_owned()),
        Device::Xpu(index) => Some(format!("GPU.{index}")),
        Device::Npu => Some("NPU".to_owned()),
        _ => None,
    };
    match (name, hardware::absence(library, device)) {
        (Some(name), None) => Ok(name),
        (Some(_), Some(why)) => Err(no_device(device).with_source(why)),
        (None, _) => Err(no_device(device)),
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
        Precision::Fp32 | Precision::Int8 => return Ok(()),
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

fn finish(
    recipe: Recipe,
    request: &LoadRequest,
    names: &Names,
    model: &Model,
    compiled: Compiled,
) -> Result<OpenVinoModel, EngineError> {
    let failed = |fault: Fault| {
        EngineError::new(EngineErrorKind::Failed, "OpenVINO does not tell what it compiled")
            .with_source(fault)
    };
    let inputs = model.inputs().map_err(failed)?;
    let outputs = model.outputs().map_err(failed)?;
    Ok(OpenVinoModel::new(recipe, compiled, request, names, inputs, outputs))
}

fn no_device(device: Device) -> EngineError {
    let message = format!("engine `openvino` has no `{device}` here");
    EngineError::new(EngineErrorKind::Unsupported, message).with_hint("`--device cpu` runs now")
}

fn cannot_compute(request: &LoadRequest) -> EngineError {
    let message = format!(
        "engine `openvino` cannot compute in {} on `{}`",
        request.precision, request.device
    );
    EngineError::new(EngineErrorKind::Unsupported, message).with_hint("`--precision fp32` runs now")
}

fn bad_model(
    path: &Path,
    cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> EngineError {
    let message = format!("could not load `{}` with engine `openvino`", path.display());
    EngineError::new(EngineErrorKind::BadModel, message).with_source(cause)
}

fn explain(path: &Path, fault: Fault) -> EngineError {
    // The words of 2025 and of 2026.
    let operators = [
        "does not support the following ONNX operations",
        "No conversion rule found",
        "Conversion is failed for",
    ];
    if operators.iter().any(|words| fault.0.contains(words)) {
        let message = format!("engine `openvino` cannot run `{}`", path.display());
        return EngineError::new(EngineErrorKind::Unsupported, message)
            .with_hint("another engine may have what is missing; `modelmeter devices` lists them")
            .with_source(fault);
    }
    bad_model(path, fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(device: Device, precision: Precision) -> Vec<(String, String)> {
        properties(&LoadRequest::of_onnx("model.onnx", device, precision, 3))
    }

    fn value<'a>(properties: &'a [(String, String)], key: &str) -> Option<&'a str> {
        properties.iter().rfind(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    #[test]
    fn fp32_is_asked_for_by_name() {
        let properties = of(Device::Cpu, Precision::Fp32);
        assert_eq!(value(&properties, "INFERENCE_PRECISION_HINT"), Some("f32"));
        assert_eq!(value(&properties, "INFERENCE_NUM_THREADS"), Some("3"));
        assert_eq!(value(&properties, "NUM_STREAMS"), Some("1"));
        assert_eq!(value(&properties, "PERFORMANCE_HINT"), Some("LATENCY"));
        let int8 = of(Device::Cpu, Precision::Int8);
        assert_eq!(value(&int8, "INFERENCE_PRECISION_HINT"), Some("f32"));
    }

    #[test]
    fn a_gpu_gets_no_settings_of_the_cpu() {
        let properties = of(Device::Xpu(0), Precision::Fp16);
        assert_eq!(value(&properties, "INFERENCE_PRECISION_HINT"), Some("f16"));
        assert_eq!(value(&properties, "INFERENCE_NUM_THREADS"), None);
        assert_eq!(value(&properties, "NUM_STREAMS"), None);
    }

    #[test]
    fn the_user_has_the_last_word_and_throughput_chooses_its_streams() {
        let mut request = LoadRequest::of_onnx("m", Device::Cpu, Precision::Fp32, 1);
        request.options.hint = Some(PerformanceHint::Throughput);
        assert_eq!(value(&properties(&request), "NUM_STREAMS"), None);
        assert_eq!(value(&properties(&request), "PERFORMANCE_HINT"), Some("THROUGHPUT"));
        request.options.settings.insert("PERFORMANCE_HINT".into(), "LATENCY".into());
        assert_eq!(value(&properties(&request), "PERFORMANCE_HINT"), Some("LATENCY"));
    }
}
