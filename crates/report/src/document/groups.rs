//! Groups of derived numbers; each says beside its nulls why they are null.

use super::probes::reason_where_null;
use crate::energy::{Scope, energy};
use crate::lookup::{Reading, reading_or_why, told};
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use types::{Run, key};

/// Why something of an imported run is null that every run of ours has.
const UNTOLD: &str = "the imported file does not state it";

/// Why a key beside it is null, by that key.
type Why = BTreeMap<&'static str, String>;

/// Says in a schema that exactly these keys have a reason where they are null, and that others may have one.
fn reasons(schema: &mut Schema, always: &[&str], at_times: &[&str]) {
    let condition = |key: &&str| {
        json!({
            "if": { "properties": { *key: { "type": "null" } } },
            "then": { "properties": { "why": { "required": [key] } } },
            "else": { "properties": { "why": { "not": { "required": [key] } } } },
        })
    };
    schema.insert("allOf".into(), always.iter().map(condition).collect());
    let names: Vec<&str> = always.iter().chain(at_times).copied().collect();
    if let Some(why) = schema.pointer_mut("/properties/why").and_then(Value::as_object_mut) {
        why.insert("propertyNames".into(), json!({ "enum": names }));
    }
}

fn throughput_reasons(schema: &mut Schema) {
    let always = ["samples_per_second", "tokens_per_second", "images_per_second"];
    reasons(schema, &always, &[]);
}

fn memory_reasons(schema: &mut Schema) {
    reasons(schema, &["peak", "average", "activation"], &["host_peak", "host_average"]);
}

fn compute_reasons(schema: &mut Schema) {
    let at_times = ["flops", "parameters", "model_size", "bytes_read", "bytes_written"];
    reasons(schema, &["coverage", "flops_per_second", "ceiling_share"], &at_times);
}

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

/// Work per second, after warm-up.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(transform = throughput_reasons)]
pub(super) struct Throughput {
    #[schemars(range(min = 0))]
    samples_per_second: Option<f64>,
    #[schemars(range(min = 0))]
    tokens_per_second: Option<f64>,
    #[schemars(range(min = 0))]
    images_per_second: Option<f64>,
    /// Reasons for null values in this object, by key.
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
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(transform = memory_reasons)]
pub(super) struct Memory {
    #[schemars(extend("const" = "bytes"))]
    unit: &'static str,
    /// Largest memory where the model computes: of the device on a device with its own memory, of the host otherwise.
    peak: Option<u64>,
    average: Option<u64>,
    /// Largest host memory; only on a device with its own memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    host_peak: Option<u64>,
    /// Average host memory; only on a device with its own memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    host_average: Option<u64>,
    /// Peak of live activations, from the graph.
    activation: Option<u64>,
    /// Reasons for null values in this object, by key.
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

/// The work and how fast it went.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(transform = compute_reasons)]
pub(super) struct Compute {
    /// Operations of one batch, a multiply-add is two; a lower bound if coverage is below 1.
    flops: Option<u64>,
    parameters: Option<u64>,
    /// Bytes of graph and weights in the precision that ran.
    model_size: Option<u64>,
    /// Share of the operators that were counted.
    #[schemars(range(min = 0, max = 1))]
    coverage: Option<f64>,
    bytes_read: Option<u64>,
    bytes_written: Option<u64>,
    #[schemars(range(min = 0))]
    flops_per_second: Option<f64>,
    /// Share of the machine's own measured ceiling.
    #[schemars(range(min = 0))]
    ceiling_share: Option<f64>,
    /// Reasons for null values in this object, by key.
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

/// Energy of the measured samples, from the counter of the run's own device if it has one; all counters are in `metrics` and
/// `probes`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(transform = reason_where_null)]
pub(super) struct Energy {
    #[schemars(range(min = 0))]
    value: Option<f64>,
    #[schemars(extend("const" = "J"))]
    unit: &'static str,
    /// The component that this counter measures.
    of: Option<String>,
    /// Whether the idle power of the machine was subtracted.
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
