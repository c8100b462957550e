//! Cells as rows under the names of their models: labels at the left, a field for marks, numbers at the right.

use crate::{
    canvas::{Area, Canvas, Ink, Stroke},
    font,
    page::{Page, SIZE},
    words::Words,
};
use types::PooledCell;

/// How many points a label needs that stands above its row.
const LABEL: f64 = 20.0;

/// The widest that labels may become.
const WIDEST: f64 = 350.0;

/// A column of numbers at the right: its name and how to write a cell's.
pub(crate) struct Column<'a> {
    pub(crate) name: &'a str,
    pub(crate) text: &'a dyn Fn(&PooledCell) -> String,
}

/// A row and where its middle lies.
pub(crate) struct Row<'a> {
    pub(crate) cell: &'a PooledCell,
    pub(crate) y: f64,
}

/// The rows of a picture.
pub(crate) struct Rows<'a> {
    /// Where marks belong.
    pub(crate) field: Area,
    pub(crate) rows: Vec<Row<'a>>,
}

/// Writes names, labels and columns; cells of one model stand together. Where the page is narrow, labels and numbers stand
/// above the row they belong to.
pub(crate) fn lay<'a>(
    page: &mut Page,
    cells: &[&'a PooledCell],
    words: &Words<'_>,
    height: f64,
    columns: &[Column<'_>],
) -> Rows<'a> {
    let look = page.canvas.look;
    let note_ink = Ink::new(SIZE, look.muted);
    let (name_ink, label_ink) = (Ink::new(SIZE, look.text).bold(), Ink::new(SIZE, look.text));
    let label_width = cells
        .iter()
        .map(|cell| {
            let name = name_ink.width(&report::clean(&cell.key.model));
            let note = note_ink.width(&words.of_model(&cell.key.model));
            let name = if note > 0.0 { name + 9.0 + note } else { name + 1.0 };
            // Rounding must not cost a label its middle.
            name.max(label_ink.width(&label(cell, words)) + 15.0)
        })
        .fold(60.0, f64::max)
        .min(WIDEST);
    let value_ink = Ink::new(SIZE, look.text).end();
    let head_ink = Ink::new(12.0, look.muted).end();
    let widths: Vec<f64> = columns
        .iter()
        .map(|column| {
            let widest = cells.iter().map(|cell| value_ink.width(&(column.text)(cell)));
            widest.fold(head_ink.width(column.name), f64::max)
        })
        .collect();
    let (is_narrow, margin) = (page.is_narrow(), page.margin);
    let for_columns = widths.iter().map(|width| width + 18.0).sum::<f64>();
    let edge = page.width - margin;
    let right = if is_narrow { edge } else { edge - for_columns };
    let above = if is_narrow { LABEL } else { 0.0 };
    let top = page.top + if columns.is_empty() { 0.0 } else { 12.0 };
    let left = if is_narrow { margin } else { margin + label_width + 14.0 };
    let mut field = Area { x: left, y: top, width: right - left, height: 0.0 };

    let mut rows = Vec::new();
    let mut headings: Vec<(f64, &String)> = Vec::new();
    let mut y = top + 6.0;
    let mut model = None;
    for cell in cells {
        if model != Some(&cell.key.model) {
            model = Some(&cell.key.model);
            headings.push((y + 17.0, &cell.key.model));
            y += 25.0;
        }
        rows.push(Row { cell, y: y + above + height / 2.0 });
        y += above + height;
    }
    field.height = y + 8.0 - top;
    page.canvas.rectangle(field, look.panel, 1.0);
    // The middle of a row's words: beside its marks, or above them.
    let line = |row: &Row<'_>| match is_narrow {
        true => row.y - height / 2.0 - 6.0,
        false => row.y + 4.5,
    };
    let indent = if is_narrow { 4.0 } else { 14.0 };
    let room = if is_narrow { edge - margin - for_columns - 8.0 } else { label_width };
    let canvas = &mut page.canvas;
    canvas.in_front(is_narrow, |canvas| {
        for (y, model) in headings {
            let note = words.of_model(model);
            match is_narrow {
                true => heading(canvas, (margin + 4.0, y), model, &note, edge - margin - 8.0),
                false => heading(canvas, (margin, y), model, &note, room),
            }
        }
        for row in &rows {
            let label = label(row.cell, words);
            canvas.text_within(margin + indent, line(row), &label, label_ink, room - indent);
        }
        let mut x = edge - for_columns;
        for (column, width) in columns.iter().zip(&widths) {
            x += width + 18.0;
            let inset = if is_narrow { 4.0 } else { 0.0 };
            canvas.text(x - inset, top - 6.0, column.name, head_ink);
            for row in &rows {
                canvas.text(x - inset, line(row), &(column.text)(row.cell), value_ink);
            }
        }
    });
    Rows { field, rows }
}

/// What a row is, and that its numbers cannot be believed where that is so.
fn label(cell: &PooledCell, words: &Words<'_>) -> String {
    match cell.invalid {
        Some(_) => format!("! {} · not valid", words.row(&cell.key)),
        None => words.row(&cell.key),
    }
}

/// A model's name, and beside it what all of its rows agree on.
pub(crate) fn heading(canvas: &mut Canvas, at: (f64, f64), model: &str, note: &str, room: f64) {
    let name_ink = Ink::new(SIZE, canvas.look.text).bold();
    let note_ink = Ink::new(SIZE, canvas.look.muted);
    let note_width = note_ink.width(note);
    let for_name = if note.is_empty() { room } else { room - note_width - 8.0 };
    let whole = report::clean(model);
    if note.is_empty() {
        return canvas.text_within(at.0, at.1, &whole, name_ink, for_name);
    }
    let name = font::fit(&whole, name_ink.size, name_ink.weight, for_name);
    canvas.titled((name != whole).then_some(whole.as_str()), |canvas| {
        canvas.text_pair(at.0, at.1, (&name, name_ink), (note, note_ink));
    });
}

/// A line from end to end of an interval with a foot at either.
pub(crate) fn whisker(canvas: &mut Canvas, from: f64, to: f64, y: f64, stroke: Stroke) {
    const FOOT: f64 = 4.0;
    canvas.line((from, y), (to, y), stroke);
    for x in [from, to] {
        canvas.line((x, y - FOOT), (x, y + FOOT), stroke);
    }
}
