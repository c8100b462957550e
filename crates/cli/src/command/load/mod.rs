//! `modelmeter load`: requests at a model, and what its users would have waited.

mod contents;
mod gate;
mod screen;
pub(super) mod stop;

use crate::{
    Exit, Failure, Sinks,
    arguments::{Global, LoadArguments, LoadTo, Origin, Workload},
    command::{
        folders,
        measurement::{measurement, with},
        session,
    },
    output,
    places::places,
    terminal::{self, Stream},
};
use ::load::Batching;
use draw::LoadPoint;
use endpoint::{Address, Inspection};
pub(super) use gate::{addresses, check, compare, gated, refuse_server_options};
use modelmeter::{Event, Folders, LoadTarget, LoadTest, RateQuestion, Session};
use report::{Block, ResultPicture, clean};
pub(super) use screen::Screen;
use std::{
    io::{self, BufRead, Write},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use types::{LoadComparison, LoadMetric, Rate, RateSearch, Run, Scenario};

/// How often at most the highest rate that held is measured again, until it has held twice.
const CONFIRMATIONS: usize = 3;

pub(crate) fn run(arguments: &LoadArguments, global: &Global) -> Result<Exit, Failure> {
    // Everything that can be found wrong is found before anything is sent.
    let asked = arguments.result.with_file(arguments.file.output.as_deref(), &[])?;
    asked.check([])?;
    let folders = folders(global)?;
    if let LoadTo::Model(name) = &arguments.target {
        refuse_for_model(name, arguments)?;
    }
    let headers = headers(arguments)?;
    let tests = tests(arguments, headers.clone())?;
    if arguments.against.is_some() && tests.len() > 1 {
        return Err(Failure::new(
            Exit::Wrong,
            "`--against` compares one load: give one `--concurrency`",
        ));
    }
    let loads =
        tests.len() * if arguments.against.is_some() { arguments.rounds as usize } else { 1 };
    let duration = tests.iter().map(|test| test.duration).max().unwrap_or_default();
    let find = |target: &LoadTo| match target {
        LoadTo::Server(address) => {
            let inspection = inspection(arguments, address, headers.clone());
            if !LoadTarget::is_local(&inspection)? {
                ask(arguments, address, loads, duration)?;
            }
            Ok::<_, Failure>(LoadTarget::find(&inspection)?)
        }
        LoadTo::Model(name) => model(name, arguments, &folders, global),
    };
    let target = find(&arguments.target)?;
    let against = arguments.against.as_ref().map(find).transpose()?;
    let mut session = session(&folders, arguments.skip.no_store, global)?;
    let stop = stop::watch()?;
    let mut screen = Screen::new(arguments.progress, global.quiet);
    let targets = (&target, against.as_ref());
    let outcome = send(arguments, &tests, targets, &mut session, &stop, &mut screen);
    screen.clear();
    let mut sinks = Sinks::new(global);
    sinks.hear(&mut session);
    let Sent { runs, search, comparison } = outcome?;
    let exit = match stop.load(Ordering::Relaxed) {
        true => Exit::Stopped,
        false => exit_of(&runs, search.as_ref()),
    };
    let mut document = match &comparison {
        Some(comparison) => report::load_comparison_document(&runs, comparison),
        None => report::load_document(&runs, search.as_ref()),
    };
    if asked.path("html").is_some() {
        document.blocks.extend(curve(&runs, search.as_ref()));
    }
    let stored: Vec<String> = runs.iter().filter_map(|run| session.stored_as(&run.id)).collect();
    if let (Some(first), Some(last)) = (stored.first(), stored.last()) {
        document.footer = vec![match stored.len() {
            1 => format!("stored as run {first}"),
            count => format!("stored as {count} runs, {first} to {last}"),
        }];
    }
    sinks.result(&document, &asked, exit);
    Ok(sinks.finish(exit))
}

/// What only a server understands is refused for a model.
fn refuse_for_model(name: &str, arguments: &LoadArguments) -> Result<(), Failure> {
    let of_servers = [
        ("--protocol", arguments.server.protocol.is_some()),
        ("--served-model", arguments.server.served_model.is_some()),
        ("--body", arguments.body.is_some()),
        ("--extra", arguments.extra.is_some()),
        ("--shape", !arguments.shape.is_empty()),
        ("--header", !arguments.server.header.is_empty()),
        ("--key-env", arguments.server.key_env.is_some()),
        ("--generators", arguments.generators > 1),
    ];
    if let Some((option, _)) = of_servers.iter().find(|(_, is_given)| *is_given) {
        let text = format!("`{option}` is for servers, and `{name}` is not an address");
        return Err(
            Failure::new(Exit::Wrong, text).hint("an address begins with `http://` or `https://`")
        );
    }
    Ok(())
}

/// A model that a worker loads.
fn model(
    name: &str,
    arguments: &LoadArguments,
    folders: &Folders,
    global: &Global,
) -> Result<LoadTarget, Failure> {
    let mut workload = Workload::default();
    workload.inputs.seed = arguments.seed.clone();
    workload.inputs.sequence_length = arguments.sequence_length;
    let base = measurement(name, &workload, &Origin::default(), places(global))?;
    let profiler = with(base.folders(folders.clone()), &[&arguments.engine]);
    Ok(LoadTarget::Model(Box::new(profiler)))
}

/// Keys come from the environment only: other users of the machine can see arguments.
fn headers(arguments: &LoadArguments) -> Result<Vec<(String, String)>, Failure> {
    let mut headers = arguments.server.header.clone();
    let is_key = |name: &str| {
        name.eq_ignore_ascii_case("authorization") || name.to_ascii_lowercase().contains("key")
    };
    if let Some((name, _)) = headers.iter().find(|(name, _)| is_key(name)) {
        let text =
            format!("a key does not belong into `--header` (`{name}`): other users can see it");
        return Err(Failure::new(Exit::Wrong, text)
            .hint("put it into a variable and name that: `--key-env API_KEY`"));
    }
    if let Some(variable) = &arguments.server.key_env {
        let key = std::env::var(variable).ok().filter(|key| !key.trim().is_empty());
        let Some(key) = key.map(|key| key.trim().to_owned()) else {
            return Err(Failure::new(Exit::Wrong, format!("the variable `{variable}` is not set"))
                .hint(format!("`export {variable}=…` before the command")));
        };
        if key.chars().any(char::is_control) {
            return Err(Failure::new(
                Exit::Wrong,
                format!("the key in `{variable}` has several lines"),
            ));
        }
        headers.push(("authorization".into(), format!("Bearer {key}")));
    }
    Ok(headers)
}

fn inspection(
    arguments: &LoadArguments,
    address: &Address,
    headers: Vec<(String, String)>,
) -> Inspection {
    Inspection {
        address: address.clone(),
        protocol: arguments.server.protocol,
        model: arguments.server.served_model.clone(),
        headers,
    }
}

/// One load for each scenario that was asked for.
fn tests(
    arguments: &LoadArguments,
    headers: Vec<(String, String)>,
) -> Result<Vec<LoadTest>, Failure> {
    let bodies = contents::bodies(arguments)?;
    let (trace, hash) = contents::trace(arguments.trace.as_deref())?;
    let duration = arguments.lasts(&trace);
    let scenarios: Vec<Scenario> = if let Some(rate) = arguments.rate {
        let ramp_to = arguments.ramp_to.map(Rate);
        vec![Scenario::Server { rate: Rate(rate), arrivals: arguments.arrivals, ramp_to }]
    } else if !arguments.concurrency.is_empty() {
        arguments.concurrency.iter().map(|users| Scenario::Concurrency { users: *users }).collect()
    } else if let Some(streams) = arguments.multi_stream {
        vec![Scenario::MultiStream { streams }]
    } else if arguments.offline {
        vec![Scenario::Offline]
    } else if let Some(hash) = hash {
        vec![Scenario::Replay { trace: hash }]
    } else {
        vec![Scenario::SingleStream]
    };
    let test = |scenario| LoadTest {
        scenario,
        trace: trace.clone(),
        bodies: bodies.clone(),
        streaming: !arguments.no_stream,
        duration,
        warmup: arguments.warms_up(duration),
        timeout: arguments.timeout,
        max_requests: arguments.most_requests(),
        batching: Batching {
            most: arguments.batch_max,
            wait: u64::try_from(arguments.batch_wait.as_nanos()).unwrap_or(u64::MAX),
        },
        generators: arguments.generators,
        metrics_address: arguments.metrics_address.clone(),
        max_in_flight: arguments.max_in_flight,
        backlog: None,
        limits: arguments.slo.clone(),
        errors_allowed: arguments.max_errors,
        seed: arguments.seed.value(),
        headers: headers.clone(),
        tags: arguments.tags.tag.clone(),
    };
    Ok(scenarios.into_iter().map(test).collect())
}

/// Load goes only where it was meant to go: another machine may be somebody else's.
fn ask(
    arguments: &LoadArguments,
    address: &Address,
    loads: usize,
    duration: Duration,
) -> Result<(), Failure> {
    if arguments.server.yes {
        return Ok(());
    }
    let what = match arguments.find_rate {
        true => "a search with many loads".to_owned(),
        false if loads > 1 => {
            format!("{loads} loads of up to {} requests each", arguments.most_requests())
        }
        false => format!(
            "up to {} requests in {} s",
            arguments.most_requests(),
            report::significant(duration.as_secs_f64(), 3)
        ),
    };
    let target = clean(&address.to_string());
    let refused = |text: String| {
        Err(Failure::new(Exit::Wrong, text)
            .hint("if it may get the load: the same command with `--yes`"))
    };
    if !terminal::is_terminal(Stream::Error) || !io::IsTerminal::is_terminal(&io::stdin()) {
        return refused(format!("{target} is not this machine, and nobody can be asked"));
    }
    output::complain(&format!("{target} is not this machine. Send it {what}? [y/N] "));
    let mut answer = String::new();
    let _ = io::stderr().flush();
    // No answer is no.
    let _ = io::stdin().lock().read_line(&mut answer);
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => refused("nothing was sent".into()),
    }
}

