//! Another machine, by `ssh`: our program there gets one cell after the other and answers with what it says and the run.

use crate::{CellMeasurer, Error, Profiler, Session, TrainingRequest, VERSION};
use engine::{read_message_within, write_message};
use plan::{Control, Executor, Expansion, LocalExecutor, Measured, PlanError, PlanSpec};
use serde::{Deserialize, Serialize};
use std::{
    io::{self, BufRead, BufReader, Read, Write},
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        Mutex, PoisonError,
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    thread,
    time::Duration,
};
use types::{Bytes, CellFailure, EngineOptions, Event, Machine, Run, StoppingRule, Task};

/// How long the other machine may take to greet; `ssh` itself gives up a connection after half of it.
const PATIENCE_AT_FIRST: Duration = Duration::from_secs(60);

/// How long the other machine may be silent; it gives a sign of life more often than that, however long it measures.
const PATIENCE: Duration = Duration::from_secs(120);

/// How often the other machine gives a sign of life.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

/// The longest answer in bytes; a run with a million samples takes a tenth of it.
const LONGEST_ANSWER: u64 = 256 << 20;

/// How many answers may wait, so that a machine which talks without end does not fill our memory.
const WAITING_ANSWERS: usize = 16;

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
    /// What goes on there.
    Event(Box<Event>),
    /// It is still at work.
    Alive,
    /// What came of it; the last answer to an order.
    Done { run: Option<Box<Run>>, failure: Option<CellFailure>, fitting: Option<Box<Run>> },
    /// It cannot do what was asked at all.
    Refused { why: String, hint: Option<String> },
}

/// Another machine.
#[derive(Debug)]
pub struct Host {
    address: String,
    connection: Connection,
    machine: Machine,
}

/// The `ssh` that leads there.
#[derive(Debug)]
struct Connection {
    child: Child,
    writer: ChildStdin,
    answers: Answers,
}

impl Drop for Connection {
    fn drop(&mut self) {
        // The end of its input ends the other side; `ssh` alone must not stay behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the other machine says, read aside so that it can be waited for no longer than it deserves.
#[derive(Debug)]
struct Answers(Receiver<io::Result<Reply>>);

impl Answers {
    fn of(stream: impl Read + Send + 'static, longest: u64) -> Answers {
        let (sender, receiver) = mpsc::sync_channel(WAITING_ANSWERS);
        thread::spawn(move || {
            let mut reader = BufReader::new(stream);
            while let Some(answer) = read_message_within(&mut reader, longest).transpose() {
                let is_last = answer.is_err();
                if sender.send(answer).is_err() || is_last {
                    return;
                }
            }
        });
        Answers(receiver)
    }

    /// The next answer that says something; `None` at the end.
    fn next(&self, patience: Duration) -> io::Result<Option<Reply>> {
        loop {
            match self.0.recv_timeout(patience) {
                Ok(Ok(Reply::Alive)) => {}
                Ok(answer) => return answer.map(Some),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {
                    let text = format!("no answer for {} s", patience.as_secs());
                    return Err(io::Error::new(io::ErrorKind::TimedOut, text));
                }
            }
        }
    }
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
            return Err(away(&address, "that is not the name of a machine"));
        }
        let mut command = Command::new("ssh");
        engine::keep_secrets(&mut command);
        let mut child = command
            // Nobody is there to type a password while a plan runs.
            .args(["-T", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=15"])
            .args(["-o", "ConnectTimeout=30", "--"])
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
        let answers = Answers::of(reader, LONGEST_ANSWER);
        let connection = Connection { child, writer, answers };
        let hello = connection.answers.next(PATIENCE_AT_FIRST);
        match hello.map_err(|error| away(&address, &error.to_string()))? {
            Some(Reply::Hello { version, machine }) if version == VERSION => {
                Ok(Host { address, connection, machine: *machine })
            }
            Some(Reply::Hello { version, .. }) => Err(away(
                &address,
                &format!(
                    "modelmeter is {version} there and {VERSION} here; install the same version on both"
                ),
            )),
            _ => Err(away(&address, "`modelmeter` did not answer there")),
        }
    }

    /// The other machine.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Measures cells there and keeps their runs in a session of this machine; `base` says everything that all cells have
    /// in common.
    pub fn executor<'a>(
        &'a mut self,
        base: &'a Profiler,
        session: &'a mut Session,
    ) -> HostExecutor<'a> {
        HostExecutor { host: self, base, session }
    }

