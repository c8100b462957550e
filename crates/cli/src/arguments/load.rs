//! The arguments of `load`.

use super::{EngineArguments, NoStore, OutputFile, ResultOutput, Seed, ServerArguments, Tags};
use clap::{ArgGroup, Args, ValueEnum};
use endpoint::{Address, Shape};
use load::Length;
use std::{path::PathBuf, str::FromStr, time::Duration};
use types::{Arrivals, LoadLimit, Protocol, parse_duration};

/// How long requests are sent where nobody says it.
const DURATION: Duration = Duration::from_secs(30);
/// The longest warm-up where nobody says how long it is.
const WARMUP: Duration = Duration::from_secs(5);
/// The most requests where nobody says how many.
const MOST_REQUESTS: usize = 100_000;
/// The same where all of them come at once.
const OFFLINE: usize = 1000;

const AFTER: &str = "\
Latencies are counted from the moment at which the schedule wanted a request, not from its sending: a server
that falls behind cannot hide it. How: docs/LOAD.md

Exit codes: 0 measured, 1 a limit of --slo is broken, 2 usage error, 3 the server cannot be reached,
4 the numbers are not valid, or too few to tell, 130 stopped (what was measured is kept)

Examples:
  modelmeter load distilbert-base-uncased --rate 20/s --slo p99:200ms
  modelmeter load distilbert-base-uncased --offline --batch-max 8 --engine onnxruntime
  modelmeter load http://127.0.0.1:8080
  modelmeter load http://127.0.0.1:8080 --rate 4/s --slo ttft.p99:200ms,itl.p95:50ms
  modelmeter load http://127.0.0.1:8080 --concurrency 1,2,4,8 --prompt 512±128 --new-tokens 128
  modelmeter load http://127.0.0.1:8080 --find-rate --slo p99:2s --duration 1m
  modelmeter load http://127.0.0.1:8080 --against http://127.0.0.1:8081 --rate 4/s --duration 10s --warmup 1s
  modelmeter load http://127.0.0.1:8000/v2/models/bert/infer --shape input_ids=1x128 --rate 40/s
  modelmeter load http://127.0.0.1:9000/predict --protocol http --body request.json --offline
  modelmeter load https://api.example.com/v1 --key-env API_KEY --served-model small --rate 1/s --max-requests 60";

