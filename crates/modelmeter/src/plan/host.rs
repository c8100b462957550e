//! Another machine, by `ssh`: our program there gets one cell after the other and answers with what it says and the run.

use crate::{
    Error, Profiler, Session, TrainingRequest, VERSION,
    plan::{
        CellFailure, Control, Expansion, PlanSpec, Task,
        ground::{Ground, Here, Measured, Said},
    },
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    io::{self, BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};
use types::{Bytes, Device, EngineOptions, Event, Machine, Run, StoppingRule};

/// How another machine is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostOptions {
    /// As `ssh` takes it: `ann@gpu1`.
    pub address: String,
    /// The program that is started there.
    pub program: String,
    /// The argument that makes it serve.
    pub argument: String,
}

/// What is asked of the other machine, a line each.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Request {
    /// The cells that can exist there.
    Expand(Box<PlanSpec>),
    /// A measurement.
    Measure(Box<Order>),
}

/// A measurement, as far as it depends on who asks; where engines and models are is the other machine's business.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    task: Task,
    plan: String,
    rule: StoppingRule,
    training: Option<TrainingRequest>,
    options: EngineOptions,
    offline: bool,
    memory_limit: Option<Bytes>,
    tags: Vec<String>,
}

/// What the other machine says, a line each.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Reply {
    /// It is there.
    Hello { version: String, machine: Box<Machine> },
    /// The cells that can exist there.
    Expanded(Expansion),
    /// What the measurement says.
    Event(Box<Event>),
    /// Somebody else measures there.
    Busy { device: Device, who: String },
    /// Memory ran out, and this is the largest batch that fits.
    Fits { batch: Option<usize> },
    /// What came of it; the last answer to an order.
    Done { run: Option<Box<Run>>, failure: Option<CellFailure>, fitting: Option<Box<Run>> },
    /// It cannot do what was asked at all.
    Refused { why: String, hint: Option<String> },
}

/// Another machine.
#[derive(Debug)]
pub struct Host {
    address: String,
    child: Child,
    writer: ChildStdin,
    reader: BufReader<ChildStdout>,
    machine: Machine,
}

