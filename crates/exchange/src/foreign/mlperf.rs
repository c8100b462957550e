//! `mlperf_log_summary.txt` of MLPerf's load generator: statistics, settings and its own verdict, no samples.

use crate::{Problem, draft::Draft, draft::MachineFacts, import::Found};
use std::collections::BTreeMap;
use types::{Phase, ReasonCode, Stated};

/// Nanoseconds as a share of a second.
const NANO: f64 = 1e-9;
/// Lines of a summary that are looked at; a real one has about a hundred.
const MOST_LINES: usize = 100_000;

/// The lines `name : value` with their numbers; the first of a name counts.
struct Lines<'a> {
    found: BTreeMap<&'a str, (u64, &'a str)>,
}

/// One file holds one run.
pub(crate) fn mlperf(text: &str, name: &str) -> Result<Found, Problem> {
    let mut found = Found::default();
    found.add(summary(text, name));
    Ok(found)
}

fn summary(text: &str, name: &str) -> Result<Draft, Problem> {
    let lines = Lines::of(text);
    let scenario = lines.text("Scenario").ok_or_else(|| {
        Problem::file("has no line `Scenario :`; it ends too early or is not a summary")
    })?;
    let mode = lines.text("Mode").unwrap_or("PerformanceOnly");
    if mode == "AccuracyOnly" {
        return Err(lines.complain("Mode", "is `AccuracyOnly`: such a run measures no speed"));
    }
    let result = lines
        .text("Result is")
        .ok_or_else(|| Problem::file("has no line `Result is :`; it ends too early"))?;
    let system = lines.text("SUT name").unwrap_or(crate::draft::UNKNOWN);
    let place = Place::of(name);
    let mut draft = Draft {
        tool: "mlperf-loadgen".into(),
        model: place.model.map(str::to_owned),
        engine: crate::draft::UNKNOWN.into(),
        placement: Some(system.to_owned()),
        batch_size: lines
            .whole("samples_per_query")?
            .filter(|_| scenario.contains("MultiStream"))
            .or(Some(1)),
        machine: MachineFacts {
            hostname: place.system.map(str::to_owned),
            ..MachineFacts::default()
        },
        ..Draft::default()
    };
    draft.options.settings.insert("scenario".into(), scenario.replace(' ', ""));
    if scenario == "Offline" {
        // One query holds every sample: its latencies are positions in the queue, not times of an inference.
        draft.batch_size = None;
    } else {
        draft.stated.insert(Phase::Inference, latency(&lines, queries(text))?);
    }
    rates(&mut draft, &lines)?;
    judge(&mut draft, &lines, result);
    Ok(draft)
}

/// How many queries the early stopping speaks of: `* Processed at least 64 queries (163).`, `* Processed 90 queries.`
fn queries(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.trim().strip_prefix("* Processed "))?;
    let words: Vec<&str> = line.split([' ', '(', ')', '.']).collect();
    words.iter().rev().find_map(|word| word.parse().ok())
}

fn latency(lines: &Lines<'_>, count: Option<u64>) -> Result<Stated, Problem> {
    let seconds = |name: &str| -> Result<Option<f64>, Problem> {
        Ok(lines.number(name)?.map(|nanos| nanos * NANO))
    };
    let stated = Stated {
        count,
        mean: seconds("Mean latency (ns)")?,
        std: None,
        min: seconds("Min latency (ns)")?,
        max: seconds("Max latency (ns)")?,
        median: seconds("50.00 percentile latency (ns)")?,
        p90: seconds("90.00 percentile latency (ns)")?,
        p95: seconds("95.00 percentile latency (ns)")?,
        p99: seconds("99.00 percentile latency (ns)")?,
        p999: seconds("99.90 percentile latency (ns)")?,
    };
    let mut order =
        [stated.min, stated.median, stated.p90, stated.p95, stated.p99, stated.p999, stated.max]
            .into_iter()
            .flatten();
    if !order.by_ref().is_sorted() {
        return Err(lines
            .complain("Min latency (ns)", "and the percentiles do not grow towards the maximum"));
    }
    if stated.typical().is_none() {
        return Err(Problem::file("states neither a mean nor a median latency"));
    }
    Ok(stated)
}