#[derive(Debug, Args)]
#[command(
    after_help = AFTER,
    group = ArgGroup::new("scenario").multiple(false),
)]
pub(crate) struct LoadArguments {
    /// Model to load here, or address of a server: OpenAI, KServe version 2, or anything that answers HTTP
    #[arg(display_order = 0, value_name = "MODEL|ADDRESS", help_heading = "Workload")]
    pub(crate) target: LoadTo,
    #[command(flatten)]
    pub(crate) server: ServerArguments,
    /// Requests per second by a schedule: 40/s
    #[arg(long, value_name = "N/s", value_parser = parse_rate, group = "scenario", help_heading = "Workload")]
    pub(crate) rate: Option<f64>,
    /// Distribution of arrivals: poisson, constant, gamma:SHAPE
    #[arg(long, value_name = "HOW", default_value = "poisson", help_heading = "Workload")]
    pub(crate) arrivals: Arrivals,
    /// Rate at the end of the load; it changes linearly until then
    #[arg(long, value_name = "N/s", value_parser = parse_rate, requires = "rate", help_heading = "Workload")]
    pub(crate) ramp_to: Option<f64>,
    /// Closed loop: so many users, each asking again after the answer; a load for each number
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=100_000), group = "scenario", help_heading = "Workload")]
    pub(crate) concurrency: Vec<u32>,
    /// One request at a time (the default)
    #[arg(long, group = "scenario", help_heading = "Workload")]
    pub(crate) single_stream: bool,
    /// So many requests at once, the next ones when all are answered
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000), group = "scenario", help_heading = "Workload")]
    pub(crate) multi_stream: Option<u32>,
    /// All requests at once
    #[arg(long, group = "scenario", help_heading = "Workload")]
    pub(crate) offline: bool,
    /// Arrival times in seconds, one a line, or the first column of a CSV file
    #[arg(long, value_name = "FILE", group = "scenario", help_heading = "Workload")]
    pub(crate) trace: Option<PathBuf>,
    /// Words of random prompts (a word is one or more tokens): 512, or 512±128 for a mean and its deviation
    #[arg(long, value_name = "LENGTH", default_value = "128", help_heading = "Workload")]
    pub(crate) prompt: Length,
    /// Prompts of a file, also for a model: one a line, or JSON (a list of texts, or conversations as ShareGPT has them)
    #[arg(
        long,
        alias = "inputs",
        value_name = "FILE",
        conflicts_with = "prompt",
        help_heading = "Workload"
    )]
    pub(crate) prompts: Option<PathBuf>,
    /// Maximum number of tokens of an answer, also with a deviation
    #[arg(long, aliases = ["max-tokens", "max-new-tokens"], value_name = "LENGTH", default_value = "64", help_heading = "Workload")]
    pub(crate) new_tokens: Length,
    /// More fields of every OpenAI request, as JSON: '{"temperature":0}'
    #[arg(long, value_name = "JSON", help_heading = "Workload")]
    pub(crate) extra: Option<String>,
    /// Answers as a whole instead of token by token
    #[arg(long, help_heading = "Workload")]
    pub(crate) no_stream: bool,
    /// Shape of a KServe input: NAME=1x128; may be repeated
    #[arg(long, value_name = "NAME=DIMS", help_heading = "Workload")]
    pub(crate) shape: Vec<Shape>,
    /// Model: maximum number of requests that are answered together
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_batch, help_heading = "Workload")]
    pub(crate) batch_max: usize,
    /// Model: longest time that a free engine waits for more requests
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "0ms", help_heading = "Workload")]
    pub(crate) batch_wait: Duration,
    /// First dimension of KServe inputs that leave it open
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Workload")]
    pub(crate) batch_size: usize,
    /// Other dimensions of KServe inputs that are open; tokens of each request to a model [default: 128]
    #[arg(long, short = 'l', value_name = "N", help_heading = "Workload")]
    pub(crate) sequence_length: Option<usize>,
    /// Body of every request of `--protocol http` [default: none, a GET]
    #[arg(long, value_name = "FILE", help_heading = "Workload")]
    pub(crate) body: Option<PathBuf>,
    /// Content type of the body
    #[arg(
        long,
        value_name = "TYPE",
        default_value = "application/json",
        help_heading = "Workload"
    )]
    pub(crate) content_type: String,
    /// Metrics of the server (Prometheus text) [default: /metrics of its own address]
    #[arg(long, value_name = "ADDRESS", help_heading = "Workload")]
    pub(crate) metrics_address: Option<Address>,
    #[command(flatten)]
    pub(crate) seed: Seed,
    #[command(flatten)]
    pub(crate) engine: EngineArguments,

    /// Duration of the load, warm-up included [default: 30s; with --trace until its last moment]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = "Sampling")]
    pub(crate) duration: Option<Duration>,
    /// Time at the start that does not count [default: a sixth of the duration, at most 5s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = "Sampling")]
    pub(crate) warmup: Option<Duration>,
    /// Longest time for one answer
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "60s", help_heading = "Sampling")]
    pub(crate) timeout: Duration,
    /// Maximum number of requests of a load [default: 100000, with --offline 1000]
    #[arg(long, value_name = "N", value_parser = parse_count, help_heading = "Sampling")]
    pub(crate) max_requests: Option<usize>,
    /// Maximum number of requests of a schedule in flight; more wait, and their wait counts
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Sampling")]
    pub(crate) max_in_flight: Option<u32>,

    /// Processes that share the requests to a server; each needs a free processor
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_generators, help_heading = "Sampling")]
    pub(crate) generators: usize,

    /// Limits: ttft.p99:200ms,itl.p95:50ms; e2e is the whole answer
    #[arg(long, value_name = "LIMIT,…", value_delimiter = ',', help_heading = "Gate")]
    pub(crate) slo: Vec<LoadLimit>,
    /// Failed requests that are allowed
    #[arg(long, value_name = "SHARE", value_parser = parse_share, default_value = "1%", help_heading = "Gate")]
    pub(crate) max_errors: f64,
    /// Search the highest rate that keeps every limit; a load for each rate
    #[arg(long, requires = "slo", group = "scenario", help_heading = "Search")]
    pub(crate) find_rate: bool,
    /// Compare with this model or address, interleaved: the same load for both in every round
    #[arg(
        long,
        value_name = "MODEL|ADDRESS",
        conflicts_with = "find_rate",
        help_heading = "Comparison"
    )]
    pub(crate) against: Option<LoadTo>,
    /// Rounds of the comparison, each with one load of --duration for both
    #[arg(long, value_name = "N", requires = "against", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "Comparison")]
    pub(crate) rounds: u32,

    /// First rate of the search [default: 1/s, or more where --slo needs more requests in the time]
    #[arg(long, value_name = "N/s", value_parser = parse_rate, requires = "find_rate", help_heading = "Search")]
    pub(crate) start_rate: Option<f64>,
    /// Highest rate of the search
    #[arg(long, value_name = "N/s", value_parser = parse_rate, requires = "find_rate", default_value = "1000/s", help_heading = "Search")]
    pub(crate) highest_rate: f64,
    /// Relative width at which the search stops
    #[arg(long, value_name = "SHARE", value_parser = parse_share, requires = "find_rate", default_value = "10%", help_heading = "Search")]
    pub(crate) width: f64,

    /// How progress is shown on standard error
    #[arg(long, value_enum, default_value_t = ProgressArgument::Auto, value_name = "HOW", help_heading = "Output")]
    pub(crate) progress: ProgressArgument,
    #[command(flatten)]
    pub(crate) result: ResultOutput,
    #[command(flatten)]
    pub(crate) file: OutputFile,
    #[command(flatten)]
    pub(crate) tags: Tags,
    #[command(flatten)]
    pub(crate) skip: NoStore,
}

