//! Starting measurements: the same program once more, as a person would start it.
//!
//! It is started by a thread that does not have the low priority of the server, and with a fixed list of options: what comes
//! over HTTP is a value, never an option.

use crate::{answer::Refusal, query::Query};
use schemars::JsonSchema;
use serde::Serialize;
use std::{
    ffi::OsString,
    fs,
    io::Read,
    path::PathBuf,
    process::{Command, Stdio},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{Sender, channel},
    },
    thread,
};

/// So many measurements that were started here may run at the same time.
const AT_ONCE: usize = 4;

/// So many that ended are told.
const TOLD: usize = 6;

/// So much of what a command says is kept, in bytes from its end.
const KEPT: usize = 2000;

/// Options of `profile` that take a value, as they are called in a form.
const VALUES: [&str; 7] =
    ["engine", "device", "precision", "batch-size", "sequence-length", "threads", "tag"];

/// The program to start, with what it needs to know of this server.
#[derive(Debug, Clone)]
pub struct Program {
    /// The program.
    pub path: PathBuf,
    /// What comes before every command.
    pub arguments: Vec<OsString>,
    /// Variables that it needs: where the database is, which may hold a password.
    pub variables: Vec<(&'static str, OsString)>,
    /// Where plans are put that came over HTTP.
    pub plans: PathBuf,
    /// Variables that it must not see.
    pub secrets: Vec<&'static str>,
}

/// A measurement that was started here.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Job {
    /// The command, without what stands before it.
    pub(crate) words: Vec<String>,
    /// The number of the process.
    pub(crate) pid: u32,
    /// Its exit code; null while it runs.
    pub(crate) exit: Option<i32>,
    /// The end of what it said.
    pub(crate) said: String,
}

type Jobs = Arc<Mutex<Vec<Job>>>;

struct Order {
    words: Vec<String>,
    answer: Sender<Result<u32, String>>,
}

/// Starts measurements.
pub(crate) struct Launcher {
    orders: Mutex<Sender<Order>>,
    jobs: Jobs,
    plans: PathBuf,
}

impl std::fmt::Debug for Launcher {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Launcher").field("plans", &self.plans).finish_non_exhaustive()
    }
}

impl Launcher {
    pub(crate) fn start(program: Program) -> std::io::Result<Launcher> {
        let (orders, waiting) = channel::<Order>();
        let jobs = Jobs::default();
        let (known, plans) = (Arc::clone(&jobs), program.plans.clone());
        thread::Builder::new().name("launcher".into()).spawn(move || {
            for order in waiting {
                let _ = order.answer.send(launch(&program, order.words, &known));
            }
        })?;
        Ok(Launcher { orders: Mutex::new(orders), jobs, plans })
    }

    /// What was started here, the newest first.
    pub(crate) fn jobs(&self) -> Vec<Job> {
        let mut jobs = lock(&self.jobs).clone();
        jobs.reverse();
        jobs
    }

    /// Starts what a form asks for.
    pub(crate) fn launch(&self, form: &Query) -> Result<u32, Refusal> {
        let running = lock(&self.jobs).iter().filter(|job| job.exit.is_none()).count();
        if running >= AT_ONCE {
            return Err(Refusal::new(
                409,
                format!("{running} measurements that were started here still run"),
            ));
        }
        let words = match (form.get("plan"), form.get("model")) {
            (Some(plan), None) => vec!["bench".to_owned(), self.keep(plan)?],
            (None, Some(model)) => profile(form, model),
            _ => return Err(Refusal::bad("give either `model` or `plan`")),
        };
        let (answer, told) = channel();
        let sent = lock(&self.orders).send(Order { words, answer });
        let started = sent.ok().and_then(|()| told.recv().ok());
        started
            .unwrap_or_else(|| Err("the server is about to end".into()))
            .map_err(|why| Refusal::new(500, format!("could not start the measurement: {why}")))
    }

    /// A plan as a file, as `bench` reads it.
    fn keep(&self, plan: &str) -> Result<String, Refusal> {
        let path = self.plans.join(format!("serve-{}.toml", clock::now()));
        let written = store::make_private_folder(&self.plans).and_then(|()| fs::write(&path, plan));
        written.map_err(|error| Refusal::new(500, format!("could not keep the plan: {error}")))?;
        Ok(path.display().to_string())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The words of a profile; a value stays behind its option, and the name of the model behind all of them.
fn profile(form: &Query, model: &str) -> Vec<String> {
    let mut words = vec!["profile".to_owned()];
    for name in VALUES {
        words.extend(form.get(name).map(|value| format!("--{name}={value}")));
    }
    if form.get("layers").is_some() {
        words.push("--layers".into());
    }
    words.extend(["--".to_owned(), model.to_owned()]);
    words
}

fn launch(program: &Program, words: Vec<String>, jobs: &Jobs) -> Result<u32, String> {
    let mut command = Command::new(&program.path);
    for secret in &program.secrets {
        command.env_remove(secret);
    }
    let variables = program.variables.iter().map(|(name, value)| (*name, value));
    let mut child = command
        .envs(variables)
        .args(&program.arguments)
        .args(&words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let pid = child.id();
    {
        let mut jobs = lock(jobs);
        jobs.push(Job { words, pid, exit: None, said: String::new() });
        let ended = jobs.iter().filter(|job| job.exit.is_some()).count();
        let mut surplus = ended.saturating_sub(TOLD);
        jobs.retain(|job| {
            let goes = surplus > 0 && job.exit.is_some();
            surplus -= usize::from(goes);
            !goes
        });
    }
    let jobs = Arc::clone(jobs);
    let wait = move || {
        let mut said = Vec::new();
        if let Some(mut talk) = child.stderr.take() {
            let mut part = [0; 4096];
            while let Ok(count @ 1..) = talk.read(&mut part) {
                said.extend_from_slice(&part[..count]);
                said.drain(..said.len().saturating_sub(KEPT));
            }
        }
        let exit = child.wait().ok().and_then(|status| status.code()).unwrap_or(-1);
        let mut jobs = lock(&jobs);
        if let Some(job) = jobs.iter_mut().find(|job| job.pid == pid && job.exit.is_none()) {
            job.exit = Some(exit);
            job.said = String::from_utf8_lossy(&said).into_owned();
        }
    };
    thread::Builder::new().name("job".into()).spawn(wait).map_err(|error| error.to_string())?;
    Ok(pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_over_http_is_a_value_and_never_an_option() {
        let form =
            Query::parse("model=--db&engine=rten&batch-size=--quiet&python=%2Fbin%2Fsh&layers=1");
        let model = form.get("model").unwrap_or_default();
        assert_eq!(
            profile(&form, model),
            ["profile", "--engine=rten", "--batch-size=--quiet", "--layers", "--", "--db"]
        );
    }
}
