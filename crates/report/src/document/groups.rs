//! Groups of derived numbers; each says beside its nulls why they are null.

use crate::energy::{Scope, energy};
use crate::lookup::{Reading, reading_or_why, told};
use serde::Serialize;
use std::collections::BTreeMap;
use types::{Run, key};

/// Why something of an imported run is null that every run of ours has.
const UNTOLD: &str = "the imported file does not tell";

/// Why a key beside it is null, by that key.
type Why = BTreeMap<&'static str, String>;

/// Takes readings by key and remembers why one is missing.
struct Readings<'a> {
    run: &'a Run,
    why: Why,
}

impl<'a> Readings<'a> {
    fn of(run: &'a Run) -> Readings<'a> {
        Readings { run, why: Why::new() }
    }

    fn take(&mut self, name: &'static str, key: &str) -> Option<f64> {
        match reading_or_why(self.run, key) {
            Reading::Known(value) => Some(value),
            Reading::Missing(why) => {
                self.why.insert(name, why);
                None
            }
        }
    }

    fn bytes(&mut self, name: &'static str, key: &str) -> Option<u64> {
        self.take(name, key).map(|value| value.round().max(0.0) as u64)
    }
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Throughput {
    samples_per_second: Option<f64>,
    tokens_per_second: Option<f64>,
    images_per_second: Option<f64>,
    why: Why,
}

impl From<&Run> for Throughput {
    fn from(run: &Run) -> Throughput {
        let mut readings = Readings::of(run);
        Throughput {
            samples_per_second: readings.take("samples_per_second", "throughput.samples"),
            tokens_per_second: readings.take("tokens_per_second", "throughput.tokens"),
            images_per_second: readings.take("images_per_second", "throughput.images"),
            why: readings.why,
        }
    }
}

/// Memory in bytes.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Memory {
    unit: &'static str,
    peak: Option<u64>,
    average: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host_peak: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host_average: Option<u64>,
    activation: Option<u64>,
    why: Why,
}

impl From<&Run> for Memory {
    fn from(run: &Run) -> Memory {
        let mut readings = Readings::of(run);
        let apart = run.cell.device.has_own_memory();
        let activation = run.work.activation_peak.map(|peak| peak.0);
        if let Some(why) = run.unknown.get("work.activation_peak") {
            readings.why.insert("activation", why.clone());
        } else if activation.is_none() && run.imported.is_some() {
            readings.why.insert("activation", UNTOLD.into());
        } else if activation.is_none() {
            let why = "some shapes of the graph are not known before it runs";
            readings.why.insert("activation", why.into());
        }
        Memory {
            unit: "bytes",
            peak: readings.bytes("peak", key::MEMORY_PEAK),
            average: readings.bytes("average", key::MEMORY_AVERAGE),
            host_peak: apart.then(|| readings.bytes("host_peak", key::MEMORY_HOST_PEAK)).flatten(),
            host_average: apart
                .then(|| readings.bytes("host_average", key::MEMORY_HOST_AVERAGE))
                .flatten(),
            activation,
            why: readings.why,
        }
    }
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Compute {
    flops: Option<u64>,
    parameters: Option<u64>,
    model_size: Option<u64>,
    coverage: Option<f64>,
    bytes_read: Option<u64>,
    bytes_written: Option<u64>,
    flops_per_second: Option<f64>,
    ceiling_share: Option<f64>,
    why: Why,
}

impl From<&Run> for Compute {
    fn from(run: &Run) -> Compute {
        let mut readings = Readings::of(run);
        let coverage = told(run, "work.coverage", run.work.coverage.0);
        let coverage = coverage.filter(|share| share.is_finite());
        let paths = [
            ("flops", "work.flops"),
            ("parameters", "model.parameters"),
            ("model_size", "model.size"),
            ("coverage", "work.coverage"),
            ("bytes_read", "work.bytes"),
            ("bytes_written", "work.bytes"),
        ];
        for (name, path) in paths {
            if let Some(why) = run.unknown.get(path) {
                readings.why.insert(name, why.clone());
            }
        }
        if coverage.is_none() && !run.unknown.contains_key("work.coverage") {
            let why = match run.imported {
                Some(_) => UNTOLD,
                None => "the graph has no operator that could be counted",
            };
            readings.why.insert("coverage", why.into());
        }
        Compute {
            flops: told(run, "work.flops", run.work.flops.0),
            parameters: told(run, "model.parameters", run.model.parameters),
            model_size: told(run, "model.size", run.model.size.0),
            coverage,
            bytes_read: told(run, "work.bytes", run.work.bytes_read.0),
            bytes_written: told(run, "work.bytes", run.work.bytes_written.0),
            flops_per_second: readings.take("flops_per_second", "compute.flops_per_second"),
            ceiling_share: readings.take("ceiling_share", "compute.ceiling_share"),
            why: readings.why,
        }
    }
}

/// Energy over the measured runs in joules, that of the run's own device; all counters stand under `metrics`.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Energy {
    value: Option<f64>,
    unit: &'static str,
    of: Option<String>,
    scope: Option<Scope>,
    why: Option<String>,
}

impl From<&Run> for Energy {
    fn from(run: &Run) -> Energy {
        let (first, why) = match energy(run) {
            Ok(known) => (known.into_iter().next(), None),
            Err(why) => (None, Some(why)),
        };
        Energy {
            value: first.as_ref().map(|entry| entry.joules),
            unit: "J",
            of: first.as_ref().map(|entry| entry.whose.clone()).filter(|of| !of.is_empty()),
            scope: first.as_ref().map(|entry| entry.scope),
            why,
        }
    }
}
