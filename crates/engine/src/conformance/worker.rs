//! What the runner relies on, asked through the protocol.

use super::{is_close, profile};
use crate::{
    Detail, EngineErrorKind, LoadJob, PROTOCOL, Reply, Request, read_message, read_tensors,
    write_message,
};
use std::{
    io::{BufRead, Write},
    path::Path,
    time::Duration,
};
use types::{Device, ElementType, Fill, InputRole, InputSpec, Phase};

/// A worker that was just started.
pub struct Conversation {
    /// What it answers.
    pub reader: Box<dyn BufRead>,
    /// What it is asked.
    pub writer: Box<dyn Write>,
}

impl Conversation {
    fn ask(&mut self, request: &Request) -> Option<Reply> {
        write_message(&mut self.writer, request).ok()?;
        self.hear()
    }

    fn hear(&mut self) -> Option<Reply> {
        read_message(&mut self.reader).ok().flatten()
    }
}

/// What a worker is examined with.
pub struct WorkerSubject<'a> {
    /// Starts a fresh worker; it has not greeted yet.
    pub start: &'a dyn Fn() -> Conversation,
    /// A job it can do on the cpu.
    pub job: LoadJob,
    /// What must come out of the output with this name.
    pub expected: (&'a str, Vec<f32>),
    /// How far an element may be off.
    pub tolerance: f32,
    /// Jobs whose model is missing or damaged.
    pub bad_models: Vec<LoadJob>,
    /// A device it cannot use here.
    pub absent: Device,
    /// A folder for files.
    pub folder: &'a Path,
}

/// Examines a worker; returns every rule it breaks, so one run shows them all.
#[must_use]
pub fn check_worker(subject: &WorkerSubject<'_>) -> Vec<String> {
    let mut broken = Vec::new();
    let mut rule = |holds: bool, text: &str| {
        if !holds {
            broken.push(format!("{}: {text}", subject.job.engine));
        }
    };
    check_order(subject, &mut rule);
    check_refusals(subject, &mut rule);
    check_work(subject, &mut rule);
    broken
}

fn greeted(subject: &WorkerSubject<'_>) -> Option<Conversation> {
    let mut talk = (subject.start)();
    match talk.hear() {
        Some(Reply::Hello(hello)) if hello.protocol == PROTOCOL && hello.pid != 0 => Some(talk),
        _ => None,
    }
}

fn check_order(subject: &WorkerSubject<'_>, rule: &mut impl FnMut(bool, &str)) {
    let Some(mut talk) = greeted(subject) else {
        return rule(false, "greets first, with the protocol and its process");
    };
    let early = talk.ask(&Request::First);
    rule(
        matches!(early, Some(Reply::Failed(_))),
        "cannot run before a model is loaded, and says so",
    );
    let _ = write_message(&mut talk.writer, &Request::Bye);
    rule(talk.hear().is_none(), "ends its stream after `bye`");
}

fn check_refusals(subject: &WorkerSubject<'_>, rule: &mut impl FnMut(bool, &str)) {
    let kind_of = |job: LoadJob| {
        let reply = greeted(subject)?.ask(&Request::Load(Box::new(job)));
        match reply {
            Some(Reply::Failed(failure)) => Some(failure.kind),
            _ => None,
        }
    };
    for job in &subject.bad_models {
        let kind = kind_of(job.clone());
        let text = "a missing or damaged file is a bad model";
        rule(kind == Some(EngineErrorKind::BadModel), &format!("{text}, not {kind:?}"));
    }
    let mut elsewhere = subject.job.clone();
    elsewhere.request.device = subject.absent;
    rule(
        kind_of(elsewhere) == Some(EngineErrorKind::Unsupported),
        "a device it does not have is refused, never replaced",
    );
    let mut strange = subject.job.clone();
    strange.inputs_file = None;
    strange.inputs.push(InputSpec {
        name: "nobody".into(),
        dtype: ElementType::F32,
        dims: vec![1],
        role: InputRole::Other,
        fill: Fill::Constant { value: 0.0 },
    });
    if subject.job.inputs_file.is_none() {
        rule(
            kind_of(strange) == Some(EngineErrorKind::BadInput),
            "an input that the model does not have is a bad input",
        );
    }
}