fn rates(draft: &mut Draft, lines: &Lines<'_>) -> Result<(), Problem> {
    let samples =
        ["Samples per second", "Completed samples per second", "QPS w/o loadgen overhead"];
    if let Some(rate) = lines.first(&samples)? {
        draft.rate("throughput.samples", rate);
    }
    let tokens = ["Tokens per second", "Completed tokens per second", "TPS w/o loadgen overhead"];
    if let Some(rate) = lines.first(&tokens)? {
        draft.rate("throughput.tokens", rate);
    }
    for (name, key) in [
        ("Mean First Token latency (ns)", "first_token.latency"),
        ("Mean Time to Output Token (ns)", "per_token.latency"),
    ] {
        if let Some(nanos) = lines.number(name)? {
            draft.time(key, nanos * NANO);
        }
    }
    if draft.metrics.is_empty() && draft.stated.is_empty() {
        return Err(Problem::file("states no rate"));
    }
    Ok(())
}

/// MLPerf's own verdict counts as much as ours.
fn judge(draft: &mut Draft, lines: &Lines<'_>, result: &str) {
    if result == "VALID" {
        return;
    }
    let unmet = [
        "Performance constraints satisfied",
        "Min duration satisfied",
        "Min queries satisfied",
        "Early stopping satisfied",
    ];
    let unmet: Vec<&str> =
        unmet.into_iter().filter(|name| lines.text(name) == Some("NO")).collect();
    let why = if unmet.is_empty() {
        String::new()
    } else {
        format!(", not satisfied: {}", unmet.join(", "))
    };
    draft.invalid(ReasonCode::Imported, format!("MLPerf itself calls the result {result}{why}"));
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Lines<'a> {
        let mut found = BTreeMap::new();
        for (at, line) in text.lines().take(MOST_LINES).enumerate() {
            if let Some((name, value)) = line.split_once(':') {
                found.entry(name.trim()).or_insert((at as u64 + 1, value.trim()));
            }
        }
        Lines { found }
    }

    fn text(&self, name: &str) -> Option<&'a str> {
        self.found.get(name).map(|(_, value)| *value)
    }

    fn complain(&self, name: &str, what: &str) -> Problem {
        let line = self.found.get(name).map_or(0, |(line, _)| *line);
        Problem::cell(line, name, what)
    }

    /// The positive number of a line, if there is such a line.
    fn number(&self, name: &str) -> Result<Option<f64>, Problem> {
        let Some(text) = self.text(name) else { return Ok(None) };
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() && number > 0.0 => Ok(Some(number)),
            Ok(number) => {
                Err(self.complain(name, &format!("is {number}, which is not a valid time or rate")))
            }
            Err(_) => Err(self.complain(name, &format!("is `{text}`, not a number"))),
        }
    }

    fn whole(&self, name: &str) -> Result<Option<u64>, Problem> {
        Ok(self.number(name)?.map(|number| number as u64))
    }

    fn first(&self, names: &[&str]) -> Result<Option<f64>, Problem> {
        names.iter().find_map(|name| self.number(name).transpose()).transpose()
    }
}

/// What a submission's folders say: `results/<system>/<model>/<scenario>/performance/run_1/mlperf_log_summary.txt`.
struct Place<'a> {
    system: Option<&'a str>,
    model: Option<&'a str>,
}

impl Place<'_> {
    fn of(name: &str) -> Place<'_> {
        let parts: Vec<&str> = name.split(['/', '\\']).collect();
        let scenarios = ["offline", "server", "singlestream", "multistream", "interactive"];
        let is_scenario = |part: &&str| scenarios.contains(&part.to_ascii_lowercase().as_str());
        let at = parts.iter().rposition(is_scenario);
        let before = |steps: usize| {
            parts.get(at?.checked_sub(steps)?).copied().filter(|part| !part.is_empty())
        };
        Place { system: before(2), model: before(1) }
    }
}
