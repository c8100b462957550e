//! What all measurements of one sitting share: the machine, its ceilings, the database.

use crate::{Error, VERSION};
use meter::Bench;
use probe::IdlePower;
use std::{collections::BTreeMap, path::Path, time::Duration};
use store::Store;
use types::{
    Ceilings, Device, Environment, Event, Machine, Reason, ReasonCode, Run, Stage, Verdict,
};

/// How long the idle machine is watched before the worker starts; twenty steps of the slowest counter.
///
/// Costs nothing where there is no counter.
const IDLE_WINDOW: Duration = Duration::from_secs(2);

/// The machine and, where wanted, the database.
pub struct Session {
    machine: Machine,
    store: Option<Store>,
    ceilings: Vec<Ceilings>,
}

impl Session {
    /// A sitting that remembers nothing.
    #[must_use]
    pub fn without_store() -> Session {
        Session { machine: hardware::machine(), store: None, ceilings: Vec::new() }
    }

    /// A sitting that keeps every run in this database file.
    ///
    /// # Errors
    /// When the database cannot be opened.
    pub fn with_store(path: &Path) -> Result<Session, Error> {
        let store = Store::open(path)?;
        Ok(Session { store: Some(store), ..Session::without_store() })
    }

    /// The database, where there is one.
    #[must_use]
    pub fn store(&self) -> Option<&Store> {
        self.store.as_ref()
    }

    /// Keeps a run, where there is a database.
    ///
    /// # Errors
    /// When it cannot be written; then nothing of it is.
    pub fn remember(&mut self, run: &Run) -> Result<(), Error> {
        match &mut self.store {
            Some(store) => Ok(store.insert_run(run)?),
            None => Ok(()),
        }
    }

    /// The machine this is.
    pub(crate) fn machine(&self) -> &Machine {
        &self.machine
    }

    /// What a measurement with so many threads needs to know of the machine.
    ///
    /// # Errors
    /// When the database cannot be read or written.
    pub(crate) fn bench(
        &mut self,
        threads: u32,
        device: Device,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Bench, Error> {
        Ok(Bench {
            machine: self.machine.clone(),
            ceilings: match device {
                Device::Cpu | Device::Xnnpack => Some(self.ceilings(threads, sink)?),
                // The processors' ceiling says nothing of another device.
                _ => None,
            },
            idle: IdlePower::measure(device, IDLE_WINDOW),
            versions: BTreeMap::from([("modelmeter".to_owned(), VERSION.to_owned())]),
        })
    }

    /// The machine as it is now, where no run tells.
    pub(crate) fn environment(&self, threads: u32) -> Environment {
        let now = probe::Snapshot::take();
        let conditions = now.diff(&probe::Snapshot::take(), &[std::process::id()]);
        let versions = BTreeMap::from([("modelmeter".to_owned(), VERSION.to_owned())]);
        meter::describe(&self.machine, conditions, versions, threads)
    }

    /// The ceilings for so many threads: known, stored, or measured now and kept.
    pub(crate) fn ceilings(
        &mut self,
        threads: u32,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Ceilings, Error> {
        // More threads than processors cannot do more than all processors.
        let threads = threads.min(self.machine.cpu.threads.max(1));
        if let Some(known) = self.ceilings.iter().find(|known| known.threads == threads) {
            return Ok(known.clone());
        }
        let stored = match &self.store {
            Some(store) => store.ceilings(&self.machine.key, threads)?,
            None => None,
        };
        let ceilings = match stored {
            Some(stored) => stored,
            None => self.measure_ceilings(threads, sink)?,
        };
        self.ceilings.push(ceilings.clone());
        Ok(ceilings)
    }

    /// A rate above the ceiling means that one of the two is wrong: the ceiling is measured once more, and only if the
    /// rate is above that too, the run stays invalid. A ceiling measured on a busy machine is too low for ever otherwise.
    pub(crate) fn recheck_ceiling(
        &mut self,
        run: &mut Run,
        sink: &mut dyn FnMut(Event),
    ) -> Result<(), Error> {
        let above = |reason: &Reason| reason.code == ReasonCode::AboveCeiling;
        if !run.verdict.reasons.iter().any(above) {
            return Ok(());
        }
        let threads = run.cell.threads.min(self.machine.cpu.threads.max(1));
        let ceilings = self.measure_ceilings(threads, sink)?;
        self.ceilings.retain(|known| known.threads != threads);
        self.ceilings.push(ceilings.clone());
        let rate = run.metric("compute.flops_per_second").and_then(|metric| metric.value);
        let ceiling = ceilings.flops_at(run.cell.precision);
        if let (Some(rate), Some(ceiling)) = (rate, ceiling) {
            let share = run.metrics.iter_mut().find(|m| m.key == "compute.ceiling_share");
            if let Some(share) = share {
                share.value = Some(rate / ceiling.value);
            }
            if !meter::is_above_ceiling(rate / ceiling.value) {
                let kept = run.verdict.reasons.drain(..).filter(|reason| !above(reason)).collect();
                run.verdict = Verdict::from_reasons(kept);
            }
        }
        Ok(())
    }

    fn measure_ceilings(
        &mut self,
        threads: u32,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Ceilings, Error> {
        let stage = Stage::Calibrate;
        sink(Event::StageStarted { stage });
        let note = "this machine's ceilings, once";
        let measured = hardware::ceilings(threads, &mut |done, total| {
            sink(Event::Progress { stage, done, total: Some(total), note: note.into() });
        });
        if let Some(store) = &mut self.store {
            store.save_ceilings(&self.machine, &measured)?;
        }
        Ok(measured)
    }
}
