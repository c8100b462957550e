//! What OpenVINO says when it refuses, without the lines that only its makers need.

/// A refusal of OpenVINO, in its own words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Fault(pub(crate) String);

impl Fault {
    /// The words of a message, or of its status where there is none.
    pub(crate) fn new(status: i32, message: &str) -> Fault {
        let words = message.lines().map(str::trim).filter(|line| !is_trail(line));
        let text = words.collect::<Vec<_>>().join("; ");
        match text.is_empty() {
            true if message.trim().is_empty() => Fault(format!("OpenVINO's status is {status}")),
            true => Fault(message.trim().replace('\n', " ")),
            false => Fault(text),
        }
    }
}

/// Whether a line tells only where in OpenVINO's source the message was made.
fn is_trail(line: &str) -> bool {
    line.is_empty()
        || (line.starts_with("Exception from ") && line.ends_with(':'))
        || (line.starts_with("Check '") && line.ends_with(':'))
        || (line.starts_with("FrontEnd API failed with ") && line.ends_with(':'))
        || line == "Summary:"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_words_for_people_stay() {
        let message = "Exception from src/inference/src/cpp/core.cpp:264:\n\
             Exception from src/plugins/intel_cpu/src/config.cpp:505:\n\
             NotFound: Unsupported property NO_SUCH by CPU plugin.\n\n\n";
        let fault = Fault::new(-1, message);
        assert_eq!(fault.to_string(), "NotFound: Unsupported property NO_SUCH by CPU plugin.");
    }

    #[test]
    fn a_message_of_trails_alone_is_kept() {
        let message = "Check 'false' failed at src/a.cpp:1:\n";
        assert_eq!(Fault::new(-1, message).to_string(), message.trim());
        assert_eq!(Fault::new(-7, "").to_string(), "OpenVINO's status is -7");
    }
}