    fn ask(&mut self, request: &Request) -> Result<(), Error> {
        write_message(&mut self.connection.writer, request)
            .map_err(|error| self.gone(&error.to_string()))
    }

    fn hear(&mut self) -> Result<Reply, Error> {
        match self.connection.answers.next(PATIENCE) {
            Ok(Some(Reply::Refused { why, hint })) => Err(PlanError::wrong(why, hint).into()),
            Ok(Some(reply)) => Ok(reply),
            Ok(None) => Err(self.gone("the connection ended")),
            Err(error) => Err(self.gone(&error.to_string())),
        }
    }

    fn gone(&self, why: &str) -> Error {
        away(&self.address, why)
    }
}

/// Another machine, with this one's database.
pub struct HostExecutor<'a> {
    host: &'a mut Host,
    base: &'a Profiler,
    session: &'a mut Session,
}

impl Executor for HostExecutor<'_> {
    type Error = Error;

    fn machine(&self) -> &Machine {
        &self.host.machine
    }

    fn check(&self) -> Result<(), Error> {
        self.base.check_rule()
    }

    fn expand(&mut self, spec: &PlanSpec) -> Result<Expansion, Error> {
        if let Some(path) = spec.models.iter().find(|model| Path::new(model).exists()) {
            let address = &self.host.address;
            let why = format!("`{path}` is a file of this machine; `{address}` cannot read it");
            let hint = "name a model that is known there, or copy it and run there";
            return Err(PlanError::wrong(why, Some(hint.into())).into());
        }
        self.host.ask(&Request::Expand(Box::new(spec.clone())))?;
        match self.host.hear()? {
            Reply::Expanded(expansion) => Ok(expansion),
            other => Err(self.host.gone(&format!("unexpected answer: {other:?}"))),
        }
    }

    fn measure(
        &mut self,
        plan: &str,
        task: &Task,
        control: &Control,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Option<Measured>, Error> {
        if control.is_stopping() {
            return Ok(None);
        }
        let order = Order::of(plan, &self.base.of_plan(plan, task));
        self.host.ask(&Request::Measure(Box::new(order)))?;
        loop {
            match self.host.hear()? {
                Reply::Event(event) => sink(*event),
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
                            return Err(self.host.gone("it returned neither a run nor an error"));
                        }
                    };
                    return Ok(Some(Measured { result, fitting }));
                }
                other => {
                    return Err(self.host.gone(&format!("unexpected answer: {other:?}")));
                }
            }
        }
    }
}

impl Order {
    fn of(plan: &str, profiler: &Profiler) -> Order {
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
                mode: match (profiler.generation, &profiler.training) {
                    (Some(_), _) => types::Mode::Generate,
                    (None, Some(_)) => types::Mode::Training,
                    (None, None) => types::Mode::Inference,
                },
                generation: profiler.generation,
                seed: profiler.seed,
            },
            plan: plan.to_owned(),
            rule: profiler.rule,
            training: profiler.training.clone(),
            options: profiler.options.clone(),
            offline: profiler.offline,
            memory_limit: profiler.memory_limit,
            tags: profiler.tags.clone(),
        }
    }

    /// What all cells have in common, as this order says.
    fn base(&self, base: &Profiler) -> Profiler {
        let mut profiler = base.clone();
        profiler.rule = self.rule;
        profiler.training.clone_from(&self.training);
        profiler.options.clone_from(&self.options);
        profiler.offline |= self.offline;
        profiler.memory_limit = self.memory_limit;
        profiler.tags.clone_from(&self.tags);
        profiler
    }
}

