//! One suite for every engine: what the runner relies on, checked.
//!
//! [`check`] examines an engine that our own worker loads, type by type. [`check_worker`] examines any worker through
//! the protocol alone, so that a program in another language is held to the same rules. A new engine's test hands in
//! a small model it can run and inputs for it.

mod generator;
mod profile;
mod worker;

pub use generator::{GeneratorSubject, check_generator};
pub use worker::{Conversation, WorkerSubject, check_worker};

use crate::{
    Availability, Detail, Engine, EngineErrorKind, Host, LoadRequest, Loader, Places, Session,
};
use std::path::Path;
use types::{Device, Elements, HostTensor, Precision};

/// What an engine is examined with.
pub struct Subject<'a> {
    /// The engine.
    pub engine: &'a dyn Engine,
    /// Where it is looked for.
    pub places: Places,
    /// The device on which it is examined.
    pub device: Device,
    /// A model it can run.
    pub onnx: &'a Path,
    /// Inputs that fit.
    pub inputs: Vec<HostTensor>,
    /// What must come out of the first output, for exactly those inputs.
    pub expected: Vec<f32>,
    /// How far an element may be off.
    pub tolerance: f32,
    /// A file that is no model; `None` for an engine that reads no files.
    pub corrupt: Option<&'a Path>,
}

/// Examines an engine; returns every rule it breaks, so one run shows them all.
#[must_use]
pub fn check(subject: &Subject<'_>) -> Vec<String> {
    let mut broken = Vec::new();
    let mut rule = |holds: bool, text: &str| {
        if !holds {
            broken.push(format!("{}: {text}", subject.engine.id()));
        }
    };
    let engine = subject.engine;

    rule(
        !engine.id().is_empty() && engine.id().chars().all(|c| c.is_ascii_lowercase() || c == '-'),
        "the id is lower-case letters and dashes",
    );
    let places = &subject.places;
    rule(
        matches!(engine.availability(places), Availability::Available { version } if !version.is_empty()),
        "is available and tells its version",
    );
    let devices = engine.devices(places);
    rule(devices.contains(&subject.device), "lists its device");
    rule(!devices.contains(&Device::Auto), "never lists `auto` as a device");
    let precisions = engine.precisions(places, subject.device);
    rule(precisions.contains(&Precision::Fp32), "runs fp32 on its device");

    let Host::Worker(loader) = engine.host() else {
        broken.push(format!("{}: is loaded by our own worker", engine.id()));
        return broken;
    };
    let mut request = LoadRequest::of_onnx(subject.onnx, subject.device, Precision::Fp32, 1);
    request.places.clone_from(places);
    let dims = subject.inputs.iter().map(|input| (input.name.clone(), input.dims.clone()));
    request.input_dims = dims.collect();
    check_refusals(subject, loader, &request, &mut rule);
    check_inference(subject, loader, &request, &mut rule);
    broken
}

fn check_refusals(
    subject: &Subject<'_>,
    loader: &dyn Loader,
    good: &LoadRequest,
    rule: &mut impl FnMut(bool, &str),
) {
    let kind_of = |request: &LoadRequest| loader.load(request).err().map(|error| error.kind);
    let missing = LoadRequest { onnx: good.onnx.with_extension("missing.onnx"), ..good.clone() };
    rule(kind_of(&missing) == Some(EngineErrorKind::BadModel), "a missing file is a bad model");
    if let Some(corrupt) = subject.corrupt {
        let corrupt = LoadRequest { onnx: corrupt.to_owned(), ..good.clone() };
        rule(kind_of(&corrupt) == Some(EngineErrorKind::BadModel), "a corrupt file is a bad model");
    }
    for device in [Device::Cuda(0), Device::Rocm(0), Device::Mps] {
        if !subject.engine.devices(&subject.places).contains(&device) {
            let elsewhere = LoadRequest { device, ..good.clone() };
            rule(
                kind_of(&elsewhere) == Some(EngineErrorKind::Unsupported),
                "a device it does not list is refused, never replaced",
            );
        }
    }
}

fn check_inference(
    subject: &Subject<'_>,
    loader: &dyn Loader,
    request: &LoadRequest,
    rule: &mut impl FnMut(bool, &str),
) {
    let model = match loader.load(request) {
        Ok(model) => model,
        Err(error) => return rule(false, &format!("loads the model ({error})")),
    };
    let device = subject.device.to_string();
    rule(model.placement().contains(&device), "says that it runs on its device");
    let signature = model.signature();
    rule(
        subject.inputs.iter().all(|i| signature.inputs.iter().any(|s| s.name == i.name)),
        "its signature lists every input",
    );
    rule(!signature.outputs.is_empty(), "its signature lists the outputs");

    let mut session = match model.session() {
        Ok(session) => session,
        Err(error) => return rule(false, &format!("makes a session ({error})")),
    };
    rule(session.outputs().is_err(), "has no outputs before the first inference");
    let stranger =
        HostTensor { name: "nobody".into(), dims: vec![1], elements: Elements::F32(vec![0.0]) };
    rule(
        session.bind(&[stranger]).err().map(|error| error.kind) == Some(EngineErrorKind::BadInput),
        "an input that the model does not have is a bad input",
    );
    rule(session.bind(&subject.inputs).is_ok(), "binds the right inputs after refusing wrong ones");
    for round in ["first", "second", "third"] {
        if round == "third" && !check_profiles(&mut *session, rule) {
            break;
        }
        if let Err(error) = session.infer() {
            return rule(false, &format!("infers a {round} time ({error})"));
        }
        let close = session.outputs().is_ok_and(|outputs| {
            outputs
                .first()
                .map(|output| output.to_host().elements)
                .is_some_and(|elements| is_close(&elements, &subject.expected, subject.tolerance))
        });
        rule(close, &format!("the {round} output is the expected one"));
    }
    let names_fit = session.outputs().is_ok_and(|outputs| {
        outputs.iter().all(|o| signature.outputs.iter().any(|s| s.name == o.name))
    });
    rule(names_fit, "outputs carry the names of the signature");
    rule(model.session().is_ok(), "can make a second session");
}

/// Whether there is an inference to be made after it.
fn check_profiles(session: &mut dyn Session, rule: &mut impl FnMut(bool, &str)) -> bool {
    let Some(profiler) = session.node_profiler() else { return false };
    for detail in [Detail::Times, Detail::Timeline] {
        match profiler.profile(3, detail) {
            Ok(found) => profile::check(&found, 3, detail, rule),
            Err(error) => rule(false, &format!("profiles ({error})")),
        }
    }
    true
}

pub(crate) fn is_close(elements: &Elements, expected: &[f32], tolerance: f32) -> bool {
    let Elements::F32(values) = elements else { return false };
    values.len() == expected.len()
        && values.iter().zip(expected).all(|(a, b)| (a - b).abs() <= tolerance)
}
