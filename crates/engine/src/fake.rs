//! A scripted engine: lets the runner, the statistics, the store and the reports be tested without waiting.
//!
//! It is never in the list of engines that people can choose, so none of its numbers can be taken for real ones.

use crate::{
    AllocationTracker, Availability, Detail, ElementsView, Engine, EngineError, EngineErrorKind,
    Host, LoadRequest, LoadedModel, Loader, MemoryRecord, MemoryReporter, NodeProfile,
    NodeProfiler, NodeTime, OutputView, Places, Session, Signature, SignatureValue, TimelineWriter,
    watch_runs,
};
use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::Path,
    str::FromStr,
    time::{Duration, Instant},
};
use types::{Device, ElementType, HostTensor, LayerName, Precision, Reading};

/// What the fake does in one inference.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// Take so long, asleep.
    Take(Duration),
    /// Compute so much: steps that depend on each other, so that they take as long as the processor lets them.
    Work(u64),
    /// Abort the process.
    Crash,
    /// End the process with this status.
    Exit(i32),
    /// Never answer.
    Hang,
    /// Fail with this message.
    Fail(String),
    /// Panic.
    Panic,
    /// Print to standard output, as engines do.
    Print(String),
    /// Give outputs that are not numbers.
    NotANumber,
    /// Allocate so many bytes and free them.
    Hold(usize),
    /// Allocate so many bytes for every number that goes in, and free them.
    HoldEach(usize),
    /// Allocate so many bytes and keep them for ever.
    Leak(usize),
    /// Do all of these, one after the other.
    All(Vec<Act>),
}

/// An engine that follows a script: `10ms, 11ms, crash`. The script starts anew when it ends.
///
/// A model may have a script of its own beside it, `model.script` beside `model.onnx`: each load takes the next line, and
/// the lines start anew when they end. So processes of one measurement can differ as the test wants.
#[derive(Debug, Clone, PartialEq)]
pub struct FakeEngine {
    id: &'static str,
    script: Vec<Act>,
    precisions: Vec<Precision>,
}

impl FakeEngine {
    /// The same engine with other number formats than fp32 alone; the script does not care.
    #[must_use]
    pub fn with_precisions(self, precisions: &[Precision]) -> FakeEngine {
        FakeEngine { precisions: precisions.to_vec(), ..self }
    }

    /// The same engine under another name than `fake`.
    #[must_use]
    pub fn with_id(self, id: &'static str) -> FakeEngine {
        FakeEngine { id, ..self }
    }

    /// The line of a model's own script that is next, where it has one.
    fn script_beside(onnx: &Path) -> Result<Option<Vec<Act>>, EngineError> {
        let Ok(lines) = fs::read_to_string(onnx.with_extension("script")) else {
            return Ok(None);
        };
        let lines: Vec<&str> = lines.lines().filter(|line| !line.is_empty()).collect();
        let failed = |error: io::Error| {
            let text = format!("the loads of `{}` cannot be counted", onnx.display());
            EngineError::new(EngineErrorKind::Failed, text).with_source(error.to_string())
        };
        let counter = onnx.with_extension("loads");
        let mut file =
            OpenOptions::new().append(true).create(true).open(counter).map_err(failed)?;
        let loads = file.metadata().map_err(failed)?.len();
        file.write_all(b".").map_err(failed)?;
        let line = lines.get(loads as usize % lines.len().max(1)).copied().unwrap_or_default();
        let bad = |error: ParseScriptError| {
            EngineError::new(EngineErrorKind::BadModel, error.to_string())
        };
        FakeEngine::from_str(line).map(|fake| Some(fake.script)).map_err(bad)
    }
}

/// A script nobody can follow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no act; known are a time (`10ms`), crash, exit N, hang, fail TEXT, panic, print TEXT, nan, work STEPS, hold BYTES, hold-each BYTES, leak BYTES; `+` joins acts of one inference"
)]
pub struct ParseScriptError(String);

impl FromStr for FakeEngine {
    type Err = ParseScriptError;

    fn from_str(text: &str) -> Result<FakeEngine, ParseScriptError> {
        let script = text.split(',').map(|act| parse_act(act.trim())).collect::<Result<_, _>>()?;
        Ok(FakeEngine { id: "fake", script, precisions: vec![Precision::Fp32] })
    }
}

