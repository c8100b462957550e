//! Processes of a comparison as runs: each by itself, or together where each has too few samples.
//!
//! A comparison ends as soon as it is answered, so its processes may be short. What they measured is true all the same:
//! the samples of all of them are a run like any other, judged by the same rules, which says of how many processes it is.

use crate::{
    Bench, Contender, Job, Launch,
    measure::{self, Findings},
    sampling,
};
use probe::{Contention, DeviceConditions};
use std::time::Duration;
use types::{
    Cold, Direction, Environment, InvalidRuns, Metric, ProbeReport, Reason, ReasonCode, Run,
    StoppingRule, TurnConditions, Unit, Verdict, key,
};

/// What one process of a comparison found, and under which conditions.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) findings: Findings,
    /// The machine; its state during the turns is in the fields below.
    pub(crate) environment: Environment,
    pub(crate) cold: Cold,
    pub(crate) started_at: i64,
    pub(crate) elapsed: Duration,
    /// During the turns that count.
    pub(crate) contention: Contention,
    pub(crate) devices: DeviceConditions,
    /// What disturbed each turn.
    pub(crate) causes: Vec<Option<ReasonCode>>,
}

impl Part {
    /// The part as a run.
    pub(crate) fn run(
        self,
        job: &Job<'_>,
        bench: &Bench,
        launch: &Launch,
        rule: &StoppingRule,
    ) -> Run {
        let Part { mut findings, mut environment, devices, causes, .. } = self;
        let during = self.contention.conditions();
        environment.steal = during.steal.or(environment.steal);
        (environment.throttle, environment.gpus) = (devices.throttle, devices.gpus);
        findings.probes.push(processors(&during, causes.len() as u64));
        let left_out = left_out(&causes);
        findings.reasons.extend(left_out.clone().filter(|reason| !reason.invalidates));
        let mut run = measure::assemble(
            job,
            bench,
            launch,
            rule,
            findings,
            environment,
            self.cold,
            self.started_at,
            self.elapsed,
        );
        // Turns that were disturbed in different ways may look quiet together.
        if let Some(reason) = left_out.filter(|reason| reason.invalidates && run.verdict.valid) {
            run.verdict.reasons.push(reason);
            run.verdict = Verdict::from_reasons(run.verdict.reasons);
        }
        run
    }

    /// This part and a later one of the same side.
    fn and(mut self, later: Part) -> Part {
        sampling::append(&mut self.findings.samples, later.findings.samples);
        let peak = |probes: &[ProbeReport]| {
            let metrics = probes.iter().flat_map(|probe| &probe.metrics);
            let peak = metrics.filter(|metric| metric.key == key::MEMORY_PEAK);
            peak.filter_map(|metric| metric.value).fold(0.0, f64::max)
        };
        // Memory is what the largest of the processes took.
        if peak(&later.findings.probes) > peak(&self.findings.probes) {
            self.findings.probes = later.findings.probes;
        }
        Part {
            elapsed: self.elapsed + later.elapsed,
            contention: self.contention.and(later.contention),
            devices: self.devices.and(later.devices),
            causes: [self.causes, later.causes].concat(),
            ..self
        }
    }
}

/// What is to be kept of a side: its processes as they are, and those that have too few samples alone as one run, if it is
/// valid.
pub(crate) fn runs<'r>(
    contender: &Contender<'_>,
    rule: &StoppingRule,
    processes: impl Iterator<Item = (&'r Run, Part)>,
) -> Vec<Run> {
    let (short, whole): (Vec<_>, Vec<_>) = processes.partition(|(run, _)| is_short(run));
    let mut runs: Vec<Run> = whole.into_iter().map(|(run, _)| run.clone()).collect();
    let count = short.len();
    let alone: Vec<Run> = short.iter().map(|(run, _)| (*run).clone()).collect();
    let together = short.into_iter().map(|(_, part)| part).reduce(Part::and).filter(|_| count > 1);
    let together = together.map(|mut part| {
        part.findings.reasons.push(together_of(count));
        part.run(&(contender.job)(), &contender.bench, &contender.launch, rule)
    });
    match together.filter(|run| run.verdict.valid) {
        Some(run) => runs.push(run),
        None => runs.extend(alone),
    }
    runs.sort_by_key(|run| run.started_at);
    runs
}

