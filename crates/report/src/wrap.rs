//! Text fitted into columns: its width on a terminal, padding, shortening, wrapping.

use crate::style::{Colour, Style};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Between facts on one line.
pub const DOT: &str = " · ";

/// The columns a terminal gives to this text.
#[must_use]
pub fn text_width(text: &str) -> usize {
    // The larger of the two: the string's own width knows ligatures, the sum does not.
    text.width().max(text.chars().map(|c| c.width().unwrap_or(0)).sum())
}

/// Spaces before the text until it is so wide.
pub(crate) fn pad_left(text: &str, width: usize) -> String {
    format!("{}{text}", " ".repeat(width.saturating_sub(text_width(text))))
}

/// Spaces after the text until it is so wide.
pub(crate) fn pad_right(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text_width(text))))
}

/// The text with `…` in place of its middle where it is wider than `width`.
#[must_use]
pub fn shorten(text: &str, width: usize) -> String {
    if text_width(text) <= width {
        return text.to_string();
    }
    if width == 0 {
        return String::new();
    }
    let room = width - 1;
    // The end tells two names of one family apart more often than the middle does.
    let tail = take_width(text.chars().rev(), room / 2);
    let head = take_width(text.chars(), room - room / 2);
    let tail: String = tail.chars().rev().collect();
    format!("{head}…{tail}")
}

/// The beginning of the text, with `…` as its end where it is wider than `width`.
#[must_use]
pub fn cut(text: &str, width: usize) -> String {
    if text_width(text) <= width {
        return text.to_string();
    }
    match width {
        0 => String::new(),
        // A wide character that no longer fits leaves a hole; the mark stands in the last column all the same.
        _ => format!("{}…", pad_right(&take_width(text.chars(), width - 1), width - 1)),
    }
}

fn take_width(chars: impl Iterator<Item = char>, width: usize) -> String {
    let mut out = String::new();
    let mut used = 0;
    for c in chars {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        out.push(c);
    }
    out
}

