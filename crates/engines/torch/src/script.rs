//! The worker script: the files of `worker/`, joined when this is compiled.

use engine::{PROTOCOL, WorkerCommand};
use std::path::Path;

/// Takes the protocol's streams and greets; short, because Python compiles a script whole before it runs any of it.
const START: &str = include_str!("../worker/start.py");

/// One file after the other; the last serves.
macro_rules! joined {
    ($($file:literal),+ $(,)?) => {
        concat!($(include_str!(concat!("../worker/", $file)), "\n"),+)
    };
}

const REST: &str = joined![
    "failure.py",
    "tensors.py",
    "device.py",
    "weights.py",
    "networks.py",
    "build.py",
    "archive.py",
    "inputs.py",
    "text.py",
    "bench.py",
    "timeline.py",
    "profile.py",
    "calibrate.py",
    "memory.py",
    "serve.py",
];

/// How an interpreter runs the worker.
pub(crate) fn command(python: &Path) -> WorkerCommand {
    WorkerCommand {
        program: python.to_owned(),
        // What a module prints shall not wait in a buffer when the worker dies.
        arguments: vec![
            "-u".into(),
            "-c".into(),
            START.into(),
            PROTOCOL.to_string().into(),
            REST.into(),
        ],
        // One thread, so that the tokenizer's time is comparable between machines and engines.
        environment: vec![("TOKENIZERS_PARALLELISM".into(), "false".into())],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_fits_one_argument() {
        // Linux takes at most 128 KiB in one argument, its ending zero included.
        assert!(REST.len() < 128 * 1024, "{} bytes", REST.len());
        assert!(!START.contains('\0') && !REST.contains('\0'));
    }

    #[test]
    fn every_file_of_the_worker_is_joined() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("worker");
        for entry in std::fs::read_dir(folder).unwrap() {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            let joined = START == text || REST.contains(&text);
            assert!(joined, "{}", text.lines().next().unwrap_or_default());
        }
    }
}
