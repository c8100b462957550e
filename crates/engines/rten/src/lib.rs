//! The embedded engine: ONNX on the CPU in pure Rust, always here.
//!
//! Only what `rten` needs lives here; how and when it is run is the runner's business.

mod capture;
mod convert;
mod feed_log;
mod generator;
mod load;
mod log;
mod memory;
mod model;
mod node_log;
mod profile;
mod runner;
mod settings;
mod values;

use engine::{
    Availability, Engine, EngineError, GeneratorLoader, GraphRunner, Host, LoadRequest,
    LoadedModel, Loader, Places, ProfiledRunner, RunnerLoader, TrainingTraits,
};
use types::{Bytes, DecoderDialect, Device, Precision};

/// The version of `rten` this build carries; Cargo.toml pins exactly this one.
const VERSION: &str = "0.27.0";

/// The embedded engine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rten;

impl Engine for Rten {
    fn id(&self) -> &'static str {
        "rten"
    }

    fn describe(&self) -> &'static str {
        "embedded, pure Rust, ONNX on the CPU"
    }

    fn availability(&self, _places: &Places) -> Availability {
        Availability::Available { version: VERSION.into() }
    }

    fn devices(&self, _places: &Places) -> Vec<Device> {
        vec![Device::Cpu]
    }

    fn precisions(&self, _places: &Places, device: Device) -> Vec<Precision> {
        match device {
            // Int8 means graphs that are quantised already; fp16 weights are widened at load, so fp16 is not listed.
            Device::Cpu => vec![Precision::Fp32, Precision::Int8, Precision::Stored],
            _ => Vec::new(),
        }
    }

    fn variables(&self) -> &'static [&'static str] {
        &["RTEN_*"]
    }

    fn is_embedded(&self) -> bool {
        true
    }

    fn training(&self) -> Option<TrainingTraits> {
        Some(TrainingTraits::OF_GRAPHS)
    }

    fn decoder_dialect(&self, _device: Device) -> DecoderDialect {
        DecoderDialect::Fused
    }

    fn block_rows(&self) -> usize {
        // It multiplies vectors of 4 bits, and what is left of a column one number after the other: half the time of one of 576.
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx512vnni") {
            return 128;
        }
        64
    }

    fn own_memory(&self) -> Bytes {
        // Resident on Linux (x86-64) with `feed-forward-baseline` at batch 1, less its weights.
        Bytes(14_000_000)
    }

    fn host(&self) -> Host<'_> {
        Host::Worker(self)
    }
}

impl Loader for Rten {
    fn load(&self, request: &LoadRequest) -> Result<Box<dyn LoadedModel>, EngineError> {
        load::load(request, &self.precisions(&request.places, request.device))
    }

    fn runner_loader(&self) -> Option<&dyn RunnerLoader> {
        Some(self)
    }

    fn generator_loader(&self) -> Option<&dyn GeneratorLoader> {
        Some(self)
    }
}

impl RunnerLoader for Rten {
    fn runner(&self, request: &LoadRequest) -> Result<Box<dyn GraphRunner>, EngineError> {
        Ok(Box::new(runner::RtenRunner::new(request)?))
    }

    fn profiled_runner(
        &self,
        request: &LoadRequest,
    ) -> Result<Box<dyn ProfiledRunner>, EngineError> {
        Ok(Box::new(runner::LoggedRunner::new(request)?))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_version_is_the_pinned_one() {
        let manifest = include_str!("../Cargo.toml");
        assert!(manifest.contains(&format!("rten = {{ version = \"={}\"", super::VERSION)));
    }
}
