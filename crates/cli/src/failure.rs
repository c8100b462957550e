//! One renderer for everything that goes wrong: what happened, why, what to try next.

use crate::Exit;
use engine::EngineErrorKind;
use meter::MeterError;
use modelmeter::{Error, PlanError};
use models::ModelError;
use report::clean;
use store::StoreError;

/// Something that ends the command.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    message: String,
    causes: Vec<String>,
    /// Lines of a small table between causes and hint: name and reason.
    details: Vec<(String, String)>,
    hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Failure {
        let message = message.into();
        Failure { exit, message, causes: Vec::new(), details: Vec::new(), hint: None }
    }

    /// What happened, without the reasons.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn cause(mut self, cause: impl Into<String>) -> Failure {
        self.causes.push(cause.into());
        self
    }

    /// Whether the hint names this option.
    pub(crate) fn hints_at(&self, option: &str) -> bool {
        self.hint.as_ref().is_some_and(|hint| hint.contains(option))
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint = Some(hint.into());
        self
    }

    /// A hint, if there is none yet.
    pub(crate) fn or_hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint.get_or_insert_with(|| hint.into());
        self
    }

    /// The text for standard error; names from outside are cleaned of control characters.
    pub(crate) fn render(&self, colour: bool) -> String {
        let (red, cyan, off) =
            if colour { ("\u{1b}[1;31m", "\u{1b}[1;36m", "\u{1b}[0m") } else { ("", "", "") };
        let mut text = format!("{red}error:{off} {}\n", clean(&self.message));
        for cause in &self.causes {
            text.push_str(&format!("  cause: {}\n", clean(cause)));
        }
        let width = self.details.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        for (name, why) in &self.details {
            text.push_str(&format!("  {:width$}   {}\n", clean(name), clean(why)));
        }
        if let Some(hint) = &self.hint {
            text.push_str(&format!("{cyan}hint:{off} {}\n", clean(hint)));
        }
        text
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let mut failure = Failure::new(exit_of(&error), error.to_string());
        failure.hint = error.hint();
        failure.causes = match &error {
            Error::Meter(error) => error.causes(),
            Error::Baseline { why, .. } => vec![why.clone()],
            other => causes_of(other),
        };
        if failure.hint.is_none() && failure.causes.iter().any(|cause| speaks_of_a_full_disk(cause))
        {
            failure.hint = Some(
                "free some space there; `TMPDIR` names another folder for temporary files".into(),
            );
        }
        failure.details = match error {
            // One engine has said it in the message.
            Error::NoEngine { why, .. } if why.len() == 1 => Vec::new(),
            Error::NoEngine { why, .. } | Error::NoCalibration { why, .. } => why,
            Error::Baseline { other_failures, .. } => other_failures,
            _ => Vec::new(),
        };
        failure
    }
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Failure {
        Failure::from(Error::from(error))
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        Failure::from(Error::Store(error))
    }
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Failure {
        Failure::from(Error::Model(error))
    }
}

/// Whether the system said that a disk is full; workers and libraries hand on only its words.
fn speaks_of_a_full_disk(cause: &str) -> bool {
    cause.contains("No space left on device") || cause.contains("Disk quota exceeded")
}

fn causes_of(error: &dyn std::error::Error) -> Vec<String> {
    let mut causes: Vec<String> = Vec::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        // Some libraries repeat their cause in their own message.
        if causes.last().is_none_or(|last| !last.contains(&text)) {
            causes.push(text);
        }
        cause = error.source();
    }
    causes
}

/// Whether a cause is that the system gave no memory, no thread or no descriptor.
fn is_shortage(error: &(dyn std::error::Error + 'static)) -> bool {
    let of_system = |error: &std::io::Error| {
        const SHORT: [i32; 4] = [libc::ENOMEM, libc::EAGAIN, libc::EMFILE, libc::ENFILE];
        error.kind() == std::io::ErrorKind::OutOfMemory
            || error.raw_os_error().is_some_and(|code| SHORT.contains(&code))
    };
    let here = error.downcast_ref::<std::io::Error>().is_some_and(of_system);
    here || error.source().is_some_and(is_shortage)
}

fn exit_of(error: &Error) -> Exit {
    match error {
        Error::Model(
            ModelError::DiskFull { .. } | ModelError::Write { .. } | ModelError::Damaged { .. },
        ) => Exit::Cannot,
        // A good file that this machine has no room for.
        Error::Model(_) | Error::Read { .. } if is_shortage(error) => Exit::Cannot,
        Error::Model(_)
        | Error::UnknownEngine { .. }
        | Error::UnknownBaseline { .. }
        | Error::UnknownLayer { .. }
        | Error::Compare(_)
        | Error::Exchange(_)
        | Error::NotForEngine { .. }
        | Error::Training { .. }
        | Error::Generation { .. }
        | Error::StepInside { .. }
        | Error::Plan { .. }
        | Error::Rule(_)
        | Error::NoRuns
        | Error::NotStored { .. }
        | Error::UnknownHardware { .. }
        | Error::Prices { .. }
        | Error::Body(_)
        | Error::Endpoint(
            endpoint::InspectError::Unknown { .. }
            | endpoint::InspectError::SeveralModels(_)
            | endpoint::InspectError::NoModel
            | endpoint::InspectError::Model { .. },
        )
        | Error::Read { .. } => Exit::Wrong,
        Error::TooBusy { .. } | Error::NoServiceTimes { .. } => Exit::Untold,
        Error::Meter(MeterError::Engine(failure)) => match failure.kind {
            EngineErrorKind::BadModel | EngineErrorKind::BadInput => Exit::Wrong,
            _ => Exit::Cannot,
        },
        Error::Meter(MeterError::Protocol { .. }) => Exit::Bug,
        Error::Store(error) if error.is_asked_wrongly() => Exit::Wrong,
        _ => Exit::Cannot,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{io, path::PathBuf};

    #[test]
    fn a_full_temporary_folder_is_named_with_what_is_needed_and_what_to_do() {
        let full = || io::Error::from_raw_os_error(libc::ENOSPC);
        let path = || PathBuf::from("/small/tmp");
        let inputs =
            Error::Temporary { what: "the inputs", path: path(), needed: 4096, source: full() };
        let other = Error::Write { path: path(), source: full() };
        for (error, needed) in [(inputs, "4096 bytes"), (other, "")] {
            let failure = Failure::from(error);
            assert_eq!(failure.exit, Exit::Cannot);
            let text = failure.render(false);
            for part in ["/small/tmp", needed, "No space left", "hint:", "TMPDIR"] {
                assert!(text.contains(part), "`{part}` is not in {text}");
            }
        }
    }

    #[test]
    fn every_side_that_dropped_out_is_named() {
        let error = Error::Baseline {
            label: "torch".into(),
            why: "it was killed".into(),
            other_failures: vec![("rten".into(), "it did not answer".into())],
            hint: None,
        };
        let text = Failure::from(error).render(false);
        for part in ["torch", "it was killed", "rten", "it did not answer"] {
            assert!(text.contains(part), "`{part}` is not in {text}");
        }
    }
}
