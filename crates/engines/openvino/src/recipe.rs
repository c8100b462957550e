//! How a model is compiled: the plugin's settings, the reading, and the words for what goes wrong.

use crate::{
    api::Api,
    fault::Fault,
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
    asked: Device,
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

impl Recipe {
    pub(crate) fn new(api: &'static Api, request: &LoadRequest) -> Recipe {
        Recipe {
            api,
            device: match request.device {
                Device::Xpu(index) => format!("GPU.{index}"),
                Device::Npu => "NPU".to_owned(),
                _ => "CPU".to_owned(),
            },
            asked: request.device,
            onnx: request.onnx.clone(),
            properties: properties(request),
        }
    }

    /// OpenVINO with every property set, one after the other so that a refused one is named.
    pub(crate) fn core(&self, counters: Counters) -> Result<Core, EngineError> {
        let core = Core::new(self.api).map_err(|fault| {
            EngineError::new(EngineErrorKind::Unavailable, "OpenVINO does not start")
                .with_hint("`pip install --force-reinstall openvino`")
                .with_source(fault)
        })?;
        // Asking opens the plugin; what is set before that is only judged when a model is compiled.
        let known = core.property(&self.device, "SUPPORTED_PROPERTIES");
        let known = known.map_err(|fault| no_device(self.asked).with_source(fault))?;
        let counting = ("PERF_COUNT".to_owned(), "YES".to_owned());
        let counting = (counters == Counters::On).then_some(&counting);
        for (key, value) in self.properties.iter().chain(counting) {
            let set = core.set(&self.device, key, value);
            set.map_err(|fault| self.refused(&known, key, value, fault))?;
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

    fn refused(&self, known: &str, key: &str, value: &str, fault: Fault) -> EngineError {
        let known: Vec<&str> = known.split_whitespace().collect();
        let message = format!("engine `openvino` refuses the setting `{key}={value}`");
        let error = EngineError::new(EngineErrorKind::Unsupported, message).with_source(fault);
        match known.contains(&key) {
            true => error,
            false => error.with_hint(format!("{} supports {}", self.device, known.join(", "))),
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
        (_, Precision::Fp32 | Precision::Int8 | Precision::Stored) => "f32",
    }
}

/// A device that is not here.
pub(crate) fn no_device(device: Device) -> EngineError {
    let message = format!("engine `openvino` has no `{device}` here");
    EngineError::new(EngineErrorKind::Unsupported, message).with_hint("`--device cpu` works here")
}

/// A file that is no model.
pub(crate) fn bad_model(
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
