//! Learns how far rounding alone moves a model's outputs: it runs again with noise of that size on every number.
//!
//! Only where outputs are further apart than their own scale allows is it worth the two more loads.

use crate::{
    EngineChoice, Profiler,
    changed_graph::ChangedGraph,
    parity::Sides,
    prepare::{self, Prepared},
};
use analysis::{Floor, rounding_share};
use engine::Takes;
use graph::Model;
use meter::{Depth, Launch, outputs_of};
use std::{path::Path, time::Duration};
use types::{HostTensor, Precision};

/// Trials with different noise: one alone may hit an output by chance where it does not move.
const TRIALS: u32 = 2;

/// How far rounding moves each output of the baseline or of this side; empty if nobody could run the noisy graph.
///
/// Any engine may tell: the graph decides how rounding grows, not who computes it. The finer of the two sides that take
/// graphs is asked first, because a coarse one has rounding of its own; where both are modules, the embedded engine runs
/// their graph.
pub(crate) fn floors(
    sides: &Sides<'_>,
    place: usize,
    outputs: &[Option<Vec<HostTensor>>],
) -> Vec<(String, Floor)> {
    let pair = [sides.baseline, place];
    let share = share_of(pair.map(|place| &sides.prepared[place]));
    let mut candidates = pair.to_vec();
    candidates.sort_by_key(|place| sides.prepared[*place].cell.precision);
    for place in candidates {
        let (ready, launch) = (&sides.prepared[place], &sides.launches[place]);
        let trial = Trial { ready, launch, timeout: sides.timeout, folder: sides.folder, share };
        let Some(plain) = &outputs[place] else { continue };
        if ready.engine.takes() == Takes::Onnx
            && let Some(floors) = trial.floors(plain)
        {
            return floors;
        }
    }
    on_embedded_engine(sides.profilers[sides.baseline], share, sides.timeout, sides.folder)
        .unwrap_or_default()
}

/// How much noise stands for the rounding of these two.
pub(crate) fn share_of([a, b]: [&Prepared; 2]) -> f32 {
    rounding_share(a.cell.precision, b.cell.precision)
}

fn on_embedded_engine(
    profiler: &Profiler,
    share: f32,
    timeout: Duration,
    folder: &Path,
) -> Option<Vec<(String, Floor)>> {
    let mut profiler = profiler.clone();
    profiler.engine = EngineChoice::Named(profiler.engines.embedded()?.id().to_owned());
    profiler.device = types::Device::Cpu;
    profiler.precision = Some(Precision::Fp32);
    profiler.options = types::EngineOptions::default();
    let ready = prepare::prepare(&profiler, &mut |_| {}).ok()?;
    let launch = profiler.launch(&ready).ok()?;
    let trial = Trial { ready: &ready, launch: &launch, timeout, folder, share };
    let plain = trial.run(ready.graph())?;
    trial.floors(&plain)
}

/// One side that runs with noise.
struct Trial<'a> {
    ready: &'a Prepared,
    launch: &'a Launch,
    timeout: Duration,
    folder: &'a Path,
    share: f32,
}

impl Trial<'_> {
    fn floors(&self, plain: &[HostTensor]) -> Option<Vec<(String, Floor)>> {
        let (model, shapes) = (self.ready.graph(), self.ready.shapes());
        let mut floors: Vec<(String, Floor)> = Vec::new();
        for draw in 0..TRIALS {
            let noisy = graph::with_rounding_noise(model, &shapes, self.share, draw)?;
            let noisy = self.run(&noisy)?;
            for tensor in plain {
                let other = noisy.iter().find(|other| other.name == tensor.name);
                let Some(seen) = other.and_then(|other| Floor::seen(tensor, other)) else {
                    continue;
                };
                match floors.iter_mut().find(|(name, _)| *name == tensor.name) {
                    Some((_, floor)) => *floor = floor.max(seen),
                    None => floors.push((tensor.name.clone(), seen)),
                }
            }
        }
        Some(floors)
    }

    /// What another graph in the place of the model's own gives; `None` if it cannot be written or run.
    fn run(&self, model: &Model) -> Option<Vec<HostTensor>> {
        let refine = |seen: &[(String, Vec<usize>)]| self.ready.count_again(seen);
        let mut job = self.ready.job(&refine);
        let file = ChangedGraph::write(model, &job.onnx).ok()?;
        job.onnx = file.path().to_owned();
        outputs_of(&job, self.launch, self.timeout, self.folder, Depth::Outputs).ok()
    }
}
