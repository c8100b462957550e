//! What the time of a traced run went through, for programs.

use crate::number::milliseconds;
use serde::Serialize;
use types::CriticalPath;

/// The critical path of a run.
#[derive(Debug, Clone, Serialize)]
pub(super) struct CriticalPathDocument<'a> {
    unit: &'static str,
    runs: u64,
    time: f64,
    links: Vec<Link<'a>>,
    waits: Vec<WaitDocument<'a>>,
}

#[derive(Debug, Clone, Serialize)]
struct Link<'a> {
    on: &'static str,
    name: &'a str,
    times: f64,
    time: f64,
    share: f64,
}

#[derive(Debug, Clone, Serialize)]
struct WaitDocument<'a> {
    who: &'a str,
    waited_for: &'a str,
    times: f64,
    time: f64,
    share: f64,
}

impl<'a> From<&'a CriticalPath> for CriticalPathDocument<'a> {
    fn from(path: &'a CriticalPath) -> CriticalPathDocument<'a> {
        let links = path.links.iter().map(|link| Link {
            on: link.place.name(),
            name: &link.name,
            times: link.times,
            time: milliseconds(link.time.0),
            share: link.share.0,
        });
        let waits = path.waits.iter().map(|wait| WaitDocument {
            who: &wait.who,
            waited_for: &wait.on,
            times: wait.times,
            time: milliseconds(wait.time.0),
            share: wait.share.0,
        });
        CriticalPathDocument {
            unit: "ms",
            runs: path.runs,
            time: milliseconds(path.time.0),
            links: links.collect(),
            waits: waits.collect(),
        }
    }
}
