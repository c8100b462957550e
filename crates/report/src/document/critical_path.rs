//! What the time of a traced run went through, for programs.

use number::milliseconds;
use schemars::JsonSchema;
use serde::Serialize;
use types::{CriticalPath, PathPlace};

/// The critical path of a run.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct CriticalPathDocument<'a> {
    /// The unit of every time here.
    #[schemars(extend("const" = "ms"))]
    unit: &'static str,
    /// Inferences or steps that were followed.
    #[schemars(range(min = 1))]
    runs: u64,
    /// Mean time of one, with tracing on.
    #[schemars(range(min = 0))]
    time: f64,
    links: Vec<LinkDocument<'a>>,
    waits: Vec<WaitDocument<'a>>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
struct LinkDocument<'a> {
    on: PathPlace,
    name: &'a str,
    #[schemars(range(min = 0))]
    times: f64,
    #[schemars(range(min = 0))]
    time: f64,
    #[schemars(range(min = 0))]
    share: f64,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
struct WaitDocument<'a> {
    who: &'a str,
    waited_for: &'a str,
    #[schemars(range(min = 0))]
    times: f64,
    #[schemars(range(min = 0))]
    time: f64,
    #[schemars(range(min = 0))]
    share: f64,
}

impl<'a> From<&'a CriticalPath> for CriticalPathDocument<'a> {
    fn from(path: &'a CriticalPath) -> CriticalPathDocument<'a> {
        let links = path.links.iter().map(|link| LinkDocument {
            on: link.place,
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
