//! Looks inside a model after it was timed: where its time goes, layer by layer.

use crate::{Error, error::spell, prepare::Prepared};
use engine::{Engine, NodeTime};
use meter::{Bench, Job, Launch, LayerPass, layer_pass};
use number::percent;
use std::collections::BTreeSet;
use types::{
    Bytes, DecoderDialect, Device, Event, GpuProfile, LayerKind, LayerReport, LayerTime, LayerTurn,
    LayerWork, Machine, ModuleWork, Pooling, Reason, Remark, RemarkCode, StoppingRule, Timeline,
};

/// How far the layers may be from the whole before that is said; docs/MEASUREMENT.md.
const CLOSURE: f64 = 0.05;

/// What is looked at inside the model, after it was timed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inside {
    /// Where the time goes, layer by layer.
    pub layers: bool,
    /// Kinds or parts of paths that must exist; all layers are measured all the same.
    pub names: Vec<String>,
    /// What happens when, in a few inferences.
    pub timeline: bool,
    /// Where the memory goes.
    pub memory: bool,
    /// What the GPU did.
    pub gpu: bool,
}

/// What is asked of a training step must be possible, before minutes are spent.
pub(crate) fn check_step(inside: &Inside, prepared: &Prepared) -> Result<(), Error> {
    let Some(training) = &prepared.cell.training else { return Ok(()) };
    let asked =
        [(inside.layers, "layers"), (inside.timeline, "a trace"), (inside.memory, "the memory")];
    let asked: Vec<&str> = asked.into_iter().filter(|(is, _)| *is).map(|(_, what)| what).collect();
    if asked.is_empty() {
        return Ok(());
    }
    let engine = prepared.engine.id();
    let shows_steps =
        |engine: &&'static dyn Engine| engine.training().is_some_and(|traits| traits.shows_steps);
    let (why, hint) = if !shows_steps(&prepared.engine) {
        let able = prepared.engines().iter().filter(shows_steps);
        let able: Vec<&str> = able.map(Engine::id).collect();
        let hint = match able.as_slice() {
            [] => "omit `--train` to profile an inference".to_owned(),
            able => format!("`--engine {}` can", able.join("` or `--engine ")),
        };
        (format!("engine `{engine}` cannot profile it"), hint)
    } else if training.world_size > 1 {
        let why = "only a single process can be profiled".to_owned();
        (why, "omit `--world-size`".to_owned())
    } else if prepared.cell.options.compile.is_some() {
        let why = "a compiled module has no separate parts".to_owned();
        (why, "omit `--compile`".to_owned())
    } else {
        return Ok(());
    };
    Err(Error::StepInside { what: asked.join(" and "), why, hint })
}

/// Every name asked for must match a kind or a module, before minutes are spent.
pub(crate) fn check_names(inside: &Inside, prepared: &Prepared) -> Result<(), Error> {
    let paths: BTreeSet<String> =
        work_of(prepared).into_iter().map(|work| work.path).filter(|p| !p.is_empty()).collect();
    // A framework's own module shows its parts only when it runs.
    if paths.is_empty() {
        return Ok(());
    }
    for name in &inside.names {
        let is_kind = LayerKind::ALL.iter().any(|kind| kind.name() == name);
        if !is_kind && !paths.iter().any(|path| path.contains(name.as_str())) {
            return Err(Error::UnknownLayer { name: name.clone(), near: near(name, &paths) });
        }
    }
    Ok(())
}

/// Kinds, modules and parts of their paths that resemble a name, the most alike first.
fn near(name: &str, paths: &BTreeSet<String>) -> Vec<String> {
    let kinds = LayerKind::ALL.iter().map(|kind| kind.name().to_owned());
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let parts = paths.iter().flat_map(|path| path.split('.')).filter(|part| !is_number(part));
    let known: BTreeSet<String> = kinds.chain(parts.map(str::to_owned)).collect();
    let alike = types::near(name, known.iter().map(String::as_str));
    // Where nothing is alike, the kinds are always a way in.
    if alike.is_empty() {
        return LayerKind::ALL.iter().map(|kind| kind.name().to_owned()).collect();
    }
    alike.into_iter().map(str::to_owned).collect()
}

