//! Loads on a served model: what people see, and what programs get.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use crate::sample;
use modelmeter_report::{
    Footer, ResultDocument, Style, View, capacity_document, load_document, run_document,
};
use types::{
    Arrivals, CapacityLeftOut, CapacityOption, CapacityProof, CapacityReport, Device,
    GeneratorReport, LatencyRow, LimitOutcome, Load, LoadCounts, LoadErrors, LoadMetric, LoadRates,
    LoadReport, LoadRequests, LoadTokens, LoadWindow, MissingCode, Mode, Precision, ProbeOutcome,
    Protocol, Rate, RateProbe, RateSearch, Ratio, Reading, Reason, ReasonCode, RequestOutcome, Run,
    Scenario, Seconds, ServerMetric, Verdict,
};

/// A load of so many requests a second; its limit holds or not.
pub(crate) fn run(rate: f64, holds: Option<bool>) -> Run {
    let mut run = sample::bare_run("smollm2", 0.5, 700);
    run.cell.mode = Mode::Load;
    run.cell.load = Some(Load {
        scenario: Scenario::Server { rate: Rate(rate), arrivals: Arrivals::Poisson, ramp_to: None },
        protocol: Protocol::OpenaiChat,
        streaming: true,
        max_in_flight: Some(8),
        batching: None,
        texts: None,
        content: "random prompts of 128 words, 64 tokens".into(),
    });
    let row = |metric, median: f64| LatencyRow {
        metric,
        summary: Reading::of(sample::summary(median, 700)),
    };
    run.load = Some(Box::new(LoadReport {
        target: "http://127.0.0.1:8080/v1/chat/completions".into(),
        window: LoadWindow { from: Seconds(5.0), to: Seconds(180.0) },
        counts: LoadCounts {
            warmup: 20,
            scheduled: 702,
            sent: 702,
            completed: 700,
            failed: 2,
            drained: 3,
            good: Some(690),
            ..LoadCounts::default()
        },
        rates: LoadRates {
            offered: Reading::of(rate),
            sent: Reading::of(rate),
            completed: Reading::of(rate * 0.99),
            good: Reading::of(rate * 0.98),
            tokens: Reading::of(rate * 64.0),
        },
        latencies: vec![
            row(LoadMetric::Ttft, 0.12),
            LatencyRow {
                metric: LoadMetric::Itl,
                summary: Reading::missing(MissingCode::TooFewValues, "no request has an itl"),
            },
            row(LoadMetric::E2e, 0.5),
            row(LoadMetric::Lag, 0.0001),
        ],
        tokens: Some(LoadTokens {
            prompt: Reading::of(90_000),
            cached: Reading::missing(
                MissingCode::NotReported,
                "the server does not state it in every answer",
            ),
            completion: Reading::of(44_800),
            events: 44_800,
            estimated: 0,
        }),
        errors: vec![LoadErrors {
            outcome: RequestOutcome::Status,
            count: 2,
            example: "status 503: busy\u{1b}[31m".into(),
        }],
        limits: vec![LimitOutcome {
            limit: "e2e.p99:900ms".parse().unwrap(),
            value: Reading::of(0.7),
            kept: 698,
            of: 702,
            holds,
        }],
        generator: GeneratorReport {
            processor: Seconds(1.75),
            elapsed: Seconds(175.0),
            connections: 8,
            generators: 1,
        },
        server: vec![ServerMetric {
            name: "requests_total".into(),
            before: Some(1.0),
            after: 723.0,
        }],
        batches: None,
        requests: LoadRequests {
            scheduled: vec![0, 10],
            sent: vec![Some(1), None],
            first: vec![Some(2), None],
            last: vec![Some(3), None],
            tokens: vec![Some(64), None],
            outcome: vec![RequestOutcome::Completed, RequestOutcome::NotSent],
        },
    }));
    run
}

pub(crate) fn search() -> RateSearch {
    RateSearch {
        passed: Some(4.0),
        failed: Some(4.4),
        confirmed: Some(4.0),
        probes: vec![
            RateProbe { rate: 4.0, outcome: ProbeOutcome::Held },
            RateProbe { rate: 8.0, outcome: ProbeOutcome::Broken },
            RateProbe { rate: 4.2, outcome: ProbeOutcome::Undecided },
        ],
    }
}

