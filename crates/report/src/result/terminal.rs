//! A result on a terminal.

use super::{Block, Fact, Note, ResultDocument, Tone};
use crate::clean::clean;
use crate::style::{Colour, Style};
use crate::wrap::{continued, flow, hanging_indent, joined, pad_right, shorten, text_width, wrap};

/// The widest column of labels, as a share of the line.
const WIDEST_LABEL: usize = 3;

impl ResultDocument {
    /// As a terminal shows it. Tables fill `table_width`; `None`, where there is no terminal, shows them whole.
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
        let mut heading = String::new();
        for block in &self.blocks {
            let text = match block {
                Block::Heading(text) => {
                    let painted = |line: String| style.paint(&line, Colour::Title);
                    heading +=
                        &joined(wrap(&clean(text), width).into_iter().map(painted).collect());
                    continue;
                }
                Block::Facts(facts) => joined(self::facts(facts, style, width)),
                Block::Table { grid, .. } => grid.table().painted(style).render(table_width),
                Block::Notes(notes) => joined(self::notes(notes, style, width)),
                Block::Picture(_) => continue,
            };
            parts.push(std::mem::take(&mut heading) + &text);
        }
        parts.extend(self.verdict.as_ref().map(|verdict| {
            let painted = |line: String| paint(style, &line, verdict.tone);
            joined(wrap(&clean(&verdict.text), width).into_iter().map(painted).collect())
        }));
        parts.retain(|part| !part.is_empty());
        parts.join("\n")
    }
}

fn paint(style: &Style, text: &str, tone: Tone) -> String {
    match tone {
        Tone::Plain => text.to_owned(),
        Tone::Good => style.paint(text, Colour::Good),
        Tone::Warning => style.paint(text, Colour::Warning),
        Tone::Bad => style.paint(text, Colour::Bad),
    }
}

/// Labels below each other, and what they stand for beside them.
fn facts(facts: &[Fact], style: &Style, width: usize) -> Vec<String> {
    let widest = facts.iter().map(|fact| text_width(&fact.label)).max().unwrap_or(0);
    let label = (widest + 2).min(width / WIDEST_LABEL);
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
        lines.extend(hanging_indent("-", &clean(&note.text), colour, style, width));
    }
    lines
}