/// What was found inside, or remarks why nobody can tell.
pub(crate) struct Looked {
    pub(crate) layers: Result<LayerReport, Reason>,
    pub(crate) gpu: Result<GpuProfile, Reason>,
}

/// Where the time goes, and what the GPU did.
pub(crate) fn look(
    job: &Job<'_>,
    prepared: &Prepared,
    bench: &Bench,
    launch: &Launch,
    rule: &StoppingRule,
    sink: &mut dyn FnMut(Event),
) -> Looked {
    let mut gpu = None;
    let layers = layers(job, prepared, bench, launch, (rule, &mut gpu), sink);
    let gpu = gpu.ok_or_else(|| {
        let device = job.cell.device;
        let text = match device {
            Device::Cuda(_) => "the GPU's own records could not be used".to_owned(),
            device => format!("`{device}` keeps no records of kernels and copies; `cuda` does"),
        };
        remark(RemarkCode::NoDeviceRecords, text, None)
    });
    Looked { layers, gpu }
}

fn layers(
    job: &Job<'_>,
    prepared: &Prepared,
    bench: &Bench,
    launch: &Launch,
    (rule, gpu): (&StoppingRule, &mut Option<GpuProfile>),
    sink: &mut dyn FnMut(Event),
) -> Result<LayerReport, Reason> {
    let pass = match layer_pass(job, launch, rule, &bench.machine, sink) {
        Ok(pass) => pass,
        // The run is measured and good: it must not be lost because looking inside failed.
        Err(error) => return Err(unseen(RemarkCode::NoLayerTimes, &Error::Meter(error))),
    };
    let Some(mut pass) = pass else {
        let text = format!("engine `{}` cannot measure the layers of this model", job.cell.engine);
        let is_fused =
            job.generation.as_ref().is_some_and(|one| one.dialect == DecoderDialect::Fused);
        let hint = match is_fused {
            true => "`--set decoder=standard` runs a graph of standard operators",
            false => "`modelmeter engines list` shows the others",
        };
        return Err(remark(RemarkCode::NoLayerTimes, text, Some(hint.into())));
    };
    *gpu = pass.gpu.take();
    let remarks = alike_once(pass.profiled.iter().flat_map(|profile| &profile.remarks));
    let disturbance = pass.disturbance.as_ref().map(|reason| {
        let text = format!(
            "while the layers were measured, {}; measure again on a quiet machine",
            reason.text
        );
        Remark::new(RemarkCode::LayersDisturbed, text)
    });
    let work = work_of(prepared);
    let found =
        analysis::layer_report(&turns(pass), &work, job.cell.precision, bench.ceilings.as_ref());
    let Some(mut report) = found else {
        let text = format!("engine `{}` reported no layer times", job.cell.engine);
        return Err(remark(RemarkCode::NoLayerTimes, text, None));
    };
    report.remarks = remarks;
    report.remarks.extend(disturbance);
    let closure = report.closure;
    if (closure.value - 1.0).abs() > CLOSURE {
        let how = if closure.value < 1.0 { "less" } else { "more" };
        report.remarks.push(Remark::new(RemarkCode::LayersDoNotAddUp, format!(
            "the layers add up to {} {how} than the time without instruments: their shares are approximate",
            percent((closure.value - 1.0).abs())
        )));
    }
    Ok(report)
}

/// Every remark once: each turn counts anew, so its numbers differ.
fn alike_once<'a>(remarks: impl Iterator<Item = &'a Remark>) -> Vec<Remark> {
    let mut kept: Vec<Remark> = Vec::new();
    for remark in remarks {
        if !kept.iter().any(|known| known.code == remark.code) {
            kept.push(remark.clone());
        }
    }
    kept
}

