//! Where the time goes on every side, module by module; the same place in every layer is one row.

use super::words::ratio;
use crate::clean::clean;
use crate::number::{MISSING, durations_column, percent, seconds, share_with_interval};
use crate::style::Style;
use crate::table::{Column, Table};
use crate::wrap::wrap;
use types::{LayerCell, LayerJoin, LayerRow, pooled_list};

const INDENT: &str = "  ";

/// The table of joined layers; ratios are the baseline's time ÷ the side's.
#[must_use]
pub fn layers(join: &LayerJoin, baseline: &str, style: &Style) -> String {
    let width = style.columns();
    let base = join.sides.iter().position(|side| side.label == baseline).unwrap_or(0);
    let lines = Line::of(&join.pooled());
    let mut columns = vec![Column::left("layer").shrinks()];
    for (at, side) in join.sides.iter().enumerate() {
        columns.push(Column::right(&side.label));
        columns.push(Column::right("share").leaves(2));
        if at != base {
            columns.push(Column::right("speed-up").leaves(1));
        }
    }
    let mut table = Table::new(columns).painted(style);
    let times: Vec<Vec<String>> = (0..join.sides.len())
        .map(|side| {
            let seconds = lines.iter().map(|line| Some(line.cells.get(side)?.time.0));
            durations_column(&seconds.collect::<Vec<_>>())
        })
        .collect();
    for (row, line) in lines.iter().enumerate() {
        let mut cells = vec![line.name.clone()];
        for (side, cell) in line.cells.iter().enumerate() {
            let spent = cell.time.0 > 0.0;
            cells.push(if spent { times[side][row].clone() } else { MISSING.into() });
            cells.push(if spent { percent(cell.share.0) } else { MISSING.into() });
            if side != base {
                cells.push(speed_up(&line.cells, base, side));
            }
        }
        table.push(cells);
    }
    let mut text: String = table
        .render(Some(width - INDENT.len()))
        .lines()
        .map(|line| format!("{INDENT}{line}").trim_end().to_owned() + "\n")
        .collect();
    text.push('\n');
    for sentence in sentences(join) {
        wrap(&sentence, width).into_iter().for_each(|line| text.push_str(&format!("{line}\n")));
    }
    text
}

fn speed_up(cells: &[LayerCell], base: usize, side: usize) -> String {
    match (cells.get(base), cells.get(side)) {
        (Some(base), Some(side)) if base.time.0 > 0.0 && side.time.0 > 0.0 => {
            format!("{} ×", ratio(base.time.0 / side.time.0))
        }
        _ => MISSING.into(),
    }
}

/// How much found its place, and how sure a place is.
fn sentences(join: &LayerJoin) -> Vec<String> {
    let joined = join
        .sides
        .iter()
        .map(|side| format!("{} of {}'s time", percent(side.joined.share.0), clean(&side.label)));
    let joined = joined.collect::<Vec<_>>().join(", ");
    let mut sentences =
        vec![format!("joined {joined}; times are those of a pass with instruments")];
    for side in &join.sides {
        let Some(cost) = side.cost else { continue };
        sentences.push(format!(
            "{}: the layers are {} of the {} without instruments; the pass cost {}",
            clean(&side.label),
            share_with_interval(&cost.closure),
            seconds(cost.plain.0),
            share_with_interval(&cost.overhead)
        ));
    }
    for side in join.sides.iter().filter(|side| side.placed.0 > 0.0) {
        sentences.push(format!(
            "{} of {}'s time has a name without a module and was placed by what ran before and after it",
            percent(side.placed.0),
            clean(&side.label)
        ));
    }
    sentences
}

/// One line of the table: a module, or all modules of one kind of layer together.
struct Line {
    name: String,
    cells: Vec<LayerCell>,
}

impl Line {
    /// Rows as they come; those inside a repeated layer stand below it, and what no side shares comes last.
    fn of(join: &LayerJoin) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut told: Vec<&str> = Vec::new();
        for row in &join.rows {
            let Some(group) = pooled_list(&row.path) else {
                lines.push(Line { name: row.path.clone(), cells: row.cells.clone() });
                continue;
            };
            if told.contains(&group) {
                continue;
            }
            told.push(group);
            let inside: Vec<&LayerRow> =
                join.rows.iter().filter(|row| pooled_list(&row.path) == Some(group)).collect();
            let modules = inside.iter().map(|row| row.modules).max().unwrap_or(1);
            lines.push(Line { name: format!("{group} ({modules})"), cells: sums(&inside) });
            for row in inside {
                let rest = row.path[group.len()..].trim_start_matches('.');
                let rest = if rest.is_empty() { "itself" } else { rest };
                lines.push(Line { name: format!("· {rest}"), cells: row.cells.clone() });
            }
        }
        let unjoined: Vec<LayerCell> = join.sides.iter().map(|side| side.unjoined).collect();
        if unjoined.iter().any(|cell| cell.time.0 > 0.0) {
            lines.push(Line { name: "in no common module".into(), cells: unjoined });
        }
        lines
    }
}

fn sums(rows: &[&LayerRow]) -> Vec<LayerCell> {
    let sides = rows.iter().map(|row| row.cells.len()).max().unwrap_or(0);
    let sum = |side: usize| {
        let cells = || rows.iter().filter_map(move |row| row.cells.get(side));
        LayerCell {
            time: types::Seconds(cells().map(|cell| cell.time.0).sum()),
            share: types::Ratio(cells().map(|cell| cell.share.0).sum()),
        }
    };
    (0..sides).map(sum).collect()
}
