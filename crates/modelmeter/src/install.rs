//! Fetches engines that are not built in.

use crate::{Engines, Error};
use engine::{EngineError, EngineErrorKind, InstallProgress, Places};
use meter::MeterError;
use std::path::{Path, PathBuf};

/// Fetches an engine into our own folder, in this version or the newest, and tells where its library is.
///
/// # Errors
/// When no engine is called so, it cannot be fetched by us, or fetching fails.
pub fn install_engine(
    id: &str,
    version: Option<&str>,
    places: &Places,
    folder: &Path,
    progress: InstallProgress<'_>,
) -> Result<PathBuf, Error> {
    let engine = Engines::default().require(id)?;
    let Some(installer) = engine.installer() else {
        let error = match engine.availability(places) {
            engine::Availability::Available { version } => EngineError::new(
                EngineErrorKind::Unsupported,
                format!("engine `{id}` {version} is already installed"),
            ),
            engine::Availability::Unavailable { why, hint } => EngineError::new(
                EngineErrorKind::Unsupported,
                format!("Modelmeter cannot install engine `{id}`: {why}"),
            )
            .with_hint(hint),
        };
        return Err(MeterError::from(error).into());
    };
    let installed = installer.install(places, folder, version, progress);
    Ok(installed.map_err(MeterError::from)?)
}