/// What happens when, with a remark on what disturbed it; or a remark why nobody can tell.
pub(crate) fn timeline(
    job: &Job<'_>,
    launch: &Launch,
    rule: &StoppingRule,
    machine: &Machine,
    sink: &mut dyn FnMut(Event),
) -> Result<(Timeline, Option<Reason>), Reason> {
    let found = match meter::timeline(job, launch, rule, machine, sink) {
        Ok(found) => found,
        Err(error) => return Err(unseen(RemarkCode::NoTimeline, &Error::Meter(error))),
    };
    let Some((timeline, disturbance)) = found else {
        let engine = &job.cell.engine;
        let text = format!("engine `{engine}` cannot record a timeline of this model");
        return Err(remark(RemarkCode::NoTimeline, text, None));
    };
    // The run was timed before: its numbers are as good as they were.
    let disturbance = disturbance.map(|reason| Reason {
        invalidates: false,
        text: format!("while the trace was recorded, {}", reason.text),
        ..reason
    });
    Ok((timeline, disturbance))
}

/// The work of every node that runs, by module.
pub(crate) fn work_of(prepared: &Prepared) -> Vec<LayerWork> {
    if let Some(layers) = prepared.step_work() {
        return layers.to_vec();
    }
    let analysis = graph::analyse_shapes(prepared.graph(), &prepared.shapes());
    analysis.nodes.into_iter().map(layer_work).collect()
}

/// Which modules do the same work, so that one line may stand for them.
pub(crate) fn pooling(prepared: &Prepared) -> Pooling {
    let work = work_of(prepared);
    let known = work.iter().filter(|part| part.flops.is_some() || part.bytes.is_some());
    Pooling::of_parts(known.map(|part| {
        let flops = part.flops.map_or(0, |flops| flops.0);
        (part.path.as_str(), ModuleWork { flops, bytes: part.bytes.map_or(0, |bytes| bytes.0) })
    }))
}

/// The work of a node.
pub(crate) fn layer_work(node: graph::NodeWork) -> LayerWork {
    LayerWork {
        bytes: match (node.bytes_read, node.bytes_written) {
            (None, None) => None,
            (read, written) => {
                Some(read.unwrap_or(Bytes(0)).saturating_add(written.unwrap_or(Bytes(0))))
            }
        },
        name: node.name,
        path: node.path,
        operator: node.op_type,
        kind: node.kind,
        flops: node.flops,
    }
}

pub(crate) fn turns(pass: LayerPass) -> Vec<LayerTurn> {
    let mut device = pass.device.into_iter();
    let turn = |(plain, profile): (Vec<u64>, engine::NodeProfile)| LayerTurn {
        plain,
        profiled: profile.run_nanos,
        layers: profile.nodes.into_iter().map(layer_time).collect(),
        device: device.next(),
    };
    pass.plain.into_iter().zip(pass.profiled).map(turn).collect()
}

fn layer_time(node: NodeTime) -> LayerTime {
    let NodeTime { path, kind, calls, nanos, phase } = node;
    LayerTime { path, kind, calls, nanos, phase }
}

/// Why there is no inside to be seen.
pub(crate) fn unseen(about: RemarkCode, error: &Error) -> Reason {
    let text = match error {
        Error::Meter(error) => spell(error),
        error => error.to_string(),
    };
    remark(about, format!("profiling failed: {text}"), error.hint())
}

fn remark(about: RemarkCode, text: String, hint: Option<String>) -> Reason {
    Reason { hint, ..Reason::from(Remark::new(about, text)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_layer_is_answered_with_what_it_resembles() {
        let paths: BTreeSet<String> =
            ["encoder.layer.0.attention.self.query", "encoder.layer.0.intermediate.dense"]
                .map(str::to_owned)
                .into();
        assert_eq!(near("atention", &paths)[0], "attention");
        assert!(near("querry", &paths).contains(&"query".to_owned()));
        assert!(near("zzz", &paths).contains(&"mlp".to_owned()));
        assert!(!near("atention", &paths).contains(&"0".to_owned()));
    }
}
