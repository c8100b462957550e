//! Histories as a result: a chart each, where the level changed, newest first, and what a reader must know.

use super::{
    csv::trend_data,
    document::trend_json,
    words::{
        chance, commit, facts, size, title, trend_change, trend_name, trend_slide, trend_value,
        whole_name,
    },
};
use crate::analysis::words::{Machines, counted};
use crate::clean::clean;
use crate::invalid::{NOT_VALID, not_valid, remedies};
use crate::result::{Block, Fact, Note, ResultDocument, TextChart, Tone};
use crate::sheet::Grid;
use crate::table::Column;
use crate::timestamp::minute;
use crate::wrap::DOT;
use number::percent;
use types::{Trend, TrendChange, TrendMetric, TrendSeries, TrendStanding};

/// How histories compare with an accepted worsening.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrendGate<'a> {
    /// Of each history, in order.
    pub standings: &'a [TrendStanding],
    /// The worsening that is accepted, as a share.
    pub accepted: f64,
}

/// Histories as a result.
#[must_use]
pub fn trend_document(found: &Trend, gate: Option<TrendGate<'_>>) -> ResultDocument {
    let machines = Machines::new(&found.machines);
    let history = |series| history(series, found.metric, &machines);
    let mut blocks: Vec<Block> = found.series.iter().flat_map(history).collect();
    blocks.push(Block::Notes(notes(found)));
    let gate_notes = gate.map(|gate| gate_notes(found, gate, &machines)).unwrap_or_default();
    let nothing = || Note::of(Tone::Bad, "no valid run has this number");
    let verdict = match gate {
        Some(gate) => Some(gate_verdict(found, gate, &gate_notes)),
        None if found.series.is_empty() => Some(nothing()),
        None => Some(conclusion(found)),
    };
    blocks.push(Block::Notes(gate_notes));
    ResultDocument {
        title: vec!["Trend".into(), found.metric.words().to_owned()],
        facts: sums(found),
        verdict,
        blocks,
        json: trend_json(found, gate.map(|gate| gate.standings)),
        data: Some(trend_data(found)),
        ..ResultDocument::default()
    }
}

/// What changed, in one sentence.
fn conclusion(found: &Trend) -> Note {
    let histories = counted(found.series.len() as u64, "history").replace("historys", "histories");
    let changes = found.series.iter().flat_map(|one| one.changes.iter().map(move |it| (one, it)));
    let began = |(series, change): &(&TrendSeries, &TrendChange)| series.points[change.at].began.0;
    let count = changes.clone().count() as u64;
    let Some((series, change)) = changes.max_by_key(began) else {
        let text = format!("no change of level in {histories}");
        return match found.series.iter().filter(|one| one.needs > 0).count() {
            0 => Note::of(Tone::Good, text),
            1 => Note::of(Tone::Warning, format!("{text}; 1 needs more points to show one")),
            many => Note::of(Tone::Warning, format!("{text}; {many} need more points to show one")),
        };
    };
    let worse = found.metric.worsening(change.ratio.value) > 1.0;
    let text = format!(
        "{} in {histories}; newest: {}, {}, {}, at {}",
        counted(count, "change"),
        clean(&series.key.model),
        trend_name(&series.key),
        trend_change(change, found.metric),
        minute(began(&(series, change)))
    );
    Note::of(if worse { Tone::Bad } else { Tone::Good }, text)
}

/// How many histories, changes and runs.
fn sums(found: &Trend) -> Vec<String> {
    let changes = found.series.iter().map(|series| series.changes.len() as u64).sum();
    let mut sums = vec![
        counted(found.series.len() as u64, "history").replace("historys", "histories"),
        counted(changes, "change"),
    ];
    sums.extend((!found.invalid_reasons.is_empty()).then(|| not_valid(&found.invalid_reasons)));
    let lacking = match shows_invalid(found) {
        true => found.left_out,
        false => found.left_out.saturating_sub(found.invalid_reasons.total()),
    };
    let left = format!("{} without the number", counted(lacking, "run"));
    sums.extend((lacking > 0).then_some(left));
    sums
}

fn shows_invalid(found: &Trend) -> bool {
    found.series.iter().flat_map(|one| &one.points).any(|point| !point.valid)
}

/// Remarks that limit or explain the result.
fn notes(found: &Trend) -> Vec<Note> {
    let rule = format!(
        "a change is reported if at most {} of histories without a change would show it, and if it is at least {} and \
         above the noise",
        percent(found.level),
        percent(found.smallest)
    );
    let remedies = remedies(found.without_valid, found.again.as_deref(), shows_invalid(found));
    let remarks = found.remarks.iter().map(|remark| clean(&remark.text)).chain(remedies);
    std::iter::once(Note::new(rule)).chain(remarks.map(Note::warning)).collect()
}

/// One history.
fn history(series: &TrendSeries, metric: TrendMetric, machines: &Machines<'_>) -> Vec<Block> {
    let place = vec![trend_name(&series.key), machines.name(&series.key.machine)];
    let fact = |label: &str, pieces| Fact { label: label.into(), pieces, ..Fact::default() };
    let mut blocks = vec![
        Block::Heading(title(&series.key).join(DOT)),
        Block::Facts(vec![
            fact("cell", place),
            fact("points", span(series)),
            fact("state", facts(series, metric)),
        ]),
    ];
    blocks.extend(chart(series, metric).map(Block::Chart));
    if !series.changes.is_empty() {
        blocks.push(Block::table("changes", changes(series, metric)));
    }
    blocks.push(Block::Notes(asides(series, metric).into_iter().map(Note::warning).collect()));
    blocks
}

