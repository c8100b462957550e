//! The hardware of a question: this machine, one of the database, or one of the catalogue.

use super::case::is_gpu;
use crate::Error;
use predict::{Catalogue, Hardware};
use store::Store;
use types::{Device, Run};

/// Names that are told where one is not known.
const NEAR: usize = 3;

/// The hardware of a question.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// This machine: its processors, or the GPU of this index.
    Here(Device),
    /// A machine of the database, by its key; and its name for people.
    Stored(String, String, Device),
    /// A processor or GPU of the catalogue.
    Stated(Box<Hardware>),
}

impl Target {
    /// The hardware that a person names: `here`, a machine of the database, or a name of the catalogue.
    ///
    /// # Errors
    /// If nothing is called so; names that resemble it are the hint.
    pub fn named(
        name: &str,
        store: Option<&Store>,
        catalogue: &Catalogue,
    ) -> Result<Target, Error> {
        let lower = name.to_lowercase();
        if let Ok(device) = lower.parse::<Device>()
            && matches!(device, Device::Cpu | Device::Cuda(_))
        {
            return Ok(Target::Here(device));
        }
        if matches!(lower.as_str(), "here" | "this" | "this machine" | "this-machine" | "localhost")
        {
            return Ok(Target::Here(Device::Cpu));
        }
        let machines = store.map(Store::machines).transpose()?.unwrap_or_default();
        let own = hardware::machine();
        let is_it = |key: &str, host: &str| {
            host.to_lowercase() == lower
                || (lower.len() >= 4 && key.to_lowercase().starts_with(&lower))
        };
        if is_it(&own.key, &own.hostname) {
            return Ok(Target::Here(Device::Cpu));
        }
        if let Some((key, host)) = machines.iter().find(|(key, host)| is_it(key, host)) {
            let words = if host.is_empty() { key.clone() } else { host.clone() };
            // What was measured there last is what is meant.
            let newest = store.map(|store| newest_run(store, key)).transpose()?.flatten();
            let is_gpu = newest.as_ref().is_some_and(|run| is_gpu(run.cell.device));
            if !is_gpu {
                return Ok(Target::Stored(key.clone(), words, Device::Cpu));
            }
            let gpu = newest.and_then(|run| run.environment.machine.gpus.into_iter().next());
            let words = if host.is_empty() { gpu.map_or(words, |gpu| gpu.name) } else { words };
            return Ok(Target::Stored(key.clone(), words, Device::Cuda(0)));
        }
        if let Some(found) = catalogue.find(name) {
            if found.is_gpu
                && let Some(store) = store
                && let Some(target) = with_gpu(store, found, catalogue, &own.key)?
            {
                return Ok(target);
            }
            return Ok(Target::Stated(Box::new(found.clone())));
        }
        let hosts = machines.values().map(String::as_str).filter(|host| !host.is_empty());
        let mut near: Vec<String> = catalogue.near(name).into_iter().map(str::to_owned).collect();
        near.extend(types::near(name, hosts).into_iter().map(str::to_owned));
        near.truncate(NEAR);
        Err(Error::UnknownHardware { name: name.to_owned(), near })
    }

    /// What people call it.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Target::Here(Device::Cpu) => "this machine".into(),
            Target::Here(device) => format!("{device} of this machine"),
            Target::Stored(_, words, _) => words.clone(),
            Target::Stated(hardware) => hardware.name.clone(),
        }
    }

    /// Whether it is a GPU.
    #[must_use]
    pub fn is_gpu(&self) -> bool {
        match self {
            Target::Here(device) | Target::Stored(_, _, device) => *device != Device::Cpu,
            Target::Stated(hardware) => hardware.is_gpu,
        }
    }
}

/// The newest run of a machine, whose key it is.
pub(super) fn newest_run(store: &Store, key: &str) -> Result<Option<Run>, Error> {
    let filter =
        store::Filter { machine: Some(key.to_owned()), limit: Some(1), ..Default::default() };
    let rows = store.runs(&filter)?;
    Ok(rows.first().map(|row| store.run_without_samples(&row.id)).transpose()?)
}

/// A machine of the database with this GPU and runs on it: what was measured says more than what is stated. Of several the
/// one with the newest run.
fn with_gpu(
    store: &Store,
    asked: &Hardware,
    catalogue: &Catalogue,
    own: &str,
) -> Result<Option<Target>, Error> {
    let mut found: Option<(i64, Target)> = None;
    for machine in store.all_machines()? {
        let Some(gpu) = machine.gpus.first() else { continue };
        if catalogue.find(&gpu.name).is_none_or(|known| known.name != asked.name) {
            continue;
        }
        let filter = store::Filter {
            machine: Some(machine.key.clone()),
            device: Some(Device::Cuda(0)),
            valid: Some(true),
            limit: Some(1),
            ..Default::default()
        };
        let rows = store.runs(&filter)?;
        let Some(newest) = rows.first() else { continue };
        if found.as_ref().is_none_or(|(time, _)| *time < newest.started_at) {
            let target = match machine.key == own {
                true => Target::Here(Device::Cuda(0)),
                false => Target::Stored(machine.key, gpu.name.clone(), Device::Cuda(0)),
            };
            found = Some((newest.started_at, target));
        }
    }
    Ok(found.map(|(_, target)| target))
}