pub(crate) fn capacity() -> CapacityReport {
    CapacityReport {
        model: "distilbert".into(),
        rate: 40.0,
        arrivals: Arrivals::Poisson,
        limit: "p99:200ms".parse().unwrap(),
        routing: "one-queue".into(),
        batch_max: Some(8),
        batch_wait: Seconds(0.01),
        prompt: None,
        new_tokens: None,
        seed: 0,
        options: vec![CapacityOption {
            engine: "onnxruntime".into(),
            device: Device::Cpu,
            precision: Some(Precision::Int8),
            threads: Some(2),
            sequence_length: Some(128),
            batches: vec![1, 8],
            batch_max: 8,
            runs: vec![sample::bare_run("a", 0.1, 20).id],
            replicas: 5,
            low: 4,
            high: 6,
            utilisation: Ratio(0.71),
            percentile: Seconds(0.187),
            one_less: Some(Seconds(0.31)),
            mean_batch: 1.4,
            cost_per_hour: Some(2.0),
            cost_per_million: Some(13.9),
        }],
        left_out: vec![CapacityLeftOut {
            engine: "torch".into(),
            precision: None,
            why: "more than 10000 replicas would be needed".into(),
        }],
        proof: Some(CapacityProof {
            replicas: 5,
            requests: 1200,
            simulated: Seconds(0.18),
            measured: Seconds(0.187),
            lag: Seconds(0.0001),
            agrees: Some(true),
            reasons: Vec::new(),
        }),
    }
}

fn shown(document: &ResultDocument) -> String {
    document.terminal(&Style::plain(100), Some(100))
}

