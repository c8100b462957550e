//! Which engine runs on which device, and why.

use crate::{EngineChoice, Engines, Error};
use engine::{Availability, Engine, Places, Takes};
use std::fmt::{Display, Formatter};
use types::{Device, Precision};

/// An engine and a device that go together.
#[derive(Clone, Copy)]
pub struct Choice {
    /// The engine.
    pub engine: &'static dyn Engine,
    /// The device; never `Auto`.
    pub device: Device,
}

/// What would run where what was asked for does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Instead {
    /// The engine, once it is here; how to get it.
    Install(String),
    /// The same on the processor.
    Cpu,
    /// Another engine.
    Engine(&'static str),
    /// Another precision.
    Precision(Precision),
}

impl Display for Instead {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Instead::Install(how) => f.write_str(how),
            Instead::Cpu => f.write_str("`--device cpu` works here"),
            Instead::Engine(id) => write!(f, "`--engine {id}` runs it"),
            Instead::Precision(other) => write!(f, "`--precision {other}` runs there"),
        }
    }
}

impl Engines {
    /// Picks an engine and a device for what was asked; never something else than was asked.
    ///
    /// # Errors
    /// When the engine is unknown or not here, or nothing here can do what was asked; every engine says why.
    pub fn choose(
        self,
        engine: &EngineChoice,
        device: Device,
        precision: Precision,
        places: &Places,
        fits: &dyn Fn(Takes) -> bool,
    ) -> Result<Choice, Error> {
        match engine {
            EngineChoice::Auto => {
                let candidates: Vec<_> = self.iter().collect();
                self.choose_among(&candidates, device, precision, places, fits)
            }
            EngineChoice::Named(id) => {
                let engine = self.require(id)?;
                // A named engine may have none of those that are preferred.
                let mut wishes = wishes(device);
                if device == Device::Auto {
                    wishes.extend(engine.devices(places));
                }
                self.first_of(&[engine], device, &wishes, precision, places, fits)
            }
        }
    }