fn parse_act(text: &str) -> Result<Act, ParseScriptError> {
    if text.contains('+') {
        return text
            .split('+')
            .map(|act| parse_act(act.trim()))
            .collect::<Result<_, _>>()
            .map(Act::All);
    }
    let unknown = || ParseScriptError(text.to_owned());
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    match word {
        "crash" => Ok(Act::Crash),
        "exit" => rest.parse().map(Act::Exit).map_err(|_| unknown()),
        "hang" => Ok(Act::Hang),
        "fail" => Ok(Act::Fail(rest.to_owned())),
        "panic" => Ok(Act::Panic),
        "print" => Ok(Act::Print(rest.to_owned())),
        "nan" => Ok(Act::NotANumber),
        "work" => rest.parse().map(Act::Work).map_err(|_| unknown()),
        "hold" => rest.parse().map(Act::Hold).map_err(|_| unknown()),
        "hold-each" => rest.parse().map(Act::HoldEach).map_err(|_| unknown()),
        "leak" => rest.parse().map(Act::Leak).map_err(|_| unknown()),
        time => {
            let digits = time.trim_end_matches(|c: char| c.is_ascii_alphabetic());
            let number: f64 = digits.parse().map_err(|_| unknown())?;
            let scale = match &time[digits.len()..] {
                "s" => 1.0,
                "ms" => 1e-3,
                "us" => 1e-6,
                _ => return Err(unknown()),
            };
            Ok(Act::Take(Duration::try_from_secs_f64(number * scale).map_err(|_| unknown())?))
        }
    }
}

impl Engine for FakeEngine {
    fn id(&self) -> &'static str {
        self.id
    }

    fn describe(&self) -> &'static str {
        "follows a script; for tests of the runner"
    }

    fn availability(&self, _places: &Places) -> Availability {
        Availability::Available { version: "0".into() }
    }

    fn devices(&self, _places: &Places) -> Vec<Device> {
        vec![Device::Cpu]
    }

    fn precisions(&self, _places: &Places, _device: Device) -> Vec<Precision> {
        self.precisions.clone()
    }

    fn host(&self) -> Host<'_> {
        Host::Worker(self)
    }
}

impl Loader for FakeEngine {
    fn load(&self, request: &LoadRequest) -> Result<Box<dyn LoadedModel>, EngineError> {
        if request.device != Device::Cpu {
            return Err(EngineError::new(
                EngineErrorKind::Unsupported,
                format!("the fake runs on cpu, not on {}", request.device),
            ));
        }
        if !request.onnx.exists() {
            return Err(EngineError::new(
                EngineErrorKind::BadModel,
                format!("there is no file `{}`", request.onnx.display()),
            ));
        }
        let own = FakeEngine::script_beside(&request.onnx)?;
        Ok(Box::new(FakeModel { script: own.unwrap_or_else(|| self.script.clone()) }))
    }
}

struct FakeModel {
    script: Vec<Act>,
}

impl LoadedModel for FakeModel {
    fn signature(&self) -> Signature {
        let value = |name: &str| SignatureValue {
            name: name.into(),
            dtype: Some(ElementType::F32),
            dims: Some(vec![None]),
        };
        Signature { inputs: vec![value("x")], outputs: vec![value("y")] }
    }

    fn placement(&self) -> String {
        "cpu".into()
    }

    fn session(&self) -> Result<Box<dyn Session + '_>, EngineError> {
        Ok(Box::new(FakeSession { script: &self.script, at: 0, input: Vec::new(), output: None }))
    }
}

struct FakeSession<'a> {
    script: &'a [Act],
    at: usize,
    input: Vec<f32>,
    output: Option<Vec<f32>>,
}

impl FakeSession<'_> {
    #[expect(clippy::print_stdout, reason = "misbehaving is what the fake is for")]
    fn perform(&mut self, act: &Act) -> Result<(), EngineError> {
        match act {
            Act::Take(time) => std::thread::sleep(*time),
            Act::Work(steps) => {
                let mut state = std::hint::black_box(0x9e37_79b9_7f4a_7c15_u64);
                for _ in 0..*steps {
                    // A generator's step (xorshift): nothing can skip ahead of it.
                    state ^= state << 13;
                    state ^= state >> 7;
                    state ^= state << 17;
                }
                std::hint::black_box(state);
            }
            Act::Crash => std::process::abort(),
            Act::Exit(status) => std::process::exit(*status),
            Act::Hang => loop {
                std::thread::sleep(Duration::from_secs(1));
            },
            Act::Fail(message) => {
                return Err(EngineError::new(EngineErrorKind::Failed, message.clone()));
            }
            Act::Panic => panic!("the script says so"),
            Act::Print(text) => println!("{text}"),
            Act::NotANumber => self.output = Some(vec![f32::NAN; self.input.len()]),
            Act::Hold(bytes) => drop(std::hint::black_box(vec![1u8; *bytes])),
            Act::HoldEach(bytes) => {
                drop(std::hint::black_box(vec![1u8; bytes.saturating_mul(self.input.len())]));
            }
            Act::All(acts) => return acts.iter().try_for_each(|act| self.perform(act)),
            Act::Leak(bytes) => {
                std::hint::black_box(vec![1u8; *bytes].leak());
            }
        }
        Ok(())
    }
}

