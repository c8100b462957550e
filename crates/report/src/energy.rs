//! The energy of a run, gathered from whichever counters answered.

use crate::clean::clean;
use crate::lookup::{Reading, metrics};
use schemars::JsonSchema;
use serde::Serialize;
use types::{Device, Run, Unit};

/// What an amount of energy includes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Scope {
    /// The idle power of the machine was subtracted.
    AboveIdle,
    /// Everything that the counter counted.
    Total,
}

/// One energy counter: its component, what it includes, and its energy in joules.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Energy {
    pub(crate) whose: String,
    pub(crate) scope: Scope,
    pub(crate) joules: f64,
}

/// Every energy that was measured, that of the run's own device first, or why there is none.
pub(crate) fn energy(run: &Run) -> Result<Vec<Energy>, String> {
    let mut known: Vec<Energy> = Vec::new();
    let mut missing: Vec<(String, String)> = Vec::new();
    for metric in metrics(run).filter(|metric| metric.unit == Unit::Joules) {
        let (whose, scope) = read_key(&metric.key);
        match Reading::of(metric) {
            Reading::Known(joules) => keep(&mut known, Energy { whose, scope, joules }),
            Reading::Missing(why) => missing.push((whose, why)),
        }
    }
    let own = match run.cell.device {
        Device::Cuda(_) | Device::Rocm(_) | Device::Mps => "gpu",
        _ => "cpu",
    };
    if !known.is_empty() {
        known.sort_by_key(|energy| energy.whose != own);
        return Ok(known);
    }
    // Probes that are not available here have no metrics, only a reason.
    for (probe, whose) in [("rapl", "cpu"), ("gpu", "gpu")] {
        let report = run.probes.iter().find(|report| report.probe == probe);
        if let Some(why) = report.and_then(|report| report.unavailable.as_ref()) {
            missing.push((whose.into(), why.clone()));
        }
    }
    missing.sort_by_key(|(whose, _)| whose != own);
    let why = missing.into_iter().next().map(|(_, why)| why);
    Err(why.unwrap_or_else(|| "not measured in this run".into()))
}

/// One entry for each owner; what the work itself drew is worth more than a total.
fn keep(known: &mut Vec<Energy>, energy: Energy) {
    match known.iter_mut().find(|entry| entry.whose == energy.whose) {
        Some(entry) if entry.scope == Scope::Total && energy.scope == Scope::AboveIdle => {
            *entry = energy;
        }
        Some(_) => {}
        None => known.push(energy),
    }
}

/// `gpu.energy` is the GPU's above idle, `gpu.energy.total` all of it, `energy` nobody's in particular.
fn read_key(key: &str) -> (String, Scope) {
    let scope = if key.ends_with(".total") { Scope::Total } else { Scope::AboveIdle };
    let parts = key.split('.').filter(|part| !["energy", "total"].contains(part));
    (clean(&parts.collect::<Vec<_>>().join(" ").replace('_', " ")), scope)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_work_drew_is_preferred_to_the_total() {
        let entry = |key: &str, joules| {
            let (whose, scope) = read_key(key);
            Energy { whose, scope, joules }
        };
        for keys in [["gpu.energy.total", "gpu.energy"], ["gpu.energy", "gpu.energy.total"]] {
            let mut known = Vec::new();
            keep(&mut known, entry("cpu.energy.total", 9.0));
            for key in keys {
                keep(&mut known, entry(key, key.len() as f64));
            }
            assert_eq!(known.len(), 2);
            assert_eq!(known[0], Energy { whose: "cpu".into(), scope: Scope::Total, joules: 9.0 });
            assert_eq!(known[1].scope, Scope::AboveIdle);
            assert_eq!(known[1].joules, "gpu.energy".len() as f64);
        }
    }
}