impl Host {
    /// Starts our program there.
    ///
    /// # Errors
    /// Where it cannot be reached, has no such program, or another version of it.
    pub fn connect(options: &HostOptions) -> Result<Host, Error> {
        let address = options.address.clone();
        // A name that begins so would be an option to `ssh`.
        if address.starts_with('-') || address.trim().is_empty() {
            return Err(away(&address, "that is no name of a machine"));
        }
        let mut child = Command::new("ssh")
            // Nobody is there to type a password while a plan runs.
            .args(["-T", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=15", "--"])
            .arg(&address)
            .arg(format!("{} {}", quoted(&options.program), options.argument))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // What `ssh` complains about is for the person who started this.
            .stderr(Stdio::inherit())
            .spawn()
            .map_err(|error| away(&address, &format!("`ssh` cannot be started: {error}")))?;
        let (Some(writer), Some(reader)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(away(&address, "`ssh` gave no streams"));
        };
        let mut reader = BufReader::new(reader);
        let hello = read(&mut reader).map_err(|error| away(&address, &error.to_string()))?;
        match hello {
            Some(Reply::Hello { version, machine }) if version == VERSION => {
                Ok(Host { address, child, writer, reader, machine: *machine })
            }
            Some(Reply::Hello { version, .. }) => Err(away(
                &address,
                &format!("modelmeter is {version} there and {VERSION} here; install the same"),
            )),
            _ => Err(away(&address, "`modelmeter` did not answer there")),
        }
    }

    /// The other machine.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    pub(crate) fn with<'a>(&'a mut self, session: &'a mut Session) -> There<'a> {
        There { host: self, session }
    }

    fn ask(&mut self, request: &Request) -> Result<(), Error> {
        write(&mut self.writer, request).map_err(|error| self.gone(&error.to_string()))
    }

    fn hear(&mut self) -> Result<Reply, Error> {
        match read(&mut self.reader) {
            Ok(Some(Reply::Refused { why, hint })) => {
                Err(Error::Plan { path: None, line: None, why, hint })
            }
            Ok(Some(reply)) => Ok(reply),
            Ok(None) => Err(self.gone("the connection ended")),
            Err(error) => Err(self.gone(&error.to_string())),
        }
    }

    fn gone(&self, why: &str) -> Error {
        away(&self.address, why)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // The end of its input ends the other side; `ssh` alone must not stay behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Another machine, with this one's database.
pub(crate) struct There<'a> {
    host: &'a mut Host,
    session: &'a mut Session,
}

impl Ground for There<'_> {
    fn machine(&self) -> &Machine {
        &self.host.machine
    }

    fn expand(&mut self, spec: &PlanSpec, _base: &Profiler) -> Result<Expansion, Error> {
        if let Some(path) = spec.models.iter().find(|model| Path::new(model).exists()) {
            return Err(Error::Plan {
                path: None,
                line: None,
                why: format!(
                    "`{path}` is a file of this machine; `{}` cannot read it",
                    self.host.address
                ),
                hint: Some("name a model that is known there, or copy it and run there".into()),
            });
        }
        self.host.ask(&Request::Expand(Box::new(spec.clone())))?;
        match self.host.hear()? {
            Reply::Expanded(expansion) => Ok(expansion),
            other => Err(self.host.gone(&format!("it answered out of turn: {other:?}"))),
        }
    }

    fn measure(
        &mut self,
        profiler: &Profiler,
        control: &Control,
        say: &mut dyn FnMut(Said<'_>),
    ) -> Result<Option<Measured>, Error> {
        if control.is_stopping() {
            return Ok(None);
        }
        self.host.ask(&Request::Measure(Box::new(Order::of(profiler))))?;
        loop {
            match self.host.hear()? {
                Reply::Event(event) => say(Said::Measuring(&event)),
                Reply::Busy { device, who } => say(Said::Busy { device, who: &who }),
                Reply::Fits { batch } => say(Said::Fits(batch)),
                Reply::Done { mut run, failure, mut fitting } => {
                    for run in run.iter_mut().chain(&mut fitting) {
                        // The question was asked here, whatever lies around on the other machine.
                        run.environment.revision = self.session.revision().cloned();
                        self.session.remember(run);
                    }
                    let result = match (run, failure) {
                        (Some(run), _) => Ok(run),
                        (None, Some(failure)) => Err(failure),
                        (None, None) => {
                            return Err(self.host.gone("it said neither run nor reason"));
                        }
                    };
                    return Ok(Some(Measured { result, fitting }));
                }
                other => {
                    return Err(self.host.gone(&format!("it answered out of turn: {other:?}")));
                }
            }
        }
    }
}

impl Order {
    fn of(profiler: &Profiler) -> Order {
        let engine = match &profiler.engine {
            crate::EngineChoice::Named(id) => id.clone(),
            crate::EngineChoice::Auto => String::new(),
        };
        Order {
            task: Task {
                model: profiler.model.clone(),
                engine,
                device: profiler.device,
                precision: profiler.precision,
                batch_size: profiler.batch_size,
                sequence_length: profiler.sequence_length,
                threads: profiler.threads,
                mode: match profiler.training {
                    Some(_) => types::Mode::Training,
                    None => types::Mode::Inference,
                },
                seed: profiler.seed,
            },
            plan: profiler.tags.last().cloned().unwrap_or_default(),
            rule: profiler.rule,
            training: profiler.training.clone(),
            options: profiler.options.clone(),
            offline: profiler.offline,
            memory_limit: profiler.memory_limit,
            tags: profiler.tags.clone(),
        }
    }

    fn profiler(&self, base: &Profiler) -> Profiler {
        let mut profiler = base.clone();
        profiler.rule = self.rule;
        profiler.training.clone_from(&self.training);
        profiler.options.clone_from(&self.options);
        profiler.offline |= self.offline;
        profiler.memory_limit = self.memory_limit;
        profiler.tags.clone_from(&self.tags);
        self.task.profiler(&profiler)
    }
}

/// Serves a plan of another machine on these streams until the input ends; `base` knows this machine's engines and folders.
///
/// # Errors
/// When a stream breaks.
pub fn serve_host(base: &Profiler, input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    // Ceilings are measured once and kept as long as the connection lasts.
    let mut session = Session::without_store();
    let machine = Box::new(session.machine().clone());
    write(&mut output, &Reply::Hello { version: VERSION.to_owned(), machine })?;
    for line in input.lines() {
        let line = line?;
        let request: Request = match serde_json::from_str(&line) {
            Ok(request) => request,
            Err(error) => {
                let why = format!("the request is not understood: {error}");
                write(&mut output, &Reply::Refused { why, hint: None })?;
                continue;
            }
        };
        let reply = match request {
            Request::Expand(spec) => match spec.expand(&base.places) {
                Ok(expansion) => Reply::Expanded(expansion),
                Err(error) => refused(&error),
            },
            Request::Measure(order) => {
                let mut broken = None;
                let mut here = Here { session: &mut session, plan: &order.plan };
                let profiler = order.profiler(base);
                let mut say = |said: Said<'_>| {
                    let reply = match said {
                        // Runs travel once, with the last answer.
                        Said::Measuring(Event::CellFinished { .. } | Event::CellFailed { .. })
                        | Said::Hot(_) => return,
                        Said::Measuring(event) => Reply::Event(Box::new(event.clone())),
                        Said::Busy { device, who } => Reply::Busy { device, who: who.to_owned() },
                        Said::Fits(batch) => Reply::Fits { batch },
                    };
                    broken = broken.take().or(write(&mut output, &reply).err());
                };
                let measured = here.measure(&profiler, &Control::default(), &mut say);
                if let Some(error) = broken {
                    return Err(error);
                }
                match measured {
                    Ok(Some(Measured { result, fitting })) => {
                        let (run, failure) = match result {
                            Ok(run) => (Some(run), None),
                            Err(failure) => (None, Some(failure)),
                        };
                        Reply::Done { run, failure, fitting }
                    }
                    Ok(None) => Reply::Done { run: None, failure: None, fitting: None },
                    Err(error) => refused(&error),
                }
            }
        };
        write(&mut output, &reply)?;
    }
    Ok(())
}

fn refused(error: &Error) -> Reply {
    Reply::Refused { why: error.to_string(), hint: error.hint() }
}

fn away(address: &str, why: &str) -> Error {
    Error::Host { address: address.to_owned(), why: why.to_owned() }
}

/// A word that the shell of the other machine leaves as it is; `~` still means the home folder.
fn quoted(program: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-~".contains(c);
    match program.chars().all(is_plain) {
        true => program.to_owned(),
        false => format!("'{}'", program.replace('\'', "'\\''")),
    }
}

fn write(output: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}

fn read<T: DeserializeOwned>(input: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = String::new();
    if input.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    Ok(Some(serde_json::from_str(&line)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_with_spaces_is_one_word_there() {
        assert_eq!(quoted("~/bin/modelmeter"), "~/bin/modelmeter");
        assert_eq!(quoted("/my tools/it's"), "'/my tools/it'\\''s'");
    }

    #[test]
    fn a_name_that_is_an_option_is_refused() {
        let options = HostOptions {
            address: "-oProxyCommand=x".into(),
            program: "modelmeter".into(),
            argument: "serve".into(),
        };
        assert!(matches!(Host::connect(&options), Err(Error::Host { .. })));
    }
}
