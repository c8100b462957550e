//! `modelmeter check` with thresholds of a load, and `modelmeter compare` with two addresses: loads behind other commands.

use crate::{
    Exit, Failure,
    arguments::{Check, CheckThreshold, Compare, Given, Global, LoadArguments, ServerArguments},
};
use clap::Parser;
use modelmeter::FORMATS;

/// The arguments of `load` alone.
#[derive(Debug, Parser)]
struct Load {
    #[command(flatten)]
    arguments: LoadArguments,
}

/// What a check loads: an address always, a model where a threshold is one of a load.
pub(crate) fn gated(arguments: &Check) -> Option<&str> {
    let name = arguments.model.name()?;
    let is_load = |threshold: &CheckThreshold| matches!(threshold, CheckThreshold::Load(_));
    let of_load =
        name.contains("://") || arguments.rate.is_some() || arguments.threshold.iter().any(is_load);
    of_load.then_some(name)
}

/// What a check of a load takes. The rest is of models that are measured without one.
const OF_A_CHECK: [&str; 10] = [
    "model",
    "model_flag",
    "threshold",
    "rate",
    "load_duration",
    "strict",
    "sequence_length",
    "seed",
    "tag",
    "no_store",
];

/// What a check of a model under a load takes beyond that.
const OF_A_MODEL: [&str; 10] = [
    "engine",
    "device",
    "precision",
    "threads",
    "compile",
    "graph_optimization",
    "inter_op_threads",
    "hint",
    "settings",
    "allow_pickle",
];

/// What a comparison of two addresses takes.
const OF_A_COMPARISON: [&str; 4] = ["subjects", "output", "tag", "no_store"];

/// What every command takes, and every one that speaks to a server.
const OF_ALL: [&str; 10] = [
    "python",
    "db",
    "cache",
    "color",
    "quiet",
    "protocol",
    "served_model",
    "header",
    "key_env",
    "yes",
];

/// Refuses options that would have no effect.
fn refuse(given: &Given, known: &[&[&str]], what: &str) -> Result<(), Failure> {
    let formats = FORMATS.iter().map(|format| format.id);
    let known: Vec<&str> =
        known.iter().flat_map(|ids| ids.iter().copied()).chain(OF_ALL).chain(formats).collect();
    match given.beyond(&known) {
        None => Ok(()),
        Some(option) => {
            Err(Failure::new(Exit::Wrong, format!("`{option}` has no meaning for {what}"))
                .hint("`modelmeter load --help` has every option of a load"))
        }
    }
}

/// Sends the load and holds it to the thresholds.
pub(crate) fn check(target: &str, arguments: &Check, global: &Global) -> Result<Exit, Failure> {
    let wrong = |text: String| Failure::new(Exit::Wrong, text);
    let limits: Result<Vec<_>, _> =
        arguments.threshold.iter().map(CheckThreshold::of_load).collect();
    let limits = limits.map_err(|text| {
        wrong(format!("`{text}` is no threshold of a load"))
            .hint("a load has times: `--threshold ttft.p99:200ms`, `p99:2s`; check the rest without a load")
    })?;
    if limits.is_empty() {
        let hint = "such as `--threshold ttft.p99:200ms`, or `p99:2s` for the whole answer";
        return Err(wrong("a check of a load needs a threshold".into()).hint(hint));
    }
    let of_models = [
        ("--against", arguments.against.is_some()),
        ("--baseline", arguments.baseline.is_some()),
        ("--save-baseline", arguments.save_baseline.is_some()),
        ("--junit", arguments.junit.is_some()),
        ("--output-dir", arguments.output_dir.is_some()),
        ("--github", arguments.github),
    ];
    if let Some((option, _)) = of_models.iter().find(|(_, is_given)| *is_given) {
        let text = format!("`{option}` does not work with thresholds of a load");
        return Err(wrong(text).hint(
            "`modelmeter load A --against B` compares two, `modelmeter trend` shows the history",
        ));
    }
    match target.contains("://") {
        true => refuse(&arguments.given, &[&OF_A_CHECK], "a check of a server")?,
        false => refuse(&arguments.given, &[&OF_A_CHECK, &OF_A_MODEL], "a check under a load")?,
    }
    let mut load = parsed(&[target])?;
    load.server = arguments.server.clone();
    load.slo = limits;
    load.rate = arguments.rate;
    if let Some(duration) = arguments.load_duration {
        load.duration = Some(duration);
        load.warmup = Some(duration / 6);
    }
    load.engine = arguments.engine.clone();
    load.sequence_length = arguments.workload.inputs.sequence_length;
    load.seed = arguments.workload.inputs.seed.clone();
    load.result = arguments.result.clone();
    load.tags = arguments.store.tags.clone();
    load.skip = arguments.store.skip.clone();
    match super::run(&load, global)? {
        Exit::Untold if arguments.strict => Ok(Exit::Failed),
        exit => Ok(exit),
    }
}

/// Refuses what only a server understands, where no server is asked.
pub(crate) fn refuse_server_options(server: &ServerArguments) -> Result<(), Failure> {
    let Some(option) = server.given() else { return Ok(()) };
    Err(Failure::new(Exit::Wrong, format!("`{option}` is for servers, and no address is given"))
        .hint("an address begins with `http://` or `https://`"))
}

/// Two addresses that are compared; `None` if the subjects are models or runs.
pub(crate) fn addresses(arguments: &Compare) -> Option<&[String]> {
    let subjects = arguments.subjects.as_slice();
    subjects.iter().any(|subject| subject.contains("://")).then_some(subjects)
}

/// Loads two servers by turns, one request at a time; `load A --against B` has every other scenario.
pub(crate) fn compare(
    subjects: &[String],
    arguments: &Compare,
    global: &Global,
) -> Result<Exit, Failure> {
    let [first, second] = subjects else {
        let text = "two addresses are compared with each other, and nothing else";
        return Err(Failure::new(Exit::Wrong, text)
            .hint("`modelmeter compare http://127.0.0.1:8080 http://127.0.0.1:8081`"));
    };
    refuse(&arguments.given, &[&OF_A_COMPARISON], "a comparison of servers")?;
    let mut load = parsed(&[first, "--against", second, "--duration", "10s", "--warmup", "1s"])?;
    load.server = arguments.server.clone();
    load.result = arguments.result.clone();
    load.file.output.clone_from(&arguments.output);
    load.tags = arguments.store.tags.clone();
    load.skip = arguments.store.skip.clone();
    super::run(&load, global)
}

/// The arguments of `load` as if these words had been written.
fn parsed(words: &[&str]) -> Result<LoadArguments, Failure> {
    let words = std::iter::once("load").chain(words.iter().copied());
    let wrong = |error: clap::Error| {
        let text = error.to_string();
        let text = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
        Failure::new(Exit::Wrong, text.to_owned())
    };
    Ok(Load::try_parse_from(words).map_err(wrong)?.arguments)
}
