//! Where an imported run comes from, what was put right in it, and what nobody can know of it.

use number::milliseconds;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use types::{Correction, Import, Stated};

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct ImportDocument<'a> {
    tool: &'a str,
    version: Option<&'a str>,
    file: &'a str,
    /// By phase: what the tool reports without samples, in milliseconds.
    stated: BTreeMap<&'static str, StatedMs>,
    /// Numbers of the file that are known to be wrong.
    corrections: &'a [Correction],
    /// Paths of fields of the run for which the file has no data.
    untold: &'a [String],
}

/// What a tool reports about a phase, in milliseconds.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct StatedMs {
    #[schemars(extend("const" = "ms"))]
    unit: &'static str,
    samples: Option<u64>,
    mean: Option<f64>,
    std: Option<f64>,
    min: Option<f64>,
    max: Option<f64>,
    median: Option<f64>,
    p90: Option<f64>,
    p95: Option<f64>,
    p99: Option<f64>,
    p99_9: Option<f64>,
}

impl<'a> From<&'a Import> for ImportDocument<'a> {
    fn from(import: &'a Import) -> ImportDocument<'a> {
        let stated = import.stated.iter();
        ImportDocument {
            tool: &import.tool,
            version: import.version.as_deref(),
            file: &import.file,
            stated: stated.map(|(phase, stated)| (phase.name(), stated.into())).collect(),
            corrections: &import.corrections,
            untold: &import.untold,
        }
    }
}

impl From<&Stated> for StatedMs {
    fn from(stated: &Stated) -> StatedMs {
        let ms = |seconds: Option<f64>| seconds.filter(|s| s.is_finite()).map(milliseconds);
        StatedMs {
            unit: "ms",
            samples: stated.count,
            mean: ms(stated.mean),
            std: ms(stated.std),
            min: ms(stated.min),
            max: ms(stated.max),
            median: ms(stated.median),
            p90: ms(stated.p90),
            p95: ms(stated.p95),
            p99: ms(stated.p99),
            p99_9: ms(stated.p999),
        }
    }
}
