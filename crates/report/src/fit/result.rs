//! What fits, as a result: every precision and batch with what it took, then the winner and how to run it.

use super::context::{contexts, facts as context_facts};
use super::csv::fit_data;
use super::document::fit_json;
use super::words::{
    choice, equals, latency, limit, mebibytes, need, numbers, of_limit, place, refused, remark,
    several_engines, size, things, throughput, top, verdict, way_name, work,
};
use crate::result::{Block, Fact, Note, ResultDocument, Tone};
use crate::sheet::Grid;
use crate::table::Column;
use types::{Confirmation, FitReport};

/// The winner's row.
const BEST: &str = "*";

/// What fits under a limit of memory.
#[must_use]
pub fn fit_document(report: &FitReport) -> ResultDocument {
    let mut facts = vec![limit(report)];
    facts.extend(place(report));
    let mut blocks =
        vec![Block::table("what was tried", cells(report)), Block::Facts(tops(report))];
    if !report.contexts.is_empty() {
        blocks.push(Block::table("contexts", contexts(report)));
        blocks.push(Block::Facts(context_facts(report)));
    }
    blocks.extend(report.best().map(|best| Block::Facts(winner(report, best))));
    if !report.remarks.is_empty() {
        blocks.push(Block::Notes(report.remarks.iter().map(Note::warning).collect()));
    }
    ResultDocument {
        title: work(report),
        is_list: false,
        facts,
        verdict: nothing(report),
        blocks,
        json: fit_json(report),
        data: Some(fit_data(report)),
        ..ResultDocument::default()
    }
}

/// That nothing fits, where it is so, and what would be enough.
fn nothing(report: &FitReport) -> Option<Note> {
    if report.best().is_some() {
        return None;
    }
    let mut words = vec![format!("nothing fits under {}", mebibytes(report.limit))];
    words.extend(report.smallest_need.as_ref().map(need));
    Some(Note::of(Tone::Bad, words.join("; ")))
}

/// Every cell that was tried.
fn cells(report: &FitReport) -> Grid {
    let several = several_engines(report);
    let engine = several.then(|| Column::left("engine").shrinks());
    let mut grid = Grid::of(engine.into_iter().chain([
        Column::left("format"),
        Column::right("batch"),
        Column::right("estimate").leaves(2),
        Column::right("peak"),
        Column::right("limit"),
        Column::right(things(report)),
        Column::right("±").leaves(1),
        Column::right("median"),
        Column::left("").shrinks(),
    ]));
    let best = report.best().map(|best| &best.cell);
    for way in &report.ways {
        for cell in &way.cells {
            let is_best = best.is_some_and(|best| {
                (best.engine == way.engine && best.precision == way.precision)
                    && best.batch_size == cell.batch
            });
            let mark = if is_best { format!("{BEST} ") } else { String::new() };
            let [rate, interval] = throughput(cell.throughput);
            let engine = several.then(|| way.engine.clone());
            grid.row(engine.into_iter().chain([
                way.precision.to_string(),
                format!("{mark}{}", cell.batch),
                size(cell.estimate),
                size(cell.peak),
                of_limit(cell.peak, report.limit),
                rate,
                interval,
                latency(cell.latency),
                remark(cell),
            ]));
        }
    }
    grid
}

/// How each way ended at its top, and what was not tried.
fn tops(report: &FitReport) -> Vec<Fact> {
    let several = several_engines(report);
    let mut facts: Vec<Fact> = report
        .ways
        .iter()
        .map(|way| {
            let name = way_name(&way.engine, way.precision, several);
            Fact::new(&name, top(way, report.most))
        })
        .collect();
    facts.extend(report.left_out.iter().map(|one| {
        let several = several || report.ways.iter().any(|way| way.engine != one.engine);
        let name = way_name(&one.engine, one.precision, several);
        Fact::new(&name, format!("not tried: {}", one.why))
    }));
    facts
}

/// The winner, how sure that is, and how to run it.
fn winner(report: &FitReport, best: &Confirmation) -> Vec<Fact> {
    let mut facts = vec![
        Fact::new("best", choice(best)),
        Fact { pieces: numbers(best, report), ..Fact::default() },
        Fact::new(
            "confirmed",
            match &best.run {
                Some(run) => format!("measured again under the limit, stored as run {}", run.0),
                None => "measured again under the limit, not stored".into(),
            },
        ),
    ];
    facts.extend(best.verdict.as_ref().map(|found| {
        let tone = if found.valid { Tone::Good } else { Tone::Bad };
        Fact { tone, ..Fact::new("verdict", verdict(found)) }
    }));
    facts.extend(equals(report).into_iter().map(|one| {
        Fact::new("as good", format!("{}: cannot be told apart from the best", choice(one)))
    }));
    facts.extend(report.confirmations.iter().filter_map(|one| {
        let kind = refused(one.refused.as_ref()?.kind);
        Some(Fact::new("dropped", format!("{}: {kind} in the full measurement", choice(one))))
    }));
    facts.push(Fact::command("run it", best.command.clone()));
    facts
}
