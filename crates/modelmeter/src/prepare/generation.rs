//! What a cell that generates needs: the sizes of its graph, and what engines are compared on.

use crate::{Choice, Error, Profiler};
use engine::{GenerationJob, Takes, TextJob};
use graph::Model;
use models::{Decoder, ModelError, Resolved};
use stats::SplitMix;
use std::path::Path;
use types::{Bytes, DecoderDialect, Generation, GenerationTest, InputSpec, Precision};

/// Tokens of the prompt that engines are compared on, and how many they then write; fewer where the model takes fewer.
const PROMPT: usize = 32;
const GREEDY: usize = 64;

/// What is written on, where the model has a tokenizer.
///
/// It goes on in one way only: where two tokens are as good as equal, rounding would choose.
const OPENING: &str = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,";

/// The test with the sizes that a text decides: a prefill reads it, a decode writes behind it.
pub(super) fn settled(generation: Generation, text: Option<usize>) -> Generation {
    match (text, generation.test) {
        (None, _) => generation,
        (Some(length), GenerationTest::Prefill) => Generation { tokens: length, ..generation },
        // The last token of the text is the first that a step takes in.
        (Some(length), GenerationTest::Decode) => {
            Generation { depth: length.saturating_sub(1), ..generation }
        }
    }
}

/// The operators that the graph is drawn in. Fused ones read several tokens behind others for one text only.
pub(super) fn dialect(
    profiler: &Profiler,
    Choice { engine, device }: Choice,
    precision: Precision,
) -> DecoderDialect {
    let Some(generation) = profiler.generation else { return DecoderDialect::Standard };
    let is_one = profiler.batch_size.unwrap_or(1) == 1 || generation.depth == 0;
    let asked = profiler.options.settings.get(engine::DECODER).map(String::as_str);
    match asked {
        Some(engine::DECODER_STANDARD) => DecoderDialect::Standard,
        // The cache stays in 32 bits, and would be converted in every step.
        _ if matches!(precision, Precision::Fp16 | Precision::Bf16) => DecoderDialect::Standard,
        _ if is_one || generation.test == GenerationTest::Decode => engine.decoder_dialect(device),
        _ => DecoderDialect::Standard,
    }
}

/// What weights in blocks are filled up to: only products of one row gain by it.
pub(super) fn filled_rows(profiler: &Profiler, Choice { engine, .. }: Choice) -> usize {
    match profiler.generation.map(|generation| generation.test) {
        Some(GenerationTest::Decode) => engine.block_rows(),
        _ => 1,
    }
}

/// Whether a fused graph holds what the test needs; one that could not be drawn holds nothing.
pub(super) fn reaches(profiler: &Profiler, resolved: &Resolved) -> bool {
    let needed = profiler.generation.map_or(0, Generation::context);
    let reach = resolved.decoder.as_ref().and_then(|decoder| decoder.reach);
    reach.is_some_and(|reach| reach >= needed.max(PROMPT + GREEDY + OPENING.len()))
        || reach.is_some() && reach == resolved.max_length
}

/// The inputs of the graph: of a prefill, or of the step in the middle of a decode.
pub(super) fn inputs(
    resolved: &Resolved,
    generation: Generation,
    batch: usize,
) -> Result<Vec<InputSpec>, Error> {
    let Generation { test, tokens, depth, .. } = generation;
    let model = || resolved.info.name.clone();
    if tokens == 0 {
        return Err(ModelError::NoTokens { model: model() }.into());
    }
    let length = generation.context();
    if let Some(maximum) = resolved.max_length.filter(|maximum| length > *maximum) {
        return Err(ModelError::ContextTooLong { model: model(), length, maximum }.into());
    }
    Ok(match test {
        GenerationTest::Prefill => resolved.generating_inputs(batch, depth, tokens)?,
        GenerationTest::Decode => resolved.generating_inputs(batch, depth + tokens / 2, 1)?,
    })
}

/// What inference cannot know of a graph of standard operators that generates: it makes a list of all positions, as long as the
/// values of an input say.
pub(super) fn positions(model: &Model, inputs: &[InputSpec]) -> Vec<(String, Vec<usize>)> {
    let dim = |name: &str, axis: usize| {
        inputs.iter().find(|input| input.name == name)?.dims.get(axis).copied()
    };
    let past = dim("past_key_values.0.key", 2);
    let Some((past, new)) = past.zip(dim("position_ids", 0)) else { return Vec::new() };
    let lists = model.graph.nodes.iter().filter(|node| node.op_type == "Range");
    let list = |node: &graph::Node| Some((node.outputs.first()?.clone(), vec![past + new]));
    lists.filter_map(list).collect()
}

/// What the worker is told.
pub(super) fn job(
    decoder: &Decoder,
    generation: Generation,
    batch: usize,
    seed: u64,
    tokenizer: Option<&Path>,
) -> GenerationJob {
    let shape = &decoder.shape;
    let longest = shape.context.unwrap_or(usize::MAX);
    let prompt = PROMPT.min(longest / 4).max(2);
    let greedy = GREEDY.min(longest.saturating_sub(prompt)).max(1);
    let compared = greedy + if tokenizer.is_some() { OPENING.len() } else { prompt };
    let mut random = SplitMix::new(seed);
    let vocabulary = shape.vocabulary.max(1) as u64;
    GenerationJob {
        generation,
        shape: shape.clone(),
        batch,
        context: generation.context().max(compared).min(longest),
        prompt: (0..prompt * batch).map(|_| random.below(vocabulary) as i64).collect(),
        greedy,
        opening: tokenizer.map(|tokenizer| TextJob {
            lines: vec![OPENING.into()],
            tokenizer: tokenizer.to_owned(),
            max_length: None,
        }),
        dialect: match decoder.reach {
            Some(_) => DecoderDialect::Fused,
            None => DecoderDialect::Standard,
        },
    }
}

/// Bytes of the weights that a step reads, in the format that the engine keeps them in; of a table that tokens or places are only
/// looked up in, it reads a few rows.
pub(super) fn weights_read(resolved: &Resolved, takes: Takes, own: Precision) -> Option<Bytes> {
    let graph = &resolved.model.graph;
    let is_table = |name: &str| {
        let mut users = graph.nodes.iter().filter(|node| node.inputs.iter().any(|i| i == name));
        users.all(|node| matches!(node.op_type.as_str(), "Gather" | "GroupQueryAttention"))
    };
    let read = graph.initializers.iter().filter(|tensor| !is_table(&tensor.name));
    let bytes: u64 = read.map(graph::Tensor::size).sum();
    match (takes, own) {
        // Its file has other formats than our graph.
        (Takes::Gguf, _) => {
            let path = resolved.gguf.as_ref()?;
            std::fs::metadata(path).ok().map(|data| Bytes(data.len()))
        }
        (Takes::Module, Precision::Fp16 | Precision::Bf16) => Some(Bytes(bytes / 2)),
        (Takes::Module, Precision::Int8) => None,
        _ => Some(Bytes(bytes)),
    }
}
