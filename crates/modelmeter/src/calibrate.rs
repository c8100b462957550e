//! Asks what a device can do at best: the processors by our own kernels, others through an engine that computes on them.

use crate::{Engines, Error, Isolation, Session, worker};
use engine::{Availability, Engine, Places, Reply, Request};
use hardware::Scope;
use meter::{Link, MeterError};
use std::time::Duration;
use types::{Ceilings, Device, Event, Stage};

/// What becomes of ceilings that were measured earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Keep {
    /// Of each number the higher one stays: a busy machine measures too little, never too much.
    #[default]
    Higher,
    /// The new ones take their place.
    Newer,
}

/// A finished calibration.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// What was measured now.
    pub measured: Ceilings,
    /// What stands after it: of each number the higher one, unless told otherwise.
    pub standing: Ceilings,
}

/// Ceilings to be measured.
///
/// ```standalone_crate
/// use modelmeter::{Calibrator, Precision, Session};
///
/// fn main() -> Result<(), modelmeter::Error> {
///     let mut session = Session::without_store();
///     let found = Calibrator::new().threads(1).calibrate_in(&mut session, &mut |_| {})?;
///     let fp32 = found.standing.flops_at(Precision::Fp32).expect("every processor has some");
///     println!("{:.0} GFLOP/s", fp32.value / 1e9);
///     Ok(())
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Calibrator {
    device: Device,
    threads: Option<u32>,
    keep: Keep,
    engines: Engines,
    places: Places,
    timeout: Duration,
}

impl Default for Calibrator {
    fn default() -> Calibrator {
        Calibrator::new()
    }
}

impl Calibrator {
    /// The processors, with a thread for each physical core.
    #[must_use]
    pub fn new() -> Calibrator {
        Calibrator {
            device: Device::Cpu,
            threads: None,
            keep: Keep::Higher,
            engines: Engines::default(),
            places: Places::default(),
            timeout: Duration::from_secs(600),
        }
    }

    /// Another device.
    #[must_use]
    pub fn device(mut self, device: Device) -> Calibrator {
        self.device = device;
        self
    }

    /// So many threads, where the device is the processor; the physical cores unless said.
    #[must_use]
    pub fn threads(mut self, threads: u32) -> Calibrator {
        self.threads = Some(threads);
        self
    }

    /// What becomes of what was measured earlier.
    #[must_use]
    pub fn keep(mut self, keep: Keep) -> Calibrator {
        self.keep = keep;
        self
    }

    /// Asks one of these engines instead of all that this build has.
    #[must_use]
    pub fn engines(mut self, engines: Engines) -> Calibrator {
        self.engines = engines;
        self
    }

    /// Looks for engines here.
    #[must_use]
    pub fn places(mut self, places: Places) -> Calibrator {
        self.places = places;
        self
    }

    /// The longest a worker may stay silent.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Calibrator {
        self.timeout = timeout;
        self
    }

    /// Measures in a session of yours, which may remember; `sink` hears what goes on.
    ///
    /// # Errors
    /// When nothing here can measure the device, the worker fails, or the database does.
    pub fn calibrate_in(
        &self,
        session: &mut Session,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Calibration, Error> {
        let device = self.bounding_device()?;
        let threads = session.counted_threads(device, self.wanted_threads()?);
        let measured = match device {
            Device::Cpu => processors(threads, Scope::All, "this machine's ceilings", sink),
            _ => self.through_an_engine(device, sink)?,
        };
        let standing = session.keep_ceilings(&measured, self.keep);
        Ok(Calibration { measured, standing })
    }

    /// What was measured earlier, without measuring.
    ///
    /// # Errors
    /// When the device can have no ceilings, or the database cannot be read.
    pub fn known_in(&self, session: &mut Session) -> Result<Option<Ceilings>, Error> {
        session.known_ceilings(self.bounding_device()?, self.wanted_threads()?)
    }

    /// The device whose hardware is measured: `auto` is the processor, `tensorrt` the GPU beneath it.
    fn bounding_device(&self) -> Result<Device, Error> {
        let device = if self.device == Device::Auto { Device::Cpu } else { self.device };
        device.bounded_by().ok_or_else(|| {
            let why = "its hardware is unknown".to_owned();
            Error::NoCalibration { device, why: vec![(device.to_string(), why)] }
        })
    }

    fn wanted_threads(&self) -> Result<u32, Error> {
        match self.threads {
            Some(0) => Err(Error::Rule("the number of threads must be at least 1".into())),
            Some(threads) => Ok(threads),
            None => Ok(hardware::default_threads()),
        }
    }

    /// The first engine that computes on the device and knows how to measure it.
    fn through_an_engine(
        &self,
        device: Device,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Ceilings, Error> {
        let mut why = Vec::new();
        for engine in self.engines.iter().filter(|engine| engine.calibrates()) {
            match self.refusal(engine, device) {
                Some(reason) => why.push((engine.id().to_owned(), reason)),
                None => return self.ask(engine, device, sink),
            }
        }
        Err(Error::NoCalibration { device, why })
    }

    fn refusal(&self, engine: &dyn Engine, device: Device) -> Option<String> {
        if let Availability::Unavailable { why, .. } = engine.availability(&self.places) {
            return Some(why);
        }
        if engine.devices(&self.places).contains(&device) {
            return None;
        }
        let absence = engine.absence(&self.places, device);
        Some(absence.unwrap_or_else(|| format!("does not run on `{device}`")))
    }

    fn ask(
        &self,
        engine: &dyn Engine,
        device: Device,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Ceilings, Error> {
        let launch = worker::launch(Isolation::Process, self.engines, engine, &self.places)?;
        sink(Event::stage(Stage::Start));
        let mut link = Link::open(&launch, self.timeout)?;
        sink(Event::stage(Stage::Calibrate));
        let doing = "measure the ceilings of the device";
        let ceilings = match link.ask(&Request::Calibrate { device, threads: 0 }, doing)? {
            Reply::Calibrated { ceilings } if ceilings.device == device => *ceilings,
            other => {
                let said = format!("{other:?}").chars().take(200).collect();
                return Err(MeterError::Protocol { doing, said }.into());
            }
        };
        link.close();
        Ok(ceilings)
    }
}

/// Measures the processors and tells how far it is.
pub(crate) fn processors(
    threads: u32,
    scope: Scope,
    note: &str,
    sink: &mut dyn FnMut(Event),
) -> Ceilings {
    let stage = Stage::Calibrate;
    sink(Event::stage(stage));
    hardware::ceilings(threads, scope, &mut |done, total| {
        sink(Event::progress(stage, done, Some(total), note));
    })
}
