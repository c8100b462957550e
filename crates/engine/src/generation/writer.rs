//! One model that reads and writes: the samples of a prefill or a decode, each on top of the same depth.

use super::{
    checked::Checked,
    sampler::{Sampler, most_likely},
};
use crate::{
    CacheState, EngineError, EngineErrorKind, GenerationJob, TextJob, Tokeniser, view_of,
    worker::Recorder, write_tensors,
};
use stats::SplitMix;
use std::{
    path::Path,
    time::{Duration, Instant},
};
use types::{
    Bytes, Elements, Generation, GenerationReport, GenerationTest, HostTensor, MissingCode, Phase,
    Reading,
};

/// Tokens that are fed at once while the cache is filled to the depth; no sample sees them.
const FILL: usize = 512;

pub(super) struct Writer<'a> {
    generator: Checked,
    job: &'a GenerationJob,
    /// The prompt as text, instead of drawn tokens.
    text: Option<(Box<dyn Tokeniser>, &'a TextJob)>,
    sampler: Sampler,
    random: SplitMix,
    /// Whether the cache holds the depth, marked.
    is_filled: bool,
    /// Steps since the last rewind.
    step: usize,
    next: Vec<i64>,
    prompt: Vec<i64>,
    /// What the first row was written in the first round.
    written: Vec<i64>,
    is_first_round: bool,
    /// The cache at the end of the first whole round: where sampling stops in a later one is chance.
    fullest: Option<CacheState>,
    /// What is written on for the comparison.
    opening: Vec<i64>,
    /// When the last sample's tokens went in, and how long the scores took.
    pub(super) last: Option<(Instant, Duration)>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(
        generator: Checked,
        job: &'a GenerationJob,
        text: Option<(Box<dyn Tokeniser>, &'a TextJob)>,
        opening: Vec<i64>,
        seed: u64,
    ) -> Writer<'a> {
        Writer {
            generator,
            job,
            text,
            sampler: Sampler::new(job.generation.sampling, seed),
            random: SplitMix::new(seed),
            is_filled: false,
            step: 0,
            next: Vec::new(),
            prompt: Vec::new(),
            written: Vec::new(),
            is_first_round: true,
            fullest: None,
            opening,
            last: None,
        }
    }

    pub(super) fn generator(&self) -> &Checked {
        &self.generator
    }

    pub(super) fn generator_mut(&mut self) -> &mut Checked {
        &mut self.generator
    }

    fn generation(&self) -> Generation {
        self.job.generation
    }

    /// Takes one sample.
    pub(super) fn sample(&mut self, recorder: &mut Recorder) -> Result<(), EngineError> {
        self.fill()?;
        match self.generation().test {
            GenerationTest::Prefill => self.prefill(recorder),
            GenerationTest::Decode => self.decode(recorder),
        }
    }

    /// Reads a prompt that was never read before, so that no cache of prefixes helps.
    fn prefill(&mut self, recorder: &mut Recorder) -> Result<(), EngineError> {
        self.generator.rewind()?;
        let begin = Instant::now();
        if let Some((tokeniser, text)) = &self.text {
            self.prompt = encode(&**tokeniser, text, self.job.batch)?;
            recorder.push(Phase::Tokenise, begin.elapsed());
        } else {
            self.prompt = self.drawn(self.generation().tokens);
        }
        let before = Instant::now();
        self.generator.feed(&self.prompt)?;
        let after = Instant::now();
        recorder.push(Phase::Inference, after - before);
        self.last = Some((before, after - before));
        self.choose()?;
        let end = Instant::now();
        recorder.push(Phase::Sample, end - after);
        recorder.push(Phase::Total, end - if self.text.is_some() { begin } else { before });
        if self.written.is_empty() {
            self.written.extend(self.next.first());
        }
        Ok(())
    }

    /// Writes one token more.
    fn decode(&mut self, recorder: &mut Recorder) -> Result<(), EngineError> {
        if self.step == self.generation().tokens {
            if self.fullest.is_none() {
                self.fullest = Some(self.generator.cache());
            }
            self.restart()?;
        }
        let before = Instant::now();
        self.generator.feed(&self.next)?;
        let after = Instant::now();
        recorder.push(Phase::Inference, after - before);
        self.last = Some((before, after - before));
        self.choose()?;
        let chosen = Instant::now();
        recorder.push(Phase::Sample, chosen - after);
        let mut end = chosen;
        if let Some((tokeniser, _)) = &self.text {
            let words = tokeniser.decode(&self.next[..1]).map_err(bad)?;
            std::hint::black_box(words);
            end = Instant::now();
            recorder.push(Phase::Detokenise, end - chosen);
        }
        recorder.push(Phase::Total, end - before);
        self.step += 1;
        if self.is_first_round {
            self.written.extend(self.next.first());
        }
        Ok(())
    }

    /// Forgets what was read and written behind the depth; the next step is the first of a round.
    pub(super) fn restart(&mut self) -> Result<(), EngineError> {
        self.generator.rewind()?;
        self.step = 0;
        self.is_first_round = false;
        self.next = self.start();
        Ok(())
    }

    fn choose(&mut self) -> Result<(), EngineError> {
        let scores = self.generator.scores()?;
        self.sampler.choose(&scores, self.job.shape.vocabulary, &mut self.next);
        Ok(())
    }

    /// Brings the cache to the depth and marks it.
    pub(super) fn fill(&mut self) -> Result<(), EngineError> {
        if self.is_filled {
            return Ok(());
        }
        self.generator.clear()?;
        let is_decode = self.generation().test == GenerationTest::Decode;
        let depth = match &self.text {
            // What is written follows the text; its last token is the first that is fed.
            Some((tokeniser, text)) if is_decode => {
                let all = encode(&**tokeniser, text, self.job.batch)?;
                let each = all.len() / self.job.batch;
                let rows = || all.chunks_exact(each);
                self.prompt = rows().map(|row| row[each - 1]).collect();
                rows().flat_map(|row| row[..each - 1].iter().copied()).collect()
            }
            _ => self.drawn(self.generation().depth),
        };
        feed_in_pieces(&mut self.generator, &depth, self.job.batch)?;
        self.generator.mark()?;
        self.is_filled = true;
        self.step = 0;
        self.next = self.start();
        Ok(())
    }

    /// The token of each row that the first step of a round takes in.
    fn start(&mut self) -> Vec<i64> {
        match &self.text {
            Some(_) => self.prompt.clone(),
            None => self.drawn(1),
        }
    }

    /// So many drawn tokens for each row.
    fn drawn(&mut self, tokens: usize) -> Vec<i64> {
        let vocabulary = self.job.shape.vocabulary.max(1) as u64;
        (0..tokens * self.job.batch).map(|_| self.random.below(vocabulary) as i64).collect()
    }

    /// Reads the job's prompt, one half at once and the other token by token, then writes on; what all engines must agree on.
    ///
    /// `logits` has the scores after the first half and after each token of the second: `[tokens, batch, vocabulary]`;
    /// `tokens` has what follows the prompt: `[batch, tokens]`.
    pub(super) fn write_outputs(&mut self, path: &Path) -> Result<(), EngineError> {
        self.is_filled = false;
        self.generator.clear()?;
        let (batch, vocabulary) = (self.job.batch, self.job.shape.vocabulary);
        let length = self.job.prompt.len() / batch.max(1);
        let half = length / 2;
        let mut scores = Vec::new();
        feed_in_pieces(&mut self.generator, &columns(&self.job.prompt, batch, 0..half), batch)?;
        scores.extend_from_slice(&self.generator.scores()?);
        for place in half..length {
            self.generator.feed(&columns(&self.job.prompt, batch, place..place + 1))?;
            scores.extend_from_slice(&self.generator.scores()?);
        }
        if !self.opening.is_empty() {
            self.generator.clear()?;
            self.generator.feed(&self.opening.repeat(batch))?;
        }
        let mut rows = vec![Vec::new(); batch];
        for step in 0..self.job.greedy {
            let scores = self.generator.scores()?;
            let best = scores.chunks_exact(vocabulary).map(|row| most_likely(row) as i64);
            let best: Vec<i64> = best.collect();
            rows.iter_mut().zip(&best).for_each(|(row, token)| row.push(*token));
            drop(scores);
            if step + 1 < self.job.greedy {
                self.generator.feed(&best)?;
            }
        }
        self.generator.clear()?;
        let tensors = [
            HostTensor {
                name: "logits".into(),
                dims: vec![length - half + 1, batch, vocabulary],
                elements: Elements::F32(scores),
            },
            HostTensor {
                name: "tokens".into(),
                dims: vec![batch, self.job.greedy],
                elements: Elements::I64(rows.concat()),
            },
        ];
        write_tensors(path, &tensors.iter().map(view_of).collect::<Vec<_>>())
    }

    pub(super) fn report(&self) -> GenerationReport {
        let now = self.generator.cache();
        let cache = match &self.fullest {
            Some(fullest) if fullest.tokens > now.tokens => fullest.clone(),
            _ => now,
        };
        let shape = &self.job.shape;
        let (numbers, bytes) = block_of(&cache.element);
        let per_row = shape.cache(cache.tokens, 1).0 * bytes / numbers;
        let answer = self.text.as_ref().and_then(|(text, _)| text.decode(&self.written).ok());
        GenerationReport {
            cache_per_token: Bytes(shape.cache_per_token(1).0 * bytes / numbers),
            cache: Bytes(per_row * self.job.batch as u64),
            cache_tokens: cache.tokens,
            cache_reported: match cache.bytes {
                Ok(bytes) => Reading::of(Bytes(bytes)),
                Err(why) => Reading::missing(MissingCode::NotReported, why),
            },
            cache_type: cache.element,
            cache_kept: cache.kept,
            shape: shape.clone(),
            tokens: self.written.clone(),
            answer,
            first_step: None,
            growth: None,
        }
    }
}

