//! Damage to text of lines and words: tables, settings, logs, statements.

use super::{LONGEST, begin, bytes};
use crate::Random;

/// What stands between words.
const BETWEEN: &[u8] = b" ,;\t\n\r=:()[]{}\"'";

/// Words at which readers go wrong.
const ODD: [&str; 30] = [
    "",
    "0",
    "-1",
    "1e999",
    "-1e308",
    "NaN",
    "inf",
    "-0",
    "0x10",
    "1_000",
    "18446744073709551615",
    "18446744073709551616",
    "9223372036854775807",
    "-9223372036854775808",
    "4294967296",
    "1e18",
    "1e-320",
    "\"",
    "'",
    "\"\"\"",
    ",,,,",
    "=1+1",
    "\u{feff}",
    "\0",
    "é☾😀",
    "true",
    "null",
    "1970-01-01T00:00:00Z",
    "999999999-12-31",
    "\r",
];

/// A text with a few words or lines changed.
pub(crate) fn mutate(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut text = begin(random, seeds);
    for _ in 0..random.changes() {
        match random.below(8) {
            0 => bytes::change(random, &mut text, seeds),
            1 | 2 => change_line(random, &mut text, seeds),
            _ => change_word(random, &mut text, seeds),
        }
    }
    text.truncate(LONGEST);
    text
}

fn change_line(random: &mut Random, text: &mut Vec<u8>, seeds: &[Vec<u8>]) {
    let mut all: Vec<Vec<u8>> = text.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let (at, other) = (random.below(all.len()), random.below(all.len()));
    match random.below(6) {
        0 => {
            all.remove(at);
        }
        1 => all.swap(at, other),
        2 => {
            let times = [1, 2, 1_000][random.below(3)];
            let line = all[at].clone();
            let room = LONGEST / (1 + line.len());
            all.splice(other..other, std::iter::repeat_n(line, times.min(room)));
        }
        3 => {
            let from = begin(random, seeds);
            let strangers: Vec<&[u8]> = from.split(|byte| *byte == b'\n').collect();
            all.insert(at, random.pick(&strangers).map(|line| line.to_vec()).unwrap_or_default());
        }
        4 => all[at].clear(),
        _ => {
            let deep = [3, 100, 20_000][random.below(3)];
            let brackets = [b'[', b'{', b'(', b'"'][random.below(4)];
            all[at].extend(std::iter::repeat_n(brackets, deep));
        }
    }
    *text = all.join(&b'\n');
}

fn change_word(random: &mut Random, text: &mut Vec<u8>, seeds: &[Vec<u8>]) {
    let Some((start, end)) = word(random, text) else { return };
    let number =
        std::str::from_utf8(&text[start..end]).ok().and_then(|word| word.parse::<f64>().ok());
    let made = match (random.below(8), number) {
        (0 | 1, _) => ODD[random.below(ODD.len())].as_bytes().to_vec(),
        (2, _) => random.edge().to_string().into_bytes(),
        (3, Some(number)) => (-number).to_string().into_bytes(),
        (4, Some(number)) => (number * 1e9).to_string().into_bytes(),
        (5, _) => text[start..end].repeat(1 + random.below(50)),
        (6, _) => {
            let from = begin(random, seeds);
            word(random, &from).map(|(start, end)| from[start..end].to_vec()).unwrap_or_default()
        }
        _ => {
            // A word of this text at another place: numbers where names were, names twice.
            word(random, text).map(|(start, end)| text[start..end].to_vec()).unwrap_or_default()
        }
    };
    text.splice(start..end, made);
}

/// Where a word begins and ends.
fn word(random: &mut Random, text: &[u8]) -> Option<(usize, usize)> {
    let is_between = |byte: &u8| BETWEEN.contains(byte);
    let from = random.below(text.len());
    let start = from + text.get(from..)?.iter().position(|byte| !is_between(byte))?;
    let begin = text[..start].iter().rposition(is_between).map_or(0, |place| place + 1);
    let end = text[start..].iter().position(is_between).map_or(text.len(), |place| start + place);
    Some((begin, end))
}
