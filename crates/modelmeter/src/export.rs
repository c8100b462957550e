//! Writes a model as one ONNX file, has engines load the file again, and compares their answers with the model's.

use crate::{
    Error, Profiler,
    error::spell,
    has_usual_device,
    parity::{Sides, hold_against},
    prepare::{self, Prepared},
    scratch::Scratch,
};
use engine::{Availability, Engine, Takes};
use graph::{Model, TensorData};
use meter::{Depth, Launch, outputs_of};
use models::{ModelError, Resolved, Unfinished};
use std::{
    fs,
    path::{Path, PathBuf},
};
use types::{Bytes, Device, Event, ExportCheck, ExportReport, HostTensor, Precision};

/// The key under which an exported file says which version wrote it.
const WRITTEN_BY: &str = "modelmeter.export";
/// What our own graphs name as their producer; exports of earlier versions have nothing else.
const PRODUCER: &str = "modelmeter";

/// The file beside an ONNX file that its weights lie in where they do not fit into it.
fn data_of(path: &Path) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{stem}.onnx.data"))
}

fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// The model in a file that an export of ours wrote.
fn ours(path: &Path) -> Result<Model, ModelError> {
    let refused = |why: &str| ModelError::NotOurs { path: path.to_owned(), why: why.into() };
    let data = fs::symlink_metadata(path);
    if !data.is_ok_and(|data| data.is_file()) {
        return Err(refused("it is not a file"));
    }
    let model = Model::read(path).map_err(|_| refused("it is not an ONNX file"))?;
    let is_ours = model.metadata.contains_key(WRITTEN_BY) || model.producer.trim() == PRODUCER;
    if is_ours { Ok(model) } else { Err(refused("Modelmeter did not write it")) }
}

/// A model that is to be written as an ONNX file.
#[derive(Debug, Clone)]
pub struct Exporter {
    profiler: Profiler,
    precision: Option<Precision>,
    opset: Option<i64>,
    engines: Vec<String>,
    weights_beside: bool,
    replace: bool,
}

impl Exporter {
    /// The model of this measurement, which also says on what inputs answers are compared.
    #[must_use]
    pub fn new(profiler: Profiler) -> Exporter {
        Exporter {
            profiler: profiler.device(Device::Cpu),
            precision: None,
            opset: None,
            engines: Vec::new(),
            weights_beside: false,
            replace: false,
        }
    }

    /// In this number format; the model's own by default.
    #[must_use]
    pub fn precision(mut self, precision: Precision) -> Exporter {
        self.precision = Some(precision);
        self
    }

    /// With the operators of this version; the graph's own by default.
    #[must_use]
    pub fn opset(mut self, opset: i64) -> Exporter {
        self.opset = Some(opset);
        self
    }

    /// Loads the file with these engines; all that are here and take graphs by default.
    #[must_use]
    pub fn engines(mut self, engines: Vec<String>) -> Exporter {
        self.engines = engines;
        self
    }

    /// Puts the weights into a file of their own, whatever their size.
    #[must_use]
    pub fn weights_beside(mut self, wanted: bool) -> Exporter {
        self.weights_beside = wanted;
        self
    }

    /// Replaces a file that is there.
    #[must_use]
    pub fn replace(mut self, wanted: bool) -> Exporter {
        self.replace = wanted;
        self
    }

    /// Writes the file and compares what engines make of it.
    ///
    /// # Errors
    /// When the model cannot be had or written so. An engine that does not run the file is no error: it is in the report.
    pub fn write(&self, path: &Path, sink: &mut dyn FnMut(Event)) -> Result<ExportReport, Error> {
        let checkers = self.checkers()?;
        self.check(path)?;
        let resolved = prepare::resolve(&self.profiler, self.precision, sink)?;
        if resolved.is_program() {
            return Err(Error::Rule(format!(
                "`{}` exists only as a framework's module: there is no graph to write",
                resolved.info.name
            )));
        }
        let written = self.written(&resolved, path)?;
        let (reference, checks) = self.compare(&resolved, path, &checkers, sink)?;
        Ok(ExportReport {
            model: resolved.info.clone(),
            path: path.to_owned(),
            data: written.data,
            size: written.size,
            opset: written.opset,
            native_opset: resolved.model.opset(),
            precision: graph::native_precision(&resolved.model),
            nodes: written.nodes,
            reference,
            checks,
            // Random weights are said by the model's own field.
            remarks: resolved.remarks,
        })
    }