/// What was sent, and what follows from all of it.
#[derive(Default)]
struct Sent {
    runs: Vec<Run>,
    search: Option<RateSearch>,
    comparison: Option<LoadComparison>,
}

fn send(
    arguments: &LoadArguments,
    tests: &[LoadTest],
    (target, against): (&LoadTarget, Option<&LoadTarget>),
    session: &mut Session,
    stop: &AtomicBool,
    screen: &mut Screen,
) -> Result<Sent, Failure> {
    if arguments.find_rate {
        let question = RateQuestion {
            start: arguments.start_rate,
            arrivals: arguments.arrivals,
            highest: arguments.highest_rate,
            width: arguments.width,
            confirmations: CONFIRMATIONS,
        };
        let mut hear = |event: Event| screen.hear(&event);
        let Some(test) = tests.first() else { return Ok(Sent::default()) };
        let found = test.find_rate(&question, target, session, stop, &mut hear)?;
        return Ok(Sent { runs: found.runs, search: Some(found.search), comparison: None });
    }
    if let (Some(against), Some(test)) = (against, tests.first()) {
        let mut hear = |event: Event| screen.hear(&event);
        let (rounds, both) = (arguments.rounds as usize, [target, against]);
        let found = test.compare(rounds, both, session, stop, &mut hear)?;
        return Ok(Sent { runs: found.runs, search: None, comparison: Some(found.comparison) });
    }
    let mut runs = Vec::new();
    for test in tests {
        let label = test.scenario.to_string();
        let mut hear = |event: Event| screen.hear(&event.labelled(&label));
        let run = test.run(target, session, stop, &mut hear)?;
        runs.push(run);
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    Ok(Sent { runs, search: None, comparison: None })
}

/// Latency against rate, where there were several rates.
fn curve(runs: &[Run], search: Option<&RateSearch>) -> Option<Block> {
    let point = |run: &Run| {
        let load = run.load.as_deref()?;
        let answer = load.latency(LoadMetric::E2e)?;
        let held = |one: &types::LimitOutcome| one.holds;
        let all: Option<Vec<bool>> = load.limits.iter().map(held).collect();
        Some(LoadPoint {
            rate: load.rates.offered.value.or(load.rates.completed.value)?,
            median: answer.median,
            p99: answer.p99,
            held: all.filter(|all| !all.is_empty()).map(|all| all.iter().all(|one| *one)),
        })
    };
    let points: Vec<LoadPoint> = runs.iter().filter_map(point).collect();
    let limits = || runs.iter().filter_map(|run| run.load.as_deref()).flat_map(|load| &load.limits);
    let of_all = limits().find(|one| one.limit.metric == LoadMetric::E2e);
    let limit = of_all.map(|one| one.limit.seconds);
    let knee = search.and_then(|search| search.passed);
    let [svg, narrow] = draw::load_curve_for_page(&points, limit, knee).ok()?;
    let title = "Latency against the rate of requests".into();
    Some(Block::Picture(ResultPicture { title, svg, narrow: Some(narrow) }))
}

fn exit_of(runs: &[Run], search: Option<&RateSearch>) -> Exit {
    if let Some(search) = search {
        return match search.passed {
            Some(_) if search.confirmed == search.passed => Exit::Fine,
            None if search.lowest_broke() => Exit::Failed,
            _ => Exit::Untold,
        };
    }
    let limits = || runs.iter().filter_map(|run| run.load.as_deref()).flat_map(|load| &load.limits);
    if runs.iter().any(|run| !run.verdict.valid) {
        Exit::Untold
    } else if limits().any(|limit| limit.holds == Some(false)) {
        Exit::Failed
    } else if limits().any(|limit| limit.holds.is_none()) {
        Exit::Untold
    } else {
        Exit::Fine
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{ProbeOutcome, RateProbe};

    #[test]
    fn a_search_fails_only_where_the_lowest_rate_broke() {
        let of = |passed, failed, confirmed, probes: &[(f64, ProbeOutcome)]| {
            let probes =
                probes.iter().map(|(rate, outcome)| RateProbe { rate: *rate, outcome: *outcome });
            exit_of(&[], Some(&RateSearch { passed, failed, confirmed, probes: probes.collect() }))
        };
        use ProbeOutcome::{Broken, Held, Undecided};
        let held = [(4.0, Held), (8.0, Broken), (4.0, Held)];
        assert_eq!(of(Some(4.0), Some(8.0), Some(4.0), &held), Exit::Fine);
        assert_eq!(of(Some(4.0), Some(8.0), None, &held[..2]), Exit::Untold, "not confirmed");
        assert_eq!(of(None, Some(4.0), None, &[(4.0, Broken)]), Exit::Failed);
        let busy = [(80.0, Undecided), (160.0, Broken), (5.0, Undecided)];
        assert_eq!(of(None, Some(160.0), None, &busy), Exit::Untold, "a lower rate may hold");
        assert_eq!(of(None, None, None, &[]), Exit::Untold);
    }
}
