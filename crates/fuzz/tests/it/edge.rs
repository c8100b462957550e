//! Panics inside libraries end at the worker's edge: they are expected there, so the edge is tested.

use engine::{
    Encoded, FakeEngine, LoadJob, LoadRequest, Reply, Request, TextJob, Tokeniser, read_message,
    serve, write_message,
};
use std::path::Path;
use types::{Device, ElementType, Fill, InputRole, InputSpec, Postprocess, Precision};

struct Panics;

impl Tokeniser for Panics {
    fn encode(&self, _texts: &[String], _length: Option<usize>) -> Result<Encoded, String> {
        panic!("no entry found for key")
    }

    fn decode(&self, _tokens: &[i64]) -> Result<String, String> {
        panic!("no entry found for key")
    }
}

fn panics_later(_path: &Path) -> Result<Box<dyn Tokeniser>, String> {
    Ok(Box::new(Panics))
}

fn panics_at_once(_path: &Path) -> Result<Box<dyn Tokeniser>, String> {
    panic!("recursion limit exceeded")
}

#[test]
fn a_tokenizer_that_panics_costs_one_answer_and_not_the_worker() {
    let fake: FakeEngine = "work 1".parse().unwrap();
    let model = tempfile::NamedTempFile::new().unwrap();
    let job = LoadJob {
        engine: "fake".into(),
        request: LoadRequest::of_onnx(model.path(), Device::Cpu, Precision::Fp32, 1),
        inputs: vec![InputSpec {
            name: "ids".into(),
            dtype: ElementType::I64,
            dims: vec![1, 4],
            role: InputRole::TokenIds,
            fill: Fill::Integers { low: 0, high: 9 },
        }],
        inputs_file: None,
        seed: 0,
        text: Some(TextJob {
            lines: vec!["a".into()],
            tokenizer: "tokenizer.json".into(),
            max_length: None,
        }),
        media: None,
        postprocess: Postprocess::None,
        training: None,
        generation: None,
    };
    let mut asked = Vec::new();
    write_message(&mut asked, &Request::Load(Box::new(job))).unwrap();
    for (open, why) in [
        (panics_at_once as fn(&Path) -> _, "recursion limit exceeded"),
        (panics_later, "no entry found for key"),
    ] {
        let mut answered = Vec::new();
        serve(&[&fake], &open, asked.as_slice(), &mut answered).unwrap();
        let mut answers = answered.as_slice();
        assert!(matches!(read_message(&mut answers).unwrap(), Some(Reply::Hello(_))));
        let Some(Reply::Failed(failure)) = read_message(&mut answers).unwrap() else {
            panic!("the load did not fail")
        };
        assert!(failure.message.contains(why), "{}", failure.message);
    }
}
