//! The peaks of machines, and their runs as known cells.

use super::case::case_of;
use crate::Error;
use predict::{Catalogue, Hardware, Known};
use std::collections::BTreeMap;
use store::{Store, StoreError};
use types::{Device, Machine, Measured, Mode, Precision, RunId};

/// The peaks of the machines of a database.
pub(super) struct Machines<'a> {
    store: &'a Store,
    catalogue: &'a Catalogue,
    seen: BTreeMap<(String, Device, u32), Peaks>,
}

/// Measured or stated peaks; of each precision its own where it was measured.
#[derive(Debug, Clone, Default)]
pub(super) struct Peaks {
    operations: BTreeMap<Precision, f64>,
    pub(super) bandwidth: Option<f64>,
    pub(super) cache: Option<f64>,
}

impl Peaks {
    pub(super) fn stated(hardware: &Hardware) -> Peaks {
        let half = |precision| (precision, hardware.half);
        Peaks {
            operations: BTreeMap::from([
                (Precision::Fp32, hardware.single),
                half(Precision::Fp16),
                half(Precision::Bf16),
            ]),
            bandwidth: Some(hardware.bandwidth),
            cache: hardware.cache,
        }
    }

    /// What was not measured of a precision is that of 32 bits.
    pub(super) fn of(&self, precision: Precision) -> Option<f64> {
        let own = self.operations.get(&precision);
        own.or_else(|| self.operations.get(&Precision::Fp32)).copied()
    }
}

impl<'a> Machines<'a> {
    pub(super) fn of(store: &'a Store, catalogue: &'a Catalogue) -> Machines<'a> {
        Machines { store, catalogue, seen: BTreeMap::new() }
    }

    pub(super) fn peaks(
        &mut self,
        machine: &Machine,
        device: Device,
        threads: u32,
    ) -> Result<Peaks, Error> {
        let bounded = device.bounded_by().unwrap_or(Device::Cpu);
        let threads = if bounded == Device::Cpu { threads } else { 0 };
        let key = (machine.key.clone(), bounded, threads);
        if let Some(found) = self.seen.get(&key) {
            return Ok(found.clone());
        }
        let all = self.store.all_ceilings(&machine.key)?;
        let own = all.iter().filter(|one| one.device == bounded);
        let nearest = own.min_by_key(|one| one.threads.abs_diff(threads));
        let gpu = machine.gpus.first().map(|gpu| gpu.name.as_str());
        let name = if bounded == Device::Cpu {
            machine.cpu.model.as_str()
        } else {
            gpu.unwrap_or_default()
        };
        let stated = self.catalogue.find(name).map(Peaks::stated).unwrap_or_default();
        let own = machine.cpu.cache.map(|cache| cache.0 as f64);
        let cache = match bounded {
            Device::Cpu => own.or(stated.cache),
            // The processor's cache holds nothing of what a GPU computes.
            _ => stated.cache,
        };
        let peaks = match nearest {
            Some(measured) => Peaks {
                operations: measured
                    .flops
                    .iter()
                    .map(|(precision, own)| (*precision, own.value))
                    .collect(),
                bandwidth: measured.bandwidth.map(|own| own.value).or(stated.bandwidth),
                cache,
            },
            None => Peaks { cache, ..stated },
        };
        self.seen.insert(key, peaks.clone());
        Ok(peaks)
    }

    pub(super) fn known(&mut self, runs: &[Measured]) -> Result<Known, Unusable> {
        let newest = runs.last().ok_or_else(|| Unusable::Because("the cell has no run".into()))?;
        if newest.mode == Mode::Load {
            return Err(Unusable::Because("a load on a server is no time of one inference".into()));
        }
        let run = self.store.run_without_samples(&newest.id)?;
        let peaks = self.peaks(&run.environment.machine, run.cell.device, run.cell.threads)?;
        let case = case_of(&run, &peaks);
        let mut times: Vec<f64> = runs.iter().filter_map(|run| run.median).collect();
        times.sort_by(f64::total_cmp);
        let memory = runs.iter().rev().find_map(|run| run.memory_peak);
        Ok(Known {
            case,
            seconds: times[times.len() / 2],
            memory: memory.map(|bytes| bytes.0 as f64).filter(|bytes| *bytes > 0.0),
            runs: runs.iter().rev().map(|run| run.id.0.clone()).collect(),
        })
    }
}

pub(super) enum Unusable {
    Because(String),
    Error(Box<Error>),
}

impl From<Error> for Unusable {
    fn from(error: Error) -> Unusable {
        Unusable::Error(Box::new(error))
    }
}

impl From<StoreError> for Unusable {
    fn from(error: StoreError) -> Unusable {
        Unusable::Error(Box::new(error.into()))
    }
}

/// A stored run as a measurement to correct an answer by.
///
/// # Errors
/// When there is no such run, or it is not valid.
pub fn anchor(store: &Store, catalogue: &Catalogue, prefix: &str) -> Result<Known, Error> {
    let id: RunId = store.resolve(prefix)?;
    let run = store.run_without_samples(&id)?;
    if !run.verdict.valid {
        return Err(Error::Rule(format!("run `{id}` is not valid, so it is no anchor")));
    }
    let mut machines = Machines::of(store, catalogue);
    match machines.known(&[Measured::from(&run)]) {
        Ok(known) => Ok(known),
        Err(Unusable::Error(error)) => Err(*error),
        Err(Unusable::Because(why)) => Err(Error::Rule(format!("run `{id}` is no anchor: {why}"))),
    }
}