    /// Whether the place is free or holds what an export of ours wrote there; nothing else is ever replaced.
    fn check(&self, path: &Path) -> Result<(), ModelError> {
        match (is_there(path), self.replace) {
            (true, false) => return Err(ModelError::FileExists { path: path.to_owned() }),
            (true, true) => ours(path).map(|_| ())?,
            (false, _) => {}
        }
        if self.weights_beside { self.check_data(path) } else { Ok(()) }
    }

    /// The same for the file that the weights go to.
    fn check_data(&self, path: &Path) -> Result<(), ModelError> {
        let data = data_of(path);
        if !is_there(&data) {
            return Ok(());
        }
        if !self.replace {
            return Err(ModelError::FileExists { path: data });
        }
        let reads_it = |model: &Model| {
            model.graph.initializers.iter().any(|tensor| match &tensor.data {
                TensorData::External { path, .. } => path.file_name() == data.file_name(),
                _ => false,
            })
        };
        if ours(path).is_ok_and(|model| reads_it(&model)) {
            return Ok(());
        }
        let why = "it is not the weights file of an existing export of Modelmeter".into();
        Err(ModelError::NotOurs { path: data, why })
    }

    /// The engines that load the file.
    fn checkers(&self) -> Result<Vec<&'static dyn Engine>, Error> {
        let all = self.profiler.engines;
        if self.engines.is_empty() {
            let here = |engine: &&'static dyn Engine| {
                engine.takes() == Takes::Onnx && has_usual_device(*engine, &self.profiler.places)
            };
            return Ok(all.iter().filter(here).collect());
        }
        let engines =
            self.engines.iter().map(|id| all.require(id)).collect::<Result<Vec<_>, _>>()?;
        match engines.iter().find(|engine| engine.takes() != Takes::Onnx) {
            Some(engine) => Err(Error::Rule(format!(
                "engine `{}` loads modules, not ONNX files: it is what the file is compared with",
                engine.id()
            ))),
            None => Ok(engines),
        }
    }

    fn version(&self, engine: &dyn Engine) -> Option<String> {
        match engine.availability(&self.profiler.places) {
            Availability::Available { version } => Some(version),
            Availability::Unavailable { .. } => None,
        }
    }

    fn written(&self, resolved: &Resolved, path: &Path) -> Result<Written, Error> {
        let name = || resolved.info.name.clone();
        let model = match self.opset {
            Some(opset) => resolved
                .model
                .with_opset(opset)
                .map_err(|source| ModelError::Opset { model: name(), source })?,
            None => resolved.model.clone(),
        };
        let whole = model.with_weights_inside().map_err(|source| ModelError::Onnx {
            path: resolved.onnx.clone(),
            source: source.into(),
        })?;
        let mut whole = whole;
        whole.metadata.insert(WRITTEN_BY.into(), env!("CARGO_PKG_VERSION").into());
        self.put(&whole, path)?;
        // Read as anybody else would.
        let read = Model::read(path)
            .map_err(|source| ModelError::Onnx { path: path.to_owned(), source: source.into() })?;
        let data = read.graph.initializers.iter().find_map(|tensor| match &tensor.data {
            TensorData::External { path, .. } => Some(read.locate(path)),
            _ => None,
        });
        let bytes = |file: &Path| fs::metadata(file).map_or(0, |found| found.len());
        Ok(Written {
            size: Bytes(bytes(path) + data.as_deref().map_or(0, bytes)),
            data,
            opset: read.opset(),
            nodes: read.graph.nodes.len(),
        })
    }

    /// Writes the file, and the one with its weights where there is one, under another name and then to its place.
    fn put(&self, model: &Model, path: &Path) -> Result<(), Error> {
        let failed = |source| Error::Write { path: path.to_owned(), source };
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let name = path.file_name().unwrap_or_default();
        let unfinished =
            Unfinished::create(parent.unwrap_or(Path::new(".")), &name.to_string_lossy())
                .map_err(failed)?;
        let inside = unfinished.path().join(name);
        let written = match self.weights_beside {
            true => model.write_beside_weights(&inside),
            false => model.write(&inside),
        };
        written.map_err(|source| ModelError::Export { path: path.to_owned(), source })?;
        // The data first: a model must never point at a file that is not there.
        let data = data_of(&inside);
        if data.is_file() {
            self.check_data(path)?;
            fs::rename(&data, data_of(path)).map_err(failed)?;
        }
        fs::rename(&inside, path).map_err(failed)
    }

    /// Runs the model as it is and the file on every engine, on the same inputs.
    fn compare(
        &self,
        resolved: &Resolved,
        path: &Path,
        checkers: &[&'static dyn Engine],
        sink: &mut dyn FnMut(Event),
    ) -> Result<(String, Vec<ExportCheck>), Error> {
        let folder = Scratch::make("the outputs", 0)?;
        let mut prepared: Vec<Prepared> = Vec::new();
        let mut outputs: Vec<Option<Vec<HostTensor>>> = Vec::new();
        let mut labels: Vec<String> = Vec::new();
        let (mut launches, mut profilers) = (Vec::new(), Vec::new());
        let mut take = |label: String, seen: Seen| {
            labels.push(label);
            prepared.push(seen.ready);
            outputs.push(Some(seen.outputs));
            launches.push(seen.launch);
            profilers.push(seen.side);
        };
        let mut reference = String::new();
        for engine in self.references(resolved, checkers) {
            // An engine that does not run the model as it is cannot say what its answers are.
            if let Ok(seen) = self.run(engine, None, folder.path(), sink) {
                reference = match engine.takes() {
                    Takes::Module => engine.id().to_owned(),
                    Takes::Onnx | Takes::Gguf => format!("the original model on {}", engine.id()),
                };
                take(reference.clone(), seen);
                break;
            }
        }
        let mut checks: Vec<ExportCheck> = Vec::new();
        for &engine in checkers {
            let seen = self.run(engine, Some(path), folder.path(), sink);
            let failed = match seen {
                Ok(seen) => {
                    take(engine.id().to_owned(), seen);
                    reference
                        .is_empty()
                        .then(|| "no engine here runs the original model".to_owned())
                }
                Err(why) => Some(why),
            };
            checks.push(ExportCheck {
                engine: engine.id().to_owned(),
                version: self.version(engine).unwrap_or_default(),
                parity: None,
                failed,
            });
        }
        if !reference.is_empty() {
            let sides = Sides {
                profilers: &profilers.iter().collect::<Vec<_>>(),
                prepared: &prepared,
                labels: &labels,
                launches: &launches,
                baseline: 0,
                rows: &[],
                timeout: self.profiler.rule.timeout,
                folder: folder.path(),
            };
            for parity in hold_against(&sides, &outputs) {
                if let Some(check) = checks.iter_mut().find(|check| check.engine == parity.side) {
                    check.parity = Some(parity);
                }
            }
        }
        Ok((reference, checks))
    }

    /// Who may say what the model's answers are: its framework first, whose code is not ours.
    fn references(
        &self,
        resolved: &Resolved,
        checkers: &[&'static dyn Engine],
    ) -> Vec<&'static dyn Engine> {
        let frameworks = self.profiler.engines.iter().filter(|engine| {
            engine.takes() == Takes::Module
                && resolved.module.is_some()
                && self.version(*engine).is_some()
        });
        frameworks.chain(checkers.iter().copied()).collect()
    }

    /// What an engine answers: to the model as it is, or to the file in its place.
    fn run(
        &self,
        engine: &'static dyn Engine,
        file: Option<&Path>,
        folder: &Path,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Seen, String> {
        let mut side = self.profiler.clone().engine(engine.id());
        side.changed = file.map(Path::to_path_buf);
        let ready = prepare::prepare(&side, sink).map_err(|error| error.to_string())?;
        models::verify_prepared(&ready.resolved().onnx).map_err(|error| error.to_string())?;
        let launch = side.launch(&ready).map_err(|error| error.to_string())?;
        let refine = |seen: &[(String, Vec<usize>)]| ready.count_again(seen);
        let timeout = side.rule.timeout;
        let outputs = outputs_of(&ready.job(&refine), &launch, timeout, folder, Depth::Outputs);
        let outputs = outputs.map_err(|error| spell(&error))?;
        Ok(Seen { side, ready, launch, outputs })
    }
}

/// What one side answered, and how to ask it again.
struct Seen {
    side: Profiler,
    ready: Prepared,
    launch: Launch,
    outputs: Vec<HostTensor>,
}

/// What was written.
struct Written {
    data: Option<PathBuf>,
    size: Bytes,
    opset: i64,
    nodes: usize,
}
