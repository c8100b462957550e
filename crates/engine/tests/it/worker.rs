use modelmeter_engine::{
    Encoded, EngineErrorKind, FakeEngine, LoadJob, LoadRequest, PROTOCOL, Reply, Request, TextJob,
    Tokeniser, read_message, serve, write_message,
};
use std::{path::Path, time::Duration};
use types::{Device, ElementType, Fill, InputRole, InputSpec, Phase, Postprocess, Precision};

/// Cuts at spaces; one id a word, its length.
struct WordLengths;

impl Tokeniser for WordLengths {
    fn encode(&self, texts: &[String], _max_length: Option<usize>) -> Result<Encoded, String> {
        let ids: Vec<i64> =
            texts.iter().flat_map(|text| text.split(' ').map(|word| word.len() as i64)).collect();
        let length = ids.len() / texts.len();
        Ok(Encoded { mask: vec![1; ids.len()], types: vec![0; ids.len()], ids, length })
    }

    fn decode(&self, tokens: &[i64]) -> Result<String, String> {
        let words = tokens.iter().map(|length| "x".repeat(*length as usize));
        Ok(words.collect::<Vec<_>>().join(" "))
    }
}

fn open_words(_path: &Path) -> Result<Box<dyn Tokeniser>, String> {
    Ok(Box::new(WordLengths))
}

fn job(onnx: &Path) -> LoadJob {
    LoadJob {
        engine: "fake".into(),
        request: LoadRequest::of_onnx(onnx, Device::Cpu, Precision::Fp32, 1),
        inputs: vec![InputSpec {
            name: "x".into(),
            dtype: ElementType::F32,
            dims: vec![2],
            role: InputRole::TokenIds,
            fill: Fill::Constant { value: 1.0 },
        }],
        inputs_file: None,
        seed: 0,
        text: None,
        media: None,
        postprocess: Postprocess::None,
        training: None,
        generation: None,
    }
}

/// Plays a whole conversation against the worker and returns its answers.
fn converse(script: &str, requests: &[Request]) -> Vec<Reply> {
    let fake: FakeEngine = script.parse().unwrap();
    let mut asked = Vec::new();
    for request in requests {
        write_message(&mut asked, request).unwrap();
    }
    let mut answered = Vec::new();
    serve(&[&fake], &open_words, asked.as_slice(), &mut answered).unwrap();
    let mut reader = answered.as_slice();
    std::iter::from_fn(|| read_message::<Reply>(&mut reader).unwrap()).collect()
}

fn run(count: u64) -> Request {
    Request::Run { count, budget: Duration::from_secs(5) }
}

#[test]
fn ceilings_are_measured_elsewhere_and_the_worker_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let onnx = folder.path().join("model.onnx");
    std::fs::write(&onnx, "").unwrap();
    let ask = Request::Calibrate { device: Device::Cuda(0), threads: 0 };
    let load = Request::Load(Box::new(job(&onnx)));
    let replies = converse("1ms", &[ask.clone(), load, ask, Request::Bye]);
    let refused = |reply: &Reply| match reply {
        Reply::Failed(failure) => {
            failure.kind == EngineErrorKind::Unsupported && failure.message.contains("`cuda:0`")
        }
        _ => false,
    };
    assert!(refused(&replies[1]) && refused(&replies[3]), "{replies:?}");
    assert!(matches!(replies[2], Reply::Loaded(_)), "{replies:?}");
}

#[test]
fn a_whole_conversation_is_answered_in_order() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let replies = converse(
        "1us",
        &[Request::Load(Box::new(job(file.path()))), Request::First, run(7), Request::Bye],
    );
    assert!(matches!(&replies[0], Reply::Hello(hello) if hello.protocol == PROTOCOL));
    assert!(matches!(&replies[1], Reply::Loaded(report) if report.placement == "cpu"));
    assert!(matches!(&replies[2], Reply::First(first) if first.non_finite.is_empty()));
    let Reply::Window(window) = &replies[3] else { panic!("{:?}", replies[3]) };
    assert_eq!(window.samples.len(), 1, "without text and postprocessing there is one phase");
    assert_eq!(window.samples[0].phase, Phase::Inference);
    assert_eq!(window.samples[0].nanos.len(), 7);
    assert_eq!(replies.len(), 4);
}

#[test]
fn text_is_tokenised_in_every_sample_and_phases_add_up() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut job = job(file.path());
    job.text = Some(TextJob {
        lines: vec!["one three".into(), "two four".into()],
        tokenizer: "words".into(),
        max_length: None,
    });
    let replies = converse("1us", &[Request::Load(Box::new(job)), run(3), Request::Bye]);
    assert!(matches!(&replies[1], Reply::Loaded(report) if report.real_tokens == Some(4)));
    let Reply::Window(window) = &replies[2] else { panic!("{:?}", replies[2]) };
    let phases: Vec<Phase> = window.samples.iter().map(|samples| samples.phase).collect();
    assert_eq!(phases, [Phase::Tokenise, Phase::Inference, Phase::Total]);
    for sample in 0..3 {
        let [tokenise, inference, total] = [0, 1, 2].map(|i| window.samples[i].nanos[sample]);
        assert!(total >= tokenise + inference);
    }
}

#[test]
fn a_panic_is_an_answer_and_the_worker_goes_on() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let replies = converse(
        "panic, 1us, fail no luck",
        &[Request::Load(Box::new(job(file.path()))), Request::First, run(1), run(1), Request::Bye],
    );
    assert!(matches!(&replies[2], Reply::Failed(failure) if failure.message.contains("panicked")));
    assert!(matches!(&replies[3], Reply::Window(_)));
    assert!(matches!(&replies[4], Reply::Failed(failure) if failure.message == "no luck"));
}

#[test]
fn outputs_that_are_not_numbers_are_reported() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let replies =
        converse("nan", &[Request::Load(Box::new(job(file.path()))), Request::First, Request::Bye]);
    assert!(matches!(&replies[2], Reply::First(first) if first.non_finite == ["y"]));
}

#[test]
fn asking_out_of_turn_is_answered_with_a_failure() {
    let replies = converse("1us", &[run(1), Request::Bye]);
    assert!(matches!(&replies[1], Reply::Failed(f) if f.message.contains("before a model")));
}

#[test]
fn an_unknown_engine_and_a_missing_file_are_told_apart() {
    let mut unknown = job(Path::new("x"));
    unknown.engine = "nobody".into();
    let missing = job(Path::new("there-is-no-such-file.onnx"));
    let replies = converse(
        "1us",
        &[Request::Load(Box::new(unknown)), Request::Load(Box::new(missing)), Request::Bye],
    );
    assert!(matches!(&replies[1], Reply::Failed(f) if f.kind == EngineErrorKind::Unavailable));
    assert!(matches!(&replies[2], Reply::Failed(f) if f.kind == EngineErrorKind::BadModel));
}

#[test]
fn a_run_stops_at_its_budget() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let replies = converse(
        "2ms",
        &[
            Request::Load(Box::new(job(file.path()))),
            Request::Run { count: 1_000_000, budget: Duration::from_millis(10) },
            Request::Bye,
        ],
    );
    let Reply::Window(window) = &replies[2] else { panic!("{:?}", replies[2]) };
    assert!((1..=5).contains(&window.samples[0].nanos.len()));
}