#[test]
fn one_load_shows_every_time_that_it_has() {
    let text = shown(&load_document(&[run(4.0, Some(true))], None));
    for part in [
        "server 4/s poisson",
        "at most 8 in flight",
        "first token",
        "whole answer",
        "offered 4.000/s",
        "702 in 175 s after 20 of warm-up",
        "2 failed",
        "e2e.p99 ≤ 900",
        "holds",
        "every limit holds",
        "1 of its own 1 numbers changed",
    ] {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
    assert!(!text.contains("itl"), "what there is not is not shown\n{text}");
    assert!(!text.contains('\u{1b}'), "what a server says is cleaned");
}

#[test]
fn several_loads_are_a_row_each_and_a_broken_limit_is_the_verdict() {
    let document = load_document(&[run(4.0, Some(true)), run(8.0, Some(false))], None);
    let text = shown(&document);
    assert!(text.contains("server 4/s poisson") && text.contains("server 8/s poisson"), "{text}");
    assert!(text.contains("a limit is broken"), "{text}");
    assert_eq!(document.csv().lines().count(), 1 + 2 * 4);
    let unknown = load_document(&[run(4.0, None)], None);
    assert!(shown(&unknown).contains("cannot tell"));
}

#[test]
fn a_remark_of_many_loads_is_said_once_and_counted() {
    let late = |rate, lag: &str| {
        let mut run = run(rate, None);
        let reason = Reason {
            code: ReasonCode::GeneratorLate,
            invalidates: true,
            text: format!("the generator was late: within {lag}, 1.00 ms are allowed"),
            hint: Some("lower the rate".into()),
            about: None,
        };
        run.verdict = Verdict::from_reasons(vec![reason]);
        run
    };
    let runs = [late(4.0, "5.20 ms"), run(8.0, None), late(16.0, "1.30 s")];
    let text = shown(&load_document(&runs, None));
    assert_eq!(text.matches("the generator was late").count(), 1, "{text}");
    assert!(text.contains("2 of 3 loads"), "{text}");
    assert_eq!(text.matches("hint: lower the rate").count(), 1, "{text}");
}

#[test]
fn columns_without_a_value_leave_room_for_the_others() {
    let plain = |rate| {
        let mut run = run(rate, Some(true));
        let report = run.load.as_mut().unwrap();
        report.latencies.retain(|row| row.metric != LoadMetric::Ttft);
        report.rates.tokens = Reading::missing(MissingCode::NotApplicable, "no text is generated");
        run
    };
    let document = load_document(&[plain(4.0), plain(8.0)], None);
    let text = document.terminal(&Style::plain(80), Some(80));
    assert!(
        text.contains("good") && !text.contains("TTFT") && !text.contains("tokens/s"),
        "{text}"
    );
}

#[test]
fn a_load_without_an_answer_in_its_window_says_so() {
    let mut run = run(4.0, None);
    let report = run.load.as_mut().unwrap();
    report.latencies.clear();
    report.counts.completed = 0;
    let text = shown(&load_document(&[run], None));
    assert!(text.contains("no request of the window was answered in time"), "{text}");
    assert!(!text.contains("median"), "no table without a row\n{text}");
}

#[test]
fn a_stored_load_shows_what_the_load_showed() {
    let text = shown(&run_document(&run(4.0, Some(true)), &View::default(), Footer::None));
    for part in [
        "http://127.0.0.1:8080/v1/chat/completions",
        "offered 4.000/s",
        "good 3.920/s",
        "702 in 175 s",
        "2 status: status 503: busy",
        "e2e.p99 ≤ 900",
        "of a processor",
    ] {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
    assert!(!text.contains("(95 %, "), "no interval of a latency on a rate\n{text}");
}

#[test]
fn what_has_no_price_says_so_and_servers_keep_their_device() {
    let mut report = capacity();
    let served = CapacityOption {
        engine: "http".into(),
        device: Device::Auto,
        precision: None,
        threads: None,
        cost_per_hour: None,
        cost_per_million: None,
        ..report.options[0].clone()
    };
    report.options.push(served.clone());
    assert!(shown(&capacity_document(&report)).contains("no price given"));
    report.options = vec![served];
    let text = shown(&capacity_document(&report));
    assert!(text.contains("5 replicas (95 %: 4 to 6) with http, batches"), "{text}");
    assert!(!text.contains("auto") && !text.contains("cost/h"), "{text}");
    assert!(text.contains("length 128"), "{text}");
}

#[test]
fn a_search_says_where_the_limit_lies() {
    let found = load_document(&[run(4.0, Some(true))], Some(&search()));
    assert!(
        shown(&found).contains("hold up to 4.00/s, and are broken at 4.40/s"),
        "{}",
        shown(&found)
    );
    let of = |search: &RateSearch| shown(&load_document(&[], Some(search)));
    let probes = vec![RateProbe { rate: 4.4, outcome: ProbeOutcome::Broken }];
    let none = RateSearch { passed: None, confirmed: None, probes, ..search() };
    assert!(of(&none).contains("no rate was found"));
    let mut open = none.clone();
    open.probes.push(RateProbe { rate: 2.2, outcome: ProbeOutcome::Undecided });
    let told = of(&open);
    assert!(told.contains("cannot tell below 4.40/s") && !told.contains("no rate was"), "{told}");
    let once = RateSearch { confirmed: None, ..search() };
    let told = of(&once);
    assert!(told.contains("not confirmed: the limits held at 4.00/s"), "{told}");
    assert!(shown(&load_document(&[], Some(&RateSearch::default()))).contains("cannot tell"));
}

#[test]
fn capacity_says_how_sure_it_is_and_what_cannot_serve() {
    let narrow = shown(&capacity_document(&capacity()));
    assert!(narrow.contains("cpu") && narrow.contains("threads"), "{narrow}");
    let text = capacity_document(&capacity()).terminal(&Style::plain(140), Some(140));
    for part in [
        "5 replicas (95 %: 4 to 6)",
        "onnxruntime",
        "71",
        "torch: more than 10000",
        "simulated",
        "proved: 5 scripted",
        "2.00 an hour",
        "1.40 of 8",
    ] {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
    let nothing = CapacityReport { options: Vec::new(), ..capacity() };
    assert!(shown(&capacity_document(&nothing)).contains("keeps the limit"));
}
