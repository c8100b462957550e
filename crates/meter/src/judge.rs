//! Says whether a measurement can be believed, and what speaks against it.

use crate::{Job, disturbance};
use number::{percent, plus_minus};
use types::{
    Cell, Environment, Metric, Phase, Reason, ReasonCode, StopReason, StoppingRule, Summary,
    TurnConditions, Verdict, WarmupReport, key,
};

/// An interval this many times wider than asked no longer supports the median.
const WIDE_INVALID: f64 = 10.0;
/// A measured rate may pass a measured ceiling by the noise of both.
const CEILING_SLACK: f64 = 1.05;

/// Everything a verdict rests on.
pub struct Evidence<'a> {
    /// The phase the verdict is about.
    pub phase: Phase,
    /// Its summary.
    pub summary: &'a Summary,
    /// Its raw samples in nanoseconds.
    pub nanos: &'a [u64],
    /// The rule sampling followed.
    pub rule: &'a StoppingRule,
    /// Why it ended.
    pub stop: StopReason,
    /// How warm-up went.
    pub warmup: &'a WarmupReport,
    /// What was measured.
    pub cell: &'a Cell,
    /// The machine's state.
    pub environment: &'a Environment,
    /// Everything that was measured beside time.
    pub metrics: &'a [Metric],
    /// Share of the operators that were counted.
    pub coverage: f64,
    /// Outputs that hold not-a-number or infinity.
    pub non_finite: &'a [String],
    /// Whether the worker was a process of its own.
    pub isolated: bool,
    /// Whether the engine's threads wait busily for each other.
    pub waits_busily: bool,
}

impl Evidence<'_> {
    fn metric(&self, key: &str) -> Option<f64> {
        self.metrics.iter().find(|metric| metric.key == key).and_then(|metric| metric.value)
    }
}

fn against(code: ReasonCode, invalidates: bool, text: String, hint: Option<String>) -> Reason {
    Reason { code, invalidates, text, hint, about: None }
}

/// The verdict over the evidence, with what was known before as well.
#[must_use]
pub fn judge(evidence: &Evidence<'_>, before: &[Reason]) -> Verdict {
    let mut reasons = before.to_vec();
    reasons.extend(enough_samples(evidence));
    reasons.extend(steady(evidence));
    reasons.extend(quiet_machine(evidence));
    reasons.extend(possible(evidence));
    Verdict::from_reasons(reasons)
}

/// Fewer runs of warm-up than this nobody asks for: three windows of one run each must agree.
const FEWEST_WARMUP: u64 = 6;

/// Was it warm, and are there samples enough for what is shown?
fn enough_samples(evidence: &Evidence<'_>) -> Vec<Reason> {
    let mut reasons = Vec::new();
    let count = evidence.summary.count;
    if !evidence.warmup.settled {
        let text = format!("warm-up did not settle in {} runs", evidence.warmup.runs);
        // Twice what was not enough, and what that takes.
        let runs = evidence.warmup.runs.saturating_mul(2).max(FEWEST_WARMUP);
        let seconds = (runs as f64 * evidence.summary.median).ceil().max(1.0) as u64;
        let hint =
            format!("a quieter machine, or `--warmup {runs}` (about {})", spell_seconds(seconds));
        reasons.push(against(ReasonCode::NotWarm, true, text, Some(hint)));
    }
    let floor = types::PERCENTILE_FLOORS[0].samples;
    if count < floor {
        let text = format!("{count} samples are too few: the median needs {floor}");
        let hint = format!("`--runs {floor}` or a longer `--duration`");
        reasons.push(against(ReasonCode::TooFewSamples, true, text, Some(hint)));
        return reasons;
    }
    let shown = evidence.summary.unsupported.iter().filter(|entry| entry.percentile != "p99.9");
    let weak: Vec<_> = shown.collect();
    if let Some(most) = weak.iter().max_by_key(|entry| entry.needs) {
        let names: Vec<&str> = weak.iter().map(|entry| entry.percentile.as_str()).collect();
        let verb = if names.len() == 1 { "needs" } else { "need up to" };
        let text = format!("{} {verb} {} runs; {count} were taken", names.join(", "), most.needs);
        // A tenth more than the mean says, so that the advice holds on a slower minute.
        let seconds = (most.needs as f64 * evidence.summary.mean * 1.1).ceil().max(1.0) as u64;
        let verb = if evidence.rule.min_runs == evidence.rule.max_runs { "use" } else { "add" };
        let instead = if verb == "use" { " instead of `--runs`" } else { "" };
        let hint = format!("{verb} `--duration {}`{instead}", spell_seconds(seconds));
        reasons.push(against(ReasonCode::UnsupportedPercentile, false, text, Some(hint)));
    }
    reasons
}

fn spell_seconds(seconds: u64) -> String {
    if seconds < 120 { format!("{seconds}s") } else { format!("{}m", seconds.div_ceil(60)) }
}

