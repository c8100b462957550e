//! What the time of a traced run went through, one thing after the other, and what waited for what.

use crate::{Ratio, Seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The place of a segment of the critical path.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum PathPlace {
    /// A host thread that is running.
    Host,
    /// From the call that starts work on a device until that work begins.
    Launch,
    /// Work on a device.
    Device,
    /// The gap between two pieces of work in a queue.
    Gap,
}

impl PathPlace {
    /// Every place, in the order in which they are reported.
    pub const ALL: [PathPlace; 4] =
        [PathPlace::Device, PathPlace::Host, PathPlace::Launch, PathPlace::Gap];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            PathPlace::Host => "host",
            PathPlace::Launch => "launch",
            PathPlace::Device => "device",
            PathPlace::Gap => "gap",
        }
    }
}

/// All work with the same name on the critical path, in one inference or step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathLink {
    /// Where.
    pub place: PathPlace,
    /// The operator, launch, kernel or module.
    pub name: String,
    /// How often it is on the path.
    pub times: f64,
    /// Its time on the path.
    pub time: Seconds,
    /// Its share of the path.
    pub share: Ratio,
}

/// A thread or queue that waited for another one, in one inference or step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Wait {
    /// The thread or queue that waited: `cuda:0 stream 7`.
    pub who: String,
    /// The thread or queue it waited for: `worker main`.
    pub on: String,
    /// How often.
    pub times: f64,
    /// The total time.
    pub time: Seconds,
    /// Its share of the total.
    pub share: Ratio,
}

/// The chain of work that decides how long a run takes: nothing off it would make the run shorter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CriticalPath {
    /// Inferences or steps that were followed.
    pub runs: u64,
    /// Mean time of one.
    pub time: Seconds,
    /// The work on the path, the longest first. The times add up to `time`.
    pub links: Vec<PathLink>,
    /// Waits of one thread or queue for another, the longest first; empty if there were none.
    pub waits: Vec<Wait>,
}

impl CriticalPath {
    /// The share of the path that lies in a place.
    #[must_use]
    pub fn share(&self, place: PathPlace) -> f64 {
        let here = self.links.iter().filter(|link| link.place == place);
        here.map(|link| link.share.0).sum::<f64>() + 0.0
    }
}
