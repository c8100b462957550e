//! What a worker reads without a model: a tokenizer's file, pictures, recordings. They come with a model or from a user,
//! and a library that reads them may need any amount of memory or panic; here that ends a worker and nothing else.

use crate::{
    Encoded, EngineError, EngineErrorKind, Media, OpenTokeniser, TextJob, TextPadding, TextReport,
    Tokeniser, view_of, worker::fails, write_tensors,
};
use std::path::Path;
use types::{InputSpec, MediaJob, caught};

/// The library that reads tokenizers.
const LIBRARY: &str = "tokenizers";

/// Opens a tokenizer's file.
pub(crate) fn open(
    open_tokeniser: OpenTokeniser<'_>,
    path: &Path,
) -> Result<Box<dyn Tokeniser>, EngineError> {
    let opened = caught(|| open_tokeniser(path)).map_err(|said| broken(path, &said))?;
    opened.map_err(|why| bad(why).with_hint("download `tokenizer.json` again"))
}

fn bad(why: String) -> EngineError {
    EngineError::new(EngineErrorKind::BadInput, why)
}

fn broken(path: &Path, said: &str) -> EngineError {
    let why = fails(EngineErrorKind::BadInput, LIBRARY, said).message;
    let text = format!("could not read the tokenizer `{}`: {why}", path.display());
    bad(text).with_hint("download `tokenizer.json` again")
}

/// How long texts are as tokens, and which tokens they are where that is wanted; no row is padded for it, whatever length was
/// asked for.
pub(crate) fn measure_text(
    open_tokeniser: OpenTokeniser<'_>,
    text: &TextJob,
    longest: Option<usize>,
    with_tokens: bool,
) -> Result<TextReport, EngineError> {
    let tokeniser = open(open_tokeniser, &text.tokenizer)?;
    let encode = |line: &String, length: Option<usize>| {
        let lines = std::slice::from_ref(line);
        let encoded = caught(|| tokeniser.encode(lines, length));
        encoded.map_err(|said| broken(&text.tokenizer, &said))?.map_err(bad)
    };
    let mut whole = Vec::with_capacity(text.lines.len());
    for line in &text.lines {
        whole.push(encode(line, None)?);
    }
    let longest_row = whole.iter().map(|row| row.length).max().unwrap_or(0).max(1);
    let length = match (text.max_length, longest) {
        (Some(asked), _) => asked,
        (None, Some(longest)) => longest_row.min(longest),
        (None, None) => longest_row,
    };
    let mut report = TextReport { length, ..TextReport::default() };
    let mut see = |ids: &[i64]| {
        let found = ids.iter().min().zip(ids.iter().max());
        if let Some((&low, &high)) = found {
            let (lowest, highest) = report.ids.unwrap_or((low, high));
            report.ids = Some((lowest.min(low), highest.max(high)));
        }
    };
    let mut tokens = Vec::new();
    for (line, row) in text.lines.iter().zip(&mut whole) {
        let cut = row.length > length;
        let ids = if cut { encode(line, Some(length))?.ids } else { std::mem::take(&mut row.ids) };
        see(&ids);
        tokens.extend(with_tokens.then_some(ids));
    }
    let shortest = text.lines.iter().zip(&whole).min_by_key(|(_, row)| row.length);
    if let Some((line, row)) = shortest.filter(|(_, row)| row.length < length) {
        // One token of padding, which must be in the vocabulary too.
        let padded = encode(line, Some(row.length + 1))?;
        see(&padded.ids);
        report.padding = padding(&padded);
    }
    report.tokens = tokens;
    report.rows = whole
        .iter()
        .map(|row| (row.length.min(length), row.length.saturating_sub(length)))
        .collect();
    Ok(report)
}

/// How a text that is not full was filled.
fn padding(padded: &Encoded) -> Option<TextPadding> {
    let place = padded.mask.iter().position(|real| *real == 0)?;
    Some(TextPadding { token: *padded.ids.get(place)?, is_left: place == 0 })
}

/// Makes an input of pictures or recordings and writes it.
pub(crate) fn make_media(
    job: &MediaJob,
    inputs: &[InputSpec],
    path: &Path,
) -> Result<(), EngineError> {
    let made = Media::open(job, inputs)?.make()?;
    write_tensors(path, &[view_of(&made)])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A token a letter; padding is 99, and the word `boom` panics.
    struct Letters;

    impl Tokeniser for Letters {
        fn encode(&self, texts: &[String], length: Option<usize>) -> Result<Encoded, String> {
            let [text] = texts else { return Err("one at a time".into()) };
            assert!(text != "boom", "no such word");
            let mut ids: Vec<i64> = text.bytes().map(|byte| i64::from(byte - b'a')).collect();
            let (real, length) = (ids.len(), length.unwrap_or(ids.len()));
            assert!(length < 100, "nobody shall pad that far");
            ids.resize(length, 99);
            let mask = (0..length).map(|at| i64::from(at < real)).collect();
            let types = vec![0; length];
            Ok(Encoded { ids, mask, types, length })
        }

        fn decode(&self, tokens: &[i64]) -> Result<String, String> {
            Ok(tokens.iter().map(|token| char::from(b'a' + *token as u8)).collect())
        }
    }

    fn measure(lines: &[&str], asked: Option<usize>, longest: Option<usize>) -> TextReport {
        tried(lines, asked, longest).unwrap()
    }

    fn tried(
        lines: &[&str],
        asked: Option<usize>,
        longest: Option<usize>,
    ) -> Result<TextReport, EngineError> {
        let lines = lines.iter().map(|line| (*line).to_owned()).collect();
        let text = TextJob { lines, tokenizer: "t".into(), max_length: asked };
        measure_text(&|_| Ok(Box::new(Letters)), &text, longest, true)
    }

    #[test]
    fn the_longest_text_decides_unless_a_length_was_asked_or_the_model_takes_less() {
        let free = measure(&["abc", "a"], None, None);
        assert_eq!((free.length, free.rows), (3, vec![(3, 0), (1, 0)]));
        assert_eq!(free.ids, Some((0, 99)), "the shorter one is padded");
        assert_eq!(free.tokens, [vec![0, 1, 2], vec![0]]);
        assert_eq!(free.padding, Some(TextPadding { token: 99, is_left: false }));
        let asked = measure(&["abc", "a"], Some(2), Some(1));
        assert_eq!((asked.length, asked.rows), (2, vec![(2, 1), (1, 0)]));
        let model = measure(&["abz", "ab"], None, Some(2));
        assert_eq!((model.length, model.rows), (2, vec![(2, 1), (2, 0)]));
        assert_eq!(model.ids, Some((0, 1)), "what is cut off is not looked at");
        assert_eq!((model.tokens, model.padding), (vec![vec![0, 1], vec![0, 1]], None));
    }

    #[test]
    fn a_huge_length_pads_nothing() {
        let huge = measure(&["abc"], Some(usize::MAX), None);
        assert_eq!((huge.length, huge.rows), (usize::MAX, vec![(3, 0)]));
    }

    #[test]
    fn a_library_that_panics_has_met_a_broken_file() {
        let error = tried(&["boom"], None, None).unwrap_err();
        assert_eq!(error.kind, EngineErrorKind::BadInput);
        let expected =
            "could not read the tokenizer `t`: the file makes `tokenizers` fail: no such word";
        assert_eq!(error.message, expected);
        assert!(error.hint.unwrap().contains("tokenizer.json"));
    }
}
