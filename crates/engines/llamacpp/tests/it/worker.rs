//! The protocol, end to end.

use crate::{alone, request, smollm, smollm_shape};
use engine::{
    Encoded, EngineErrorKind, GenerationJob, LoadJob, Reply, Request, TextJob, Tokeniser,
    read_message, read_tensors, serve, write_message,
};
use modelmeter_engine_llamacpp::LlamaCpp;
use std::{path::Path, time::Duration};
use types::{DecoderDialect, Elements, Generation, GenerationTest, Phase, Postprocess, Sampling};

struct NoText;

impl Tokeniser for NoText {
    fn decode(&self, _: &[i64]) -> Result<String, String> {
        Err("there is no text".into())
    }

    fn encode(&self, _: &[String], _: Option<usize>) -> Result<Encoded, String> {
        Err("there is no text".into())
    }
}

fn open(_: &Path) -> Result<Box<dyn Tokeniser>, String> {
    Ok(Box::new(NoText))
}

fn job(test: GenerationTest, tokens: usize, depth: usize) -> LoadJob {
    LoadJob {
        engine: "llamacpp".into(),
        request: request(smollm()),
        inputs: Vec::new(),
        inputs_file: None,
        seed: 7,
        text: None,
        media: None,
        postprocess: Postprocess::None,
        training: None,
        generation: Some(Box::new(GenerationJob {
            generation: Generation { test, tokens, depth, sampling: Sampling::Greedy },
            shape: smollm_shape(),
            batch: 2,
            context: 48,
            prompt: (0..16).map(|place| 100 + place * 7).collect(),
            greedy: 4,
            opening: None,
            dialect: DecoderDialect::Standard,
        })),
    }
}

/// "The capital of France is", as the model's own tokeniser splits it.
struct Capital;

impl Tokeniser for Capital {
    fn decode(&self, ids: &[i64]) -> Result<String, String> {
        Ok(format!("{ids:?}"))
    }

    fn encode(&self, _: &[String], _: Option<usize>) -> Result<Encoded, String> {
        let ids = vec![504, 3575, 282, 4649, 314];
        Ok(Encoded { mask: vec![1; 5], types: vec![0; 5], ids, length: 5 })
    }
}

#[test]
fn a_text_is_continued() {
    let _alone = alone();
    let mut job = job(GenerationTest::Decode, 3, 4);
    job.text = Some(TextJob {
        lines: vec!["The capital of France is".into()],
        tokenizer: "tokenizer.json".into(),
        max_length: None,
    });
    let open = |_: &Path| -> Result<Box<dyn Tokeniser>, String> { Ok(Box::new(Capital)) };
    let mut asked = Vec::new();
    for request in [Request::Load(Box::new(job)), run(3), Request::Generated, Request::Bye] {
        write_message(&mut asked, &request).unwrap();
    }
    let mut answered = Vec::new();
    serve(&[&LlamaCpp], &open, asked.as_slice(), &mut answered).unwrap();
    let mut reader = answered.as_slice();
    let replies: Vec<_> =
        std::iter::from_fn(|| read_message::<Reply>(&mut reader).unwrap()).collect();
    let Some(Reply::Generated { report }) = replies.last() else { panic!("{replies:?}") };
    // " Paris"
    assert_eq!((report.tokens.len(), report.tokens[0]), (3, 7042));
}

fn converse(requests: &[Request]) -> Vec<Reply> {
    let mut asked = Vec::new();
    for request in requests {
        write_message(&mut asked, request).unwrap();
    }
    let mut answered = Vec::new();
    serve(&[&LlamaCpp], &open, asked.as_slice(), &mut answered).unwrap();
    let mut reader = answered.as_slice();
    std::iter::from_fn(|| read_message::<Reply>(&mut reader).unwrap()).collect()
}

fn run(count: u64) -> Request {
    Request::Run { count, budget: Duration::from_secs(600) }
}

#[test]
fn a_worker_decodes() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("outputs.safetensors");
    let replies = converse(&[
        Request::Load(Box::new(job(GenerationTest::Decode, 5, 32))),
        Request::First,
        run(7),
        Request::Generated,
        Request::Outputs { path: path.clone(), inside: false },
        Request::Bye,
    ]);
    let [
        Reply::Hello(_),
        Reply::Loaded(loaded),
        Reply::First(first),
        Reply::Window(window),
        Reply::Generated { report },
        Reply::Written,
    ] = &replies[..]
    else {
        panic!("{replies:?}")
    };
    assert_eq!(loaded.version, "0.5.0");
    assert!(loaded.placement.starts_with("cpu, 1 thread, "), "{}", loaded.placement);
    assert_eq!(first.outputs, [("logits".to_owned(), vec![2, 49152])]);
    assert!(first.non_finite.is_empty() && first.inference > Duration::ZERO);
    assert!(window.samples.iter().all(|samples| samples.nanos.len() == 7));
    assert!(window.samples.iter().any(|samples| samples.phase == Phase::Inference));
    // Eight steps in rounds of five after 32 tokens: the cache is told as it was at the end of a round.
    assert_eq!((report.cache_tokens, report.tokens.len()), (37, 5));
    assert_eq!(report.cache_per_token.0, 23_040);
    assert_eq!(report.cache.0, 2 * 37 * 23_040);
    assert_eq!(report.cache_type, "f16");
    let reported = report.cache_reported.value.unwrap().0;
    assert!(reported >= report.cache.0 && reported < report.cache.0 + 10_000, "{reported}");

    let tensors = read_tensors(&path).unwrap();
    let dims: Vec<_> =
        tensors.iter().map(|tensor| (tensor.name.as_str(), &tensor.dims[..])).collect();
    assert!(
        dims.contains(&("logits", &[5, 2, 49152])) && dims.contains(&("tokens", &[2, 4])),
        "{dims:?}"
    );
    let tokens = tensors.iter().find(|tensor| tensor.name == "tokens").unwrap();
    let Elements::I64(ids) = &tokens.elements else { panic!("tokens are numbers") };
    assert!(ids.iter().all(|id| (0..49152).contains(id)));
}

#[test]
fn a_worker_prefills() {
    let _alone = alone();
    let replies = converse(&[
        Request::Load(Box::new(job(GenerationTest::Prefill, 16, 8))),
        Request::First,
        run(3),
        Request::Generated,
        Request::Bye,
    ]);
    let [_, Reply::Loaded(_), Reply::First(_), Reply::Window(window), Reply::Generated { report }] =
        &replies[..]
    else {
        panic!("{replies:?}")
    };
    assert!(window.samples.iter().all(|samples| samples.nanos.len() == 3));
    assert_eq!(report.cache_tokens, 24);
}

#[test]
fn a_worker_says_why_it_cannot_load() {
    let mut wrong = job(GenerationTest::Decode, 5, 0);
    wrong.request.gguf = Some("/nowhere/model.gguf".into());
    let replies = converse(&[Request::Load(Box::new(wrong)), Request::Bye]);
    let Reply::Failed(failure) = &replies[1] else { panic!("{replies:?}") };
    assert_eq!(failure.kind, EngineErrorKind::BadModel);
    assert_eq!(failure.message, "llama.cpp could not load `/nowhere/model.gguf`");
}
