//! Fetches engines that are not built in.

use crate::{ENGINES, Error};
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
    let engine = ENGINES.iter().find(|engine| engine.id() == id);
    let engine = engine.ok_or_else(|| Error::UnknownEngine {
        id: id.to_owned(),
        known: ENGINES.iter().map(|engine| engine.id().to_owned()).collect(),
    })?;
    let Some(installer) = engine.installer() else {
        let error = match engine.availability(places) {
            engine::Availability::Available { version } => EngineError::new(
                EngineErrorKind::Unsupported,
                format!("engine `{id}` {version} is here already"),
            ),
            engine::Availability::Unavailable { why, hint } => EngineError::new(
                EngineErrorKind::Unsupported,
                format!("engine `{id}` is not installed by us: {why}"),
            )
            .with_hint(hint),
        };
        return Err(MeterError::from(error).into());
    };
    let installed = installer.install(places, folder, version, progress);
    Ok(installed.map_err(MeterError::from)?)
}
