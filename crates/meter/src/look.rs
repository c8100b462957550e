//! Looks inside a worker without timing it: what comes out, and where the time goes.

use crate::{Job, Launch, Link, MeterError, measure};
use engine::{Reply, Request, read_tensors};
use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use types::HostTensor;

/// How deep to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// The model's outputs.
    Outputs,
    /// Also what leaves every module, where a framework's module runs.
    Modules,
    /// The loss and the gradients of a training step, which is taken.
    Gradients,
}

/// Runs a job once in a fresh worker and gives back what came out.
///
/// # Errors
/// When the worker or the engine fails.
pub fn outputs_of(
    job: &Job<'_>,
    launch: &Launch,
    timeout: Duration,
    folder: &Path,
    depth: Depth,
) -> Result<Vec<HostTensor>, MeterError> {
    let mut link = Link::open(launch, timeout)?;
    measure::load(&mut link, job)?;
    let tensors = show(&mut link, folder, depth)?;
    link.close();
    Ok(tensors)
}

/// Runs a job so many times in one fresh worker and gives back what came out each time.
///
/// # Errors
/// When the worker or the engine fails.
pub fn repeated_outputs_of(
    job: &Job<'_>,
    launch: &Launch,
    timeout: Duration,
    folder: &Path,
    times: usize,
) -> Result<Vec<Vec<HostTensor>>, MeterError> {
    let mut link = Link::open(launch, timeout)?;
    measure::load(&mut link, job)?;
    let runs = (0..times).map(|_| show(&mut link, folder, Depth::Outputs));
    let runs = runs.collect::<Result<Vec<_>, _>>()?;
    link.close();
    Ok(runs)
}

/// Whether another engine loads a job's model and runs it once, in a worker of its own and all of it in so much time.
#[must_use]
pub fn can_load(job: &Job<'_>, engine: &str, launch: &Launch, time: Duration) -> bool {
    let begin = Instant::now();
    let left = || time.saturating_sub(begin.elapsed());
    let Ok(mut link) = Link::open(launch, time) else { return false };
    link.set_timeout(left());
    let request = measure::load_request(job, engine);
    if link.ask(&request, "load the model").is_err() {
        return false;
    }
    link.set_timeout(left());
    measure::first_inference(&mut link).is_ok()
}

/// Loads a job in a fresh worker and infers once; nothing is timed.
///
/// # Errors
/// When the worker or the engine fails.
pub fn try_once(job: &Job<'_>, launch: &Launch, timeout: Duration) -> Result<(), MeterError> {
    let mut link = Link::open(launch, timeout)?;
    measure::load(&mut link, job)?;
    measure::first_inference(&mut link)?;
    link.close();
    Ok(())
}

/// Asks a loaded worker to show what it computes.
pub(crate) fn show(
    link: &mut Link,
    folder: &Path,
    depth: Depth,
) -> Result<Vec<HostTensor>, MeterError> {
    if depth == Depth::Gradients {
        return written(link, folder, "return its gradients", |path| Request::Gradients { path });
    }
    let inside = depth == Depth::Modules;
    written(link, folder, "return its outputs", |path| Request::Outputs { path, inside })
}

/// What a worker writes when it is asked this.
fn written(
    link: &mut Link,
    folder: &Path,
    doing: &'static str,
    request: impl Fn(PathBuf) -> Request,
) -> Result<Vec<HostTensor>, MeterError> {
    let path = folder.join(format!("outputs-{}.safetensors", link.pid()));
    match link.ask(&request(path.clone()), doing)? {
        Reply::Written => {}
        other => return Err(MeterError::Protocol { doing, said: format!("{other:?}") }),
    }
    let tensors = read_tensors(&path).map_err(MeterError::from);
    // Large outputs of several workers need not stay on the disk until the end.
    let _ = fs::remove_file(&path);
    tensors
}
