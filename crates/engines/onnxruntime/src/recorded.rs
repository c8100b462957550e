//! A session whose runs the library's own profiler writes down.

use crate::{
    events::{self, Pass},
    explain, load, profile,
    runtime::Runtime,
};
use engine::{EngineError, EngineErrorKind, LoadRequest, RunRecord};
use ort::session::Session;
use std::path::Path;
use tempfile::TempDir;

pub(crate) struct Recorded {
    pub(crate) session: Session,
    /// Where the library writes.
    _folder: TempDir,
}

impl Recorded {
    pub(crate) fn new(
        runtime: &'static Runtime,
        request: &LoadRequest,
        usual: &[(&str, &str)],
    ) -> Result<Recorded, EngineError> {
        let unwritten = |why: String| {
            EngineError::new(EngineErrorKind::Failed, "could not write a profile").with_source(why)
        };
        let folder = tempfile::tempdir().map_err(|error| unwritten(error.to_string()))?;
        let builder = load::builder(runtime, request, usual)?
            .with_profiling(folder.path().join("profile"))
            .map_err(|error| unwritten(error.to_string()))?;
        Ok(Recorded { session: load::commit(builder, request)?, _folder: folder })
    }

    /// Ends the profile and tells its last `count` runs.
    pub(crate) fn finish(mut self, count: usize) -> Result<Vec<RunRecord>, EngineError> {
        records(&mut self.session, count)
    }
}

/// Ends the profile of a session and tells its last `count` runs.
pub(crate) fn records(session: &mut Session, count: usize) -> Result<Vec<RunRecord>, EngineError> {
    let file = session
        .end_profiling()
        .map_err(|error| explain::other("could not end the profile", &error))?;
    let events = events::read(Path::new(&file))?;
    let pass = Pass::of(&events, count as u64)?;
    let mut records = profile::records(&pass);
    if let Some(first) = records.first_mut() {
        first.remarks = profile::remarks(&pass);
    }
    Ok(records)
}