/// Numbers in a block of a format, and the bytes of one.
fn block_of(element: &str) -> (u64, u64) {
    match element {
        "f16" | "bf16" => (1, 2),
        "q8_0" => (32, 34),
        "q5_1" => (32, 24),
        "q5_0" => (32, 22),
        "q4_1" => (32, 20),
        "q4_0" => (32, 18),
        _ => (1, 4),
    }
}

/// The first inference, alone.
pub(super) fn first(writer: &mut Writer<'_>) -> Result<Duration, EngineError> {
    let mut recorder = Recorder::default();
    writer.sample(&mut recorder)?;
    let samples = recorder.finish();
    let inference = samples.iter().find(|samples| samples.phase == Phase::Inference);
    Ok(Duration::from_nanos(inference.and_then(|one| one.nanos.first()).copied().unwrap_or(0)))
}

fn bad(why: String) -> EngineError {
    EngineError::new(EngineErrorKind::BadInput, why)
}

/// The first text as tokens, once for each row: rows of one length need no padding.
pub(super) fn encode(
    tokeniser: &dyn Tokeniser,
    text: &TextJob,
    batch: usize,
) -> Result<Vec<i64>, EngineError> {
    let line = text.lines.get(..1).unwrap_or_default();
    let encoded = tokeniser.encode(line, text.max_length).map_err(bad)?;
    let real = encoded.ids.iter().zip(&encoded.mask).filter(|(_, real)| **real != 0);
    let ids: Vec<i64> = real.map(|(id, _)| *id).collect();
    if ids.is_empty() {
        return Err(bad("the text has no token".into()));
    }
    Ok(ids.repeat(batch))
}

