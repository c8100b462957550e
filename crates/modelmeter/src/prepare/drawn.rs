//! Inputs as a file, for workers that cannot draw them.

use crate::{Error, scratch::Scratch};
use std::path::PathBuf;
use types::HostTensor;

/// Inputs drawn into a file for a worker that cannot draw them; gone with it.
pub(super) struct Drawn {
    pub(super) path: PathBuf,
    _folder: Scratch,
}

impl Drawn {
    pub(super) fn write(tensors: &[HostTensor]) -> Result<Drawn, Error> {
        let views: Vec<_> = tensors.iter().map(engine::view_of).collect();
        let needed = tensors.iter().map(|tensor| byte_size(&tensor.elements)).sum();
        let folder = Scratch::make("the inputs", needed)?;
        let path = folder.path().join("inputs.safetensors");
        engine::write_tensors(&path, &views)
            .map_err(|error| folder.failed(std::io::Error::other(cause_of(&error))))?;
        Ok(Drawn { path, _folder: folder })
    }
}

fn byte_size(elements: &types::Elements) -> u64 {
    (elements.len() * elements.element_type().size()) as u64
}

/// The innermost reason, which names what the system refused.
fn cause_of(error: &engine::EngineError) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}
