//! From a name to a model that is ready: a path, a preset, the local Hugging Face cache, the hub, in this order.

use crate::{
    Blueprint, InputKind, ModelError, Preset, Progress, Request, Resolved,
    architecture::{self, ArchitectureError},
    automodel::{self, Found},
    checkpoint::Checkpoint,
    commit::commit_of,
    description,
    download::download,
    export::made_from,
    fingerprint::hash_files,
    folder::{self, Content},
    gguf::{self, Gguf},
    hub::{self, Snapshot},
    module, precision,
    prepare::{Prepared, prepare},
    preset::near_names,
    program, signature, unfinished,
    weights::{Values, drawn_names},
};
use graph::{Model, TensorData};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};
use types::{Bytes, Category, ModelInfo, ModelSource, Postprocess, Remark, RemarkCode, Weights};

/// Makes a model ready: finds it, fetches it where that is needed and allowed, prepares graph and weights on disk, and
/// converts them where another number format is asked for.
pub fn resolve(
    request: &Request,
    progress: &mut dyn FnMut(Progress),
) -> Result<Resolved, ModelError> {
    let mut resolved = find(request, progress)?;
    if request.generates {
        resolved = resolved.generating()?;
    }
    // Graphs that are looked into lie beside the model; killed processes leave theirs.
    resolved.onnx.parent().into_iter().for_each(unfinished::clear);
    match request.precision {
        Some(asked) => {
            precision::convert(resolved, asked, request.filled_rows, &request.cache, progress)
        }
        None => Ok(resolved),
    }
}

fn find(request: &Request, progress: &mut dyn FnMut(Progress)) -> Result<Resolved, ModelError> {
    if let Some((file, function)) = &request.torch_module {
        return program::factory(&request.name, file, function, &request.cache, progress);
    }
    if request.name.trim().is_empty() {
        return Err(ModelError::NoName);
    }
    if request.name.contains("://") {
        return Err(ModelError::Address { address: request.name.clone() });
    }
    let path = Path::new(&request.name);
    let preset = Preset::find(&request.name);
    let resolver = Resolver { request };
    if path.is_file() {
        return resolver.file(path, progress);
    }
    if path.is_dir() && (folder::is_model(path) || preset.is_none()) {
        let source = ModelSource::Folder { path: absolute(path)? };
        let mut resolved = resolver.folder(path, &stem(path), source, None, progress)?;
        resolved.commit = commit_of(path);
        return Ok(resolved);
    }
    if preset.is_none() {
        refuse_strange(path)?;
    }
    if looks_like_path(&request.name) {
        return Err(ModelError::MissingFile { path: path.to_owned() });
    }
    resolver.resolve_name(preset, progress)
}

/// Whether a name that is no existing file can only have been meant as one.
fn looks_like_path(name: &str) -> bool {
    let ending = Path::new(name).extension().and_then(|ending| ending.to_str());
    [".", "/", "~", "\\"].iter().any(|start| name.starts_with(start))
        || name.ends_with('/')
        || ending.is_some_and(|ending| {
            ["onnx", "toml", "gguf"].contains(&ending) || program::ENDINGS.contains(&ending)
        })
        || name.contains('\\')
        || name.matches('/').count() > 1
}

/// Whatever is there and can be neither read nor entered: a pipe, a device, a link that leads nowhere.
fn refuse_strange(path: &Path) -> Result<(), ModelError> {
    let path = path.to_owned();
    match graph::open_regular(&path) {
        Err(source) if source.kind() == io::ErrorKind::NotFound => match fs::read_link(&path) {
            Ok(target) => {
                let source = io::Error::new(
                    io::ErrorKind::NotFound,
                    format!("it is a link to `{}`, which does not exist", target.display()),
                );
                Err(ModelError::NotAFile { path, source })
            }
            Err(_) => Ok(()),
        },
        // A name such as `model.onnx/x`: part of the path is no folder, so there is nothing there.
        Err(source) if source.kind() == io::ErrorKind::NotADirectory => Ok(()),
        Err(source) if source.kind() == io::ErrorKind::PermissionDenied => {
            Err(ModelError::Read { path, source })
        }
        Err(source) => Err(ModelError::NotAFile { path, source }),
        Ok(_) => Ok(()),
    }
}

