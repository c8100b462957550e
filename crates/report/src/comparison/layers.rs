//! Where the time goes on every side, module by module; the same place in every layer is one row.

use super::words::ratio;
use crate::clean::clean;
use crate::result::{Block, Note};
use crate::sheet::Grid;
use crate::table::Column;
use analysis::group_rows;
use number::{MISSING, durations_column, percent, seconds, share_with_interval};
use types::{LayerCell, LayerJoin};

/// The table of joined layers, and how much found its place; ratios are the baseline's time ÷ the side's.
pub(super) fn blocks(join: &LayerJoin, baseline: &str) -> Vec<Block> {
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
    let mut grid = Grid::of(columns);
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
        grid.row(cells);
    }
    let notes = sentences(join).into_iter().map(Note::new).collect();
    vec![Block::table("layers", grid), Block::Notes(notes)]
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
            "{}: the layers are {} of the {} without instruments; the instruments cost {}",
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
        for group in group_rows(join) {
            if group.inside.is_empty() {
                lines.push(Line { name: group.path.to_owned(), cells: group.cells });
                continue;
            }
            let name = format!("{} ({})", group.path, group.modules);
            lines.push(Line { name, cells: group.cells });
            for row in group.inside {
                let rest = row.path[group.path.len()..].trim_start_matches('.');
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
