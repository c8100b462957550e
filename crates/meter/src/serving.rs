//! A model that answers requests in its own worker: asked window by window, watched from outside.

use crate::{Bench, Job, Launch, Link, MeterError, derive, judge, measure};
use engine::{LoadReport, Reply, Request, ServedReport, ServingJob};
use load::ServedRequests;
use probe::{PROBES, Snapshot, Target, Watcher};
use std::time::{Duration, Instant};
use types::{Cold, Environment, Metric, ProbeReport, Reason};

/// How long a worker serves before it says what it did.
const WINDOW: Duration = Duration::from_millis(250);
/// How much longer than its window a worker may take: one batch that has begun is finished.
const BEYOND: Duration = Duration::from_secs(1);

/// What a worker served, and what it took.
#[derive(Debug, Clone)]
pub struct Serving {
    /// How loading went.
    pub loaded: LoadReport,
    /// Requests that were answered.
    pub requests: ServedRequests,
    /// How long it took, from the first moment at which a request could come.
    pub elapsed: Duration,
    /// What of it serving itself cost, beside computing and waiting.
    pub own: Duration,
    /// Whether it ended because too many requests waited.
    pub is_overrun: bool,
    /// When it was stopped from outside, in nanoseconds, if it was.
    pub stopped_at: Option<u64>,
    /// The start of the worker, the load and the first inference.
    pub cold: Cold,
    /// What the probes saw while requests came.
    pub probes: Vec<ProbeReport>,
    /// Their numbers, with the peaks of loading.
    pub metrics: Vec<Metric>,
    /// The machine meanwhile.
    pub environment: Environment,
    /// What of the machine speaks against the times.
    pub reasons: Vec<Reason>,
}

/// Loads a job in a fresh worker and lets it answer requests; `hear` is told after each window what was answered in it, when, and
/// how many wait, and says whether to go on.
///
/// # Errors
/// When the worker or the engine fails.
pub fn serve_requests(
    job: &Job<'_>,
    bench: &Bench,
    launch: &Launch,
    timeout: Duration,
    serving: ServingJob,
    hear: &mut dyn FnMut(&ServedRequests, u64, u64) -> bool,
) -> Result<Serving, MeterError> {
    let before = Snapshot::take();
    let mut link = Link::open(launch, timeout)?;
    let target = Target::new(link.pid(), job.cell.device).with_idle(bench.idle);
    let loading = Watcher::start(&measure::loading_probes(job.cell.device), &target);
    let loaded = measure::load(&mut link, job)?;
    let first = measure::first_inference(&mut link)?;
    ask(&mut link, &Request::Serve(Box::new(serving)))?;
    let loading = loading.stop();
    link.set_timeout(timeout.max(WINDOW + BEYOND));

    let watcher = Watcher::start(PROBES, &target);
    let mut requests = ServedRequests::default();
    let begin = Instant::now();
    let (last, stopped_at) = loop {
        let report = ask(&mut link, &Request::ServeOn { budget: WINDOW })?;
        let goes_on = hear(&report.requests, report.now, report.waiting);
        requests.append(report.requests.clone());
        if report.is_done {
            break (report, None);
        }
        if !goes_on {
            let now = report.now;
            break (report, Some(now));
        }
    };
    let probes = watcher.stop();
    let conditions = before.diff(&Snapshot::take(), &[link.pid(), std::process::id()]);
    let mut environment = measure::environment(job, bench, conditions, &loaded);
    environment.memory_limit = link.limit();
    let cold = Cold {
        process_start: link.started_in(),
        load: loaded.load,
        first_inference: first.inference,
    };
    link.close();
    let metrics = derive::of_probes(&loading, &probes);
    Ok(Serving {
        reasons: judge::quiet_service(job, &metrics, &environment),
        loaded,
        requests,
        elapsed: Duration::from_nanos(last.now).min(begin.elapsed()),
        own: Duration::from_nanos(last.own),
        is_overrun: last.is_overrun,
        stopped_at,
        cold,
        metrics,
        probes,
        environment,
    })
}

/// A report whose columns fit each other.
fn ask(link: &mut Link, request: &Request) -> Result<ServedReport, MeterError> {
    let doing = "answer requests";
    let wrong = |said: String| MeterError::Protocol { doing, said };
    let report = match link.ask(request, doing)? {
        Reply::Served(report) => *report,
        other => return Err(wrong(format!("{other:?}").chars().take(200).collect())),
    };
    let ServedRequests { scheduled, began, ended, lag, batch, tokens, length } = &report.requests;
    let count = scheduled.len();
    let of_all = [began.len(), ended.len(), lag.len(), batch.len()];
    let of_texts = [tokens.len(), length.len()];
    let fit = of_all.iter().all(|len| *len == count)
        && (of_texts == [0, 0] || of_texts == [count, count]);
    match fit {
        true => Ok(report),
        false => Err(wrong("columns of requests that do not fit each other".into())),
    }
}
