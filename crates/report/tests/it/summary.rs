//! The terminal summary, seen whole.

use crate::sample::{bare_run, invalid_run, set_phase, text_run, tokenised_run, vision_run};
use crate::shown::summary;
use modelmeter_report::{Footer, Style, clean};
use types::{Direction, Metric, Mode, Phase, Ratio, Run, StopReason, Unit};

fn plain(run: &Run, width: usize) -> String {
    summary(run, &Style::plain(width), Footer::Stored("7f3a"))
}

#[test]
fn a_text_model_with_random_weights_at_80() {
    insta::assert_snapshot!(plain(&text_run(), 80));
}

#[test]
fn a_text_model_with_random_weights_at_160() {
    insta::assert_snapshot!(plain(&text_run(), 160));
}

#[test]
fn a_text_model_with_text_at_80() {
    insta::assert_snapshot!(plain(&tokenised_run(), 80));
}

#[test]
fn a_text_model_with_text_at_160() {
    insta::assert_snapshot!(plain(&tokenised_run(), 160));
}

#[test]
fn a_vision_model_on_a_gpu_at_80() {
    insta::assert_snapshot!(plain(&vision_run(), 80));
}

#[test]
fn a_run_that_cannot_be_believed_at_80() {
    insta::assert_snapshot!(plain(&invalid_run(), 80));
}

#[test]
fn a_narrow_terminal_gets_fewer_columns() {
    insta::assert_snapshot!(plain(&invalid_run(), 60));
}

#[test]
fn phases_too_far_apart_show_their_own_units() {
    let mut run = tokenised_run();
    for (phase, median) in
        [(Phase::Tokenise, 8.2e-6), (Phase::Inference, 31.42), (Phase::Total, 31.421)]
    {
        set_phase(&mut run, phase, median, 700);
    }
    insta::assert_snapshot!(plain(&run, 80));
}

#[test]
fn random_weights_are_seen_whatever_the_name() {
    for length in [0, 1, 20, 60, 80, 500] {
        let run = bare_run(&"m".repeat(length), 0.1, 20);
        let text = plain(&run, 80);
        assert!(text.contains("random weights\n"), "{text}");
    }
}

#[test]
fn missing_energy_says_why() {
    let mut run = text_run();
    run.probes.clear();
    assert!(plain(&run, 80).contains("energy      unavailable: not measured in this run"));
    let why = "the counter reads 0 always";
    run.metrics.push(Metric::missing("energy", Unit::Joules, Direction::Lower, why));
    assert!(plain(&run, 80).contains("energy      unavailable: the counter reads 0 always"));
}

#[test]
fn how_warm_up_and_sampling_ended_is_said() {
    let mut run = text_run();
    run.warmup.runs = 0;
    run.stop = StopReason::RunsDone;
    assert!(plain(&run, 80).contains("no warm-up, then 212 measured as requested"));
    run.warmup.runs = 41;
    run.warmup.settled = false;
    run.stop = StopReason::DurationCap;
    let text = plain(&run, 80);
    assert!(text.contains("did not settle in 41 runs, then 212 measured until the time limit"));
}

#[test]
fn a_star_is_explained_even_where_the_verdict_does_not() {
    let text = plain(&bare_run("gpt2", 0.1, 100), 80);
    assert!(text.contains("* too few samples: p95 needs 130, p99 needs 662"), "{text}");
    let text = plain(&bare_run("gpt2", 0.1, 5), 80);
    assert!(text.contains("100.0* ms") && text.contains("median needs 11"), "{text}");
    let wide = plain(&text_run(), 160);
    assert!(!wide.contains("too few runs") && !wide.contains("p99.9"), "{wide}");
    assert!(plain(&vision_run(), 160).contains("p99.9"));
    let text = plain(&bare_run("gpt2", 0.1, 700), 80);
    assert!(!text.contains('*'), "{text}");
}

#[test]
fn what_is_not_whole_is_marked() {
    let mut run = text_run();
    run.work.coverage = Ratio(0.9999);
    run.cell.mode = Mode::Training;
    let text = plain(&run, 80);
    assert!(text.contains("at least 45.2 GFLOP") && text.contains("99.9 % of operators"), "{text}");
    assert!(text.contains(" · training · "), "{text}");
}

#[test]
fn without_samples_there_is_no_table() {
    let mut run = text_run();
    run.summaries.clear();
    assert!(plain(&run, 80).contains("no samples"));
}

#[test]
fn colour_adds_nothing_but_colour() {
    for run in [text_run(), tokenised_run(), vision_run(), invalid_run()] {
        let coloured = summary(&run, &Style { colour: true, width: 80 }, Footer::Stored("7f3a"));
        assert!(coloured.contains('\u{1b}'));
        let stripped: Vec<String> = coloured.lines().map(clean).collect();
        let plain = plain(&run, 80);
        let plain: Vec<&str> = plain.lines().map(str::trim).collect();
        assert_eq!(stripped, plain);
    }
}

#[test]
fn the_last_line_says_where_the_run_is() {
    let text = plain(&text_run(), 80);
    assert!(text.ends_with("\nstored as run 7f3a · modelmeter runs show 7f3a\n"));
    assert!(!summary(&text_run(), &Style::default(), Footer::None).contains("stored"));
}

#[test]
fn a_run_shown_later_says_when_it_was_measured_and_its_tags() {
    let mut run = text_run();
    let shown = |run: &Run| summary(run, &Style::plain(80), Footer::Shown("7f3a"));
    assert!(shown(&run).ends_with("\n\nrun 7f3a · 2026-11-16 06:12 UTC\n"), "{}", shown(&run));
    run.tags = vec!["nightly".into(), "h200".into()];
    assert!(shown(&run).ends_with("run 7f3a · 2026-11-16 06:12 UTC · tags nightly h200\n"));
}

#[test]
fn latencies_around_a_second_fit_one_table() {
    for median in [0.312, 0.9, 0.9998, 1.2, 9.7, 54.0] {
        let mut run = tokenised_run();
        for phase in [Phase::Inference, Phase::Total] {
            set_phase(&mut run, phase, median, 30);
            if let Some(summary) = run.summaries.get_mut(&phase) {
                summary.max = median * 3.0;
            }
        }
        let text = plain(&run, 80);
        assert_eq!(text.matches(" mean ± ").count(), 1, "{text}");
        assert!(text.contains("p95") && text.contains(" min … "), "{text}");
    }
}

#[test]
fn a_far_maximum_moves_the_table_to_seconds() {
    let mut run = text_run();
    if let Some(summary) = run.summaries.get_mut(&Phase::Inference) {
        summary.max = 12.345;
    }
    let text = plain(&run, 80);
    assert!(text.contains("0.245 s") && text.contains("0.231 … 12.345"), "{text}");
}

#[test]
fn only_the_first_clause_of_a_reason_is_shown() {
    let mut run = text_run();
    run.probes.clear();
    let why = "no counter under `/sys`; load the module `intel_rapl_msr`";
    run.metrics.push(Metric::missing("energy", Unit::Joules, Direction::Lower, why));
    let text = plain(&run, 80);
    assert!(text.contains("energy      unavailable: no counter under `/sys`\n"), "{text}");
}