fn feed_in_pieces(
    generator: &mut Checked,
    tokens: &[i64],
    batch: usize,
) -> Result<(), EngineError> {
    let each = tokens.len() / batch.max(1);
    let piece = if generator.reads_behind() { FILL } else { each.max(1) };
    for begin in (0..each).step_by(piece) {
        generator.feed(&columns(tokens, batch, begin..(begin + piece).min(each)))?;
    }
    Ok(())
}

/// Some places of every row.
fn columns(tokens: &[i64], batch: usize, places: std::ops::Range<usize>) -> Vec<i64> {
    let each = (tokens.len() / batch.max(1)).max(1);
    tokens.chunks_exact(each).flat_map(|row| row[places.clone()].iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Generator;
    use std::borrow::Cow;
    use types::{DecoderDialect, DecoderShape, Sampling};

    /// Holds a number of tokens; a byte for each.
    #[derive(Default)]
    struct Counter {
        tokens: u64,
        mark: u64,
    }

    impl Generator for Counter {
        fn placement(&self) -> String {
            String::new()
        }

        fn feed(&mut self, tokens: &[i64]) -> Result<(), EngineError> {
            self.tokens += tokens.len() as u64;
            Ok(())
        }

        fn scores(&self) -> Result<Cow<'_, [f32]>, EngineError> {
            Ok(Cow::Borrowed(&[0.0, 1.0]))
        }

        fn mark(&mut self) -> Result<(), EngineError> {
            self.mark = self.tokens;
            Ok(())
        }

        fn rewind(&mut self) -> Result<(), EngineError> {
            self.tokens = self.mark;
            Ok(())
        }

        fn clear(&mut self) -> Result<(), EngineError> {
            (self.tokens, self.mark) = (0, 0);
            Ok(())
        }

        fn cache(&self) -> CacheState {
            let (element, kept) = ("f32".into(), String::new());
            CacheState { tokens: 0, bytes: Ok(self.tokens), element, kept }
        }
    }

    #[test]
    fn the_cache_that_is_reported_does_not_depend_on_where_sampling_stops() {
        let shape = DecoderShape {
            layers: 1,
            key_heads: 1,
            head_dim: 1,
            vocabulary: 2,
            context: None,
            window: None,
            sliding_layers: 0,
        };
        let (test, sampling) = (GenerationTest::Decode, Sampling::Greedy);
        let job = GenerationJob {
            generation: Generation { test, tokens: 4, depth: 10, sampling },
            shape,
            batch: 1,
            context: 14,
            prompt: Vec::new(),
            greedy: 0,
            opening: None,
            dialect: DecoderDialect::Standard,
        };
        let report = |steps: usize| {
            let inner = Box::new(Counter::default());
            let generator = Checked::new(inner, job.dialect, job.batch, job.context);
            let text: Option<(Box<dyn Tokeniser>, &TextJob)> = None;
            let mut writer = Writer::new(generator, &job, text, Vec::new(), 0);
            for _ in 0..steps {
                writer.sample(&mut Recorder::default()).unwrap();
            }
            writer.report()
        };
        for steps in [4, 5, 6, 11, 12] {
            let report = report(steps);
            assert_eq!(report.cache_tokens, 14, "{steps} steps");
            assert_eq!(report.cache_reported.value, Some(Bytes(14)), "{steps} steps");
            assert_eq!(report.cache, Bytes(14 * 8), "{steps} steps");
        }
        assert_eq!(report(2).cache_tokens, 12, "less than a round holds what it holds");
    }
}
