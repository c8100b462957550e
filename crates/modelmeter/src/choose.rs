//! Which engine runs on which device, and why.

use crate::{ENGINES, EngineChoice, Error};
use engine::{Availability, Engine, Places, Takes};
use types::{Device, Precision};

/// An engine and a device that go together.
#[derive(Clone, Copy)]
pub struct Choice {
    /// The engine.
    pub engine: &'static dyn Engine,
    /// The device; never `Auto`.
    pub device: Device,
}

/// Picks an engine and a device for what was asked; never something else than was asked.
///
/// # Errors
/// When the engine is unknown or not here, or nothing here can do what was asked; every engine says why.
pub fn choose(
    engine: &EngineChoice,
    device: Device,
    precision: Precision,
    places: &Places,
    fits: &dyn Fn(Takes) -> bool,
) -> Result<Choice, Error> {
    let candidates: Vec<&'static dyn Engine> = match engine {
        EngineChoice::Auto => ENGINES.to_vec(),
        EngineChoice::Named(id) => {
            let known = || ENGINES.iter().map(|engine| engine.id().to_owned()).collect();
            let found = ENGINES.iter().find(|engine| engine.id() == id.to_ascii_lowercase());
            let found =
                found.ok_or_else(|| Error::UnknownEngine { id: id.clone(), known: known() })?;
            vec![*found]
        }
    };
    let wishes = if device == Device::Auto { Device::PREFERENCE.to_vec() } else { vec![device] };
    for wish in wishes {
        // Who asks for OpenVINO means that engine first; another engine may have it inside.
        let mut candidates = candidates.clone();
        candidates.sort_by_key(|engine| wish == Device::Openvino && !is_openvino(*engine));
        for &engine in candidates.iter().filter(|engine| fits(engine.takes())) {
            let device = meant_by(wish, engine, places);
            if refusal(engine, device, precision, places).is_none() {
                return Ok(Choice { engine, device });
            }
        }
    }
    let why = candidates
        .iter()
        .map(|engine| {
            let wish = if device == Device::Auto { Device::Cpu } else { device };
            let wish = meant_by(wish, *engine, places);
            let unfit = (!fits(engine.takes())).then(|| engine.takes().refusal().to_owned());
            let why = unfit.or_else(|| refusal(*engine, wish, precision, places));
            (engine.id().to_owned(), why.unwrap_or_default())
        })
        .collect();
    let hint = what_runs(&candidates, device, precision, places, fits);
    Err(Error::NoEngine { device, precision, why, hint })
}

