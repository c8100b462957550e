//! The generator: the same program with a hidden argument. Its processor time is its own, so that it can tell when it was
//! what limited the load.

use super::{
    GENERATOR_ARGUMENT, Outcome,
    shards::{merged, together},
};
use crate::{Error, worker::worker_program};
use ::load::Record;
use endpoint::{Job, Message};
use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{RecvTimeoutError, Sender, channel},
    },
    thread,
    time::Duration,
};
use types::{Event, LoadProgress};

/// How often somebody looks whether the load shall stop while nobody says anything.
const LOOKING: Duration = Duration::from_millis(100);

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

/// Starts a generator for each job, tells them what to do and hears what they say until all are done.
pub(super) fn generate(
    jobs: &[Job],
    stop: &AtomicBool,
    sink: &mut dyn FnMut(Event),
) -> Result<Outcome, Error> {
    let (sender, said) = channel();
    let mut generators = Vec::new();
    for (place, job) in jobs.iter().enumerate() {
        generators.push(Generator::start(place, job, sender.clone())?);
    }
    drop(sender);
    let mut parts: Vec<Part> = jobs.iter().map(|_| Part::default()).collect();
    let (mut started, mut is_asked_to_stop) = (0, false);
    while parts.iter().any(|part| part.done.is_none()) {
        if !is_asked_to_stop && stop.load(Ordering::Relaxed) {
            is_asked_to_stop = true;
            generators.iter_mut().for_each(|generator| generator.say("stop"));
        }
        let (place, message) = match said.recv_timeout(LOOKING) {
            Ok(heard) => heard,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(broken("it closed its output".into()));
            }
        };
        if parts[place].done.is_some() {
            // The end of its output, after its last word.
            continue;
        }
        match message.map_err(|why| generators[place].end(why))? {
            Message::Started => {
                started += 1;
                // Several begin together, when the last one is ready.
                if started == jobs.len() && jobs.len() > 1 {
                    generators.iter_mut().for_each(|generator| generator.say("go"));
                }
            }
            Message::Progress(live) => {
                parts[place].live = live;
                sink(Event::load(together(parts.iter().map(|part| &part.live))));
            }
            Message::Request(record) => parts[place].records.push(record),
            Message::Failed { why } => return Err(Error::Unreachable { why }),
            Message::Done { generator, overrun, stopped_at } => {
                let records = std::mem::take(&mut parts[place].records);
                parts[place].done = Some(Outcome { records, generator, overrun, stopped_at });
            }
        }
    }
    let mut outcomes: Vec<Outcome> = parts.into_iter().filter_map(|part| part.done).collect();
    match (outcomes.pop(), outcomes.is_empty()) {
        (Some(only), true) => Ok(only),
        (Some(last), false) => {
            outcomes.push(last);
            Ok(merged(outcomes))
        }
        (None, _) => Err(broken("nobody sent anything".into())),
    }
}

/// What one of several generators did so far.
#[derive(Default)]
struct Part {
    live: LoadProgress,
    records: Vec<Record>,
    done: Option<Outcome>,
}

/// A generator that runs.
struct Generator {
    child: Guard,
    input: ChildStdin,
}

type Said = (usize, Result<Message, String>);

impl Generator {
    fn start(place: usize, job: &Job, sender: Sender<Said>) -> Result<Generator, Error> {
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
        let listen = move || {
            for line in BufReader::new(output).lines() {
                let message = line.map_err(|error| error.to_string()).and_then(|line| {
                    serde_json::from_str(&line).map_err(|error| error.to_string())
                });
                if sender.send((place, message)).is_err() {
                    return;
                }
            }
            // After its last word nobody hears this any more.
            let _ = sender.send((place, Err(String::new())));
        };
        thread::Builder::new()
            .name("generator".into())
            .spawn(listen)
            .map_err(|error| broken(error.to_string()))?;
        job.write(&mut input).map_err(|error| broken(error.to_string()))?;
        Ok(Generator { child, input })
    }

    /// If it has ended meanwhile, what it says tells.
    fn say(&mut self, word: &str) {
        let _ = writeln!(self.input, "{word}").and_then(|()| self.input.flush());
    }

    /// Why it ended, where it said nothing.
    fn end(&mut self, why: String) -> Error {
        broken(match (why.is_empty(), self.child.0.wait()) {
            (false, _) => why,
            (true, Ok(status)) => format!("it ended ({status})"),
            (true, Err(error)) => error.to_string(),
        })
    }
}

fn broken(why: String) -> Error {
    Error::Generator { why }
}