fn check_work(subject: &WorkerSubject<'_>, rule: &mut impl FnMut(bool, &str)) {
    let Some(mut talk) = greeted(subject) else { return rule(false, "greets") };
    let loaded = match talk.ask(&Request::Load(Box::new(subject.job.clone()))) {
        Some(Reply::Loaded(report)) => report,
        other => return rule(false, &format!("loads the model ({other:?})")),
    };
    rule(!loaded.version.is_empty(), "tells its version");
    rule(loaded.placement.contains("cpu"), "says that it runs on the cpu");
    rule(loaded.load > Duration::ZERO, "times the loading");
    rule(!loaded.signature.outputs.is_empty(), "its signature lists the outputs");
    match talk.ask(&Request::First) {
        Some(Reply::First(first)) => {
            rule(first.inference > Duration::ZERO, "times the first inference");
            let named = first.outputs.iter().any(|(name, _)| name == subject.expected.0);
            rule(named, "names the outputs of the first inference");
            rule(first.non_finite.is_empty(), "sees that all outputs are finite");
        }
        other => return rule(false, &format!("runs the first inference ({other:?})")),
    }
    match talk.ask(&Request::Run { count: 3, budget: Duration::from_secs(60) }) {
        Some(Reply::Window(window)) => {
            let inference = window.samples.iter().find(|s| s.phase == Phase::Inference);
            rule(inference.is_some_and(|s| s.nanos.len() == 3), "takes exactly the samples asked");
            let timed = inference.is_some_and(|s| s.nanos.iter().all(|&nanos| nanos > 0));
            rule(timed, "no sample takes no time");
        }
        other => return rule(false, &format!("takes samples ({other:?})")),
    }
    match talk.ask(&Request::Run { count: u64::MAX, budget: Duration::from_millis(1) }) {
        Some(Reply::Window(window)) => {
            rule(window.samples.iter().all(|s| !s.nanos.is_empty()), "takes at least one sample");
        }
        other => return rule(false, &format!("stops at the budget ({other:?})")),
    }
    for round in ["first", "second"] {
        let path = subject.folder.join(format!("{}-{round}.safetensors", subject.job.engine));
        let reply = talk.ask(&Request::Outputs { path: path.clone(), inside: false });
        if reply != Some(Reply::Written) {
            return rule(false, &format!("writes its outputs ({reply:?})"));
        }
        let (name, values) = &subject.expected;
        let tensors = read_tensors(&path).unwrap_or_default();
        let output = tensors.iter().find(|tensor| tensor.name == *name);
        let close = output.is_some_and(|t| is_close(&t.elements, values, subject.tolerance));
        rule(close, &format!("the {round} output is the expected one"));
    }
    for detail in [Detail::Times, Detail::Timeline] {
        match talk.ask(&Request::Profile { count: 2, detail }) {
            Some(Reply::Profiled { profile: Some(found) }) => {
                profile::check(&found, 2, detail, rule);
                let sum: u64 = found.nodes.iter().map(|node| node.nanos).sum();
                rule(sum > 0, "the nodes of a profile take time");
            }
            Some(Reply::Profiled { profile: None }) => {}
            other => rule(false, &format!("answers when asked for a profile ({other:?})")),
        }
    }
    match talk.ask(&Request::Run { count: 1, budget: Duration::from_secs(60) }) {
        Some(Reply::Window(_)) => {}
        other => rule(false, &format!("takes samples after a profile ({other:?})")),
    }
    let _ = write_message(&mut talk.writer, &Request::Bye);
    rule(talk.hear().is_none(), "ends its stream after `bye`");
}
