//! Which engine runs a model on which device, and who would where none does.

use crate::{Choice, EngineChoice, Engines, Error, Profiler};
use engine::{Availability, Engine, Places, Takes};
use types::{Device, Precision};

/// The engine that was asked for, or the first that can; of those that train where the model shall be trained.
pub(super) fn settle_engine(
    profiler: &Profiler,
    precision: Precision,
    fits: &dyn Fn(Takes) -> bool,
) -> Result<Choice, Error> {
    let Profiler { engines, device, places, .. } = profiler;
    let among = |engine: &EngineChoice| engines.choose(engine, *device, precision, places, fits);
    if profiler.generation.is_some()
        && let EngineChoice::Named(id) = &profiler.engine
        && let choice = among(&profiler.engine)?
        && !choice.engine.generates()
    {
        let why = format!("engine `{id}` only runs a model as a whole");
        let hint = Some(who_generates(profiler.engines, &profiler.places));
        return Err(Error::Generation { why, hint });
    }
    if profiler.training.is_none() {
        return among(&profiler.engine);
    }
    if let EngineChoice::Named(id) = &profiler.engine {
        let choice = among(&profiler.engine)?;
        return match choice.engine.training() {
            Some(_) => Ok(choice),
            None => Err(Error::Training {
                why: format!("engine `{id}` cannot train"),
                hint: Some(who_trains(profiler.engines, &profiler.places)),
            }),
        };
    }
    match trainers(*engines).as_slice() {
        [] => Err(Error::Training { why: "no engine here can train".into(), hint: None }),
        trainers => engines.choose_among(trainers, *device, precision, places, fits),
    }
}

/// The engines that train.
fn trainers(engines: Engines) -> Vec<&'static dyn Engine> {
    engines.iter().filter(|engine| engine.training().is_some()).collect()
}

/// Engines that run such a model here, or how to get one that would.
pub(super) fn who_takes(
    profiler: &Profiler,
    precision: Precision,
    fits: &dyn Fn(Takes) -> bool,
) -> Option<String> {
    let Profiler { engines, device, places, .. } = profiler;
    let candidates = match profiler.training {
        Some(_) => trainers(*engines),
        None => engines.iter().collect(),
    };
    match engines.choose_among(&candidates, *device, precision, places, fits) {
        Ok(Choice { engine, .. }) => Some(format!("`--engine {}` runs it", engine.id())),
        Err(Error::NoEngine { instead, .. }) => instead.map(|instead| instead.to_string()),
        Err(_) => None,
    }
}

/// The engines here that train whatever graph there is; one that trains modules only may not have this model as one.
fn who_trains(engines: Engines, places: &Places) -> String {
    let trains = |engine: &&dyn Engine| {
        engine.training().is_some()
            && engine.takes() == Takes::Onnx
            && matches!(engine.availability(places), Availability::Available { .. })
    };
    let names: Vec<String> =
        engines.iter().filter(trains).map(|engine| format!("`--engine {}`", engine.id())).collect();
    format!("{} trains it", names.join(" or "))
}

/// The engines here that generate with a graph.
fn who_generates(engines: Engines, places: &Places) -> String {
    let generates = |engine: &&dyn Engine| {
        engine.generates()
            && engine.takes() == Takes::Onnx
            && matches!(engine.availability(places), Availability::Available { .. })
    };
    let names: Vec<String> = engines
        .iter()
        .filter(generates)
        .map(|engine| format!("`--engine {}`", engine.id()))
        .collect();
    format!("{} generates with it", names.join(" or "))
}

/// What the device that was asked for stands for, where it is the name of a family of devices.
pub(super) fn meant(asked: Device, Choice { engine, device }: Choice) -> Option<String> {
    let is_family = asked != Device::Auto && asked != device;
    is_family.then(|| format!("device `{asked}` means engine `{}` on its {device}", engine.id()))
}