    /// Picks one of these engines and a device: on the best device that any of them can use, the first that can.
    ///
    /// # Errors
    /// When none of them can do what was asked; every one says why.
    pub fn choose_among(
        self,
        candidates: &[&'static dyn Engine],
        device: Device,
        precision: Precision,
        places: &Places,
        fits: &dyn Fn(Takes) -> bool,
    ) -> Result<Choice, Error> {
        self.first_of(candidates, device, &wishes(device), precision, places, fits)
    }

    fn first_of(
        self,
        candidates: &[&'static dyn Engine],
        device: Device,
        wishes: &[Device],
        precision: Precision,
        places: &Places,
        fits: &dyn Fn(Takes) -> bool,
    ) -> Result<Choice, Error> {
        for &wish in wishes {
            // The name of a family of devices means the engine of that family first; another may have it inside.
            let mut candidates = candidates.to_vec();
            candidates.sort_by_key(|engine| engine.device_meant_by(places, wish).is_none());
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
        let instead = what_runs(self, candidates, device, precision, places, fits);
        Err(Error::NoEngine { device, precision, why, instead })
    }
}

/// The devices to try, the best first.
fn wishes(device: Device) -> Vec<Device> {
    if device == Device::Auto { Device::PREFERENCE.to_vec() } else { vec![device] }
}

/// What would run instead, nearest to what was asked first: a package to install, the same on the processor, another
/// engine, another precision. Only what the engines themselves do not refuse is named.
fn what_runs(
    engines: Engines,
    asked: &[&'static dyn Engine],
    device: Device,
    precision: Precision,
    places: &Places,
    fits: &dyn Fn(Takes) -> bool,
) -> Option<Instead> {
    let wish = if device == Device::Auto { Device::Cpu } else { device };
    let runs = |engine: &dyn Engine, device, precision| {
        let device = meant_by(device, engine, places);
        fits(engine.takes()) && refusal(engine, device, precision, places).is_none()
    };
    let fitting: Vec<_> = asked.iter().filter(|engine| fits(engine.takes())).collect();
    if let [engine] = fitting.as_slice()
        && let Availability::Unavailable { hint, .. } = engine.availability(places)
    {
        return Some(Instead::Install(hint));
    }
    let named = asked.len() == 1;
    if wish != Device::Cpu && asked.iter().any(|engine| runs(*engine, Device::Cpu, precision)) {
        return Some(Instead::Cpu);
    }
    if let Some(other) = engines.iter().find(|engine| named && runs(*engine, wish, precision)) {
        return Some(Instead::Engine(other.id()));
    }
    let other = Precision::ALL.into_iter().find(|other| {
        *other != precision && asked.iter().any(|engine| runs(*engine, wish, *other))
    });
    other.map(Instead::Precision)
}

/// Whether an engine has a device that `auto` would choose: others are used only where they are named.
#[must_use]
pub fn has_usual_device(engine: &dyn Engine, places: &Places) -> bool {
    engine.devices(places).iter().any(|device| Device::PREFERENCE.contains(device))
}

/// The device that a wish means to an engine: the name of a family of devices is one of its own to the family's engine.
pub(crate) fn meant_by(wish: Device, engine: &dyn Engine, places: &Places) -> Device {
    engine.device_meant_by(places, wish).unwrap_or(wish)
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
    use crate::ENGINES;
    use engine::{FakeEngine, Host};

    const CUDA: Device = Device::Cuda(0);

    /// An engine that says it has these devices.
    struct Claims {
        id: &'static str,
        devices: Vec<Device>,
        script: FakeEngine,
    }

    impl Engine for Claims {
        fn id(&self) -> &'static str {
            self.id
        }

        fn describe(&self) -> &'static str {
            "claims devices"
        }

        fn availability(&self, places: &Places) -> Availability {
            self.script.availability(places)
        }

        fn devices(&self, _places: &Places) -> Vec<Device> {
            self.devices.clone()
        }

        fn precisions(&self, places: &Places, device: Device) -> Vec<Precision> {
            self.script.precisions(places, device)
        }

        fn host(&self) -> Host<'_> {
            self.script.host()
        }
    }

    fn claims(id: &'static str, devices: &[Device]) -> &'static dyn Engine {
        let script: FakeEngine = "1ms".parse().unwrap();
        Box::leak(Box::new(Claims { id, devices: devices.to_vec(), script }))
    }

    #[test]
    fn the_best_device_counts_before_the_order_of_engines() {
        let (processor, gpu) = (claims("a", &[Device::Cpu]), claims("b", &[Device::Cpu, CUDA]));
        let engines = Engines::of(vec![processor, gpu].leak());
        let among = |candidates: &[&'static dyn Engine], device| {
            let places = Places::default();
            engines.choose_among(candidates, device, Precision::Fp32, &places, &|_| true)
        };
        let chosen = among(&[processor, gpu], Device::Auto).unwrap();
        assert_eq!((chosen.engine.id(), chosen.device), ("b", CUDA));
        let chosen = among(&[processor, gpu], Device::Cpu).unwrap();
        assert_eq!((chosen.engine.id(), chosen.device), ("a", Device::Cpu));
        // Every one of those that were asked says why, and no other.
        let Error::NoEngine { why, .. } = among(&[processor, gpu], Device::Mps).err().unwrap()
        else {
            panic!("nothing has such a device")
        };
        let expected = [("a", "runs on cpu only"), ("b", "runs on cpu, cuda:0 only")];
        assert_eq!(why, expected.map(|(id, why)| (id.to_owned(), why.to_owned())));
        assert!(among(&[processor], CUDA).is_err(), "the other was not asked");
    }

    fn choose(
        engine: &EngineChoice,
        device: Device,
        precision: Precision,
    ) -> Result<Choice, Error> {
        Engines::default().choose(engine, device, precision, &Places::default(), &|_| true)
    }

    #[test]
    fn auto_takes_the_cpu_where_nothing_else_is() {
        let places = Places::default();
        let choice = choose(&EngineChoice::Auto, Device::Auto, Precision::Fp32).unwrap();
        assert!(choice.engine.devices(&places).contains(&choice.device));
        assert_ne!(choice.device, Device::Auto);
    }

    #[test]
    fn what_cannot_be_had_is_refused_with_every_engines_reason() {
        let error = choose(&EngineChoice::Auto, Device::Webnn, Precision::Fp32).err().unwrap();
        let Error::NoEngine { why, .. } = error else { panic!("{error}") };
        assert_eq!(why.len(), ENGINES.len());
        assert!(why.iter().all(|(_, why)| !why.is_empty()));
    }

    #[test]
    fn an_engine_that_was_named_speaks_for_itself_only() {
        let rten = EngineChoice::Named("rten".into());
        let refused = |device, precision| choose(&rten, device, precision).err().unwrap();
        // Another engine may run it there: beside a table in which one did, "no engine here" would be false.
        let error = refused(Device::Cuda(0), Precision::Fp32);
        let text = "engine `rten` cannot run fp32 on `cuda:0`: runs on cpu only";
        assert_eq!(error.to_string(), text);
        assert!(error.hint().unwrap().starts_with("`--device cpu` works here"));
        let error = refused(Device::Cpu, Precision::Bf16);
        assert!(error.to_string().starts_with("engine `rten` cannot run bf16 on `cpu`"), "{error}");
        assert!(error.hint().unwrap().contains("`--precision fp32`"), "{:?}", error.hint());
    }

    #[test]
    fn an_engine_that_is_not_here_is_answered_with_how_to_get_it() {
        let torch = EngineChoice::Named("torch".into());
        let error = choose(&torch, Device::Auto, Precision::Fp32);
        let hint = error.err().unwrap().hint().unwrap();
        assert!(hint.contains("--python") && !hint.contains("--precision"), "{hint}");
    }

    #[test]
    fn an_unknown_engine_is_named() {
        let wish = EngineChoice::Named("abacus".into());
        let error = choose(&wish, Device::Cpu, Precision::Fp32).err().unwrap();
        assert!(error.to_string().contains("`abacus`"));
    }
}
