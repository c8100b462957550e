//! A result for documents and pull requests, as GitHub draws it: what it comes to first.

use super::{Block, Fact, Note, ResultDocument, Tone};
use crate::clean::clean;
use crate::markdown::plain;
use crate::wrap::DOT;

impl ResultDocument {
    /// As Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut parts = vec![format!("# {}\n", plain(&self.title.join(DOT)))];
        parts.extend(self.verdict.as_ref().map(|note| {
            let sign = match note.tone {
                Tone::Plain => "",
                Tone::Good => "✅ ",
                Tone::Warning => "❔ ",
                Tone::Bad => "❌ ",
            };
            format!("**{sign}{}**\n", plain(&note.text))
        }));
        if !self.facts.is_empty() {
            parts.push(format!("{}\n", plain(&self.facts.join(DOT))));
        }
        parts.extend(self.blocks.iter().map(block));
        if !self.footer.is_empty() {
            parts.push(format!("{}\n", plain(&self.footer.join(DOT))));
        }
        parts.retain(|part| !part.is_empty());
        parts.join("\n")
    }
}

/// A part; empty if Markdown cannot show it.
fn block(block: &Block) -> String {
    match block {
        Block::Heading(text) => format!("## {}\n", plain(text)),
        Block::Facts(facts) => facts.iter().map(fact).collect(),
        Block::Table { grid, .. } if grid.rows.is_empty() => String::new(),
        Block::Table { grid, .. } => grid.markdown(),
        Block::Notes(notes) => notes.iter().map(note).collect(),
        Block::Chart(_) | Block::Picture(_) => String::new(),
        Block::Details { title, blocks } => {
            let inside: Vec<String> =
                blocks.iter().map(self::block).filter(|text| !text.is_empty()).collect();
            let title = clean(title).replace('&', "&amp;").replace('<', "&lt;");
            format!("<details>\n<summary>{title}</summary>\n\n{}\n</details>\n", inside.join("\n"))
        }
    }
}

fn fact(fact: &Fact) -> String {
    let text = fact.pieces.join(if fact.is_command { " " } else { DOT });
    let text = match fact.is_command {
        true => code(&text),
        false => plain(&text),
    };
    match fact.label.as_str() {
        // It goes on with what stands above.
        "" => format!("  {text}\n"),
        label => format!("- {}: {text}\n", plain(label)),
    }
}

fn note(note: &Note) -> String {
    let mark = note.mark.map(|mark| format!("{} ", plain(mark))).unwrap_or_default();
    format!("- {mark}{}\n", plain(&note.text))
}

/// Words between more backticks than they hold themselves.
fn code(text: &str) -> String {
    let text = clean(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let space = if longest > 0 { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}
