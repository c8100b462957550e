//! When a load is not valid.

use crate::virtual_server::{Fifo, MS, SECOND, every, run};
use modelmeter_load::{Account, Accounting, Dispatcher, Judged, Record, account, judge};
use types::{GeneratorReport, LoadWindow, ReasonCode, RequestOutcome, Seconds, Verdict};

fn records() -> Vec<Record> {
    let load = Dispatcher::new(every(10 * MS, 2000), 10_000, 60 * SECOND);
    run(load, &mut Fifo::new(vec![5 * MS]))
}

fn accounted(records: &[Record]) -> Account {
    account(&Accounting {
        records,
        window: LoadWindow { from: Seconds(0.0), to: Seconds(20.0) },
        limits: &[],
        is_open: true,
        generates: true,
        streaming: true,
    })
}

fn judged(account: &Account) -> Judged<'_> {
    Judged {
        account,
        window: LoadWindow { from: Seconds(0.0), to: Seconds(20.0) },
        generator: GeneratorReport {
            processor: Seconds(2.0),
            elapsed: Seconds(20.0),
            connections: 1,
            generators: 1,
        },
        is_open: true,
        is_offline: false,
        is_capped: false,
        is_overrun: false,
        is_stopped: false,
        errors_allowed: 0.01,
        random_words: Some(80.0),
        is_local: false,
    }
}

fn against(verdict: &Verdict) -> Vec<ReasonCode> {
    verdict.reasons.iter().filter(|one| one.invalidates).map(|one| one.code).collect()
}

#[test]
fn a_load_without_fault_is_valid() {
    let account = accounted(&records());
    let verdict = judge(&judged(&account));
    assert!(verdict.valid, "{verdict:?}");
}

#[test]
fn a_late_generator_makes_its_numbers_invalid() {
    let mut late = records();
    late.iter_mut().step_by(20).for_each(|one| one.lag = Some(3 * MS));
    let account = accounted(&late);
    let verdict = judge(&judged(&account));
    assert_eq!(against(&verdict), [ReasonCode::GeneratorLate]);
    assert!(verdict.reasons[0].text.contains("3.00 ms"), "{verdict:?}");
}

#[test]
fn a_generator_without_processor_time_left_measures_itself() {
    let account = accounted(&records());
    let generator = GeneratorReport {
        processor: Seconds(17.0),
        elapsed: Seconds(20.0),
        connections: 1,
        generators: 1,
    };
    let verdict = judge(&Judged { generator, ..judged(&account) });
    assert_eq!(against(&verdict), [ReasonCode::GeneratorLate]);
}

#[test]
fn another_rate_than_the_schedules_is_not_what_was_asked() {
    let mut slow = records();
    for record in slow.iter_mut().skip(1900) {
        record.sent = record.sent.map(|sent| sent + 30 * SECOND);
    }
    let account = accounted(&slow);
    assert!(against(&judge(&judged(&account))).contains(&ReasonCode::RateNotKept));
    let capped = judge(&Judged { is_capped: true, ..judged(&account) });
    assert!(!against(&capped).contains(&ReasonCode::RateNotKept), "the wait was asked for");
}

#[test]
fn more_failures_than_allowed_count_and_their_kinds_are_named() {
    let mut failing = records();
    for record in failing.iter_mut().step_by(40) {
        record.outcome = RequestOutcome::Status;
        record.why = Some("status 503".into());
    }
    let account = accounted(&failing);
    let verdict = judge(&judged(&account));
    assert_eq!(against(&verdict), [ReasonCode::RequestsFailed]);
    assert!(
        verdict.reasons[0].text.contains("50 of 2,000 requests failed (50 status)"),
        "{verdict:?}"
    );
    assert!(verdict.reasons[0].text.contains("status 503"));
    let allowed = judge(&Judged { errors_allowed: 0.05, ..judged(&account) });
    assert!(allowed.valid && allowed.reasons[0].code == ReasonCode::RequestsFailed);
}

#[test]
fn requests_without_an_end_are_failures() {
    let mut open = records();
    for (place, record) in open.iter_mut().step_by(40).enumerate() {
        record.outcome = match place % 2 {
            0 => RequestOutcome::Unanswered,
            _ => RequestOutcome::NotSent,
        };
    }
    let account = accounted(&open);
    let verdict = judge(&judged(&account));
    assert_eq!(against(&verdict), [ReasonCode::RequestsFailed]);
    let text = &verdict.reasons[0].text;
    assert!(
        text.contains("50 of 2,000 requests failed (25 unanswered, 25 never sent)"),
        "{verdict:?}"
    );
    for early in [
        Judged { is_stopped: true, ..judged(&account) },
        Judged { is_overrun: true, ..judged(&account) },
    ] {
        assert!(judge(&early).valid, "the load was ended early");
    }
}

#[test]
fn all_at_once_is_as_long_as_its_slowest_answer_and_valid() {
    let account = accounted(&records());
    let part = LoadWindow { from: Seconds(0.0), to: Seconds(0.04) };
    let short = Judged { window: part, ..judged(&account) };
    assert!(against(&judge(&short)).contains(&ReasonCode::ShortWindow));
    let offline = Judged { is_offline: true, ..short };
    assert!(!against(&judge(&offline)).contains(&ReasonCode::ShortWindow));
}

#[test]
fn a_window_shorter_than_its_answers_cuts_them_off() {
    let load = Dispatcher::new(every(SECOND, 20), 100, 600 * SECOND);
    let slow = run(load, &mut Fifo::new(vec![3 * SECOND]));
    let account = accounted(&slow);
    assert!(against(&judge(&judged(&account))).contains(&ReasonCode::ShortWindow));
}

#[test]
fn random_prompts_from_a_cache_are_noticed() {
    let mut cached = records();
    for record in &mut cached {
        record.tokens.prompt = Some(100);
        record.tokens.cached = Some(50);
    }
    let account = accounted(&cached);
    assert_eq!(against(&judge(&judged(&account))), [ReasonCode::CachedPrompts]);
    let own = judge(&Judged { random_words: None, ..judged(&account) });
    assert!(own.valid, "prompts of the user's own may be in a cache");
    let around = judge(&Judged { random_words: Some(40.0), ..judged(&account) });
    assert!(around.valid, "the template of a chat may be in a cache");
}

#[test]
fn no_answer_at_all_is_not_a_valid_zero() {
    let mut none = records();
    none.iter_mut().for_each(|one| {
        one.outcome = RequestOutcome::Connect;
        one.sent = None;
        one.lag = None;
    });
    let account = accounted(&none);
    let verdict = judge(&judged(&account));
    assert!(against(&verdict).contains(&ReasonCode::RequestsFailed));
    assert!(against(&verdict).contains(&ReasonCode::TooFewSamples));
}

#[test]
fn a_closed_loop_and_a_local_server_are_remarks() {
    let account = accounted(&records());
    let verdict = judge(&Judged { is_open: false, is_local: true, ..judged(&account) });
    assert!(verdict.valid);
    let has = |code| verdict.reasons.iter().any(|one| one.code == code && !one.invalidates);
    assert!(has(ReasonCode::Assumption) && has(ReasonCode::SharedProcessors), "{verdict:?}");
}
