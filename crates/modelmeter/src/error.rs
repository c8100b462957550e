//! What can go wrong behind the door, with a hint each.

use crate::Instead;
use meter::MeterError;
use models::ModelError;
use plan::PlanError;
use std::path::PathBuf;
use store::StoreError;
use types::{Device, Mode, Precision};

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The model could not be had.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The measurement ended without a run.
    #[error(transparent)]
    Meter(#[from] MeterError),
    /// The database refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An engine is unknown.
    #[error("unknown engine `{id}`; known engines: {}", known.join(", "))]
    UnknownEngine {
        /// What was asked for.
        id: String,
        /// What there is.
        known: Vec<String>,
    },
    /// No engine here can do it, or the one that was asked for cannot.
    #[error("{}", nobody(*device, *precision, why))]
    NoEngine {
        /// The device asked for.
        device: Device,
        /// The precision asked for.
        precision: Precision,
        /// Each engine that was asked, and why it cannot.
        why: Vec<(String, String)>,
        /// What would run, found by asking the engines.
        instead: Option<Instead>,
    },
    /// Nothing here can measure what a device can do at best.
    #[error("the ceilings of `{device}` cannot be measured on this machine")]
    NoCalibration {
        /// The device asked for.
        device: Device,
        /// Each engine and why it cannot.
        why: Vec<(String, String)>,
    },
    /// A file of results cannot be read.
    #[error(transparent)]
    Exchange(#[from] exchange::Error),
    /// The sides cannot be compared.
    #[error(transparent)]
    Compare(#[from] analysis::CompareError),
    /// The side that the others were to be compared with dropped out.
    #[error("the baseline `{label}` could not be measured")]
    Baseline {
        /// Which one.
        label: String,
        /// Why, causes and all.
        why: String,
        /// Other sides that dropped out, and why.
        other_failures: Vec<(String, String)>,
        /// What to try.
        hint: Option<String>,
    },
    /// No side is called so.
    #[error("unknown side `{word}`; the sides are {}", known.join(", "))]
    UnknownBaseline {
        /// What was asked for.
        word: String,
        /// What there is.
        known: Vec<String>,
    },
    /// No layer is called so.
    #[error("no layer of this model matches `{name}`")]
    UnknownLayer {
        /// What was asked for.
        name: String,
        /// What resembles it.
        near: Vec<String>,
    },
    /// The engine does not take such a model.
    #[error("engine `{engine}` cannot run `{model}`: {why}")]
    NotForEngine {
        /// The engine.
        engine: String,
        /// The model.
        model: String,
        /// Why.
        why: String,
        /// What would run it, found by asking the engines.
        hint: Option<String>,
    },
    /// Nobody can hold the engine to a limit of memory.
    #[error("a memory limit cannot be enforced for engine `{engine}` on `{device}`")]
    Unlimited {
        /// The engine.
        engine: String,
        /// The device.
        device: Device,
        /// Engines that keep a limit, each with the GPUs it keeps it on.
        able: Vec<(String, String)>,
    },
    /// The model cannot be trained as asked.
    #[error("cannot train it: {why}")]
    Training {
        /// Why.
        why: String,
        /// What to try next.
        hint: Option<String>,
    },
    /// The model cannot generate as asked.
    #[error("cannot generate: {why}")]
    Generation {
        /// Why.
        why: String,
        /// What to try next.
        hint: Option<String>,
    },
    /// The inside of a training step cannot be shown as asked.
    #[error("cannot show {what} of a training step: {why}")]
    StepInside {
        /// What was asked for.
        what: String,
        /// Why it cannot be shown.
        why: String,
        /// What works.
        hint: String,
    },
    /// A plan is not one, or cannot be.
    #[error(transparent)]
    Plan(PlanError),
    /// Another machine cannot be had.
    #[error("`{address}` cannot be used: {why}")]
    Host {
        /// The machine.
        address: String,
        /// Why.
        why: String,
    },
    /// The stopping rule contradicts itself.
    #[error("{0}")]
    Rule(String),
    /// It is not known what a server is.
    #[error(transparent)]
    Endpoint(#[from] endpoint::InspectError),
    /// What a server takes cannot be made.
    #[error(transparent)]
    Body(#[from] endpoint::BodyError),
    /// A server cannot be reached.
    #[error("the load could not begin: {why}")]
    Unreachable {
        /// Why.
        why: String,
    },
    /// No stored run tells how long one request takes.
    #[error("no valid stored run of `{model}` tells how long one request takes")]
    NoServiceTimes {
        /// The model.
        model: String,
    },
    /// The generator of a load ended before its load did.
    #[error("the generator of the load failed: {why}")]
    Generator {
        /// Why.
        why: String,
    },
    /// The inputs alone are larger than the machine's memory.
    #[error("the inputs need {needed} bytes, this machine has {present}")]
    Memory {
        /// Bytes of all inputs.
        needed: u64,
        /// Bytes of memory.
        present: u64,
        /// What was to be measured.
        mode: Mode,
    },
    /// Other work took the machine away, so that nothing can be told.
    #[error("{why}")]
    TooBusy {
        /// How much was disturbed, and by what.
        why: String,
    },
    /// Nothing was measured yet.
    #[error("no run is stored yet")]
    NoRuns,
    /// A name that no stored run has.
    #[error("no stored run has the {what} `{name}`")]
    NotStored {
        /// What the name is of.
        what: &'static str,
        /// What was asked for.
        name: String,
        /// What resembles it, the nearest first.
        near: Vec<String>,
        /// What there is, where that is little.
        known: Vec<String>,
    },
    /// Hardware that is neither this machine, nor in the database, nor in the catalogue.
    #[error("unknown hardware `{name}`: it is neither in the database nor in the catalogue")]
    UnknownHardware {
        /// What was asked for.
        name: String,
        /// What resembles it, the nearest first.
        near: Vec<String>,
    },
    /// Prices that make no sense.
    #[error("`{}`, {error}", path.display())]
    Prices {
        /// The file.
        path: PathBuf,
        /// What is wrong, and on which line.
        error: analysis::PricesError,
    },
    /// There is no program that could be the worker.
    #[error(
        "no worker program was found: this program cannot be a worker, and `modelmeter` is not installed"
    )]
    NoWorker,
    /// The system has no home folder for this user.
    #[error("this user has no home folder, so there is no place for {what}")]
    NoFolder {
        /// What needed it.
        what: &'static str,
    },
    /// A file could not be read.
    #[error("could not read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The temporary folder did not take what is needed for a while.
    #[error("could not write {what}{} into the temporary folder `{}`", bytes_in_words(*needed), path.display())]
    Temporary {
        /// What was to be written.
        what: &'static str,
        /// The folder.
        path: PathBuf,
        /// Bytes that are needed there at least; 0 where nobody knows.
        needed: u64,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A file could not be written.
    #[error("could not write `{}`", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

impl Error {
    /// Whether memory ran out, the machine's or that of a limit.
    #[must_use]
    pub fn is_out_of_memory(&self) -> bool {
        match self {
            Error::Meter(error) => error.is_out_of_memory(),
            Error::Memory { .. } => true,
            _ => false,
        }
    }

    /// What to try next.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::Model(error) => error.hint(),
            Error::Meter(error) => error.hint(),
            Error::Store(error) => error.hint(),
            Error::UnknownEngine { id, known } => Some(plan::engine_hint(id, known)),
            Error::NoEngine { instead, .. } => Some(match instead {
                Some(hint) => format!("{hint}; `modelmeter devices` shows what works here"),
                None => "`modelmeter devices` shows what works here".into(),
            }),
            Error::NoCalibration { .. } => Some(
                "`modelmeter devices` shows what works here; `--device cpu` is measured without any engine".into(),
            ),
            Error::Memory { mode: Mode::Generate, .. } => Some(
                "use a smaller `--batch-sizes` or `--depth`: both decide the size of the cache".into(),
            ),
            Error::Memory { .. } => {
                Some("use a smaller `--batch-size`, `--sequence-length` or `--input`".into())
            }
            Error::NoWorker => Some(
                "call `modelmeter::serve_if_worker()` first in `main`, or install `modelmeter`"
                    .into(),
            ),
            Error::Endpoint(error) => Some(endpoint_hint(error)),
            Error::Body(_) => Some("`--protocol` names how the server is spoken to".into()),
            Error::NoServiceTimes { model } => Some(format!(
                "`modelmeter profile {model}` measures it; for a served model `modelmeter load ADDRESS`, one request at a time"
            )),
            Error::Unreachable { .. } => {
                Some("is the server running? `curl -v` the same address".into())
            }
            Error::NoFolder { .. } => Some("give `--cache` and `--db`, or set HOME".into()),
            Error::Compare(error) => error.hint().map(str::to_owned),
            Error::Exchange(_) => {
                Some("give a CSV of `analyze --output FILE.csv` or `db export FILE.csv`".into())
            }
            Error::Plan(error) => error.hint(),
            Error::Baseline { hint, .. }
            | Error::Training { hint, .. }
            | Error::Generation { hint, .. } => hint.clone(),
            Error::StepInside { hint, .. } => Some(hint.clone()),
            Error::UnknownLayer { near, .. } => {
                Some(format!("similar names: `{}`", near.join("`, `")))
            }
            Error::Host { address, .. } => Some(format!(
                "`ssh {address} modelmeter --version` must answer without a password; `--host-program` sets its path \
                 there"
            )),
            Error::Unlimited { able, .. } => {
                let able = able.iter().map(|(id, on)| format!("; `{id}` can be limited on {on}"));
                Some(format!("`--device cpu` can be limited{}", able.collect::<String>()))
            }
            Error::NotForEngine { hint, .. } => hint.clone(),
            Error::TooBusy { .. } => Some("stop other programs and measure again".into()),
            Error::NoRuns => Some("`modelmeter profile MODEL` makes one".into()),
            Error::NotStored { near, .. } if !near.is_empty() => {
                Some(format!("did you mean `{}`?", near.join("`, `")))
            }
            Error::NotStored { known, .. } if !known.is_empty() => {
                Some(format!("known: `{}`", known.join("`, `")))
            }
            Error::NotStored { .. } => Some("`modelmeter db status` shows what is stored".into()),
            Error::UnknownHardware { near, .. } if near.is_empty() => Some(
                "`modelmeter predict --catalogue` lists hardware; `--hardware FILE` adds your own".into(),
            ),
            Error::UnknownHardware { near, .. } => {
                Some(format!("did you mean `{}`?", near.join("`, `")))
            }
            Error::Prices { error, .. } => Some(error.hint()),
            Error::Temporary { .. } => {
                Some("free some space there, or set `TMPDIR` to a folder on another disk".into())
            }
            Error::UnknownBaseline { .. }
            | Error::Rule(_)
            | Error::Generator { .. }
            | Error::Read { .. }
            | Error::Write { .. } => None,
        }
    }
}

fn bytes_in_words(bytes: u64) -> String {
    if bytes == 0 { String::new() } else { format!(", {bytes} bytes,") }
}

/// What to try where it is not known what a server is.
fn endpoint_hint(error: &endpoint::InspectError) -> String {
    use endpoint::InspectError as Why;
    match error {
        Why::Fetch(_) => "is the server running? `curl -v` the same address".into(),
        Why::Unknown { .. } => {
            "name the protocol, such as `--protocol http --body FILE`, or the whole path, such as `/v1/chat/completions`"
                .into()
        }
        Why::SeveralModels(models) => format!(
            "name one: `--served-model {}`",
            models.first().map_or("NAME", String::as_str)
        ),
        Why::NoModel => "`--served-model NAME`".into(),
        Why::Model { .. } => "`--served-model` names a model that the server has loaded".into(),
    }
}

/// One engine that was asked for says for itself why it cannot; of several nobody can.
fn nobody(device: Device, precision: Precision, why: &[(String, String)]) -> String {
    let format = match precision {
        Precision::Stored => "the model as it is stored".to_owned(),
        precision => precision.to_string(),
    };
    let what = match device {
        Device::Auto => format,
        device => format!("{format} on `{device}`"),
    };
    match why {
        [(engine, why)] => format!("engine `{engine}` cannot run {what}: {why}"),
        _ => format!("no engine here can run {what}"),
    }
}

impl From<PlanError> for Error {
    fn from(error: PlanError) -> Error {
        match error {
            PlanError::Store(error) => Error::Store(error),
            PlanError::UnknownEngine { id, known } => Error::UnknownEngine { id, known },
            PlanError::Rule(text) => Error::Rule(text),
            wrong @ PlanError::Wrong { .. } => Error::Plan(wrong),
        }
    }
}

/// An error with its causes in one line, whatever it is.
pub(crate) fn spell_error(error: &Error) -> String {
    let mut words = vec![error.to_string()];
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        words.push(error.to_string());
        cause = error.source();
    }
    words.dedup();
    words.join(": ")
}

/// An error with its causes in one line.
pub(crate) fn spell(error: &MeterError) -> String {
    let causes = error.causes();
    std::iter::once(error.to_string()).chain(causes).collect::<Vec<_>>().join(": ")
}
