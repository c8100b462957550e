//! What may be done beside looking, where the server allows it.

use crate::{
    answer::{Answer, Refusal},
    app::App,
    documents::{ChangeDocument, MEASUREMENTS_SCHEMA, MeasurementsDocument},
    launcher::Launcher,
    query::Query,
    request::Request,
};
use store::StoreError;
use types::RunId;

fn form(request: &Request) -> Result<Query, Refusal> {
    let text =
        std::str::from_utf8(&request.body).map_err(|_| Refusal::bad("the form is not text"))?;
    Ok(Query::parse(text))
}

/// A page goes on where it was; a program hears what happened.
fn done(app: &App, form: &Query, change: ChangeDocument) -> Answer {
    // An address of this server alone.
    let back = form.get("back").filter(|path| path.starts_with('/') && !path.starts_with("//"));
    match back.filter(|path| !path.contains('\\')) {
        Some(path) => Answer::see(app.link(path)),
        None => Answer::document(&change),
    }
}

fn launcher(app: &App) -> Result<&Launcher, Refusal> {
    app.launcher.as_ref().ok_or_else(|| Refusal::new(403, "this server does not measure"))
}

/// Starts a profile or a plan.
pub(crate) fn start(app: &App, request: &Request) -> Result<Answer, Refusal> {
    let form = form(request)?;
    let pid = launcher(app)?.launch(&form)?;
    Ok(done(app, &form, ChangeDocument { pid: Some(pid), ..ChangeDocument::default() }))
}

/// What was started here.
pub(crate) fn jobs(app: &App, _: &Request) -> Result<Answer, Refusal> {
    let jobs = app.launcher.as_ref().map(Launcher::jobs).unwrap_or_default();
    Ok(Answer::document(&MeasurementsDocument { schema: MEASUREMENTS_SCHEMA, jobs }))
}

/// Asks a process that measures to stop, as Ctrl-C does.
pub(crate) fn stop(app: &App, request: &Request) -> Result<Answer, Refusal> {
    let form = form(request)?;
    launcher(app)?;
    let id = request.path.get(2).map(String::as_str).unwrap_or_default();
    let pid = {
        let mut live = app.live();
        live.listen();
        live.running(id)
    };
    let pid = pid.ok_or_else(|| Refusal::new(404, "no process of that name measures"))?;
    let pid = i32::try_from(pid).map_err(|_| Refusal::not_found())?;
    // SAFETY: kill takes two numbers and touches no memory of ours. The process holds the lock of its journal, so it is
    // the one that is meant.
    if unsafe { libc::kill(pid, libc::SIGINT) } != 0 {
        return Err(Refusal::new(409, "the process could not be told to stop"));
    }
    let change = ChangeDocument { stopping: Some(pid), ..ChangeDocument::default() };
    Ok(done(app, &form, change))
}

fn run_of(request: &Request) -> &str {
    request.path.get(2).map(String::as_str).unwrap_or_default()
}

/// Labels a run, or takes a label off it.
pub(crate) fn tag(app: &App, request: &Request) -> Result<Answer, Refusal> {
    let form = form(request)?;
    let (add, remove) = (form.get("tag"), form.get("remove"));
    app.stores.with(|store| {
        let id = store.resolve(run_of(request))?;
        let changed = match (add, remove) {
            (Some(tag), None) => store.tag(&id, tag)?,
            (None, Some(tag)) => store.untag(&id, tag)?,
            _ => return Err(Refusal::bad("give either `tag` or `remove`")),
        };
        let change =
            ChangeDocument { run: Some(id.0), changed: Some(changed), ..ChangeDocument::default() };
        Ok(done(app, &form, change))
    })
}

/// Deletes a run; only its whole id will do.
pub(crate) fn delete(app: &App, request: &Request) -> Result<Answer, Refusal> {
    let form = form(request)?;
    app.stores.with(|store| {
        let wanted = run_of(request);
        let id = store.resolve(wanted)?;
        if id.0 != wanted {
            return Err(StoreError::NotFound { prefix: wanted.to_owned() }.into());
        }
        let count = store.delete(&[RunId(id.0.clone())])?;
        let change = ChangeDocument { deleted: Some(count), ..ChangeDocument::default() };
        Ok(done(app, &form, change))
    })
}
