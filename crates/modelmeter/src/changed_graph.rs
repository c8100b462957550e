//! A changed graph for one look into a model, beside the model it was made from.
//!
//! Engines read weights only from the graph's own folder. So the graph gets a folder of its own beside the model's file, in
//! which the files of weights have a second name: nothing is copied, and all of it goes when the look is over, on Ctrl-C, or
//! when the next one is made beside what a killed process left.

use graph::{Model, TensorData};
use models::Unfinished;
use std::{
    collections::BTreeSet,
    fs, io,
    path::{Component, Path, PathBuf},
};

/// The name that messages of an engine show.
const FILE: &str = "graph.onnx";

/// A graph in a file that goes away.
pub(crate) struct ChangedGraph {
    path: PathBuf,
    _folder: Unfinished,
}

impl ChangedGraph {
    /// Writes a graph beside the file of the model it was made from.
    ///
    /// # Errors
    /// Where that folder takes no files, or weights cannot be read.
    pub(crate) fn write(model: &Model, beside: &Path) -> io::Result<ChangedGraph> {
        let parent = beside.parent().filter(|parent| !parent.as_os_str().is_empty());
        let folder = Unfinished::create(parent.unwrap_or(Path::new(".")), "graph")?;
        let path = folder.path().join(FILE);
        let mut model = model.clone();
        // Where files cannot have two names, the weights are copied.
        if link_weights(&model, folder.path()).is_ok() {
            model.folder = Some(folder.path().to_owned());
        }
        model.write(&path).map_err(io::Error::other)?;
        Ok(ChangedGraph { path, _folder: folder })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Gives every file of weights the same name in another folder too.
fn link_weights(model: &Model, folder: &Path) -> io::Result<()> {
    let files: BTreeSet<&Path> = (model.graph.initializers.iter())
        .filter_map(|tensor| match &tensor.data {
            TensorData::External { path, .. } => Some(path.as_path()),
            TensorData::Inline(_) | TensorData::Strings(_) => None,
        })
        .collect();
    for file in files {
        if !file.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(io::Error::other("a file outside the model's folder"));
        }
        let target = folder.join(file);
        target.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::hard_link(fs::canonicalize(model.locate(file))?, target)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use graph::{DataType, GraphBuilder, Tensor};

    /// A product with 4 KiB of weights in a file of their own.
    fn model(folder: &Path) -> PathBuf {
        let mut builder = GraphBuilder::new("product");
        let x = builder.input("x", DataType::Float, &[1.into(), 32.into()]);
        builder.initializer(Tensor::from_f32s("w", &[32, 32], &[0.5; 1024]));
        let y = builder.node("MatMul", &[&x, "w"], &[]);
        builder.output("y", &y, DataType::Float, &[1.into(), 32.into()]);
        let path = folder.join("model.onnx");
        builder.finish_model().write_beside_weights(&path).unwrap();
        path
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = (fs::read_dir(folder).unwrap())
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_changed_graph_finds_the_weights_and_leaves_nothing() {
        use std::os::unix::fs::MetadataExt;
        let folder = tempfile::tempdir().unwrap();
        let path = model(folder.path());
        let before = names(folder.path());
        assert_eq!(before, ["model.onnx", "model.onnx.data"]);
        let read = Model::read(&path).unwrap();
        let changed = ChangedGraph::write(&read, &path).unwrap();
        let again = Model::read(changed.path()).unwrap();
        let weight = &again.graph.initializers[0];
        assert_eq!(again.bytes(weight).unwrap(), read.bytes(&read.graph.initializers[0]).unwrap());
        // The same file, not a copy.
        let data =
            |file: &Path| fs::metadata(file.with_file_name("model.onnx.data")).unwrap().ino();
        assert_eq!(data(changed.path()), data(&path));
        drop(changed);
        assert_eq!(names(folder.path()), before);
    }

    #[test]
    fn what_a_killed_process_left_goes_when_the_next_graph_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = model(folder.path());
        let dead = folder.path().join(".modelmeter-unfinished-1-900-graph");
        fs::create_dir(&dead).unwrap();
        fs::hard_link(folder.path().join("model.onnx.data"), dead.join("model.onnx.data")).unwrap();
        let changed = ChangedGraph::write(&Model::read(&path).unwrap(), &path).unwrap();
        assert!(!dead.exists() && changed.path().is_file());
        drop(changed);
        assert_eq!(names(folder.path()), ["model.onnx", "model.onnx.data"]);
    }
}