/// Whether nothing speaks against a process but that it is short.
fn is_short(run: &Run) -> bool {
    let mut against = run.verdict.reasons.iter().filter(|reason| reason.invalidates);
    let is_few = |code| code == ReasonCode::TooFewSamples;
    let has_few = run.verdict.reasons.iter().any(|one| one.invalidates && is_few(one.code));
    has_few && against.all(|one| is_few(one.code) || one.code == ReasonCode::WideInterval)
}

/// Says of how many processes a run is.
fn together_of(processes: usize) -> Reason {
    let least = types::PERCENTILE_FLOORS[0].samples;
    let text = format!(
        "the samples of {processes} processes of a comparison together; each alone has fewer than {least}"
    );
    let code = ReasonCode::TooFewSamples;
    Reason { code, invalidates: false, text, hint: None, about: None }
}

/// What a run's probe of the processors would have said of these turns.
fn processors(conditions: &TurnConditions, turns: u64) -> ProbeReport {
    let metric = |key: &str, unit, value: Option<f64>| match value {
        Some(value) => Metric::measured(key, unit, Direction::Neutral, value),
        None => {
            let why = "the system does not report it, or the turns were too short";
            Metric::missing(key, unit, Direction::Neutral, why)
        }
    };
    ProbeReport {
        probe: "cpu".into(),
        unavailable: None,
        metrics: vec![
            metric("cpu.process.cores", Unit::Count, conditions.used),
            metric("cpu.process.waited", Unit::Count, conditions.waited),
            metric("cpu.others.utilisation", Unit::Ratio, conditions.other_work),
        ],
        readings: turns * 2,
        cost: Duration::ZERO,
        period: None,
    }
}

