//! The Python hook in a real PyTorch: paths of modules, and a program that is otherwise as it was.

use crate::program::root;
use modelmeter_gpu::{Injection, Wish};
use std::process::Command;

const SCRIPT: &str = r#"
import sys, torch
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)
    def forward(self, x):
        return self.inner(x)
model = torch.nn.Sequential(Block(), Block())
optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    loss = model(torch.ones(2, 4)).sum()
    loss.backward()
    optimiser.step()
    optimiser.zero_grad()
compiled = torch.compile(model, backend="eager", fullgraph=True)
compiled(torch.ones(2, 4))
print(sys.modules["sitecustomize"].__name__, "own" if hasattr(sys.modules["sitecustomize"], "OWN") else "ours")
raise SystemExit(9)
"#;

#[test]
fn modules_of_pytorch_open_ranges_and_the_program_is_as_it_was() {
    let python = root().join(".venv/bin/python");
    assert!(python.exists(), "the tests' environment is missing (`make venv`)");
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("recording");
    let own = folder.path().join("own");
    std::fs::create_dir(&recording).unwrap();
    std::fs::create_dir(&own).unwrap();
    // A `sitecustomize` of the user's own still runs.
    std::fs::write(own.join("sitecustomize.py"), "OWN = True\n").unwrap();
    let injection = Injection::unpack(&folder.path().join("cache")).unwrap();
    let wish = Wish { modules: true, ..Wish::default() };
    let mut command = Command::new(python);
    command.arg("-c").arg(SCRIPT).env("PYTHONPATH", &own);
    command.envs(injection.variables(&recording, &wish, |name| match name {
        "PYTHONPATH" => Some(own.clone().into()),
        other => std::env::var_os(other),
    }));
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(9), "{error}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "sitecustomize own\n");
    let (recordings, unread) = modelmeter_gpu::recordings(&recording).unwrap();
    assert!(unread.is_empty());
    let profile = modelmeter_gpu::analyse(&recordings, unread);
    let ranges: Vec<(&str, u32, u64)> = profile.processes[0]
        .ranges
        .iter()
        .map(|range| (range.name.as_str(), range.depth, range.calls))
        .collect();
    for range in [
        ("(Sequential)", 0, 3),
        ("0", 1, 3),
        ("0.inner", 2, 3),
        ("1.inner", 2, 3),
        ("(backward)", 0, 3),
        ("(optimizer step)", 0, 3),
    ] {
        assert!(ranges.contains(&range), "{range:?} is not in {ranges:?}");
    }
}

const TRAINING: &str = r#"
import torch
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
seen = []
for _ in range(12):
    loss = model(torch.ones(2, 4)).sum()
    loss.backward()
    optimiser.step()
    optimiser.zero_grad()
    seen.append(loss.item())
torch.ones(3).to("cpu")
torch.ones(3).copy_(torch.zeros(3))
print(len(seen))
"#;

#[test]
fn steps_are_written_down_and_a_fix_leaves_a_program_without_a_gpu_as_it_was() {
    let python = root().join(".venv/bin/python");
    let folder = tempfile::tempdir().unwrap();
    let injection = Injection::unpack(&folder.path().join("cache")).unwrap();
    for fix in [None, Some("late-items"), Some("pin"), Some("no such fix")] {
        let steps = folder.path().join(fix.unwrap_or("none"));
        std::fs::create_dir(&steps).unwrap();
        let mut command = Command::new(&python);
        command.arg("-c").arg(TRAINING);
        command.envs(injection.step_variables(&steps, fix, |_| None));
        let output = command.output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "12\n", "{fix:?}: {error}");
        let files: Vec<_> = std::fs::read_dir(&steps).unwrap().flatten().collect();
        assert_eq!(files.len(), 1, "{fix:?}");
        let text = std::fs::read_to_string(files[0].path()).unwrap();
        let times: Vec<u64> = text.lines().map(|line| line.parse().unwrap()).collect();
        // Steps of the optimiser, not calls of the module.
        assert_eq!(times.len(), 12, "{fix:?}");
        assert!(times.is_sorted());
    }
}

/// What libraries do before they import PyTorch: `transformers` asks whether it is there.
#[test]
fn a_program_that_asks_for_pytorch_before_it_imports_it_still_gets_the_hook() {
    let python = root().join(".venv/bin/python");
    assert!(python.exists(), "the tests' environment is missing (`make venv`)");
    let folder = tempfile::tempdir().unwrap();
    let injection = Injection::unpack(&folder.path().join("cache")).unwrap();
    let wish = Wish { modules: true, ..Wish::default() };
    for before in [
        "import importlib.util; assert importlib.util.find_spec('torch').origin",
        "from transformers import AutoConfig",
    ] {
        let recording = folder.path().join("recording");
        let script = format!(
            "{before}\nimport sys, torch\nprint(torch.nn.Module.__call__.__module__, [one for one in sys.meta_path if type(one).__name__ == 'Finder'])"
        );
        let mut command = Command::new(&python);
        command.arg("-c").arg(script);
        command.envs(injection.variables(&recording, &wish, |name| std::env::var_os(name)));
        let output = command.output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(said, "sitecustomize []\n", "{before}: {error}");
    }
}
