//! A worker to talk to, and the files it is given.

use engine::{
    EngineErrorKind, Failure, LoadJob, LoadReport, LoadRequest, OutputView, Places, Reply, Request,
    Starter, read_message, read_tensors, view_of, write_message, write_tensors,
};
use modelmeter_engine_torch::Torch;
use std::{
    io::BufReader,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};
use types::{
    Device, ElementType, Elements, Fill, HostTensor, InputRole, InputSpec, Module, Postprocess,
    Precision,
};

/// The test environment's Python, which has the real PyTorch.
pub(crate) fn python() -> PathBuf {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../.venv/bin/python");
    assert!(python.exists(), "no Python environment at `.venv`; run `make venv`");
    python
}

pub(crate) fn places() -> Places {
    Places { python: Some(python()), ..Places::default() }
}

/// Runs one of the scripts beside these tests.
pub(crate) fn run_script(script: &Path, argument: &Path) {
    let output = Command::new(python()).arg(script).arg(argument).output().unwrap();
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "`{}` failed:\n{talk}", script.display());
}

/// One of the scripts beside these tests.
pub(crate) fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python").join(name)
}

/// Whether this system lets a process leave the network.
pub(crate) fn can_leave_network() -> bool {
    let is_root = std::fs::read_to_string("/proc/self/status")
        .is_ok_and(|status| status.lines().any(|line| line.starts_with("Uid:\t0\t")));
    let users: &[&str] = if is_root { &[] } else { &["--user"] };
    let tried = Command::new("unshare").args(users).args(["--net", "true"]).output();
    tried.is_ok_and(|output| output.status.success())
}

/// A worker that has not greeted yet.
fn spawn(environment: &[(&str, &str)]) -> (Child, BufReader<ChildStdout>, ChildStdin) {
    let command = Torch.command(&places()).unwrap();
    let mut child = Command::new(command.program)
        .args(command.arguments)
        .envs(command.environment)
        .envs(environment.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let reader = BufReader::new(child.stdout.take().unwrap());
    let writer = child.stdin.take().unwrap();
    (child, reader, writer)
}

/// A worker that has greeted; ended with the test.
pub(crate) struct Worker {
    pub(crate) child: Child,
    reader: BufReader<ChildStdout>,
    writer: ChildStdin,
}

impl Worker {
    pub(crate) fn start() -> Worker {
        Worker::start_with(&[])
    }

    /// With a different environment.
    pub(crate) fn start_with(environment: &[(&str, &str)]) -> Worker {
        let (child, reader, writer) = spawn(environment);
        let mut worker = Worker { child, reader, writer };
        match worker.hear() {
            Some(Reply::Hello(_)) => worker,
            other => panic!("no greeting but {other:?}"),
        }
    }

    /// Whether it lives in the network that this process lives in.
    pub(crate) fn has_our_network(&self) -> bool {
        let network = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/net")).ok();
        network(&self.child.id().to_string()) == network("self")
    }

    pub(crate) fn tell(&mut self, request: &Request) {
        write_message(&mut self.writer, request).unwrap();
    }

    /// The next answer; `None` if the stream has ended.
    pub(crate) fn hear(&mut self) -> Option<Reply> {
        read_message(&mut self.reader).unwrap()
    }

    pub(crate) fn ask(&mut self, request: &Request) -> Reply {
        self.tell(request);
        self.hear().unwrap()
    }

    pub(crate) fn load(&mut self, job: &LoadJob) -> LoadReport {
        match self.ask(&Request::Load(Box::new(job.clone()))) {
            Reply::Loaded(report) => *report,
            other => panic!("{other:?}"),
        }
    }

    /// A load that must be refused with this kind.
    pub(crate) fn refuse(&mut self, job: &LoadJob, kind: EngineErrorKind) -> Failure {
        match self.ask(&Request::Load(Box::new(job.clone()))) {
            Reply::Failed(failure) => {
                assert_eq!(failure.kind, kind, "{failure:?}");
                failure
            }
            other => panic!("{other:?}"),
        }
    }

    /// What comes out, through a file.
    pub(crate) fn outputs(&mut self, folder: &Path) -> Vec<HostTensor> {
        self.write_outputs(folder, false)
    }

    /// What comes out, and what leaves every module on the way.
    pub(crate) fn outputs_inside(&mut self, folder: &Path) -> Vec<HostTensor> {
        self.write_outputs(folder, true)
    }

    fn write_outputs(&mut self, folder: &Path, inside: bool) -> Vec<HostTensor> {
        let path = folder.join("outputs.safetensors");
        assert_eq!(self.ask(&Request::Outputs { path: path.clone(), inside }), Reply::Written);
        read_tensors(&path).unwrap()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A fresh worker as the conformance suite wants it, which drops both ends: the worker's end is awaited elsewhere.
pub(crate) fn converse() -> engine::conformance::Conversation {
    let (mut child, reader, writer) = spawn(&[]);
    std::thread::spawn(move || child.wait());
    engine::conformance::Conversation { reader: Box::new(reader), writer: Box::new(writer) }
}

/// A job on the cpu in fp32 without inputs.
pub(crate) fn job(module: Option<Module>) -> LoadJob {
    let mut request = LoadRequest::of_onnx("", Device::Cpu, Precision::Fp32, 2);
    request.module = module;
    request.places = places();
    LoadJob {
        engine: "torch".into(),
        request,
        inputs: Vec::new(),
        inputs_file: None,
        seed: 0,
        text: None,
        media: None,
        postprocess: Postprocess::None,
        training: None,
        generation: None,
    }
}

/// A job whose inputs have these values.
pub(crate) fn job_with(module: Module, tensors: &[HostTensor], folder: &Path) -> LoadJob {
    let path = folder.join("inputs.safetensors");
    let views: Vec<OutputView<'_>> = tensors.iter().map(view_of).collect();
    write_tensors(&path, &views).unwrap();
    let spec = |tensor: &HostTensor| InputSpec {
        name: tensor.name.clone(),
        dtype: tensor.elements.element_type(),
        dims: tensor.dims.clone(),
        role: InputRole::Other,
        fill: Fill::Constant { value: 0.0 },
    };
    LoadJob {
        inputs: tensors.iter().map(spec).collect(),
        inputs_file: Some(path),
        ..job(Some(module))
    }
}

pub(crate) fn floats(name: &str, dims: &[usize], values: &[f32]) -> HostTensor {
    HostTensor { name: name.into(), dims: dims.to_vec(), elements: Elements::F32(values.to_vec()) }
}

/// An input nobody has, without values.
pub(crate) fn stranger(name: &str) -> InputSpec {
    InputSpec {
        name: name.into(),
        dtype: ElementType::F32,
        dims: vec![1],
        role: InputRole::Other,
        fill: Fill::Constant { value: 0.0 },
    }
}

/// The elements of an output, as numbers.
pub(crate) fn values<'a>(outputs: &'a [HostTensor], name: &str) -> &'a [f32] {
    let output = outputs.iter().find(|output| output.name == name);
    match output.map(|output| &output.elements) {
        Some(Elements::F32(values)) => values,
        other => panic!("{name}: {other:?}"),
    }
}