/// Says how many turns were left out, or that all were disturbed.
fn left_out(turns: &[Option<ReasonCode>]) -> Option<Reason> {
    let causes: Vec<ReasonCode> = turns.iter().copied().flatten().collect();
    let (disturbed, all) = (causes.len(), turns.len());
    let main = InvalidRuns::from_iter(causes).by_count().first()?.0;
    let words = main.words();
    let invalidates = disturbed == all;
    let text = match invalidates {
        true => format!("all {all} turns were disturbed ({words})"),
        false => format!("{disturbed} of {all} turns were disturbed ({words}) and are left out"),
    };
    let hint = invalidates.then(|| "stop other programs and measure again".to_owned());
    Some(Reason { code: main, invalidates, text, hint, about: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plain_job::{bench, job, work};
    use engine::{FirstReport, LoadReport, Signature};
    use std::{collections::BTreeMap, path::Path};
    use types::{Phase, Samples, StopReason, WarmupReport};

    /// A process with so many samples of about so many microseconds, whose largest memory this was.
    fn part(samples: u64, micros: u64, peak: f64, causes: &[Option<ReasonCode>]) -> Part {
        let nanos = (0..samples).map(|at| micros * 1000 + at % 3 * 1000).collect();
        let metric = |key: &str| Metric::measured(key, Unit::Bytes, Direction::Lower, peak);
        let memory = ProbeReport {
            probe: "memory".into(),
            unavailable: None,
            metrics: vec![metric(key::MEMORY_PEAK)],
            readings: 1,
            cost: Duration::ZERO,
            period: None,
        };
        Part {
            findings: Findings {
                loaded: LoadReport {
                    load: Duration::from_millis(1),
                    version: "1".into(),
                    placement: "cpu".into(),
                    signature: Signature { inputs: Vec::new(), outputs: Vec::new() },
                    real_tokens: None,
                    remarks: Vec::new(),
                    versions: BTreeMap::new(),
                    steps: Vec::new(),
                    machine: None,
                },
                first: FirstReport {
                    inference: Duration::from_millis(1),
                    outputs: Vec::new(),
                    non_finite: Vec::new(),
                },
                warmup: WarmupReport { runs: 2, settled: true, nanos: vec![1, 1] },
                samples: vec![Samples { phase: Phase::Inference, nanos }],
                stop: StopReason::RunsDone,
                loading: Vec::new(),
                probes: vec![memory],
                work: work(1000).into(),
                training: None,
                generation: None,
                reasons: Vec::new(),
            },
            environment: measure::describe(
                &bench().machine,
                probe::Conditions::default(),
                BTreeMap::new(),
                1,
            ),
            cold: Cold {
                process_start: Duration::ZERO,
                load: Duration::ZERO,
                first_inference: Duration::ZERO,
            },
            started_at: i64::try_from(micros).unwrap(),
            elapsed: Duration::from_secs(1),
            contention: Contention::default(),
            devices: DeviceConditions::default(),
            causes: causes.to_vec(),
        }
    }

    /// What is kept of these processes, and each by itself.
    fn kept(parts: Vec<Part>) -> (Vec<Run>, Vec<Run>) {
        let make = || job("fake", Path::new("fake.onnx"));
        let (program, arguments, environment) = ("fake".into(), Vec::new(), Vec::new());
        let launch = Launch::Process { program, arguments, environment };
        let rule = StoppingRule::default();
        let contender = Contender { label: "fake".into(), job: &make, launch, bench: bench() };
        let alone =
            |part: &Part| part.clone().run(&make(), &contender.bench, &contender.launch, &rule);
        let alone: Vec<Run> = parts.iter().map(alone).collect();
        (runs(&contender, &rule, alone.iter().zip(parts)), alone)
    }

    const QUIET: &[Option<ReasonCode>] = &[None; 2];

    #[test]
    fn processes_that_are_too_short_alone_are_one_run_with_all_their_samples() {
        let (kept, alone) = kept(vec![
            part(6, 2000, 10.0, QUIET),
            part(6, 2010, 30.0, QUIET),
            part(6, 1990, 20.0, QUIET),
        ]);
        for run in &alone {
            assert_eq!(run.verdict.main_reason(), Some(ReasonCode::TooFewSamples));
        }
        let [run] = kept.as_slice() else { panic!("{} runs", kept.len()) };
        assert!(run.verdict.valid, "{:?}", run.verdict);
        assert_eq!(run.summaries[&Phase::Inference].count, 18);
        assert_eq!(run.elapsed, Duration::from_secs(3));
        assert_eq!(run.metric(key::MEMORY_PEAK).unwrap().value, Some(30.0));
        let rate = run.metric(key::THROUGHPUT_SAMPLES).unwrap().value.unwrap();
        let mean = run.summaries[&Phase::Inference].mean;
        assert!((rate * mean - 3.0).abs() < 1e-9, "the batch ÷ the mean of all samples");
        let told = run.verdict.reasons.iter().find(|one| one.code == ReasonCode::TooFewSamples);
        assert!(told.unwrap().text.contains("3 processes"), "{told:?}");
    }

    #[test]
    fn processes_that_differ_widely_are_no_valid_run_together_and_stay_apart() {
        let (kept, _) = kept(vec![part(6, 2000, 1.0, QUIET), part(6, 4000, 1.0, QUIET)]);
        assert_eq!(kept.len(), 2);
        assert!(kept.iter().all(|run| !run.verdict.valid));
    }

    #[test]
    fn what_is_whole_or_disturbed_is_joined_with_nothing() {
        let busy = [Some(ReasonCode::BusyMachine); 2];
        let parts = vec![
            part(6, 2000, 1.0, QUIET),
            part(20, 2001, 1.0, QUIET),
            part(6, 2002, 1.0, QUIET),
            part(20, 2003, 1.0, &busy),
        ];
        let (kept, alone) = self::kept(parts);
        let counts: Vec<u64> =
            kept.iter().map(|run| run.summaries[&Phase::Inference].count).collect();
        assert_eq!(counts, [12, 20, 20]);
        assert_eq!(kept[1], alone[1]);
        assert_eq!(kept[2].verdict.main_reason(), Some(ReasonCode::BusyMachine));
        // Two that together are too short stay as they are.
        let (few, alone) = self::kept(vec![part(3, 2000, 1.0, QUIET); 2]);
        assert_eq!(few, alone);
    }

    #[test]
    fn turns_that_were_all_disturbed_are_no_valid_run_however_quiet_they_look_together() {
        let part =
            part(20, 2000, 1.0, &[Some(ReasonCode::StolenTime), Some(ReasonCode::BusyMachine)]);
        let (_, alone) = kept(vec![part.clone()]);
        assert!(!alone[0].verdict.valid);
        assert!(alone[0].verdict.reasons[0].text.starts_with("all 2 turns were disturbed"));
        let some = Part { causes: vec![None, Some(ReasonCode::StolenTime)], ..part };
        let (_, alone) = kept(vec![some]);
        assert!(alone[0].verdict.valid, "{:?}", alone[0].verdict);
        let told = alone[0].verdict.reasons.iter().any(|one| one.text.contains("1 of 2 turns"));
        assert!(told, "{:?}", alone[0].verdict);
    }
}
