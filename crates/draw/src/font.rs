//! How wide words are, and what to leave away where they are too wide.

use crate::advances::Advances;
use std::sync::OnceLock;

/// The font that is carried along, and what stands in for it where a browser has others.
pub(crate) const FAMILY: &str = "Noto Sans, Segoe UI, Helvetica Neue, Arial, sans-serif";

/// The fonts that words are drawn with in PNG.
pub(crate) const FONTS: [&[u8]; 2] = [notosans::REGULAR_TTF, notosans::BOLD_TTF];

/// Other fonts may be a little wider than ours.
const SLACK: f64 = 1.03;

/// How heavy words are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    Regular,
    Bold,
}

/// Advances of the first characters, for a size of 1; others are looked up.
struct Face {
    font: Advances,
    first: Vec<f64>,
}

const FIRST: u32 = 0x250;

impl Face {
    fn of(weight: Weight) -> &'static Face {
        static FACES: OnceLock<[Face; 2]> = OnceLock::new();
        let load = |data: &'static [u8]| {
            let font = Advances::of(data).expect("the font that is carried along is whole");
            let mut face = Face { font, first: Vec::new() };
            let all = (0..FIRST).map(|code| char::from_u32(code).map_or(0.0, |c| face.find(c)));
            face.first = all.collect();
            face
        };
        let faces = FACES.get_or_init(|| FONTS.map(load));
        match weight {
            Weight::Regular => &faces[0],
            Weight::Bold => &faces[1],
        }
    }

    fn find(&self, c: char) -> f64 {
        // What the font does not have may be as wide as it is high.
        self.font.find(c).unwrap_or(1.0)
    }

    fn advance(&self, c: char) -> f64 {
        self.first.get(c as usize).copied().unwrap_or_else(|| self.find(c))
    }
}

/// How wide words of this size are, and a little more.
pub(crate) fn width(text: &str, size: f64, weight: Weight) -> f64 {
    let face = Face::of(weight);
    text.chars().map(|c| face.advance(c)).sum::<f64>() * size * SLACK
}

/// The words, or so much of their beginning and end as fits, with an ellipsis between.
pub(crate) fn fit(text: &str, size: f64, weight: Weight, room: f64) -> String {
    // Nobody reads a thousand characters, and measuring them over and over takes its time.
    let chars: Vec<char> = text.chars().take(1000).collect();
    let whole: String = chars.iter().collect();
    if chars.len() == text.chars().count() && width(&whole, size, weight) <= room {
        return whole;
    }
    let mut kept = chars.len().saturating_sub(1);
    loop {
        let end = kept / 3;
        let begin = kept - end;
        let mut short: String = chars[..begin].iter().collect();
        short.truncate(short.trim_end().len());
        short.push('…');
        short.extend(&chars[chars.len() - end..]);
        if kept == 0 || width(&short, size, weight) <= room {
            return short;
        }
        kept -= 1;
    }
}

/// The words in lines that fit, broken between words; a word alone that is too wide is shortened.
pub(crate) fn wrap(text: &str, size: f64, weight: Weight, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let longer = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
        if width(&longer, size, weight) <= room {
            line = longer;
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        line = fit(word, size, weight, room);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_and_bolder_words_are_wider() {
        let plain = width("transformer", 12.0, Weight::Regular);
        assert!(plain > 50.0 && plain < 90.0, "{plain}");
        assert!(width("transformer", 12.0, Weight::Bold) > plain);
        assert!((width("transformer", 24.0, Weight::Regular) - 2.0 * plain).abs() < 1e-6);
        assert_eq!(width("", 12.0, Weight::Regular), 0.0);
    }

    #[test]
    fn every_sign_of_our_own_is_in_the_font() {
        let face = Face::of(Weight::Regular);
        for sign in "×·µ…–±%/,.°≤≥→".chars() {
            assert!(face.font.find(sign).is_some(), "{sign}");
        }
    }

    #[test]
    fn what_is_too_wide_loses_its_middle() {
        let long = "x".repeat(300) + "-end";
        let short = fit(&long, 12.0, Weight::Regular, 200.0);
        assert!(short.starts_with("xxx") && short.contains('…') && short.ends_with("-end"));
        assert!(width(&short, 12.0, Weight::Regular) <= 200.0);
        assert_eq!(fit("short", 12.0, Weight::Regular, 200.0), "short");
        assert_eq!(fit("no room", 12.0, Weight::Regular, 0.0), "…");
        assert!(fit(&"y".repeat(100_000), 12.0, Weight::Regular, 1e9).chars().count() <= 1000);
    }

    #[test]
    fn lines_break_between_words() {
        let lines = wrap("one two three four five six", 12.0, Weight::Regular, 70.0);
        assert!(lines.len() > 1);
        assert_eq!(lines.join(" "), "one two three four five six");
        for line in lines {
            assert!(width(&line, 12.0, Weight::Regular) <= 70.0, "{line}");
        }
    }
}