/// Serves a plan of another machine on these streams until the input ends; `base` knows this machine's engines and folders.
///
/// # Errors
/// When a stream breaks.
pub fn serve_host(
    base: &Profiler,
    input: impl BufRead,
    output: impl Write + Send,
) -> io::Result<()> {
    let output = Mutex::new(output);
    // Dropped at the end of the conversation, which ends the signs of life.
    let (end, ended) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(|| give_signs_of_life(&output, ended));
        let _end = end;
        converse(base, input, &output)
    })
}

/// Says that this machine is still at work until the conversation ends: a model may be downloaded or waited for silently.
fn give_signs_of_life(output: &Mutex<impl Write>, ended: Receiver<()>) {
    while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(SIGN_OF_LIFE) {
        if write(output, &Reply::Alive).is_err() {
            return;
        }
    }
}

fn converse(base: &Profiler, input: impl BufRead, output: &Mutex<impl Write>) -> io::Result<()> {
    // Ceilings are measured once and kept as long as the connection lasts.
    let mut session = Session::without_store();
    let machine = Box::new(session.machine().clone());
    write(output, &Reply::Hello { version: VERSION.to_owned(), machine })?;
    for line in input.lines() {
        let line = line?;
        let request: Request = match serde_json::from_str(&line) {
            Ok(request) => request,
            Err(error) => {
                let why = format!("the request is not understood: {error}");
                write(output, &Reply::Refused { why, hint: None })?;
                continue;
            }
        };
        let reply = match request {
            Request::Expand(spec) => match spec.expand(&base.engines_here()) {
                Ok(expansion) => Reply::Expanded(expansion),
                Err(error) => refused(&error.into()),
            },
            Request::Measure(order) => {
                let mut broken = None;
                let base = order.base(base);
                let mut measurer = CellMeasurer::new(&base, &mut session);
                let mut here = LocalExecutor::new(&mut measurer);
                let mut say = |event: Event| {
                    // Runs travel once, with the last answer.
                    if matches!(event, Event::CellFinished { .. } | Event::CellFailed { .. }) {
                        return;
                    }
                    let reply = Reply::Event(Box::new(event));
                    broken = broken.take().or(write(output, &reply).err());
                };
                let measured =
                    here.measure(&order.plan, &order.task, &Control::default(), &mut say);
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
        write(output, &reply)?;
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

fn write(output: &Mutex<impl Write>, reply: &Reply) -> io::Result<()> {
    let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
    write_message(&mut *output, reply)
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Stage;

    #[test]
    fn a_program_with_spaces_is_one_word_there() {
        assert_eq!(quoted("~/bin/modelmeter"), "~/bin/modelmeter");
        assert_eq!(quoted("/my tools/it's"), "'/my tools/it'\\''s'");
    }

    #[test]
    fn a_machine_that_is_silent_is_given_up_and_one_that_lives_is_not() {
        let (mut there, here) = std::os::unix::net::UnixStream::pair().unwrap();
        let answers = Answers::of(here, LONGEST_ANSWER);
        let error = answers.next(Duration::from_millis(50)).unwrap_err();
        assert_eq!(error.to_string(), "no answer for 0 s");
        let event = Event::stage(Stage::Load);
        for reply in [Reply::Alive, Reply::Alive, Reply::Event(Box::new(event.clone()))] {
            write_message(&mut there, &reply).unwrap();
        }
        let next = answers.next(PATIENCE).unwrap();
        assert!(matches!(&next, Some(Reply::Event(heard)) if **heard == event), "{next:?}");
        drop(there);
        assert!(answers.next(PATIENCE).unwrap().is_none());
    }

    #[test]
    fn an_answer_that_does_not_end_is_refused_and_the_rest_not_read() {
        let answers = Answers::of(io::repeat(b'['), 2 << 20);
        let error = answers.next(PATIENCE).unwrap_err();
        assert_eq!(error.to_string(), "a message of more than 2 MiB");
        assert!(answers.next(PATIENCE).unwrap().is_none());
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
