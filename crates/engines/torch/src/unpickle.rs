//! Weights that exist only as a pickle, read by PyTorch once and written as safetensors.

use engine::{EngineError, EngineErrorKind, found, private::TemporaryFolder};
use std::{path::Path, process::Stdio};

/// The network goes first.
const SCRIPT: &str = concat!(
    include_str!("../worker/network.py"),
    "\nleave_network()\n",
    include_str!("../unpickle.py")
);

/// Writes the tensors of a folder's pickles into `target`; code in a pickle is refused by PyTorch.
///
/// # Errors
/// When the interpreter cannot be started or PyTorch cannot read the pickle.
pub fn unpickle(python: &Path, folder: &Path, target: &Path) -> Result<(), EngineError> {
    let failed = |cause: String| {
        let text = format!("could not read the pickled weights in `{}`", folder.display());
        EngineError::new(EngineErrorKind::BadModel, text).with_source(cause)
    };
    let scratch = TemporaryFolder::make().map_err(|error| failed(error.to_string()))?;
    let output = found::isolated(python, SCRIPT)
        .env("TMPDIR", scratch.path())
        .args([folder, target])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| failed(format!("`{}`: {error}", python.display())))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    // The exception stands in the last line that is not indented.
    let last = said.lines().rfind(|line| !line.is_empty() && !line.starts_with(' '));
    Err(failed(last.unwrap_or("Python ended without a word").to_owned()))
}
