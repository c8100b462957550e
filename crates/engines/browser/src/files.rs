//! The files of a model: which a graph names, whether a page can hold them, and where the page finds them.

use crate::{
    load::refused,
    server::{Content, Server},
};
use engine::{EngineError, EngineErrorKind, LoadRequest};
use graph::{Dim, Model, TensorData};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// The most bytes that a page can fetch as one array.
const LARGEST_FILE: u64 = 2 << 30;

/// The most bytes that a module of WebAssembly can address.
const LARGEST_MODEL: u64 = 4 << 30;

/// The files of a model.
pub(crate) struct Files {
    graph: PathBuf,
    /// Sizes by the names that the graph has for them, as far as the inputs tell.
    pub(crate) sizes: BTreeMap<String, usize>,
    /// By the names that the graph has for them.
    data: Vec<(String, PathBuf)>,
}

impl Files {
    pub(crate) fn of(request: &LoadRequest) -> Result<Files, EngineError> {
        let onnx = &request.onnx;
        let bad = |why: String| {
            let message = format!("could not read `{}`", onnx.display());
            EngineError::new(EngineErrorKind::BadModel, message).with_source(why)
        };
        let model = Model::read(onnx).map_err(|error| bad(error.to_string()))?;
        let names: BTreeSet<PathBuf> = model
            .graph
            .tensors()
            .into_iter()
            .filter_map(|tensor| match &tensor.data {
                TensorData::External { path, .. } => Some(path.clone()),
                _ => None,
            })
            .collect();
        let data = names.into_iter().map(|name| {
            let path = model.locate(&name);
            (name.to_string_lossy().into_owned(), path)
        });
        let sizes = sizes(&model, request);
        Ok(Files { graph: onnx.clone(), sizes, data: data.collect() })
    }

    /// Each with its size.
    pub(crate) fn all(&self) -> Vec<(&Path, u64)> {
        let size = |path: &Path| fs::metadata(path).map_or(0, |metadata| metadata.len());
        let all = self.data.iter().map(|(_, path)| path).chain([&self.graph]);
        all.map(|path| (path.as_path(), size(path))).collect()
    }

    /// Puts them on the server.
    pub(crate) fn offer(&self, server: &Server, place: &str) {
        server.put(format!("{place}/graph"), Content::File(self.graph.clone()));
        for (number, (_, path)) in self.data.iter().enumerate() {
            server.put(format!("{place}/data-{number}"), Content::File(path.clone()));
        }
    }

    /// Where the page finds them.
    pub(crate) fn question(&self, place: &str) -> Value {
        let name = |(number, (name, _)): (usize, &(String, PathBuf))| json!({ "name": name, "path": format!("{place}/data-{number}") });
        let data: Value = self.data.iter().enumerate().map(name).collect();
        json!({ "model": format!("{place}/graph"), "data": data })
    }
}

/// Whether a page can hold these files.
pub(crate) fn check_sizes(files: &[(&Path, u64)]) -> Result<(), EngineError> {
    if let Some((path, size)) = files.iter().find(|(_, size)| *size >= LARGEST_FILE) {
        return Err(refused(format!(
            "`{}` has {}: a browser loads files of less than 2 GiB",
            path.display(),
            number::bytes(*size)
        ))
        .with_hint("`modelmeter quantize` makes it smaller; several files of weights may be larger together"));
    }
    let total: u64 = files.iter().map(|(_, size)| size).sum();
    if total >= LARGEST_MODEL {
        return Err(refused(format!(
            "the model has {}: WebAssembly addresses 4 GiB",
            number::bytes(total)
        ))
        .with_hint("`modelmeter quantize` makes it smaller"));
    }
    Ok(())
}

/// The sizes that the graph's inputs have names for.
fn sizes(model: &Model, request: &LoadRequest) -> BTreeMap<String, usize> {
    let mut sizes = BTreeMap::new();
    for input in &model.graph.inputs {
        let given = request.input_dims.get(&input.name).into_iter().flatten();
        for (dim, size) in input.shape.iter().flatten().zip(given) {
            if let Dim::Symbol(name) = dim {
                sizes.insert(name.clone(), *size);
            }
        }
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{Device, Precision};

    #[test]
    fn a_file_that_no_page_can_hold_is_refused_before_a_browser_starts() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, size: u64| {
            let path = folder.path().join(name);
            fs::File::create(&path).unwrap().set_len(size).unwrap();
            path
        };
        let graph = file("model.onnx", 10);
        let part = |name: &str, size| (name.to_owned(), file(name, size));
        let of = |data| Files { graph: graph.clone(), sizes: BTreeMap::new(), data };
        let check = |data| check_sizes(&of(data).all());
        let error = check(vec![part("a", LARGEST_FILE)]).unwrap_err();
        assert!(error.to_string().contains("2 GiB"), "{error}");
        let many = vec![part("b", 3 << 29), part("c", 3 << 29), part("d", 3 << 29)];
        let error = check(many).unwrap_err();
        assert!(error.to_string().contains("4 GiB"), "{error}");
        assert!(check(vec![part("e", 5), part("f", 1 << 30)]).is_ok());
    }

    #[test]
    fn the_names_of_sizes_get_what_the_inputs_have() {
        let mut builder = graph::GraphBuilder::new("g");
        let dims: [Dim; 3] = ["batch".into(), "length".into(), 8.into()];
        let x = builder.input("x", graph::DataType::Float, &dims);
        builder.output("y", &x, graph::DataType::Float, &dims);
        let model = builder.finish_model();
        let mut request = LoadRequest::of_onnx("m.onnx", Device::Webnn, Precision::Fp32, 1);
        assert!(sizes(&model, &request).is_empty());
        request.input_dims.insert("x".into(), vec![4, 128, 8]);
        let expected = BTreeMap::from([("batch".to_owned(), 4), ("length".to_owned(), 128)]);
        assert_eq!(sizes(&model, &request), expected);
    }
}