/// What would run instead, nearest to what was asked first: a package to install, the same on the processor, another
/// engine, another precision. Only what the engines themselves do not refuse is named.
fn what_runs(
    asked: &[&'static dyn Engine],
    device: Device,
    precision: Precision,
    places: &Places,
    fits: &dyn Fn(Takes) -> bool,
) -> Option<String> {
    let wish = if device == Device::Auto { Device::Cpu } else { device };
    let runs = |engine: &dyn Engine, device, precision| {
        let device = meant_by(device, engine, places);
        fits(engine.takes()) && refusal(engine, device, precision, places).is_none()
    };
    let fitting: Vec<_> = asked.iter().filter(|engine| fits(engine.takes())).collect();
    if let [engine] = fitting.as_slice()
        && let Availability::Unavailable { hint, .. } = engine.availability(places)
    {
        return Some(hint);
    }
    let named = asked.len() == 1;
    if wish != Device::Cpu && asked.iter().any(|engine| runs(*engine, Device::Cpu, precision)) {
        return Some("`--device cpu` runs now".into());
    }
    if let Some(other) = ENGINES.iter().find(|engine| named && runs(**engine, wish, precision)) {
        return Some(format!("`--engine {}` runs it", other.id()));
    }
    let other = Precision::ALL.into_iter().find(|other| {
        *other != precision && asked.iter().any(|engine| runs(*engine, wish, *other))
    });
    other.map(|other| format!("`--precision {other}` runs there"))
}

/// The device that a wish means to an engine: to the OpenVINO engine, `openvino` is the first device of its own.
pub(crate) fn meant_by(wish: Device, engine: &dyn Engine, places: &Places) -> Device {
    match wish {
        Device::Openvino if is_openvino(engine) => {
            engine.devices(places).first().copied().unwrap_or(Device::Cpu)
        }
        wish => wish,
    }
}

fn is_openvino(engine: &dyn Engine) -> bool {
    engine.id() == engine_openvino::OpenVino.id()
}

/// Why an engine cannot run this here; `None` when it can.
pub(crate) fn refusal(
    engine: &dyn Engine,
    device: Device,
    precision: Precision,
    places: &Places,
) -> Option<String> {
    if let Availability::Unavailable { why, .. } = engine.availability(places) {
        return Some(why);
    }
    let devices = engine.devices(places);
    if !devices.contains(&device) {
        if let Some(why) = engine.absence(places, device) {
            return Some(why);
        }
        let names: Vec<String> = devices.iter().map(Device::to_string).collect();
        return Some(format!("runs on {} only", names.join(", ")));
    }
    let precisions = engine.precisions(places, device);
    if !precisions.contains(&precision) {
        let names: Vec<&str> = precisions.iter().map(|precision| precision.name()).collect();
        return Some(format!("runs {} on {device}, not {precision}", names.join(", ")));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_takes_the_cpu_where_nothing_else_is() {
        let places = Places::default();
        let choice =
            choose(&EngineChoice::Auto, Device::Auto, Precision::Fp32, &places, &|_| true).unwrap();
        assert!(choice.engine.devices(&places).contains(&choice.device));
        assert_ne!(choice.device, Device::Auto);
    }

    #[test]
    fn what_cannot_be_had_is_refused_with_every_engines_reason() {
        let error = choose(
            &EngineChoice::Auto,
            Device::Webnn,
            Precision::Fp32,
            &Places::default(),
            &|_| true,
        )
        .err()
        .unwrap();
        let Error::NoEngine { why, .. } = error else { panic!("{error}") };
        assert_eq!(why.len(), ENGINES.len());
        assert!(why.iter().all(|(_, why)| !why.is_empty()));
    }

    #[test]
    fn an_engine_that_was_named_speaks_for_itself_only() {
        let rten = EngineChoice::Named("rten".into());
        let refused = |device, precision| {
            choose(&rten, device, precision, &Places::default(), &|_| true).err().unwrap()
        };
        // Another engine may run it there: beside a table in which one did, "no engine here" would be false.
        let error = refused(Device::Cuda(0), Precision::Fp32);
        let text = "engine `rten` cannot run fp32 on `cuda:0`: runs on cpu only";
        assert_eq!(error.to_string(), text);
        assert!(error.hint().unwrap().starts_with("`--device cpu` runs now"));
        let error = refused(Device::Cpu, Precision::Bf16);
        assert!(error.to_string().starts_with("engine `rten` cannot run bf16 on `cpu`"), "{error}");
        assert!(error.hint().unwrap().contains("`--precision fp32`"), "{:?}", error.hint());
    }

    #[test]
    fn an_engine_that_is_not_here_is_answered_with_how_to_get_it() {
        let torch = EngineChoice::Named("torch".into());
        let error = choose(&torch, Device::Auto, Precision::Fp32, &Places::default(), &|_| true);
        let hint = error.err().unwrap().hint().unwrap();
        assert!(hint.contains("--python") && !hint.contains("--precision"), "{hint}");
    }

    #[test]
    fn an_unknown_engine_is_named() {
        let wish = EngineChoice::Named("abacus".into());
        let error = choose(&wish, Device::Cpu, Precision::Fp32, &Places::default(), &|_| true)
            .err()
            .unwrap();
        assert!(error.to_string().contains("`abacus`"));
    }
}