/// Of how many points and runs, from when to when.
fn span(series: &TrendSeries) -> Vec<String> {
    let runs: u64 = series.points.iter().map(|point| point.runs.len() as u64).sum();
    let points =
        format!("{} of {}", counted(series.points.len() as u64, "point"), counted(runs, "run"));
    let mut words = vec![points];
    let not_valid = series.points.iter().filter(|point| !point.valid).count();
    words.extend((not_valid > 0).then(|| format!("{not_valid} not valid ({NOT_VALID})")));
    if let (Some(first), Some(last)) = (series.points.first(), series.points.last()) {
        words.push(format!("{} to {}", minute(first.began.0), minute(last.began.1)));
    }
    words
}

/// The history as a chart; none of a single point.
fn chart(series: &TrendSeries, metric: TrendMetric) -> Option<TextChart> {
    let values: Vec<(f64, bool)> =
        series.points.iter().map(|point| (point.value.value, point.valid)).collect();
    let (low, high) = values.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), (value, _)| {
        (low.min(*value), high.max(*value))
    });
    if values.len() < 2 || !low.is_finite() || !high.is_finite() || low <= 0.0 {
        return None;
    }
    // A history that hardly moves is drawn hardly moving: the chart shows at least a tenth.
    let middle = (low * high).sqrt();
    let ends = [low.min(middle / 1.05), high.max(middle * 1.05)];
    Some(TextChart::Points {
        values,
        changes: series.changes.iter().map(|change| change.at).collect(),
        ends,
        labels: ends.map(|end| trend_value(end, metric)),
    })
}

/// A row a change, the newest first.
fn changes(series: &TrendSeries, metric: TrendMetric) -> Grid {
    let has_commits = series.points.iter().any(|point| point.commit.is_some());
    let mut columns = vec![Column::left("changed at")];
    columns.extend(has_commits.then(|| Column::left("commit")));
    columns.extend([
        Column::left("change"),
        Column::left("level").leaves_late(2),
        Column::left("how sure").leaves_late(1),
    ]);
    let has_company = series.changes.iter().any(|change| !change.coincides.is_empty());
    columns.extend(has_company.then(|| Column::left("together with").wraps()));
    let mut grid = Grid::of(columns);
    for change in series.changes.iter().rev() {
        let first = &series.points[change.at];
        let mut row = vec![minute(first.began.0)];
        row.extend(has_commits.then(|| commit(first)));
        row.extend([
            trend_change(change, metric),
            format!(
                "{} → {}",
                trend_value(change.before, metric),
                trend_value(change.after, metric)
            ),
            chance(change.adjusted_p),
        ]);
        row.extend(has_company.then(|| change.coincides.join("; ")));
        grid.row(row);
    }
    grid
}

/// What is not a change and should be known all the same.
fn asides(series: &TrendSeries, metric: TrendMetric) -> Vec<String> {
    let suspicion = series.suspicion.as_ref().map(|suspicion| {
        format!(
            "the newest {} {}: needs {} for a decision",
            match suspicion.points {
                1 => "point is".to_owned(),
                many => format!("{many} points are"),
            },
            size(suspicion.ratio, None, metric),
            counted(suspicion.needs, "more point")
        )
    });
    trend_slide(series, metric).into_iter().chain(suspicion).collect()
}

/// A sentence for each history that is worse or cannot be told.
fn gate_notes(found: &Trend, gate: TrendGate<'_>, machines: &Machines<'_>) -> Vec<Note> {
    let mut notes = Vec::new();
    for (series, standing) in found.series.iter().zip(gate.standings) {
        let name = whole_name(&series.key, machines);
        match standing {
            TrendStanding::Held => {}
            TrendStanding::Worse => {
                let change = series.changes.last();
                let what =
                    change.map_or_else(String::new, |change| trend_change(change, found.metric));
                let text = format!("{name}: {what}, more than {}", percent(gate.accepted));
                notes.push(Note::marked("✗", Tone::Bad, text));
            }
            TrendStanding::CannotTell { why } => {
                let text = format!("{name}: cannot tell: {}", clean(why));
                notes.push(Note::marked("?", Tone::Warning, text));
            }
        }
    }
    if found.series.is_empty() {
        let text = "cannot tell: no valid run has this number";
        notes.push(Note::marked("?", Tone::Warning, text));
    }
    if found.without_valid > 0 && !found.series.is_empty() {
        let text =
            format!("{} without a valid run: cannot tell", counted(found.without_valid, "cell"));
        notes.push(Note::marked("?", Tone::Warning, text));
    }
    notes
}

fn gate_verdict(found: &Trend, gate: TrendGate<'_>, notes: &[Note]) -> Note {
    let accepted = percent(gate.accepted);
    let worse = gate.standings.iter().filter(|one| **one == TrendStanding::Worse).count() as u64;
    if worse > 0 {
        let all = counted(found.series.len() as u64, "history").replace("historys", "histories");
        Note::of(Tone::Bad, format!("{worse} of {all} worse by more than {accepted}"))
    } else if notes.is_empty() {
        Note::of(Tone::Good, format!("nothing is worse by more than {accepted}"))
    } else {
        Note::of(
            Tone::Warning,
            format!("cannot tell whether anything is worse by more than {accepted}"),
        )
    }
}