/// Is the interval as tight as asked, and did the samples stay where they were?
fn steady(evidence: &Evidence<'_>) -> Vec<Reason> {
    let mut reasons = Vec::new();
    let summary = evidence.summary;
    let error = summary.ci95_median.relative_half_width(summary.median);
    let asked = evidence.rule.target_error;
    if let Some(error) = error.filter(|error| *error > asked)
        && evidence.stop != StopReason::Settled
    {
        let invalid = error > asked * WIDE_INVALID;
        let text = format!(
            "the median has an error of {}, the target was {}; sampling stopped at {}",
            plus_minus(error),
            plus_minus(asked),
            match evidence.stop {
                StopReason::DurationCap => "the maximum duration",
                _ => "the number of runs",
            }
        );
        let more = match evidence.stop {
            StopReason::RunsDone | StopReason::RunsCap => "more `--runs`",
            _ => "a longer `--duration`",
        };
        let hint = format!("{more} or a quieter machine");
        reasons.push(against(ReasonCode::WideInterval, invalid, text, Some(hint)));
    }
    if let Some(drift) = stats::drift(evidence.nanos) {
        let direction = if drift.change > 0.0 { "slower" } else { "faster" };
        let share = percent(drift.change.abs());
        let text = format!("the last third of the samples was {share} {direction} than the first");
        reasons.push(against(ReasonCode::Drift, false, text, None));
    }
    reasons
}

/// What the probes saw of the processors.
fn conditions(metrics: &[Metric], environment: &Environment) -> TurnConditions {
    let value = |key| metrics.iter().find(|metric| metric.key == key).and_then(|found| found.value);
    TurnConditions {
        other_work: value(key::OTHERS_UTILISATION),
        waited: value("cpu.process.waited"),
        used: value("cpu.process.cores"),
        steal: environment.steal,
        ..TurnConditions::default()
    }
}

/// Did anything else take the machine away while requests were answered?
pub(crate) fn quiet_service(
    job: &Job<'_>,
    metrics: &[Metric],
    environment: &Environment,
) -> Vec<Reason> {
    let conditions = conditions(metrics, environment);
    let machine = &environment.machine;
    let found = [
        disturbance::while_serving(&conditions, job.threads(), machine),
        disturbance::stolen(environment.steal),
        disturbance::throttled(environment.throttle.events),
    ];
    let of_gpus = disturbance::gpus(&job.cell, &environment.gpus);
    found.into_iter().flatten().chain(of_gpus).collect()
}

/// Did anything else take the machine away?
fn quiet_machine(evidence: &Evidence<'_>) -> Vec<Reason> {
    let environment = evidence.environment;
    let mut reasons: Vec<Reason> = disturbance::stolen(environment.steal).into_iter().collect();
    let conditions = conditions(evidence.metrics, environment);
    let threads =
        disturbance::Threads { count: environment.threads, wait_busily: evidence.waits_busily };
    reasons.extend(disturbance::other_work(&conditions, threads, &environment.machine));
    let is_other_work = |metric: &&Metric| metric.key == key::OTHERS_UTILISATION;
    let other_work = evidence.metrics.iter().find(is_other_work);
    if other_work.is_some_and(|metric| metric.value.is_none()) {
        let sampled = evidence.nanos.iter().sum::<u64>() as f64 / 1e9;
        let load = environment.load_average;
        reasons.extend(disturbance::unseen_work(sampled, load, &environment.machine));
    }
    reasons.extend(disturbance::throttled(environment.throttle.events));
    reasons.extend(disturbance::gpus(evidence.cell, &environment.gpus));
    if let Some(governor) = environment.governor.as_deref()
        && governor != "performance"
    {
        let text =
            format!("the clock governor is `{governor}`: the frequency may change between runs");
        let hint = Some("`cpupower frequency-set -g performance`".to_owned());
        reasons.push(against(ReasonCode::FrequencyScaling, false, text, hint));
    }
    reasons
}

/// Whether a rate is further above a measured ceiling than the noise of both explains.
#[must_use]
pub fn is_above_ceiling(share: f64) -> bool {
    share > CEILING_SLACK
}

/// Can the number be true at all?
fn possible(evidence: &Evidence<'_>) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if let Some(share) =
        evidence.metric("compute.ceiling_share").filter(|share| is_above_ceiling(*share))
    {
        let text = format!(
            "the rate is {} of this machine's measured ceiling, which is not possible",
            percent(share)
        );
        let hint = "`modelmeter calibrate` measures the ceilings again".to_owned();
        reasons.push(against(ReasonCode::AboveCeiling, true, text, Some(hint)));
    }
    if evidence.coverage < 1.0 {
        let text = format!(
            "{} of the operators were counted; FLOP and FLOP/s are lower bounds",
            percent(evidence.coverage)
        );
        reasons.push(against(ReasonCode::PartialCoverage, false, text, None));
    }
    if !evidence.non_finite.is_empty() {
        let names = evidence.non_finite.join("`, `");
        let text = format!("output `{names}` contains numbers that are not finite");
        let hint = Some("check the model with real inputs; its speed may differ there".to_owned());
        reasons.push(against(ReasonCode::NonFiniteOutput, false, text, hint));
    }
    if !evidence.isolated {
        let text = "measured in the calling process, not in a separate worker".to_owned();
        reasons.push(against(ReasonCode::NotIsolated, false, text, None));
    }
    reasons
}
