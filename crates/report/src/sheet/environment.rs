//! The machine, its state during the run, and who watched.

use super::grid::{Grid, Side};
use crate::clean::clean;
use crate::summary::processor;
use crate::timestamp::rfc3339;
use number::{MISSING, bytes, count, duration, percent, significant, value, watts};
use types::{Bytes, Run, Unit};

/// Labelled facts; what an imported run does not tell is left out.
pub(super) fn facts(run: &Run) -> Vec<(&'static str, String)> {
    let environment = &run.environment;
    let machine = &environment.machine;
    let cpu = &machine.cpu;
    let measured = run.imported.is_none();
    let mut facts: Vec<(&'static str, String)> = Vec::new();
    let mut add = |label: &'static str, text: String| {
        let text = clean(&text);
        if !text.is_empty() {
            facts.push((label, text));
        }
    };
    if run.tells("started_at") {
        add("began", rfc3339(run.started_at));
    }
    if measured {
        add("took", duration(run.elapsed));
    }
    add("run", run.id.0.clone());
    add("engine", format!("{} {}", run.engine.id, run.engine.version));
    add("placement", run.engine.placement.clone());
    add("machine", format!("{} ({})", machine.hostname, machine.key));
    if run.tells("environment.machine.cpu") {
        add("processor", cpu.model.clone());
    }
    if measured {
        let sockets = if cpu.sockets == 1 { "socket" } else { "sockets" };
        add(
            "cores",
            format!(
                "{} cores, {} threads, {} {sockets} ({})",
                cpu.cores,
                cpu.threads,
                cpu.sockets,
                processor(&cpu.model)
            ),
        );
    }
    add("extensions", cpu.features.join(" "));
    let amount = |Bytes(size): Bytes| if size > 0 { bytes(size) } else { String::new() };
    add("last cache", cpu.cache.map(amount).unwrap_or_default());
    add("memory", amount(machine.memory));
    add("free at the start", environment.memory_available.map(amount).unwrap_or_default());
    add("group's limit", environment.cgroup.memory.map(amount).unwrap_or_default());
    for gpu in &machine.gpus {
        add("graphics", format!("{} · {}", gpu.name, bytes(gpu.memory.0)));
    }
    for gpu in &environment.gpus {
        let limit = gpu.power_limit.map(|limit| format!(" · limit {}", watts(limit)));
        add("driver", format!("{}{}", gpu.driver, limit.unwrap_or_default()));
    }
    add("system", format!("{} {}", environment.os, environment.kernel));
    add("hypervisor", machine.hypervisor.clone().unwrap_or_default());
    add("governor", environment.governor.clone().unwrap_or_default());
    let frequency = environment.frequency.map(|hertz| value(hertz, Unit::Hertz));
    add("frequency", frequency.unwrap_or_default());
    let load = environment.load_average.map(|load| significant(load, 2));
    add("load before", load.unwrap_or_default());
    add("time stolen", environment.steal.map(percent).unwrap_or_default());
    add("commit of model", environment.model_commit.clone().unwrap_or_default());
    let versions = environment.versions.iter();
    let versions: Vec<String> = versions.map(|(name, text)| format!("{name} {text}")).collect();
    add("versions", versions.join(" · "));
    facts
}

/// The readings and the cost of each probe.
pub(super) fn probes(run: &Run) -> Grid {
    let mut grid = Grid::new(&[
        ("probe", Side::Left),
        ("readings", Side::Right),
        ("cost", Side::Right),
        ("saw", Side::Left),
    ]);
    for probe in &run.probes {
        let saw = match &probe.unavailable {
            Some(why) => format!("unavailable: {}", clean(why)),
            None => {
                let known = probe.metrics.iter().filter_map(|metric| {
                    let number = metric.value.filter(|number| number.is_finite())?;
                    Some(format!("{} {}", clean(&metric.key), value(number, metric.unit)))
                });
                known.collect::<Vec<_>>().join(" · ")
            }
        };
        let silent = probe.unavailable.is_some();
        let cost = if silent { MISSING.into() } else { duration(probe.cost) };
        let readings = if silent { MISSING.into() } else { count(probe.readings) };
        grid.row([clean(&probe.probe), readings, cost, saw]);
    }
    grid
}
