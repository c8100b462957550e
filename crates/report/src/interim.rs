//! A comparison while it is measured: a table that fills, or a line for each side.

use crate::clean::clean;
use crate::comparison::words::{bracketed, inverse, ratio};
use crate::style::Style;
use crate::table::{Column, Table};
use number::{MISSING, seconds};
use std::time::Duration;
use types::{Event, Interim, InterimRow, InterimState, Outcome};

/// The table of the moment, fitted to the width of the style, with a line above it that says how far it is.
#[must_use]
pub fn interim_table(interim: &Interim, style: &Style) -> String {
    let against = match clean(&interim.baseline) {
        baseline if baseline.is_empty() => "so far".to_owned(),
        baseline => format!("against {baseline}"),
    };
    let mut table = Table::new([
        Column::left("measured").shrinks(),
        Column::right("median"),
        Column::left(&against),
        Column::right("processes").leaves(1),
        Column::left("state").leaves(2),
    ])
    .painted(style);
    for row in &interim.rows {
        table.push([
            clean(&row.label),
            row.median.map_or_else(|| MISSING.into(), |median| seconds(median.0)),
            change(row),
            row.processes.to_string(),
            state(row),
        ]);
    }
    let text = table.render(Some(style.width));
    format!("{}\n{}", progress(interim), text.trim_end())
}

/// A line for each side, for where nothing can be drawn anew.
#[must_use]
pub fn interim_lines(interim: &Interim) -> Vec<String> {
    let baseline = clean(&interim.baseline);
    let line = |row: &InterimRow| {
        let mut words = vec![clean(&row.label)];
        words.extend(row.median.map(|median| seconds(median.0)));
        if row.ratio.is_some() {
            words.push(format!("{} against {baseline}", change(row)));
        }
        let state = state(row);
        words.extend((!state.is_empty()).then_some(state));
        format!("  {}", words.join(", "))
    };
    std::iter::once(progress(interim)).chain(interim.rows.iter().map(line)).collect()
}

/// `2 of at most 8 processes per side, about 8 s left, at most 42 s`.
fn progress(interim: &Interim) -> String {
    let mut words = vec![format!(
        "{} of at most {} processes per side",
        interim.processes.min(interim.at_most),
        interim.at_most
    )];
    let about = interim.left.filter(|left| !left.is_zero());
    let most = interim.left_at_most.filter(|left| !left.is_zero());
    words.extend(about.map(|left| format!("about {} left", rough(left))));
    // Where nothing ends early, both are the same.
    let most = most.filter(|most| about.is_none_or(|about| rough(*most) != rough(about)));
    words.extend(most.map(|left| match about {
        Some(_) => format!("at most {}", rough(left)),
        None => format!("at most {} left", rough(left)),
    }));
    words.join(", ")
}

/// `1.28 × slower [1.15, 1.42]`.
fn change(row: &InterimRow) -> String {
    let Some(found) = row.ratio else { return MISSING.into() };
    let (factor, word, interval) = match found >= 1.0 {
        true => (found, "faster", row.interval),
        false => (1.0 / found, "slower", row.interval.map(inverse)),
    };
    bracketed(&format!("{} × {word}", ratio(factor)), interval)
}

fn state(row: &InterimRow) -> String {
    match &row.state {
        InterimState::Baseline => "baseline".into(),
        InterimState::Open => "open".into(),
        InterimState::Answered { outcome: Outcome::Refused { .. } } => "refused".into(),
        InterimState::Answered { .. } => "answered".into(),
        InterimState::Settled { words } => clean(words),
        InterimState::Failed => "failed".into(),
    }
}

/// How long a command will take, said before it starts; empty for another event.
#[must_use]
pub fn forecast(event: &Event) -> String {
    let Event::Forecast { what, least, most } = event else { return String::new() };
    let (what, least) = (clean(what), rough(*least));
    match most.map(rough) {
        Some(most) if most == least => format!("expected time ({what}): about {most}"),
        Some(most) => format!("expected time ({what}): {least} to {most}"),
        None => format!("expected time ({what}): at least {least}"),
    }
}

/// A time that nobody takes for exact: `8 s`, `11 min`, `2 h 1 min`.
#[must_use]
pub fn rough(time: Duration) -> String {
    match time.as_secs_f64().ceil() as u64 {
        seconds @ 0..=99 => format!("{seconds} s"),
        seconds @ 100..=5399 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{Interval, Seconds};

    fn interim() -> Interim {
        let row = |label: &str, median: f64, ratio, interval, state| InterimRow {
            label: label.into(),
            processes: 2,
            median: Some(Seconds(median)),
            ratio,
            interval,
            state,
        };
        let interval = Some(Interval { low: 0.70, high: 0.87 });
        let better = InterimState::Answered { outcome: Outcome::Better };
        Interim {
            baseline: "torch".into(),
            rows: vec![
                row("torch", 0.224, None, None, InterimState::Baseline),
                row("rten", 0.286, Some(0.783), interval, better),
                row("onnxruntime", 0.217, Some(1.03), None, InterimState::Open),
            ],
            processes: 2,
            at_most: 8,
            is_round: true,
            left: Some(Duration::from_millis(7_300)),
            left_at_most: Some(Duration::from_secs(150)),
        }
    }

    #[test]
    fn the_table_of_the_moment_says_how_far_it_is_and_what_is_known() {
        let text = interim_table(&interim(), &Style::plain(100));
        assert!(
            text.starts_with("2 of at most 8 processes per side, about 8 s left, at most 3 min")
        );
        assert!(text.contains("1.28 × slower [1.15, 1.43]"), "{text}");
        assert!(text.contains("1.03 × faster") && text.contains("answered"), "{text}");
        assert_eq!(text.lines().count(), 5, "{text}");
        let narrow = interim_table(&interim(), &Style::plain(60));
        assert!(narrow.lines().skip(1).all(|line| crate::text_width(line) <= 60), "{narrow}");
    }

    #[test]
    fn without_a_terminal_each_side_has_a_line() {
        let lines = interim_lines(&interim());
        assert_eq!(lines[1], "  torch, 224 ms, baseline");
        assert_eq!(lines[2], "  rten, 286 ms, 1.28 × slower [1.15, 1.43] against torch, answered");
        assert_eq!(lines.len(), 4);
    }

    #[test]
    fn a_forecast_is_rough() {
        let said = |least, most: u64| {
            let (least, most) = (Duration::from_secs(least), Some(Duration::from_secs(most)));
            forecast(&Event::Forecast { what: "8 changes".into(), least, most })
        };
        assert_eq!(said(42, 601), "expected time (8 changes): 42 s to 11 min");
        assert_eq!(said(7300, 7300), "expected time (8 changes): about 2 h 1 min");
        assert_eq!(forecast(&Event::stage(types::Stage::Load)), "");
    }
}