impl LoadArguments {
    /// How long requests are sent; a trace, until a second after its last moment.
    pub(crate) fn lasts(&self, trace: &[f64]) -> Duration {
        let ends = |pick: fn(f64, f64) -> f64, from| trace.iter().copied().fold(from, pick);
        let length = ends(f64::max, f64::NEG_INFINITY) - ends(f64::min, f64::INFINITY);
        let whole = Duration::try_from_secs_f64(length + 1.0).ok().filter(|_| !trace.is_empty());
        self.duration.or(whole).unwrap_or(DURATION)
    }

    /// The part at the start of so long a load that does not count.
    pub(crate) fn warms_up(&self, duration: Duration) -> Duration {
        self.warmup.unwrap_or_else(|| (duration / 6).min(WARMUP))
    }

    /// The most requests of a load.
    pub(crate) fn most_requests(&self) -> usize {
        self.max_requests.unwrap_or(if self.offline { OFFLINE } else { MOST_REQUESTS })
    }
}

/// Where a load goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LoadTo {
    /// A server.
    Server(Address),
    /// A model that a worker loads.
    Model(String),
}

impl FromStr for LoadTo {
    type Err = String;

    /// An address has a scheme. What looks like one without it is no model: `127.0.0.1:8080`.
    fn from_str(text: &str) -> Result<LoadTo, String> {
        let is_host = |text: &str| {
            let (host, port) = text.split('/').next().and_then(|first| first.rsplit_once(':'))?;
            let is_name = !host.is_empty() && !port.is_empty();
            (is_name && port.bytes().all(|byte| byte.is_ascii_digit())).then_some(())
        };
        if text.contains("://") || is_host(text).is_some() {
            let address =
                text.parse().map_err(|error: endpoint::AddressError| error.to_string())?;
            return Ok(LoadTo::Server(address));
        }
        match text.trim().is_empty() {
            true => Err("name a model, or the address of a server".into()),
            false => Ok(LoadTo::Model(text.into())),
        }
    }
}

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgressArgument {
    /// A line on a terminal, nothing elsewhere
    Auto,
    /// Events, one line of JSON each
    Json,
    /// Nothing
    None,
}

pub(super) fn parse_protocol(text: &str) -> Result<Protocol, String> {
    text.parse().map_err(|error: types::ParseScenarioError| error.to_string())
}

/// `40/s`, `40`, `2.5/min`.
pub(super) fn parse_rate(text: &str) -> Result<f64, String> {
    let wrong = || format!("`{text}` is not a rate; write 40/s or 30/min");
    let (number, scale) = match text.split_once('/') {
        None => (text, 1.0),
        Some((number, "s")) => (number, 1.0),
        Some((number, "min" | "m")) => (number, 1.0 / 60.0),
        Some(_) => return Err(wrong()),
    };
    let rate = number.trim().parse::<f64>().map_err(|_| wrong())? * scale;
    let usable = (1e-4..=1e6).contains(&rate);
    usable.then_some(rate).ok_or_else(|| "a rate is between 0.0001/s and 1000000/s".into())
}

/// `5%`, `0.05`.
fn parse_share(text: &str) -> Result<f64, String> {
    let wrong = || format!("`{text}` is not a share; write 5% or 0.05");
    let (number, scale) = match text.strip_suffix('%') {
        Some(number) => (number, 0.01),
        None => (text, 1.0),
    };
    let share = number.trim().parse::<f64>().map_err(|_| wrong())? * scale;
    (0.0..=1.0).contains(&share).then_some(share).ok_or_else(wrong)
}

fn parse_generators(text: &str) -> Result<usize, String> {
    let count: usize = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    (1..=64).contains(&count).then_some(count).ok_or_else(|| "1 to 64 generators".into())
}

