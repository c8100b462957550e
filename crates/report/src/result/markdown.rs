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
        parts.extend(self.blocks.iter().filter_map(|block| match block {
            Block::Heading(text) => Some(format!("## {}\n", plain(text))),
            Block::Facts(facts) => Some(facts.iter().map(fact).collect()),
            Block::Table { grid, .. } if grid.rows.is_empty() => None,
            Block::Table { grid, .. } => Some(grid.markdown()),
            Block::Notes(notes) => Some(notes.iter().map(note).collect()),
            Block::Picture(_) => None,
        }));
        parts.retain(|part| !part.is_empty());
        parts.join("\n")
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
    format!("- {}\n", plain(&note.text))
}

/// Words between more backticks than they hold themselves.
fn code(text: &str) -> String {
    let text = clean(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let space = if longest > 0 { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}