impl Session for FakeSession<'_> {
    fn bind(&mut self, inputs: &[HostTensor]) -> Result<(), EngineError> {
        match inputs {
            [HostTensor { name, elements: types::Elements::F32(values), .. }] if name == "x" => {
                self.input.clone_from(values);
                Ok(())
            }
            _ => Err(EngineError::new(
                EngineErrorKind::BadInput,
                "the fake takes one input, `x`, of f32",
            )),
        }
    }

    fn infer(&mut self) -> Result<(), EngineError> {
        let act = &self.script[self.at % self.script.len()];
        self.at += 1;
        self.output = Some(self.input.iter().map(|x| x * 2.0).collect());
        self.perform(act)
    }

    fn outputs(&self) -> Result<Vec<OutputView<'_>>, EngineError> {
        let values = self
            .output
            .as_deref()
            .ok_or_else(|| EngineError::new(EngineErrorKind::Failed, "nothing was inferred yet"))?;
        Ok(vec![OutputView {
            name: "y",
            dims: vec![values.len()],
            elements: ElementsView::F32(values),
        }])
    }

    fn node_profiler(&mut self) -> Option<&mut dyn NodeProfiler> {
        Some(self)
    }

    fn memory_reporter(&mut self) -> Option<&mut dyn MemoryReporter> {
        Some(self)
    }
}

/// The nodes that the fake says it has, with their share of an inference in percent.
const NODES: [(&str, &str, u64); 3] = [
    ("embeddings/Gather", "Gather", 20),
    ("layer.0/MatMul", "MatMul", 60),
    ("head/Add", "Add", 10),
];

impl NodeProfiler for FakeSession<'_> {
    fn profile(&mut self, count: u64, detail: Detail) -> Result<NodeProfile, EngineError> {
        let node = |(path, kind, _): &(&str, &str, u64)| NodeTime {
            path: (*path).into(),
            kind: (*kind).into(),
            calls: count,
            nanos: 0,
            phase: None,
        };
        let mut nodes: Vec<NodeTime> = NODES.iter().map(node).collect();
        let mut writer = TimelineWriter::laid_out();
        let mut run_nanos = Vec::new();
        for _ in 0..count {
            let begin = Instant::now();
            self.infer()?;
            let taken = u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
            run_nanos.push(taken);
            let mut start = writer.inference(begin, taken);
            for (node, (path, kind, percent)) in nodes.iter_mut().zip(NODES) {
                let length = taken / 100 * percent;
                node.nanos += length;
                writer.operator(0, (path, kind), start, length);
                start += length;
            }
        }
        Ok(NodeProfile {
            runs: count,
            total_nanos: run_nanos.iter().sum(),
            run_nanos,
            nodes,
            parts: None,
            timeline: (detail == Detail::Timeline).then(|| writer.finish()),
            remarks: Vec::new(),
        })
    }
}

impl MemoryReporter for FakeSession<'_> {
    fn remember(
        &mut self,
        count: u64,
        tracker: &dyn AllocationTracker,
    ) -> Result<MemoryRecord, EngineError> {
        let watched = watch_runs(count, tracker, || 0, &mut || self.infer())?;
        let script = LayerName { name: "script".into(), kind: "Act".into() };
        let mut record = watched.record("a script");
        record.allocations = watched.columns(vec![script], |_| Some(0));
        record.layers = Reading::of(true);
        Ok(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_read_act_by_act() {
        let fake: FakeEngine = "10ms, 1.5us, crash, exit 3, fail no luck, nan".parse().unwrap();
        assert_eq!(
            fake.script,
            [
                Act::Take(Duration::from_millis(10)),
                Act::Take(Duration::from_nanos(1500)),
                Act::Crash,
                Act::Exit(3),
                Act::Fail("no luck".into()),
                Act::NotANumber,
            ]
        );
        let both: FakeEngine = "1ms + hold-each 8".parse().unwrap();
        assert_eq!(
            both.script,
            [Act::All(vec![Act::Take(Duration::from_millis(1)), Act::HoldEach(8)])]
        );
        assert!("10 parsecs".parse::<FakeEngine>().unwrap_err().to_string().contains("parsecs"));
    }

    #[test]
    fn each_load_of_a_model_takes_the_next_line_of_its_own_script() {
        let home = tempfile::tempdir().unwrap();
        let onnx = home.path().join("model.onnx");
        assert_eq!(FakeEngine::script_beside(&onnx).unwrap(), None);
        fs::write(home.path().join("model.script"), "1ms\ncrash\n").unwrap();
        let lines: Vec<Vec<Act>> =
            (0..3).map(|_| FakeEngine::script_beside(&onnx).unwrap().unwrap()).collect();
        let time = Act::Take(Duration::from_millis(1));
        assert_eq!(lines, [vec![time.clone()], vec![Act::Crash], vec![time]]);
    }
}
