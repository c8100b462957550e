//! A result on a terminal.

use super::{Block, Fact, Note, ResultDocument, Tone};
use crate::clean::clean;
use crate::sheet::Grid;
use crate::style::{Colour, Style};
use crate::wrap::{continued, flow, hanging_indent, joined, pad_right, shorten, text_width, wrap};

/// The widest column of labels, as a share of the line.
const WIDEST_LABEL: usize = 3;

impl ResultDocument {
    /// As a terminal shows it. Tables fill `table_width`; `None`, if there is no terminal, shows them whole.
    #[must_use]
    pub fn terminal(&self, style: &Style, table_width: Option<usize>) -> String {
        let width = match (self.is_list, table_width) {
            (true, Some(width)) => width,
            _ => style.columns(),
        };
        let mut parts: Vec<String> = Vec::new();
        let cleaned =
            |pieces: &[String]| pieces.iter().map(|piece| clean(piece)).collect::<Vec<_>>();
        let mut head: Vec<String> = flow(&cleaned(&self.title), width)
            .into_iter()
            .map(|line| style.paint(&line, Colour::Title))
            .collect();
        head.extend(flow(&cleaned(&self.facts), width));
        if !self.is_list {
            parts.push(joined(head));
        }
        parts.extend(blocks(&self.blocks, style, width, table_width));
        parts.extend(self.verdict.as_ref().map(|verdict| {
            let painted = |line: String| paint(style, &line, verdict.tone);
            joined(wrap(&clean(&verdict.text), width).into_iter().map(painted).collect())
        }));
        parts.push(joined(flow(&cleaned(&self.footer), width)));
        parts.retain(|part| !part.is_empty());
        parts.join("\n")
    }
}

/// The parts, each as its own text; a heading goes with what follows it.
fn blocks(
    blocks: &[Block],
    style: &Style,
    width: usize,
    table_width: Option<usize>,
) -> Vec<String> {
    let title = |text: &str| {
        let painted = |line: String| style.paint(&line, Colour::Title);
        joined(wrap(&clean(text), width).into_iter().map(painted).collect())
    };
    let mut parts = Vec::new();
    let mut heading = String::new();
    let mut label = label_width(blocks, width);
    for (at, block) in blocks.iter().enumerate() {
        let text = match block {
            Block::Heading(text) => {
                heading += &title(text);
                label = label_width(&blocks[at + 1..], width);
                continue;
            }
            Block::Facts(facts) => joined(self::facts(facts, label, style, width)),
            Block::Table { grid, narrower, .. } => table(grid, narrower, style, table_width),
            Block::Notes(notes) => joined(self::notes(notes, style, width)),
            Block::Chart(chart) => joined(chart.lines(width)),
            Block::Picture(_) => continue,
            Block::Details { title: name, blocks } => {
                let mut inside = self::blocks(blocks, style, width, table_width);
                inside.retain(|part| !part.is_empty());
                title(name) + &inside.join("\n")
            }
        };
        parts.push(std::mem::take(&mut heading) + &text);
    }
    parts
}

fn paint(style: &Style, text: &str, tone: Tone) -> String {
    match tone {
        Tone::Plain => text.to_owned(),
        Tone::Good => style.paint(text, Colour::Good),
        Tone::Warning => style.paint(text, Colour::Warning),
        Tone::Bad => style.paint(text, Colour::Bad),
    }
}

/// The table, or what stands for it where it does not fit.
fn table(grid: &Grid, narrower: &[Vec<Grid>], style: &Style, width: Option<usize>) -> String {
    let whole = [std::slice::from_ref(grid)];
    let forms: Vec<&[Grid]> = whole.into_iter().chain(narrower.iter().map(Vec::as_slice)).collect();
    let fits = |form: &&&[Grid]| {
        width.is_none_or(|width| form.iter().all(|grid| grid.full_width() <= width))
    };
    let form = forms.iter().find(fits).or(forms.last()).copied().unwrap_or_default();
    let shown = form.iter().map(|grid| grid.table().painted(style).render(width));
    shown.collect::<Vec<_>>().join("\n")
}

/// Columns for the labels of facts, the same until the next heading.
fn label_width(blocks: &[Block], width: usize) -> usize {
    let section = blocks.iter().take_while(|block| !matches!(block, Block::Heading(_)));
    let facts = section.filter_map(|block| match block {
        Block::Facts(facts) => Some(facts),
        _ => None,
    });
    let widest = facts.flatten().map(|fact| text_width(&fact.label)).max().unwrap_or(0);
    let gap = if widest == 0 { 0 } else { 2 };
    (widest + gap).min(width / WIDEST_LABEL)
}

/// Labels below each other, and what they stand for beside them.
fn facts(facts: &[Fact], label: usize, style: &Style, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for fact in facts {
        let pieces: Vec<String> = fact.pieces.iter().map(|piece| clean(piece)).collect();
        let text = match fact.is_command {
            true => continued(&pieces.join(" "), width - label),
            false => flow(&pieces, width - label),
        };
        let name = shorten(&clean(&fact.label), label.saturating_sub(2));
        for (at, line) in text.into_iter().enumerate() {
            let name = pad_right(if at == 0 { &name } else { "" }, label);
            lines.push(format!(
                "{}{}",
                style.paint(&name, Colour::Label),
                paint(style, &line, fact.tone)
            ));
        }
    }
    lines
}

fn notes(notes: &[Note], style: &Style, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for note in notes {
        let colour = match note.tone {
            Tone::Plain => Colour::Label,
            Tone::Good => Colour::Good,
            Tone::Warning => Colour::Warning,
            Tone::Bad => Colour::Bad,
        };
        let mark = note.mark.unwrap_or(if note.tone == Tone::Bad { "!" } else { "-" });
        lines.extend(hanging_indent(mark, &clean(&note.text), colour, style, width));
    }
    lines
}