pub(super) fn parse_batch(text: &str) -> Result<usize, String> {
    let count: usize = text.parse().map_err(|_| format!("`{text}` is not a number of requests"))?;
    (1..=4096)
        .contains(&count)
        .then_some(count)
        .ok_or_else(|| "a batch has 1 to 4096 requests".into())
}

fn parse_count(text: &str) -> Result<usize, String> {
    let count: usize = text.parse().map_err(|_| format!("`{text}` is not a number of requests"))?;
    (1..=50_000_000)
        .contains(&count)
        .then_some(count)
        .ok_or_else(|| "a load has 1 to 50000000 requests".into())
}

/// A header that no server can take for two.
pub(super) fn parse_header(text: &str) -> Result<(String, String), String> {
    let wrong = || format!("`{}` is not a header; write 'name: value'", text.escape_debug());
    let (name, value) = text.split_once(':').ok_or_else(wrong)?;
    let (name, value) = (name.trim(), value.trim());
    let is_name = !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    let is_value = value.chars().all(|c| !c.is_control());
    let is_ours = ["content-length", "transfer-encoding", "connection", "host"]
        .iter()
        .any(|ours| name.eq_ignore_ascii_case(ours));
    if is_ours {
        return Err(format!("`{name}` belongs to the connection and cannot be given"));
    }
    (is_name && is_value).then(|| (name.to_owned(), value.to_owned())).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(clap::Parser)]
    struct Load {
        #[command(flatten)]
        arguments: LoadArguments,
    }

    fn parsed(words: &[&str]) -> LoadArguments {
        let words = ["load", "gpt2"].iter().chain(words);
        <Load as clap::Parser>::try_parse_from(words).unwrap().arguments
    }

    #[test]
    fn what_is_not_given_follows_from_what_is() {
        let times = |words: &[&str], trace: &[f64]| {
            let arguments = parsed(words);
            let duration = arguments.lasts(trace);
            (duration.as_secs_f64(), arguments.warms_up(duration).as_secs_f64())
        };
        assert_eq!(times(&[], &[]), (30.0, 5.0));
        assert_eq!(times(&["--duration", "6s"], &[]), (6.0, 1.0));
        assert_eq!(times(&["--duration", "6s", "--warmup", "2s"], &[]), (6.0, 2.0));
        assert_eq!(times(&["--duration", "2min"], &[]), (120.0, 5.0));
        let trace = ["--trace", "trace.csv"];
        assert_eq!(times(&trace, &[100.0, 220.0, 110.0]), (121.0, 5.0));
        assert_eq!(times(&[&trace[..], &["--duration", "6s"]].concat(), &[0.0, 60.0]), (6.0, 1.0));
        assert_eq!(parsed(&[]).most_requests(), 100_000);
        assert_eq!(parsed(&["--offline"]).most_requests(), 1000);
        assert_eq!(parsed(&["--offline", "--max-requests", "5000"]).most_requests(), 5000);
    }

    #[test]
    fn rates_and_shares_are_read_as_people_write_them() {
        assert_eq!(parse_rate("40/s"), Ok(40.0));
        assert_eq!(parse_rate("2.5"), Ok(2.5));
        assert_eq!(parse_rate("30/min"), Ok(0.5));
        for wrong in ["0/s", "-1/s", "x/s", "40/h", "1e9/s", "NaN"] {
            assert!(parse_rate(wrong).is_err(), "{wrong}");
        }
        assert_eq!((parse_share("5%"), parse_share("0.05")), (Ok(0.05), Ok(0.05)));
        assert!(parse_share("150%").is_err() && parse_share("x").is_err());
    }

    #[test]
    fn an_address_has_a_scheme_or_a_port_and_all_else_is_a_model() {
        assert!(matches!("http://127.0.0.1:8080".parse(), Ok(LoadTo::Server(_))));
        for model in ["gpt2", "./model.onnx", "org/name", "C:model"] {
            assert_eq!(model.parse(), Ok(LoadTo::Model(model.into())));
        }
        let told = "127.0.0.1:8080".parse::<LoadTo>().unwrap_err();
        assert!(told.contains("http://"), "{told}");
        assert!("".parse::<LoadTo>().is_err());
    }

    #[test]
    fn a_line_of_a_head_cannot_smuggle_a_second_one() {
        assert_eq!(parse_header("x-a: b: c"), Ok(("x-a".into(), "b: c".into())));
        for wrong in ["x", ": y", "x y: z", "x: a\r\nhost: b", "host: other", "Content-Length: 5"] {
            assert!(parse_header(wrong).is_err(), "{wrong:?}");
        }
    }
}
