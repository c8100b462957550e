//! Built without the feature `network`: nothing is downloaded.

use crate::{Progress, Request, hub::Snapshot};
use std::time::Duration;

pub(crate) fn download(
    _request: &Request,
    _repository: &str,
    _patience: Duration,
    _progress: &mut dyn FnMut(Progress),
) -> Result<Snapshot, String> {
    Err("this build cannot download: it lacks the feature `network`".into())
}
