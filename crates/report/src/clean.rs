//! Text from outside made safe for a terminal: no escape sequences, no control or direction characters.

use std::iter::Peekable;
use std::str::Chars;

const ESCAPE: char = '\u{1b}';
const BELL: char = '\u{7}';

/// The text without escape sequences and control characters; line breaks and tabs become one space.
#[must_use]
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            ESCAPE => skip_escape(&mut chars),
            '\u{9b}' => skip_control_sequence(&mut chars),
            '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => {
                if !out.ends_with(' ') {
                    out.push(' ');
                }
            }
            c if c.is_control() || is_invisible(c) => {}
            c => out.push(c),
        }
    }
    out.trim().to_string()
}

/// Characters that show nothing but reorder, join or restyle their neighbours; they break alignment and can hide a name.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Skips what follows an escape character: a control sequence, a string up to its terminator, or one character.
fn skip_escape(chars: &mut Peekable<Chars<'_>>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            skip_control_sequence(chars);
        }
        Some(']' | 'P' | '^' | '_' | 'X') => {
            chars.next();
            skip_string(chars);
        }
        Some(c) if ('\u{20}'..='\u{2f}').contains(c) => {
            chars.next();
            chars.next();
        }
        Some(c) if c.is_ascii_graphic() => {
            chars.next();
        }
        _ => {}
    }
}

/// Parameters, then one final character; anything else ends the sequence and stays.
fn skip_control_sequence(chars: &mut Peekable<Chars<'_>>) {
    while let Some(c) = chars.peek().copied() {
        match c {
            '\u{20}'..='\u{3f}' => {
                chars.next();
            }
            '\u{40}'..='\u{7e}' => {
                chars.next();
                return;
            }
            _ => return,
        }
    }
}

/// Everything up to the bell or the string terminator; an unterminated string swallows the rest, as a terminal would.
fn skip_string(chars: &mut Peekable<Chars<'_>>) {
    while let Some(c) = chars.next() {
        match c {
            BELL | '\u{9c}' => return,
            ESCAPE if chars.peek() == Some(&'\\') => {
                chars.next();
                return;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_leave_with_everything_they_carry() {
        assert_eq!(clean("\u{1b}[31;1mred\u{1b}[0m"), "red");
        assert_eq!(clean("a\u{1b}]0;title\u{7}b"), "ab");
        assert_eq!(clean("a\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\b"), "alinkb");
        assert_eq!(clean("a\u{9b}2Jb"), "ab");
        assert_eq!(clean("a\u{1b}(Bb"), "ab");
        assert_eq!(clean("end\u{1b}"), "end");
    }

    #[test]
    fn control_and_direction_characters_leave() {
        assert_eq!(clean("a\u{0}b\u{7f}c\u{202e}d\u{200b}e"), "abcde");
        assert_eq!(clean("two\r\nlines\tand more"), "two lines and more");
    }

    #[test]
    fn ordinary_text_stays_as_it_is() {
        let text = "sentence-transformers/all-MiniLM-L6-v2 · größe 模型";
        assert_eq!(clean(text), text);
    }
}