pub(crate) fn absolute(path: &Path) -> Result<PathBuf, ModelError> {
    fs::canonicalize(path).map_err(|source| ModelError::Read { path: path.to_owned(), source })
}

/// The name people use for a path: without folders and ending.
pub(crate) fn stem(path: &Path) -> String {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let name = if real.is_dir() { real.file_name() } else { real.file_stem() };
    name.unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

struct Resolver<'a> {
    request: &'a Request,
}

impl Resolver<'_> {
    fn file(
        &self,
        path: &Path,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Resolved, ModelError> {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        match ending.to_ascii_lowercase().as_str() {
            "onnx" => {
                let source = ModelSource::File { path: absolute(path)? };
                self.onnx(path, stem(path), source, progress)
            }
            "toml" => {
                let read = |source| ModelError::Read { path: path.to_owned(), source };
                let bytes = folder::read_regular(path, folder::MOST_CONFIG).map_err(read)?;
                let text = String::from_utf8(bytes)
                    .map_err(|error| read(io::Error::new(io::ErrorKind::InvalidData, error)))?;
                let blueprint = description::build(path, &text)?;
                let source = ModelSource::Description { path: absolute(path)? };
                self.random(blueprint, stem(path), source, progress)
            }
            "gguf" => self.gguf(path, progress),
            "safetensors" => Err(ModelError::NotAModel {
                path: path.to_owned(),
                why: "weights alone have no graph; give the folder with its `config.json`".into(),
            }),
            ending if program::ENDINGS.contains(&ending) => {
                program::archive(path, &self.request.cache, progress)
            }
            "py" => Err(ModelError::NotAModel {
                path: path.to_owned(),
                why: "a Python file holds code; say which of its functions returns the module"
                    .into(),
            }),
            _ => Err(ModelError::NotAModel {
                path: path.to_owned(),
                why: format!("`.{ending}` files are not supported"),
            }),
        }
    }

    /// A preset or a hub name.
    fn resolve_name(
        &self,
        preset: Option<&'static Preset>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Resolved, ModelError> {
        let asked = [self.request.name.as_str()];
        let repositories = preset.map_or(asked.as_slice(), |preset| preset.repositories());
        let name = preset.map_or(self.request.name.as_str(), |preset| preset.name);
        let mut tried = Vec::new();
        if let Some(snapshot) = self.snapshot(repositories, preset, &mut tried, progress) {
            let source = ModelSource::Hub { revision: snapshot.revision };
            return self.folder(&snapshot.folder, name, source, preset, progress);
        }
        let Some(preset) = preset else {
            return Err(ModelError::Unknown {
                name: name.to_owned(),
                near: near_names(name),
                tried,
            });
        };
        let blueprint = preset.blueprint()?;
        let mut resolved =
            self.random(blueprint, name.to_owned(), ModelSource::Preset, progress)?;
        if let Some(last) = tried.last() {
            // A remark is read beside numbers: the details are for the error of a name that nothing answers.
            let short = last.split(" (").next().unwrap_or(last);
            resolved.remarks.push(Remark::new(
                RemarkCode::UntrainedWeights,
                format!("no trained weights in the local cache; {short}"),
            ));
        }
        Ok(resolved)
    }

    /// The files of a repository, from the local cache or from the hub; `tried` says why not.
    fn snapshot(
        &self,
        repositories: &[&str],
        preset: Option<&Preset>,
        tried: &mut Vec<String>,
        progress: &mut dyn FnMut(Progress),
    ) -> Option<Snapshot> {
        let first = repositories.first()?;
        let hub_folder = self.request.hub_folder();
        let revision = self.request.revision();
        let local = repositories
            .iter()
            .find_map(|repository| hub::find_local(&hub_folder, repository, revision));
        if local.is_some() {
            return local;
        }
        tried.push(format!("not in the cache at `{}`", hub_folder.display()));
        if self.request.offline {
            tried.push("the hub was not contacted: offline".into());
            return None;
        }
        // Where random weights can stand in, waiting long for a dead network helps nobody.
        let patience = if preset.is_some() { hub::SHORT_PATIENCE } else { hub::LONG_PATIENCE };
        match download(self.request, first, patience, progress) {
            Ok(snapshot) => Some(snapshot),
            Err(reason) => {
                tried.push(reason);
                None
            }
        }
    }

    fn folder(
        &self,
        path: &Path,
        name: &str,
        source: ModelSource,
        preset: Option<&Preset>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Resolved, ModelError> {
        let (mut config, files) = match folder::content(path)? {
            Content::Onnx(onnx) => {
                let mut resolved = self.onnx(&onnx, name.to_owned(), source, progress)?;
                if let Some(preset) = preset {
                    resolved.info.category = preset.category;
                    resolved.postprocess = preset.postprocess.unwrap_or(resolved.postprocess);
                }
                return Ok(resolved);
            }
            Content::Weights { config, files } => (config, files),
        };
        let mut remarks = Vec::new();
        // A preset is the same model whichever head its weights were saved with.
        if let Some(known) = preset.and_then(Preset::config)
            && let (Some(config), Some(class)) =
                (config.as_object_mut(), known.get("architectures"))
        {
            config.insert("architectures".into(), class.clone());
        }
        let built = build(&config, name, &mut remarks);
        let mut blueprint = match built {
            Err(ModelError::Architecture {
                source: why @ ArchitectureError::UnknownArchitecture { .. },
                ..
            }) => {
                let checkpoint = &folder::checkpoint(path, &files)?;
                let (config, files) = (&config, files.as_slice());
                let found = Found { path, name, config, files, checkpoint, source, why };
                return automodel::resolved(found, &self.request.cache, progress);
            }
            built => built?,
        };
        if let Some(preset) = preset {
            blueprint.category = preset.category;
        }
        if let Some(postprocess) =
            folder::postprocess(path).or_else(|| preset.and_then(|preset| preset.postprocess))
        {
            blueprint.postprocess = postprocess;
        }
        let checkpoint = folder::checkpoint(path, &files)?;
        let drawn = drawn_names(&checkpoint, &blueprint.weights);
        if !drawn.is_empty() {
            remarks.push(Remark::new(
                RemarkCode::MissingWeights,
                format!("not in the checkpoint, set to random values: `{}`", drawn.join("`, `")),
            ));
        }
        self.draw_decoder(&mut blueprint, name)?;
        let prepared =
            prepare(&blueprint, Values::Trained(&checkpoint), &self.request.cache, progress)?;
        let mut resolved = finish(blueprint, prepared, name.to_owned(), source, Weights::Real);
        resolved.tokenizer = folder::tokenizer(path);
        resolved.preprocessor = folder::preprocessor(path);
        resolved.stored = checkpoint.precision();
        resolved.remarks.append(&mut remarks);
        Ok(resolved)
    }

    /// A file of llama.cpp: the configuration and the weights are in it.
    fn gguf(
        &self,
        path: &Path,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Resolved, ModelError> {
        let name = stem(path);
        let file = Gguf::open(path)?;
        let (family, config) = gguf::config(&file)?;
        let mut remarks = Vec::new();
        let mut blueprint = build(&config, &name, &mut remarks)?;
        self.draw_decoder(&mut blueprint, &name)?;
        let tokenizer = gguf::tokenizer(&file);
        let names = gguf::names(&file, family);
        let checkpoint = Checkpoint::of_gguf(path, file, names);
        let quantised = checkpoint.quantised();
        if !quantised.is_empty() {
            let formats: Vec<&str> = quantised.iter().map(|format| format.name()).collect();
            remarks.push(Remark::new(
                RemarkCode::QuantisedWeights,
                format!("weights kept as {} run as fp32", formats.join(" and ")),
            ));
        }
        let prepared =
            prepare(&blueprint, Values::Trained(&checkpoint), &self.request.cache, progress)?;
        let source = ModelSource::File { path: absolute(path)? };
        let mut resolved = finish(blueprint, prepared, name, source, Weights::Real);
        resolved.tokenizer = match tokenizer {
            Some(tokenizer) => Some(write_tokenizer(&resolved.onnx, &tokenizer)?),
            None => None,
        };
        resolved.stored = checkpoint.precision();
        resolved.gguf = Some(absolute(path)?);
        resolved.remarks = remarks;
        Ok(resolved)
    }

    /// Draws the model a second time, to generate, where that is asked for.
    fn draw_decoder(&self, blueprint: &mut Blueprint, name: &str) -> Result<(), ModelError> {
        if self.request.generates {
            let drawn = architecture::build_decoder(blueprint, self.request.dialect);
            blueprint.decoder = drawn
                .map_err(|source| ModelError::Architecture { name: name.to_owned(), source })?;
        }
        Ok(())
    }

    fn random(
        &self,
        mut blueprint: Blueprint,
        name: String,
        source: ModelSource,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Resolved, ModelError> {
        let seed = self.request.seed;
        self.draw_decoder(&mut blueprint, &name)?;
        let prepared = prepare(&blueprint, Values::Random(seed), &self.request.cache, progress)?;
        Ok(finish(blueprint, prepared, name, source, Weights::Random { seed }))
    }

    /// A finished graph, used where it lies; what lies beside it tells the rest.
    fn onnx(
        &self,
        path: &Path,
        name: String,
        source: ModelSource,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Resolved, ModelError> {
        let model = Model::read(path)
            .map_err(|source| ModelError::Onnx { path: path.to_owned(), source: source.into() })?;
        let files = files_of(path, &model);
        let (fingerprint, size) = hash_files(&files, &self.request.cache, progress)?;
        let beside = beside(path);
        let config = find_config(&beside)?;
        let text = |key| config.as_ref().and_then(|config| config.get(key)?.as_str());
        let kinds = signature::read_inputs(&model, &name);
        let category = signature::category(&model, &kinds);
        let info = ModelInfo {
            name,
            category,
            architecture: text("model_type").unwrap_or("onnx").to_owned(),
            source,
            weights: Weights::Real,
            parameters: graph::count_weights(&model).parameters,
            size: Bytes(size),
            fingerprint,
            made_from: beside.iter().find_map(|folder| made_from(folder, Bytes(size))),
        };
        let postprocess = beside
            .iter()
            .find_map(|folder| folder::postprocess(folder))
            .unwrap_or_else(|| postprocess(&model, category));
        let max_length = config.as_ref().and_then(folder::longest);
        let onnx = absolute(path)?;
        let mut resolved = assemble(info, onnx, model, kinds, postprocess, max_length);
        resolved.tokenizer = beside.iter().find_map(|folder| folder::tokenizer(folder));
        resolved.preprocessor = beside.iter().find_map(|folder| folder::preprocessor(folder));
        Ok(resolved)
    }
}

/// Builds a folder's graph; a head that nobody builds is left away, as `AutoModel` does.
fn build(config: &Value, name: &str, remarks: &mut Vec<Remark>) -> Result<Blueprint, ModelError> {
    let failed = |source| ModelError::Architecture { name: name.to_owned(), source };
    match architecture::build(config) {
        Err(ArchitectureError::UnknownHead { class, .. }) => {
            let mut base = config.clone();
            if let Some(config) = base.as_object_mut() {
                config.remove("architectures");
            }
            remarks.push(Remark::new(
                RemarkCode::HeadLeftOut,
                format!("built without the head of `{class}`"),
            ));
            architecture::build(&base).map_err(failed)
        }
        result => result.map_err(failed),
    }
}

fn finish(
    blueprint: Blueprint,
    prepared: Prepared,
    name: String,
    source: ModelSource,
    weights: Weights,
) -> Resolved {
    let info = ModelInfo {
        name,
        category: blueprint.category,
        architecture: blueprint.architecture.clone(),
        source,
        weights,
        parameters: blueprint.parameters(),
        size: Bytes(prepared.size),
        fingerprint: prepared.fingerprint,
        made_from: None,
    };
    let module = module::of_blueprint(&blueprint, &prepared.onnx);
    let decoder = prepared.decoder;
    let mut resolved = assemble(
        info,
        prepared.onnx,
        prepared.model,
        blueprint.inputs,
        blueprint.postprocess,
        blueprint.max_length,
    );
    resolved.module = Some(module);
    resolved.decoder = decoder;
    resolved
}

fn assemble(
    info: ModelInfo,
    onnx: PathBuf,
    model: Model,
    kinds: Vec<InputKind>,
    postprocess: Postprocess,
    max_length: Option<usize>,
) -> Resolved {
    let mut resolved = Resolved {
        info,
        onnx,
        module: None,
        model,
        kinds,
        tokenizer: None,
        preprocessor: None,
        postprocess,
        max_length,
        default_length: None,
        commit: None,
        stored: None,
        no_graph: None,
        decoder: None,
        gguf: None,
        remarks: Vec::new(),
    };
    resolved.default_length = resolved.natural_length();
    resolved
}

/// Writes the tokenizer beside the prepared graph, unless it is there.
fn write_tokenizer(onnx: &Path, tokenizer: &Value) -> Result<PathBuf, ModelError> {
    let path = onnx.with_file_name("tokenizer.json");
    if !path.is_file() {
        let failed = |source| ModelError::Write { path: path.clone(), source };
        // Two at once write the same; each under a name of its own, so that nobody reads a half.
        let unfinished = path.with_file_name(format!("tokenizer.json.{}", std::process::id()));
        fs::write(&unfinished, tokenizer.to_string()).map_err(failed)?;
        fs::rename(&unfinished, &path).map_err(failed)?;
    }
    Ok(path)
}

/// The graph's own file and those that its weights lie in.
fn files_of(path: &Path, model: &Model) -> Vec<PathBuf> {
    let external = |tensor: &graph::Tensor| match &tensor.data {
        TensorData::External { path, .. } => Some(model.locate(path)),
        _ => None,
    };
    let others: BTreeSet<PathBuf> =
        model.graph.tensors().into_iter().filter_map(external).collect();
    std::iter::once(path.to_owned()).chain(others).collect()
}

/// The folders where a graph's configuration and tokenizer may be: its own, and the one above an `onnx` folder.
fn beside(onnx: &Path) -> Vec<PathBuf> {
    let real = fs::canonicalize(onnx).ok();
    // A hub snapshot is made of links; its files lie beside the link, not beside what it leads to.
    let mut folders: Vec<PathBuf> = [Some(onnx.to_owned()), real]
        .into_iter()
        .flatten()
        .filter_map(|path| path.parent().map(Path::to_owned))
        .collect();
    for folder in folders.clone() {
        if folder.ends_with("onnx") {
            folders.extend(folder.parent().map(Path::to_owned));
        }
    }
    folders
}

fn find_config(folders: &[PathBuf]) -> Result<Option<Value>, ModelError> {
    for folder in folders {
        if let Some(config) = folder::config(folder)? {
            return Ok(Some(config));
        }
    }
    Ok(None)
}

/// What most people want from outputs like these.
fn postprocess(model: &Model, category: Category) -> Postprocess {
    let has = |name: &str| model.graph.outputs.iter().any(|output| output.name == name);
    match category {
        _ if has("logits") => Postprocess::Argmax,
        Category::Text if has("last_hidden_state") => Postprocess::MeanPool,
        _ => Postprocess::None,
    }
}
