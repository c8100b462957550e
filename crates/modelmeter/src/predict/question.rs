//! A question as a case: its work is counted on the graph, nothing is measured.

use super::{
    Target,
    case::{family, width},
    machines::{Machines, Peaks},
    target::newest_run,
};
use crate::{
    Error, Profiler, Session,
    prepare::{self, Prepared},
};
use predict::{Case, Catalogue};
use types::{Device, Event, Precision, Variant};

/// A question as a case: its work is counted on the graph, nothing is measured.
pub struct Question {
    /// The measurement that would answer it.
    pub profiler: Profiler,
    /// Where.
    pub target: Target,
    /// The engine, where one was named.
    pub engine: Option<String>,
}

impl Question {
    /// Counts the work of the question.
    ///
    /// # Errors
    /// When the model cannot be had.
    pub fn case(
        &self,
        session: &mut Session,
        catalogue: &Catalogue,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Case, Error> {
        let is_here = matches!(self.target, Target::Here(Device::Cpu));
        let mut profiler = self.profiler.clone();
        // Another machine may have engines and devices that this one has not; the work is the same.
        profiler = match (&self.engine, is_here) {
            (Some(engine), true) => profiler.engine(engine),
            _ => profiler,
        };
        profiler = profiler.device(Device::Cpu);
        let counted = (!is_here).then(|| counted_elsewhere(&profiler, sink)).flatten();
        let (prepared, precision, narrow) = match counted {
            Some(counted) => counted,
            None => {
                let prepared = prepare::prepare_with(&profiler, None, sink)?;
                let precision = prepared.cell.precision;
                (prepared, precision, 1.0)
            }
        };
        let info = prepared.model_info();
        let work = prepared.work();
        let cell = &prepared.cell;
        // Elsewhere nobody can look which engines are there: the one that others are compared with, or the one that is always
        // there.
        let listed = self.profiler.engines;
        let usual = match self.target.is_gpu() {
            true => listed.reference(),
            false if is_here => None,
            false => listed.embedded(),
        };
        let engine = match (&self.engine, usual) {
            (Some(engine), _) => engine.clone(),
            (None, Some(usual)) => usual.id().to_owned(),
            (None, None) => cell.engine.clone(),
        };
        let (machine, peaks) = self.peaks(session, catalogue, cell.threads)?;
        let is_gpu = self.target.is_gpu();
        let feed_length = cell.sequence_length;
        let variant = Variant {
            options: cell.options.clone(),
            inputs: cell.inputs.clone(),
            training: cell.training,
            length_unit: match feed_length {
                Some(_) => cell.feed.length_unit,
                None => types::LengthUnit::default(),
            },
            ..Variant::default()
        };
        Ok(Case {
            model: info.name.clone(),
            family: family(&info.architecture, &info.name),
            engine,
            precision: precision.name().to_owned(),
            mode: match cell.generation {
                Some(test) => format!("generate {test}"),
                None => cell.mode.name().to_owned(),
            },
            variant: variant.canonical(),
            machine,
            hardware: self.target.words(),
            is_gpu,
            batch: cell.batch_size as f64,
            length: feed_length.map(|length| length as f64),
            threads: match (&self.target, is_gpu) {
                (_, true) => 0.0,
                (Target::Here(_), _) => f64::from(cell.threads),
                (Target::Stated(hardware), _) => {
                    hardware.cores.map_or(f64::from(cell.threads), f64::from)
                }
                (Target::Stored(..), _) => f64::from(cell.threads),
            },
            flops: Some(work.flops.0 as f64).filter(|flops| *flops > 0.0),
            bytes: Some((work.bytes_read.0 + work.bytes_written.0) as f64 * narrow)
                .filter(|bytes| *bytes > 0.0),
            weights: info.parameters as f64 * width(precision),
            peak: peaks.of(precision),
            bandwidth: peaks.bandwidth,
            cache: peaks.cache,
        })
    }

    fn peaks(
        &self,
        session: &mut Session,
        catalogue: &Catalogue,
        threads: u32,
    ) -> Result<(String, Peaks), Error> {
        let found = match &self.target {
            Target::Stated(hardware) => (hardware.name.clone(), Peaks::stated(hardware)),
            Target::Here(device) => {
                let machine = session.machine().clone();
                let peaks = match session.store() {
                    Some(store) => {
                        let mut machines = Machines::of(store, catalogue);
                        machines.peaks(&machine, *device, threads)?
                    }
                    None => Peaks::default(),
                };
                (machine.key, peaks)
            }
            Target::Stored(key, _, device) => {
                let Some(store) = session.store() else {
                    return Ok((key.clone(), Peaks::default()));
                };
                // Any of its runs knows the machine.
                let Some(run) = newest_run(store, key)? else {
                    return Ok((key.clone(), Peaks::default()));
                };
                let mut machines = Machines::of(store, catalogue);
                let peaks = machines.peaks(&run.environment.machine, *device, run.cell.threads)?;
                (key.clone(), peaks)
            }
        };
        Ok(found)
    }
}

/// The work of a question of another place, without asking which engines are here: the one that is part of this program can
/// always count. Numbers in 16 bits it may not run; their work is that in 32 on half the bytes. `None` where it cannot have the
/// model at all.
fn counted_elsewhere(
    profiler: &Profiler,
    sink: &mut dyn FnMut(Event),
) -> Option<(Prepared, Precision, f64)> {
    let mut own = profiler.clone().engine(profiler.engines.embedded()?.id());
    let half = own.precision.filter(|one| matches!(one, Precision::Fp16 | Precision::Bf16));
    if half.is_some() {
        own.precision = Some(Precision::Fp32);
    }
    let prepared = prepare::prepare_with(&own, None, sink).ok()?;
    let precision = half.unwrap_or(prepared.cell.precision);
    Some((prepared, precision, if half.is_some() { 0.5 } else { 1.0 }))
}
