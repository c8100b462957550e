//! The rules for language models that generate: a cache changes nothing but the time.

use crate::{
    CacheState, EngineError, GeneratorRequest, LoadRequest, Loader, OutputView,
    generation::open_generator, view::ElementsView,
};
use stats::SplitMix;
use types::{DecoderDialect, DecoderShape, Elements, HostTensor};

/// What a generating engine is examined with.
pub struct GeneratorSubject<'a> {
    /// The engine's loader.
    pub loader: &'a dyn Loader,
    /// The graph that generates.
    pub cached: &'a LoadRequest,
    /// The same model as a graph without a cache, with inputs `input_ids` and `attention_mask` and output `logits`.
    pub whole: &'a LoadRequest,
    /// The operators of the cached graph.
    pub dialect: DecoderDialect,
    /// Its sizes.
    pub shape: &'a DecoderShape,
    /// How far a score may be off, as a share of the largest one.
    pub tolerance: f32,
}

const BATCH: usize = 2;
const TOKENS: usize = 12;

/// Examines a generating engine; returns every rule it breaks.
///
/// # Errors
/// When the engine fails where it should not.
pub fn check_generator(subject: &GeneratorSubject<'_>) -> Result<Vec<String>, EngineError> {
    let GeneratorSubject { loader, cached, dialect, shape, tolerance, .. } = *subject;
    let mut broken = Vec::new();
    let mut random = SplitMix::new(3);
    let vocabulary = shape.vocabulary as u64;
    let drawn: Vec<i64> = (0..BATCH * TOKENS).map(|_| random.below(vocabulary) as i64).collect();
    let expected = whole_scores(subject, &drawn)?;
    let request =
        GeneratorRequest { load: cached, shape, batch: BATCH, context: TOKENS + 4, dialect };
    let mut model = open_generator(loader, &request)?;
    let mut rule = |holds: bool, text: &str| {
        if !holds {
            broken.push(text.to_owned());
        }
    };
    let is_near = |a: &[f32], b: &[f32]| {
        let largest = b.iter().fold(1e-6_f32, |most, x| most.max(x.abs()));
        a.len() == b.len() && a.iter().zip(b).all(|(x, y)| (x - y).abs() <= tolerance * largest)
    };
    let place = |from: usize, to: usize| -> Vec<i64> {
        drawn.chunks_exact(TOKENS).flat_map(|row| row[from..to].iter().copied()).collect()
    };

    model.feed(&drawn)?;
    rule(is_near(&model.scores()?, &expected[TOKENS - 1]), "a prompt is scored as without a cache");
    model.clear()?;
    model.feed(&place(0, 5))?;
    rule(is_near(&model.scores()?, &expected[4]), "the first part of a prompt is scored alike");
    model.mark()?;
    let mut steps_agree = true;
    for (at, expected) in expected.iter().enumerate().skip(5) {
        model.feed(&place(at, at + 1))?;
        steps_agree &= is_near(&model.scores()?, expected);
    }
    rule(steps_agree, "every step is scored as without a cache");
    rule(model.cache().tokens == TOKENS, "the cache knows how many tokens it holds");
    let CacheState { bytes, element, .. } = model.cache();
    if let Ok(bytes) = bytes {
        let width = if element.ends_with("16") { 2 } else { 4 };
        let formula = shape.cache(TOKENS, width).0 * BATCH as u64;
        rule(bytes.abs_diff(formula) * 100 <= formula, "its bytes are those of the formula");
    }
    model.rewind()?;
    rule(model.cache().tokens == 5, "a rewind comes back to the mark");
    model.feed(&place(5, 8))?;
    rule(is_near(&model.scores()?, &expected[7]), "after a rewind scores are the same again");
    let too_many = vec![0; BATCH * (TOKENS + 1)];
    rule(model.feed(&too_many).is_err(), "more tokens than the context are refused");
    Ok(broken)
}

/// The scores of every position without a cache: `[token][batch × vocabulary]`.
fn whole_scores(
    subject: &GeneratorSubject<'_>,
    tokens: &[i64],
) -> Result<Vec<Vec<f32>>, EngineError> {
    let model = subject.loader.load(subject.whole)?;
    let mut session = model.session()?;
    let dims = vec![BATCH, TOKENS];
    let input = |name: &str, values: Vec<i64>| HostTensor {
        name: name.into(),
        dims: dims.clone(),
        elements: Elements::I64(values),
    };
    session.bind(&[
        input("input_ids", tokens.to_vec()),
        input("attention_mask", vec![1; tokens.len()]),
    ])?;
    session.infer()?;
    let outputs = session.outputs()?;
    let scores = outputs.iter().find_map(|OutputView { name, elements, .. }| match elements {
        ElementsView::F32(scores) if *name == "logits" => Some(*scores),
        _ => None,
    });
    let scores = scores.unwrap_or_default();
    let width = subject.shape.vocabulary;
    let at = |token: usize| {
        (0..BATCH)
            .flat_map(|row| {
                let begin = (row * TOKENS + token) * width;
                scores.get(begin..begin + width).unwrap_or_default().iter().copied()
            })
            .collect()
    };
    Ok((0..TOKENS).map(at).collect())
}
