//! Models that exist only as a program of PyTorch's: a file that holds one, or a function that returns one.
//!
//! Nobody here can look inside, so there is no graph and nothing is counted. What goes in is what the user says.

use crate::{
    ModelError, Progress, Resolved,
    fingerprint::hash_files,
    given::check_size,
    recipe::SMALL_VOCABULARY,
    resolve::{absolute, stem},
};
use graph::{Graph, Model};
use std::{collections::BTreeMap, fs, io, path::Path};
use types::{
    Bytes, Category, ElementType, Fill, InputRole, InputShape, InputSpec, ModelInfo, ModelSource,
    Module, Postprocess, Weights,
};

/// How files that PyTorch writes end.
pub(crate) const ENDINGS: [&str; 5] = ["pt", "pt2", "pth", "ts", "bin"];

/// A function that returns a module.
pub(crate) fn factory(
    name: &str,
    file: &Path,
    function: &str,
    cache: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Resolved, ModelError> {
    if function.trim().is_empty() {
        return Err(ModelError::NoFunction { path: file.to_owned() });
    }
    check_file(file)?;
    let name = match name.trim() {
        "" => format!("{}:{function}", stem(file)),
        name => name.to_owned(),
    };
    let module = Module::Factory { file: absolute(file)?, function: function.to_owned() };
    resolved(name, file, module, cache, progress)
}

/// A file that holds a whole program.
pub(crate) fn archive(
    file: &Path,
    cache: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Resolved, ModelError> {
    let module = Module::Archive { path: absolute(file)? };
    resolved(stem(file), file, module, cache, progress)
}

fn check_file(file: &Path) -> Result<(), ModelError> {
    let path = file.to_owned();
    match graph::open_regular(file) {
        Ok(_) => Ok(()),
        Err(source) if source.kind() == io::ErrorKind::NotFound => {
            Err(ModelError::MissingFile { path })
        }
        Err(source) if source.kind() == io::ErrorKind::PermissionDenied => {
            Err(ModelError::Read { path, source })
        }
        Err(source) if fs::metadata(file).is_ok_and(|data| !data.is_file()) => {
            Err(ModelError::NotAFile { path, source })
        }
        Err(source) => Err(ModelError::Read { path, source }),
    }
}

fn resolved(
    name: String,
    file: &Path,
    module: Module,
    cache: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Resolved, ModelError> {
    let (fingerprint, size) = hash_files(&[file.to_owned()], cache, progress)?;
    let info = ModelInfo {
        name,
        category: Category::Other,
        architecture: "torch module".into(),
        source: ModelSource::File { path: absolute(file)? },
        weights: Weights::Real,
        parameters: 0,
        size: Bytes(size),
        fingerprint,
        made_from: None,
    };
    Ok(Resolved {
        info,
        onnx: Default::default(),
        module: Some(module),
        model: nothing(),
        kinds: Vec::new(),
        tokenizer: None,
        preprocessor: None,
        postprocess: Postprocess::None,
        max_length: None,
        default_length: None,
        decoder: None,
        gguf: None,
        commit: None,
        stored: None,
        no_graph: None,
        remarks: Vec::new(),
    })
}

/// A graph of nothing: it has no nodes to count and no inputs to settle.
pub(crate) fn nothing() -> Model {
    Model {
        graph: Graph::default(),
        opsets: BTreeMap::new(),
        ir_version: 0,
        producer: String::new(),
        metadata: BTreeMap::new(),
        functions: Vec::new(),
        folder: None,
    }
}

/// Samples in one inference: what the first input's first dimension says; one where the program brings its own inputs.
pub(crate) fn batch(given: &[InputShape]) -> usize {
    given.first().and_then(|shape| shape.dims.first()).copied().unwrap_or(1)
}

/// Exactly the inputs that the user gave.
pub(crate) fn inputs(
    model: &str,
    batch_asked: usize,
    given: &[InputShape],
) -> Result<Vec<InputSpec>, ModelError> {
    if batch_asked == 0 {
        return Err(ModelError::ZeroBatch);
    }
    let mut bytes = 0;
    let mut specs: Vec<InputSpec> = Vec::with_capacity(given.len());
    for shape in given {
        let input = shape.name.clone();
        if specs.iter().any(|earlier| earlier.name == input) {
            return Err(ModelError::GivenTwice { input });
        }
        if let Some(position) = shape.dims.iter().position(|&size| size == 0) {
            return Err(ModelError::ZeroDimension { input, position });
        }
        let spec = spec(shape);
        check_size(&input, &spec.dims, spec.dtype, &mut bytes)?;
        specs.push(spec);
    }
    if let Some(first) = given.first()
        && batch(given) != batch_asked
    {
        let (model, input) = (model.to_owned(), first.name.clone());
        return Err(ModelError::FixedBatch {
            model,
            input,
            fixed: batch(given),
            asked: batch_asked,
        });
    }
    Ok(specs)
}

/// What a name tells, as PyTorch's users call their inputs.
pub(crate) fn spec(shape: &InputShape) -> InputSpec {
    let name = shape.name.to_lowercase();
    let has = |part: &str| name.contains(part);
    let ids = Fill::Integers { low: 0, high: SMALL_VOCABULARY as i64 };
    let (dtype, role, fill) = match () {
        () if has("mask") => {
            (ElementType::I64, InputRole::AttentionMask, Fill::Constant { value: 1.0 })
        }
        () if has("ids") && (has("token_type") || has("segment")) => {
            (ElementType::I64, InputRole::TokenTypes, Fill::Constant { value: 0.0 })
        }
        () if has("ids") && has("position") => {
            (ElementType::I64, InputRole::Other, Fill::Positions)
        }
        () if has("ids") && has("decoder") => (ElementType::I64, InputRole::DecoderTokenIds, ids),
        () if has("ids") => (ElementType::I64, InputRole::TokenIds, ids),
        () => {
            let is_image = matches!(shape.dims.as_slice(), [_, 1 | 3 | 4, _, _]);
            let role = if is_image { InputRole::Image } else { InputRole::Other };
            (ElementType::F32, role, Fill::Normal { mean: 0.0, std: 1.0 })
        }
    };
    InputSpec { name: shape.name.clone(), dtype, dims: shape.dims.clone(), role, fill }
}
