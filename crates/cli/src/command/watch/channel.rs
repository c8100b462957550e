//! Who hears of an alert: a webhook, a command.

use super::alert::Message;
use crate::{arguments::Watch, output};
use std::{
    io::Write,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// How long a server may take for one try.
#[cfg(feature = "network")]
const TIMEOUT: Duration = Duration::from_secs(10);

/// The pauses before further tries.
#[cfg(feature = "network")]
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(4)];

/// How long a command may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Tells it; whether somebody heard, or nobody was to. What fails is said and stops nothing.
pub(super) fn tell(message: &Message, arguments: &Watch) -> bool {
    let body = message.document.to_string();
    let mut heard = Vec::new();
    if let Some(url) = &arguments.webhook {
        heard.push(told("the webhook", post(url, &body)));
    }
    if let Some(command) = &arguments.exec {
        heard.push(told("the command", execute(command, &body, &message.variables)));
    }
    heard.is_empty() || heard.contains(&true)
}

fn told(who: &str, outcome: Result<(), String>) -> bool {
    if let Err(why) = &outcome {
        output::complain(&format!(
            "warning: {who} did not accept the alert: {why}; it is sent again after the next cycle\n"
        ));
    }
    outcome.is_ok()
}

#[cfg(not(feature = "network"))]
pub(in crate::command) fn post(_url: &str, _body: &str) -> Result<(), String> {
    Err("this build has no webhooks: it lacks the feature `network`".into())
}

/// Posts it, once more where the server is away or busy. The address may hold a secret, so it is never said.
#[cfg(feature = "network")]
pub(in crate::command) fn post(url: &str, body: &str) -> Result<(), String> {
    let agent: ureq::Agent =
        ureq::Agent::config_builder().timeout_global(Some(TIMEOUT)).build().into();
    let mut pauses = PAUSES.iter();
    loop {
        let error = match agent.post(url).content_type("application/json").send(body) {
            Ok(_) => return Ok(()),
            Err(error) => error,
        };
        let is_final =
            matches!(&error, ureq::Error::StatusCode(code) if *code < 500 && *code != 429);
        match pauses.next().filter(|_| !is_final) {
            Some(pause) => thread::sleep(*pause),
            None => return Err(spell(&error)),
        }
    }
}

#[cfg(feature = "network")]
fn spell(error: &ureq::Error) -> String {
    match error {
        ureq::Error::StatusCode(code) => format!("it answered {code}"),
        ureq::Error::Timeout(_) => "it did not answer in time".into(),
        ureq::Error::Io(error) => error.to_string(),
        ureq::Error::HostNotFound => "its host is unknown".into(),
        ureq::Error::BadUri(_) => "its address is not valid".into(),
        _ => "it cannot be reached".into(),
    }
}

/// Runs the command by the shell.
fn execute(command: &str, body: &str, variables: &[(&str, String)]) -> Result<(), String> {
    let mut shell = Command::new("sh");
    // The user's own environment, but not the password of our database.
    engine::keep_secrets(&mut shell);
    let mut child = shell
        .args(["-c", command])
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    if let Some(mut input) = child.stdin.take() {
        // A command that does not read is fine.
        let _ = input.write_all(body.as_bytes());
    }
    let begin = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(status.to_string()),
            Ok(None) if begin.elapsed() > PATIENCE => {
                let _ = child.kill();
                let _ = child.wait();
                return Err("it did not end within a minute".into());
            }
            Ok(None) => thread::sleep(Duration::from_millis(20)),
            Err(error) => return Err(error.to_string()),
        }
    }
}
