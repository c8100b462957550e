//! A real model reads and forgets.

use crate::{alone, asked, load, request, small, small_shape, smollm, smollm_shape};
use engine::{Generator, GeneratorLoader, LoadRequest};
use modelmeter_engine_llamacpp::LlamaCpp;

/// "The quick brown fox jumps over the lazy dog." and something after it.
const PROMPT: [i64; 24] = [
    504, 2365, 6354, 16438, 27003, 690, 260, 23790, 2767, 30, 378, 3280, 260, 1296, 284, 253, 1165,
    1105, 281, 3575, 198, 1780, 338, 41,
];

fn fed(generator: &mut dyn Generator, tokens: &[i64]) -> Vec<f32> {
    generator.feed(tokens).unwrap();
    generator.scores().unwrap().into_owned()
}

/// The largest difference as a share of the largest score, and the cosine.
fn compared(a: &[f32], b: &[f32]) -> (f32, f64) {
    assert_eq!(a.len(), b.len());
    let largest = a.iter().fold(0_f32, |most, score| most.max(score.abs()));
    let worst = a.iter().zip(b).fold(0_f32, |most, (a, b)| most.max((a - b).abs()));
    let product = |a: &[f32], b: &[f32]| -> f64 {
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    (worst / largest, product(a, b) / (product(a, a) * product(b, b)).sqrt())
}

fn assert_close(a: &[f32], b: &[f32]) {
    let (difference, cosine) = compared(a, b);
    assert!(difference <= 1e-3 && cosine >= 0.9999, "{difference:e}, {cosine}");
}

#[test]
fn the_capital_of_france_is_paris() {
    let _alone = alone();
    let mut generator = load(smollm(), &smollm_shape(), 1, 16);
    // "The capital of France is", as the model's own tokeniser splits it; 7042 is " Paris".
    let scores = fed(&mut *generator, &[504, 3575, 282, 4649, 314]);
    let best = (0..scores.len()).max_by(|a, b| scores[*a].total_cmp(&scores[*b]));
    assert_eq!(best, Some(7042));
}

#[test]
fn a_prompt_read_at_once_and_token_by_token_leaves_the_same_scores() {
    let _alone = alone();
    let mut generator = load(smollm(), &smollm_shape(), 1, 64);
    let placement = generator.placement();
    assert!(
        placement.starts_with("cpu, 1 thread, ") && placement.ends_with(" variant"),
        "{placement}"
    );
    assert!(generator.remarks().is_empty());
    assert!(generator.scores().unwrap_err().to_string().contains("nothing was fed"));
    let at_once = fed(&mut *generator, &PROMPT);
    assert_eq!(at_once.len(), 49152);
    generator.clear().unwrap();
    for token in &PROMPT {
        generator.feed(&[*token]).unwrap();
    }
    assert_close(&at_once, &generator.scores().unwrap());
    assert_eq!(generator.cache().tokens, 24);
}

#[test]
fn several_threads_leave_the_scores_of_one() {
    let _alone = alone();
    let two = LoadRequest { threads: 2, ..request(smollm()) };
    let shape = smollm_shape();
    let mut two = LlamaCpp.generator(&asked(&two, &shape, 1, 64)).unwrap().unwrap();
    assert!(two.placement().starts_with("cpu, 2 threads, "), "{}", two.placement());
    let mut one = load(smollm(), &smollm_shape(), 1, 64);
    assert_close(&fed(&mut *one, &PROMPT[..8]), &fed(&mut *two, &PROMPT[..8]));
}

#[test]
fn what_is_taken_back_leaves_no_trace() {
    let _alone = alone();
    let mut generator = load(smollm(), &smollm_shape(), 1, 64);
    generator.feed(&PROMPT[..12]).unwrap();
    generator.mark().unwrap();
    let before = fed(&mut *generator, &PROMPT[12..20]);
    for token in [5, 6, 7] {
        generator.feed(&[token]).unwrap();
    }
    assert_eq!(generator.cache().tokens, 23);
    generator.rewind().unwrap();
    assert_eq!(generator.cache().tokens, 12);
    assert_eq!(fed(&mut *generator, &PROMPT[12..20]), before);
    // Without a mark everything is taken back.
    generator.clear().unwrap();
    let whole = fed(&mut *generator, &PROMPT);
    generator.rewind().unwrap();
    assert_eq!(generator.cache().tokens, 0);
    assert_eq!(fed(&mut *generator, &PROMPT), whole);
}

#[test]
fn rows_do_not_see_each_other() {
    let _alone = alone();
    let (one, other) = (&PROMPT[..12], &PROMPT[12..]);
    let mut single = load(smollm(), &smollm_shape(), 1, 32);
    let mut alone_with = |prompt: &[i64]| {
        single.clear().unwrap();
        fed(&mut *single, prompt);
        fed(&mut *single, &[9])
    };
    let (first, second) = (alone_with(one), alone_with(other));
    assert!(compared(&first, &second).0 > 0.1, "other prompts leave other scores");
    let expected = [first, second].concat();
    let mut pair = load(smollm(), &smollm_shape(), 2, 32);
    fed(&mut *pair, &PROMPT);
    assert_close(&expected, &fed(&mut *pair, &[9, 9]));

    pair.clear().unwrap();
    let equal = fed(&mut *pair, &[one, one].concat());
    assert_close(&equal[..49152], &equal[49152..]);
    pair.mark().unwrap();
    let first = fed(&mut *pair, &[1, 2]);
    pair.rewind().unwrap();
    assert_eq!(fed(&mut *pair, &[1, 2]), first);
}

#[test]
fn the_cache_is_as_large_as_the_engine_and_the_formula_say() {
    let _alone = alone();
    let tokens: Vec<i64> = (0..256).map(|place| place * 97 % 49152).collect();
    let mut generator = load(smollm(), &smollm_shape(), 1, 256);
    let empty = generator.cache();
    assert_eq!((empty.tokens, empty.element.as_str()), (0, "f16"));
    assert!(empty.bytes.unwrap() < 10_000);
    generator.feed(&tokens).unwrap();
    let full = generator.cache().bytes.unwrap();
    assert!(full.abs_diff(5_902_056) < 5_902, "{full}");
    let formula = smollm_shape().cache(256, 2).0;
    assert!(full.abs_diff(formula) * 1000 < formula, "{full}, {formula}");
    let mut pair = load(smollm(), &smollm_shape(), 2, 64);
    pair.feed(&tokens[..128]).unwrap();
    let both = pair.cache();
    assert_eq!(both.tokens, 64);
    let formula = 2 * smollm_shape().cache(64, 2).0;
    assert!(both.bytes.unwrap().abs_diff(formula) * 500 < formula);
}

#[test]
fn a_cache_of_8_bits_is_smaller_and_leaves_nearly_the_same_scores() {
    let _alone = alone();
    let shape = smollm_shape();
    let scores = |cache: &str| {
        let mut load = request(smollm());
        load.options.settings = [("cache".to_owned(), cache.to_owned())].into();
        let mut generator = LlamaCpp.generator(&asked(&load, &shape, 1, 256)).unwrap().unwrap();
        let scores = fed(&mut *generator, &PROMPT);
        let cache = generator.cache();
        (scores, cache.element, cache.bytes.unwrap())
    };
    let (half, element, bytes) = scores("f16");
    assert_eq!(element, "f16");
    let (eight, element, fewer) = scores("q8_0");
    assert_eq!(element, "q8_0");
    // 34 bytes for 32 numbers instead of 64.
    let ratio = fewer as f64 / bytes as f64;
    assert!((ratio - 34.0 / 64.0).abs() < 0.02, "{ratio}");
    let (difference, cosine) = compared(&half, &eight);
    assert!(difference > 0.0 && cosine > 0.999, "{difference:e}, {cosine}");
    let (whole, _, more) = scores("f32");
    assert!(more > bytes);
    assert_close(&half, &whole);
}

#[test]
fn a_prompt_longer_than_one_call_is_read_in_pieces() {
    let _alone = alone();
    // Two calls of at most 2048 tokens.
    let tokens: Vec<i64> = (0..3000).map(|place| place * 31 % 96).collect();
    let mut generator = load(small("llama-F32"), &small_shape(), 2, 1501);
    let rows = fed(&mut *generator, &tokens);
    assert_eq!(generator.cache().tokens, 1500);
    let mut single = load(small("llama-F32"), &small_shape(), 1, 1501);
    assert_close(&rows[..96], &fed(&mut *single, &tokens[..1500]));
    single.clear().unwrap();
    assert_close(&rows[96..], &fed(&mut *single, &tokens[1500..]));
}

/// The function that is called with the graph of an engine that only runs graphs.
fn no_graph() -> Result<Box<dyn engine::ProfiledRunner>, engine::EngineError> {
    panic!("llama.cpp has its own graph")
}

#[test]
fn the_modules_of_prompts_and_steps_are_timed_and_leave_the_scores_as_they_are() {
    let _alone = alone();
    let mut generator = load(smollm(), &smollm_shape(), 1, 64);
    generator.feed(&PROMPT[..12]).unwrap();
    generator.mark().unwrap();
    let plain = fed(&mut *generator, &PROMPT[12..20]);
    generator.rewind().unwrap();

    generator.feed_log().unwrap().begin(&no_graph).unwrap();
    let begin = std::time::Instant::now();
    assert_close(&plain, &fed(&mut *generator, &PROMPT[12..20]));
    let taken = begin.elapsed().as_nanos() as u64;
    generator.feed(&[9]).unwrap();
    generator.rewind().unwrap();
    let records = generator.feed_log().unwrap().records().unwrap();
    assert_eq!(records.len(), 2);
    for record in &records {
        let count =
            |part: &str| record.calls.iter().filter(|call| call.path.ends_with(part)).count();
        for part in ["input_layernorm", "self_attn", "post_attention_layernorm", ".mlp"] {
            assert_eq!(count(part), 30, "{part}: {:?}", record.calls);
        }
        assert_eq!(record.calls.last().unwrap().path, "lm_head");
        assert!(record.calls.iter().all(|call| call.own > 0));
    }
    let sum: u64 = records[0].calls.iter().map(|call| call.own).sum();
    assert!(sum < taken && sum > taken / 4, "{sum} of {taken}");

    // Without instruments again, and nothing of what they saw is left.
    assert_eq!(generator.cache().tokens, 12);
    assert_eq!(fed(&mut *generator, &PROMPT[12..20]), plain);
}