/// The text in lines of at most `width` columns; what stands between backticks stays on one line where it can.
#[must_use]
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in words(text) {
        if text_width(&word) <= width {
            push_piece(&mut lines, &mut line, &word, " ", width);
            continue;
        }
        for part in word.split_whitespace() {
            push_piece(&mut lines, &mut line, part, " ", width.max(1));
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// The items joined by dots in lines of at most `width` columns, broken between items where possible.
pub(crate) fn flow(items: &[String], width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for item in items.iter().filter(|item| !item.is_empty()) {
        if text_width(item) <= width {
            push_piece(&mut lines, &mut line, item, DOT, width);
        } else {
            if !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            lines.extend(wrap(item, width));
            line = lines.pop().unwrap_or_default();
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

fn push_piece(
    lines: &mut Vec<String>,
    line: &mut String,
    piece: &str,
    separator: &str,
    width: usize,
) {
    let joined = text_width(line) + text_width(separator) + text_width(piece);
    if line.is_empty() && text_width(piece) <= width {
        line.push_str(piece);
    } else if !line.is_empty() && joined <= width {
        line.push_str(separator);
        line.push_str(piece);
    } else {
        if !line.is_empty() {
            lines.push(std::mem::take(line));
        }
        *line = break_hard(lines, piece, width);
    }
}

/// Cuts a piece wider than a line into lines and hands back the rest; a path is cut behind its folders where that leaves no line
/// short.
fn break_hard(lines: &mut Vec<String>, piece: &str, width: usize) -> String {
    let mut rest = piece;
    while text_width(rest) > width {
        let head = take_width(rest.chars(), width);
        let folder = head.rfind('/').map(|at| at + 1).filter(|at| *at > head.len() / 2);
        // A character wider than the whole line still has to go somewhere.
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let cut = folder.unwrap_or(head.len()).max(first);
        lines.push(rest[..cut].to_string());
        rest = &rest[cut..];
    }
    rest.to_string()
}

/// Words by white space; a backticked span with its neighbours is one word, and so is a number with its `%`.
fn words(text: &str) -> Vec<String> {
    let balanced = text.matches('`').count().is_multiple_of(2);
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quoted = false;
    for c in text.chars() {
        if c == '`' && balanced {
            quoted = !quoted;
        }
        if c.is_whitespace() && !quoted {
            push_word(&mut words, std::mem::take(&mut word));
        } else {
            word.push(c);
        }
    }
    push_word(&mut words, word);
    words
}

fn push_word(words: &mut Vec<String>, word: String) {
    let is_number = |last: &String| last.ends_with(|c: char| c.is_ascii_digit());
    match words.last_mut() {
        Some(last) if word.starts_with('%') && is_number(last) => {
            last.push(' ');
            last.push_str(&word);
        }
        _ if word.is_empty() => {}
        _ => words.push(word),
    }
}

/// A command over several lines that a shell takes as one.
pub(crate) fn continued(command: &str, width: usize) -> Vec<String> {
    const BREAK: &str = " \\";
    let mut lines: Vec<String> = Vec::new();
    for piece in pieces(command) {
        match lines.last_mut() {
            Some(line) if text_width(line) + 1 + text_width(&piece) + BREAK.len() <= width => {
                line.push(' ');
                line.push_str(&piece);
            }
            _ => lines.extend(wrap(&piece, width.saturating_sub(BREAK.len()).max(1))),
        }
    }
    let last = lines.len().saturating_sub(1);
    for line in &mut lines[..last] {
        line.push_str(BREAK);
    }
    lines
}

/// Words of a command; a flag keeps its value and quotes stay whole.
fn pieces(command: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut quoted = false;
    for c in command.chars() {
        if c == '\'' {
            quoted = !quoted;
        }
        if c == ' ' && !quoted {
            words.push(std::mem::take(&mut word));
        } else {
            word.push(c);
        }
    }
    words.push(word);
    let mut pieces: Vec<String> = Vec::new();
    for word in words {
        match pieces.last_mut() {
            Some(last)
                if last.starts_with("--")
                    && !last.contains([' ', '='])
                    && !word.starts_with("--") =>
            {
                last.push(' ');
                last.push_str(&word);
            }
            _ => pieces.push(word),
        }
    }
    pieces
}

/// A sentence behind a mark, its further lines set in.
pub(crate) fn hanging_indent(
    mark: &str,
    text: &str,
    colour: Colour,
    style: &Style,
    width: usize,
) -> Vec<String> {
    let lines = wrap(text, width.saturating_sub(2).max(1)).into_iter().enumerate();
    let mark = |at: usize| if at == 0 { style.paint(mark, colour) } else { " ".into() };
    lines.map(|(at, line)| format!("{} {line}", mark(at))).collect()
}

/// Lines as one text, without spaces at their ends.
pub(crate) fn joined(lines: Vec<String>) -> String {
    let mut text = String::new();
    for line in lines {
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_cut_behind_its_folders() {
        let path = "`/home/somebody/models/distilbert/model.onnx`";
        assert_eq!(wrap(path, 20), ["`/home/somebody/", "models/distilbert/", "model.onnx`"]);
        // Not where a line would be nearly empty.
        assert_eq!(wrap("/a/bcdefghijklmnopq", 10), ["/a/bcdefgh", "ijklmnopq"]);
    }

    #[test]
    fn a_long_command_can_still_be_pasted() {
        let command =
            "modelmeter compare 'a model.onnx' --engines rten --batch-sizes 4,16 --threads 2";
        let lines = continued(command, 40);
        assert_eq!(
            lines,
            [
                "modelmeter compare 'a model.onnx' \\",
                "--engines rten --batch-sizes 4,16 \\",
                "--threads 2"
            ]
        );
        let joined: Vec<&str> = lines.iter().map(|line| line.trim_end_matches(" \\")).collect();
        assert_eq!(joined.join(" "), command);
    }

    #[test]
    fn a_long_name_keeps_its_beginning_and_its_end() {
        assert_eq!(shorten("distilbert-base-uncased", 11), "disti…cased");
        assert_eq!(shorten("gpt2", 4), "gpt2");
        assert_eq!(shorten("gpt2", 1), "…");
        assert_eq!(shorten("gpt2", 0), "");
        assert_eq!(text_width(&shorten("模型模型模型模型", 8)), 7);
    }

    #[test]
    fn a_command_between_backticks_is_not_broken() {
        let lines = wrap("p99 needs 662 runs; add `--duration 3m` and wait", 30);
        assert_eq!(lines, ["p99 needs 662 runs; add", "`--duration 3m` and wait"]);
    }

    #[test]
    fn a_number_keeps_its_percent_sign() {
        assert_eq!(
            wrap("the rest took 89 % of the time", 17),
            ["the rest took", "89 % of the time"]
        );
        assert_eq!(wrap("lost 5 %, then % alone", 6), ["lost", "5 %,", "then %", "alone"]);
    }

    #[test]
    fn a_lonely_backtick_does_not_glue_the_rest() {
        assert_eq!(wrap("it`s one two three", 9), ["it`s one", "two three"]);
    }

    #[test]
    fn a_word_wider_than_the_line_is_cut() {
        assert_eq!(wrap("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
    }

    #[test]
    fn facts_break_between_items() {
        let items = ["one two".to_string(), "three".into(), "four".into()];
        assert_eq!(flow(&items, 15), ["one two · three", "four"]);
        assert_eq!(flow(&items, 80), ["one two · three · four"]);
        assert_eq!(flow(&items, 4), ["one", "two", "thre", "e", "four"]);
    }
}
