//! The generator: the same program with a hidden argument. Its processor time is its own, so that it can tell when it was
//! what limited the load.

use super::GENERATOR_ARGUMENT;
use crate::{Error, worker::worker_program};
use ::load::Record;
use endpoint::{Job, Live, Message};
use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
};
use types::GeneratorReport;

/// What became of a load.
pub(super) struct Outcome {
    pub(super) records: Vec<Record>,
    pub(super) generator: GeneratorReport,
    pub(super) overrun: bool,
    pub(super) stopped_at: Option<u64>,
}

/// Turns this process into a generator if it was started as one.
pub(crate) fn serve_generator() -> Option<i32> {
    let is_one = std::env::args_os().nth(1).is_some_and(|argument| argument == GENERATOR_ARGUMENT);
    is_one.then(|| {
        engine::become_expendable();
        let Ok(channel) = engine::claim_standard_streams() else { return 1 };
        i32::from(endpoint::serve(channel.reader, channel.writer).is_err())
    })
}

/// Ends a generator that nobody listens to any more.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        // One that has ended already needs neither.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a generator, tells it what to do and hears what it says until it is done.
pub(super) fn generate(
    job: &Job,
    stop: &AtomicBool,
    hear: &mut dyn FnMut(&Live),
) -> Result<Outcome, Error> {
    let broken = |why: String| Error::Generator { why };
    let program = worker_program().ok_or(Error::NoWorker)?;
    let mut command = Command::new(program);
    // Nothing of the user's environment: a generator needs none, and keys may stand there.
    command.arg(GENERATOR_ARGUMENT).env_clear();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;
        // Ctrl-C is for the command, which then asks the generator for what it has.
        command.process_group(0);
    }
    let mut child = Guard(command.spawn().map_err(|error| broken(error.to_string()))?);
    let mut input = child.0.stdin.take().ok_or_else(|| broken("it has no input".into()))?;
    let output = child.0.stdout.take().ok_or_else(|| broken("it has no output".into()))?;
    job.write(&mut input).map_err(|error| broken(error.to_string()))?;
    let mut records = Vec::new();
    let mut is_asked_to_stop = false;
    for line in BufReader::new(output).lines() {
        let line = line.map_err(|error| broken(error.to_string()))?;
        let message: Message =
            serde_json::from_str(&line).map_err(|error| broken(error.to_string()))?;
        match message {
            Message::Started => {}
            Message::Progress(live) => hear(&live),
            Message::Request(record) => records.push(record),
            Message::Failed { why } => return Err(Error::Unreachable { why }),
            Message::Done { generator, overrun, stopped_at } => {
                return Ok(Outcome { records, generator, overrun, stopped_at });
            }
        }
        if !is_asked_to_stop && stop.load(Ordering::Relaxed) {
            is_asked_to_stop = true;
            // If it has ended meanwhile, the next line tells.
            let _ = input.write_all(b"stop\n").and_then(|()| input.flush());
        }
    }
    Err(broken(match child.0.wait() {
        Ok(status) => format!("it ended ({status})"),
        Err(error) => error.to_string(),
    }))
}
