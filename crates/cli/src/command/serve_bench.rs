//! `modelmeter serve-bench`: a link under which any browser measures, and sends the runs home.

use crate::{
    Exit, Failure, Sinks,
    arguments::{Global, ServeBench},
    command::{
        folders,
        measurement::{measurement, with},
        table_width, taken_port, watched_session,
    },
    output,
    places::places,
    progress::Progress,
};
use engine::PageAddress;
use modelmeter::{ENGINES, Profiler, Run, Session};
use report::{RunLine, clean};
use std::{
    io,
    net::{IpAddr, SocketAddr, TcpListener, UdpSocket},
};

pub(crate) fn run(arguments: &ServeBench, global: &Global) -> Result<Exit, Failure> {
    arguments.result.check([])?;
    let folders = folders(global)?;
    let mut page = address(arguments)?;
    page.listen = free(page.listen, &arguments.models)?;
    let cells = cells(arguments, &page, global)?;
    let cells: Vec<Profiler> =
        cells.into_iter().map(|cell| cell.folders(folders.clone())).collect();
    let mut session =
        watched_session(&folders, arguments.store.skip.no_store, global, "the measurement")?;
    say_link(&page);
    let mut sinks = Sinks::new(global);
    let mut runs = Vec::new();
    let mut refused = 0;
    for cell in &cells {
        match measure(cell, &mut session, global) {
            Ok(run) => runs.push(run),
            Err(failure) => {
                refused += 1;
                output::complain(&failure.render(false));
            }
        }
        sinks.hear(&mut session);
    }
    let lines: Vec<RunLine> = runs.iter().map(|run| line(run, &session)).collect();
    let exit = if refused > 0 { Exit::Cannot } else { Exit::Fine };
    if lines.is_empty() {
        return Ok(sinks.finish(exit));
    }
    for run in &runs {
        let placement = &run.engine.placement;
        sinks.talk(&format!("{}: {placement}, on {}\n", run.model.name, machine(run)));
    }
    let document = report::runs_document(&lines, table_width());
    sinks.list(&document, &arguments.result, table_width());
    Ok(sinks.finish(exit))
}

fn measure(cell: &Profiler, session: &mut Session, global: &Global) -> Result<Run, Failure> {
    let mut progress = Progress::new(global.quiet);
    let outcome = cell.profile_in(session, &mut |event| progress.hear(&event));
    progress.clear();
    Ok(outcome?.run)
}

fn line(run: &Run, session: &Session) -> RunLine {
    let id = session.stored_as(&run.id).unwrap_or_else(|| run.id.0.clone());
    RunLine { id, ..RunLine::from(run) }
}

fn machine(run: &Run) -> String {
    let machine = &run.environment.machine;
    format!("{} ({} threads)", machine.hostname, machine.cpu.threads)
}

fn address(arguments: &ServeBench) -> Result<PageAddress, Failure> {
    let listen = arguments.listen;
    let Some(token) = &arguments.token else {
        return PageAddress::fresh(listen).map_err(|error| {
            Failure::new(Exit::Cannot, "could not make a token").cause(error.to_string())
        });
    };
    PageAddress::behind(listen, token).ok_or_else(|| {
        Failure::new(Exit::Wrong, format!("`{token}` cannot be a token"))
            .hint("a token has 8 or more letters, digits, `-` and `_`; omit it to get a new one")
    })
}

/// The address, if nobody listens there: a link to somebody else's page must not be shown. For port 0 a free one.
fn free(address: SocketAddr, models: &[String]) -> Result<SocketAddr, Failure> {
    let bound = TcpListener::bind(address).and_then(|listener| listener.local_addr());
    bound.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => {
            let failure =
                Failure::new(Exit::Cannot, format!("{address} is taken by another program"));
            let command = format!("serve-bench {}", clean(&models.join(" ")));
            taken_port::explain(failure, address, &command)
        }
        _ => Failure::new(Exit::Cannot, format!("could not listen on {address}"))
            .cause(error.to_string())
            .hint("`--listen 0.0.0.0:8790` listens on every address of this machine"),
    })
}

/// Every model on every device in every precision.
fn cells(
    arguments: &ServeBench,
    page: &PageAddress,
    global: &Global,
) -> Result<Vec<Profiler>, Failure> {
    let engine = ENGINES.iter().find(|engine| engine.serves_pages());
    let engine = engine.ok_or_else(|| Failure::new(Exit::Cannot, "no engine serves pages"))?;
    let mut places = places(global);
    places.page = Some(page.clone());
    let ServeBench { workload, origin, threads, tuning, sampling, timeout, store, .. } = arguments;
    let mut cells = Vec::new();
    for model in &arguments.models {
        let base = measurement(model, workload, origin, places.clone())?;
        let base = with(base, &[threads, tuning, sampling, timeout, &store.tags]);
        let base = base.engine(engine.id());
        for device in &arguments.devices.devices {
            let cell = base.clone().device(*device);
            match arguments.precisions.precisions.as_slice() {
                [] => cells.push(cell),
                each => cells.extend(each.iter().map(|one| cell.clone().precision(*one))),
            }
        }
    }
    Ok(cells)
}

/// Says what to open; the token is not for logs, so it goes to the terminal alone.
fn say_link(page: &PageAddress) {
    let host = match page.listen.ip() {
        ip if ip.is_unspecified() => own_address().map_or("localhost".into(), |ip| ip.to_string()),
        ip => ip.to_string(),
    };
    output::complain(&format!(
        "open this in the browser that shall be measured: {}\n",
        page.url(&host)
    ));
}

/// The address of this machine that others most likely reach. Nothing is sent for that.
fn own_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    // An address that is reserved for examples.
    socket.connect("192.0.2.1:9").ok()?;
    Some(socket.local_addr().ok()?.ip())
}
