//! PyTorch in the user's own Python, through a worker script that speaks the protocol.
//!
//! Nothing here links to PyTorch: the script in `worker/` travels inside the binary, and an interpreter that has
//! PyTorch runs it. Questions are answered by reading files; only loading a model imports PyTorch.

mod graphics;
mod interpreter;
mod script;

use engine::{
    Availability, Engine, EngineError, EngineErrorKind, Host, Places, Starter, Takes,
    TrainingTraits, WorkerCommand,
};
use graphics::Graphics;
use interpreter::{Found, Unfit};
use std::path::{Path, PathBuf};
use types::{Bytes, Device, EngineOptions, Precision};

/// What everybody without PyTorch is told.
const GIVE_PYTHON: &str = "give a Python that has PyTorch: `--python PATH`";

/// Variables that PyTorch reads.
const VARIABLES: [&str; 3] = ["TORCH*", "PYTORCH_*", "ATEN_*"];

/// PyTorch.
#[derive(Debug, Clone, Copy, Default)]
pub struct Torch;

impl Torch {
    fn found(places: &Places) -> Result<Found, Unfit> {
        let Some(python) = &places.python else {
            return Err(Unfit { why: "no Python was found".into(), hint: GIVE_PYTHON.into() });
        };
        interpreter::examine(python)
    }
}

impl Engine for Torch {
    fn id(&self) -> &'static str {
        "torch"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["pytorch"]
    }

    fn describe(&self) -> &'static str {
        "PyTorch in your own Python, modules on CPU and GPUs"
    }

    fn availability(&self, places: &Places) -> Availability {
        match Torch::found(places) {
            Ok(found) => Availability::Available { version: found.torch },
            Err(Unfit { why, hint }) => Availability::Unavailable { why, hint },
        }
    }

    fn origin(&self, places: &Places) -> Option<PathBuf> {
        Torch::found(places).ok().and(places.python.clone())
    }

    fn devices(&self, places: &Places) -> Vec<Device> {
        let Ok(found) = Torch::found(places) else { return Vec::new() };
        graphics::devices(&found, &Graphics::here())
    }

    fn absence(&self, places: &Places, device: Device) -> Option<String> {
        let found = Torch::found(places).ok()?;
        graphics::absence(&found, &Graphics::here(), device)
    }

    fn precisions(&self, _places: &Places, device: Device) -> Vec<Precision> {
        match device {
            Device::Cpu => Precision::ALL.to_vec(),
            Device::Cuda(_) | Device::Rocm(_) | Device::Mps | Device::Xpu(_) => {
                vec![Precision::Fp32, Precision::Fp16, Precision::Bf16]
            }
            _ => Vec::new(),
        }
    }

    fn takes(&self) -> Takes {
        Takes::Module
    }

    fn variables(&self) -> &'static [&'static str] {
        &VARIABLES
    }

    fn is_reference(&self) -> bool {
        true
    }

    fn generates(&self) -> bool {
        true
    }

    fn training(&self) -> Option<TrainingTraits> {
        Some(TrainingTraits {
            precisions: &[Precision::Fp32, Precision::Fp16, Precision::Bf16],
            in_several_processes: true,
            ..TrainingTraits::OF_GRAPHS
        })
    }

    fn calibrates(&self) -> bool {
        true
    }

    fn fusing_options(&self, told: &EngineOptions) -> Option<EngineOptions> {
        let compiled = EngineOptions { compile: Some("default".into()), ..told.clone() };
        told.compile.is_none().then_some(compiled)
    }

    fn limits_memory_on(&self, device: Device) -> bool {
        matches!(device, Device::Cuda(_) | Device::Rocm(_))
    }

    fn own_memory(&self) -> Bytes {
        // Resident on Linux (x86-64) with `feed-forward-baseline` at batch 1, less its weights.
        // Most of it is Python and the libraries of a build for CUDA; one for processors takes less.
        Bytes(576_000_000)
    }

    fn host(&self) -> Host<'_> {
        Host::Program(self)
    }

    fn pickle_reader(&self) -> Option<&dyn Starter> {
        Some(self)
    }
}

impl Starter for Torch {
    fn command(&self, places: &Places) -> Result<WorkerCommand, EngineError> {
        let python = places.python.as_deref().ok_or_else(|| {
            EngineError::new(EngineErrorKind::Unavailable, "no Python was found")
                .with_hint(GIVE_PYTHON)
        })?;
        Ok(script::command(Path::new(python)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_python_nothing_runs_and_the_reason_is_said() {
        let places = Places::default();
        let Availability::Unavailable { why, hint } = Torch.availability(&places) else {
            panic!("available without a Python")
        };
        assert!(why.contains("no Python") && hint.contains("--python"));
        assert!(Torch.devices(&places).is_empty());
        let error = Torch.command(&places).unwrap_err();
        assert_eq!(error.kind, EngineErrorKind::Unavailable);
    }
}
