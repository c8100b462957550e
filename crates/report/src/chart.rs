//! A horizontal bar chart in text.

use crate::clean::clean;
use crate::wrap::{pad_left, pad_right, shorten, text_width};

/// The characters bars are drawn with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Glyphs {
    /// Block elements, to an eighth of a column.
    #[default]
    Unicode,
    /// `#`, for terminals and files without them.
    Ascii,
}

/// One bar.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// What it stands for.
    pub label: String,
    /// Its length, in any unit that all bars share; `None` if there is no number.
    pub value: Option<f64>,
    /// The number as people read it.
    pub text: String,
}

const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
const INDENT: &str = "  ";
const SHORTEST: usize = 10;

/// A title and a line a bar in at most `width` columns (40 at least); bars begin at zero.
#[must_use]
pub fn bar_chart(title: &str, bars: &[Bar], width: usize, glyphs: Glyphs) -> String {
    let width = width.max(40);
    let texts: Vec<String> = bars.iter().map(|bar| shorten(&clean(&bar.text), width / 4)).collect();
    let labels: Vec<String> = bars.iter().map(|bar| clean(&bar.label)).collect();
    let text_columns = texts.iter().map(|text| text_width(text)).max().unwrap_or(0);
    let around = INDENT.len() + 4 + text_columns;
    let label_columns = labels.iter().map(|label| text_width(label)).max().unwrap_or(0);
    let label_columns = label_columns.min(width - around - SHORTEST).min(width / 2);
    let room = width - around - label_columns;
    let known = bars.iter().filter_map(|bar| bar.value).filter(|value| value.is_finite());
    let largest = known.fold(0.0, f64::max);

    let mut out = format!("{}\n", shorten(&clean(title), width));
    for (at, bar) in bars.iter().enumerate() {
        let share = match bar.value {
            Some(value) if largest > 0.0 && value.is_finite() => (value / largest).max(0.0),
            _ => 0.0,
        };
        let label = pad_right(&shorten(&labels[at], label_columns), label_columns);
        let drawn = pad_right(&draw(share * room as f64, glyphs), room);
        let line = format!("{INDENT}{label}  {drawn}  {}", pad_left(&texts[at], text_columns));
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// A bar of so many columns; a value above zero is never invisible.
fn draw(columns: f64, glyphs: Glyphs) -> String {
    if columns <= 0.0 {
        return String::new();
    }
    match glyphs {
        Glyphs::Unicode => {
            let eighths = ((columns * 8.0).round() as usize).max(1);
            format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
        }
        Glyphs::Ascii => "#".repeat((columns.round() as usize).max(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(label: &str, value: Option<f64>, text: &str) -> Bar {
        Bar { label: label.into(), value, text: text.into() }
    }

    #[test]
    fn bars_are_as_long_as_their_numbers() {
        let bars = [
            bar("small", Some(10.0), "10 ms"),
            bar("medium", Some(20.0), "20 ms"),
            bar("tiny", Some(0.001), "1 µs"),
            bar("none", None, "–"),
        ];
        let text = bar_chart("median", &bars, 40, Glyphs::Ascii);
        let lengths: Vec<usize> = text.lines().skip(1).map(|l| l.matches('#').count()).collect();
        assert_eq!(lengths, [12, 23, 1, 0]);
        assert!(text.lines().all(|line| text_width(line) <= 40), "{text}");
    }

    #[test]
    fn a_block_shows_an_eighth() {
        assert_eq!(draw(2.5, Glyphs::Unicode), "██▌");
        assert_eq!(draw(0.001, Glyphs::Unicode), "▏");
        assert_eq!(draw(3.0, Glyphs::Unicode), "███");
    }

    #[test]
    fn long_labels_and_texts_leave_room_for_the_bar() {
        let bars = [bar(&"model".repeat(40), Some(1.0), &"9".repeat(90))];
        let text = bar_chart(&"title ".repeat(40), &bars, 60, Glyphs::Unicode);
        assert!(text.lines().all(|line| text_width(line) <= 60), "{text}");
        assert!(text.contains('█'));
    }
}
