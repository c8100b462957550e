//! The worker script: the files of `worker/`, joined when this is compiled.

use engine::{PROTOCOL, WorkerCommand, found, private};
use std::{ffi::OsString, path::Path};

/// Takes the protocol's streams and greets; short, because Python compiles a script whole before it runs any of it.
const START: &str = include_str!("../worker/start.py");

/// One file after the other; the last serves.
macro_rules! joined {
    ($($file:literal),+ $(,)?) => {
        concat!($(include_str!(concat!("../worker/", $file)), "\n"),+)
    };
}

/// Where `torch.compile` keeps what it compiled.
const COMPILED: &str = "TORCHINDUCTOR_CACHE_DIR";

/// The rest, in parts that fit an argument each.
const REST: [&str; 2] = [
    joined![
        "network.py",
        "failure.py",
        "tensors.py",
        "device.py",
        "weights.py",
        "networks.py",
        "build.py",
        "archive.py",
        "automodel.py",
        "inputs.py",
        "text.py",
        "media.py",
        "bench.py",
        "serving.py",
        "generate.py",
        "timeline.py",
        "profile.py",
    ],
    joined![
        "calibrate.py",
        "memory.py",
        "loss.py",
        "learn.py",
        "held.py",
        "count.py",
        "step.py",
        "parts.py",
        "step_memory.py",
        "train.py",
        "ring.py",
        "world.py",
        "unpickle.py",
        "serve.py",
    ],
];

/// How an interpreter runs the worker.
pub(crate) fn command(python: &Path) -> WorkerCommand {
    // What a module prints shall not wait in a buffer when the worker dies.
    let start = ["-u".into(), "-c".into(), START.into(), PROTOCOL.to_string().into()];
    WorkerCommand {
        program: python.to_owned(),
        arguments: start.into_iter().chain(REST.map(Into::into)).collect(),
        environment: environment(),
    }
}

fn environment() -> Vec<(OsString, OsString)> {
    // One thread, so that the tokenizer's time is comparable between machines and engines.
    let mut variables = vec![("TOKENIZERS_PARALLELISM".into(), "false".into())];
    let is_set = |name: &str| std::env::var_os(name).is_some();
    // Its own path is set right by the script; this is for interpreters that it starts. The value says whose it is, so
    // that a program of the user's, which may start others beside it, can be rid of it.
    if !is_set(found::SAFE_PATH) {
        variables.push((found::SAFE_PATH.into(), "modelmeter".into()));
    }
    // Compiled code would otherwise go with the worker's temporary folder, and by default lies where everybody knows.
    if let (false, Ok(folder)) = (is_set(COMPILED), private::lasting_folder("torchinductor")) {
        variables.push((COMPILED.into(), folder.into()));
    }
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_the_script_fits_one_argument() {
        // Linux takes at most 128 KiB in one argument, its ending zero included.
        for part in REST.iter().chain([&START]) {
            assert!(part.len() < 128 * 1024 && !part.contains('\0'), "{} bytes", part.len());
        }
    }

    #[test]
    fn every_file_of_the_worker_is_joined() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("worker");
        for entry in std::fs::read_dir(folder).unwrap() {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            let joined = START == text || REST.iter().any(|part| part.contains(&text));
            assert!(joined, "{}", text.lines().next().unwrap_or_default());
        }
    }
}
