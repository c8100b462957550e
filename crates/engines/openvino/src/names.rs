//! The names a file gives its inputs, its outputs and the nodes that make them, read without its weights.
//!
//! OpenVINO merges the names of values that its import makes one, and says any of them: an output behind `Identity`
//! or an input before `Dropout` may come out under another name. The file's own order settles it. The node that makes
//! an output goes by the output's name in OpenVINO; the file tells its own. A damaged file is
//! noticed here too, before OpenVINO tries every format it knows on it and prints what it thinks.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek},
    path::Path,
};

/// The names in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Names {
    /// What must be bound; weights that are listed as inputs are none.
    pub(crate) inputs: Vec<String>,
    /// What comes out.
    pub(crate) outputs: Vec<String>,
    /// The nodes that make the outputs, by output; nodes without a name are left out.
    pub(crate) makers: BTreeMap<String, String>,
}

/// What is found on the way.
#[derive(Default)]
struct Seen {
    names: Names,
    weights: Vec<String>,
}

// Field numbers of ONNX's messages.
const MODEL_GRAPH: u64 = 7;
const GRAPH_NODE: u64 = 1;
const GRAPH_INITIALIZER: u64 = 5;
const GRAPH_INPUT: u64 = 11;
const GRAPH_OUTPUT: u64 = 12;
const GRAPH_SPARSE_INITIALIZER: u64 = 15;
const NODE_OUTPUT: u64 = 2;
const NODE_NAME: u64 = 3;
const VALUE_NAME: u64 = 1;
const TENSOR_NAME: u64 = 8;
const SPARSE_VALUES: u64 = 1;

/// Reads the names of a model's main graph.
pub(crate) fn read(path: &Path) -> io::Result<Names> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut walk = Walk { reader: BufReader::new(file), at: 0, size: metadata.len() };
    let mut seen = Seen::default();
    let mut has_graph = false;
    while let Some((field, end)) = walk.field(metadata.len())? {
        if field == MODEL_GRAPH {
            has_graph = true;
            walk.graph(end, &mut seen)?;
        }
        walk.skip_to(end)?;
    }
    if !has_graph {
        return Err(io::Error::other("it contains no graph"));
    }
    let Seen { mut names, weights } = seen;
    names.inputs.retain(|name| !weights.contains(name));
    names.makers.retain(|output, _| names.outputs.contains(output));
    Ok(names)
}

/// A place in a protobuf file.
struct Walk<R> {
    reader: R,
    at: u64,
    size: u64,
}

impl<R: BufRead + Seek> Walk<R> {
    fn graph(&mut self, end: u64, seen: &mut Seen) -> io::Result<()> {
        while let Some((field, end)) = self.field(end)? {
            match field {
                GRAPH_NODE => self.node(end, &mut seen.names)?,
                GRAPH_INPUT => seen.names.inputs.extend(self.name(end, VALUE_NAME)?),
                GRAPH_OUTPUT => seen.names.outputs.extend(self.name(end, VALUE_NAME)?),
                GRAPH_INITIALIZER => seen.weights.extend(self.name(end, TENSOR_NAME)?),
                GRAPH_SPARSE_INITIALIZER => {
                    while let Some((field, end)) = self.field(end)? {
                        if field == SPARSE_VALUES {
                            seen.weights.extend(self.name(end, TENSOR_NAME)?);
                        }
                        self.skip_to(end)?;
                    }
                }
                _ => {}
            }
            self.skip_to(end)?;
        }
        Ok(())
    }

    fn node(&mut self, end: u64, names: &mut Names) -> io::Result<()> {
        let mut name = String::new();
        let mut outputs = Vec::new();
        while let Some((field, end)) = self.field(end)? {
            match field {
                NODE_NAME => name = self.text(end)?,
                NODE_OUTPUT => outputs.push(self.text(end)?),
                _ => {}
            }
            self.skip_to(end)?;
        }
        if !name.is_empty() {
            names.makers.extend(outputs.into_iter().map(|output| (output, name.clone())));
        }
        Ok(())
    }

    /// The text with this number in the message that ends there.
    fn name(&mut self, end: u64, number: u64) -> io::Result<Option<String>> {
        let mut name = None;
        while let Some((field, end)) = self.field(end)? {
            if field == number {
                name = Some(self.text(end)?);
            }
            self.skip_to(end)?;
        }
        Ok(name)
    }

    /// The text from here to there.
    fn text(&mut self, end: u64) -> io::Result<String> {
        let mut bytes = Vec::new();
        self.reader.by_ref().take(end - self.at).read_to_end(&mut bytes)?;
        self.at = end;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The next field's number and where it ends; `None` at the end of the message.
    fn field(&mut self, end: u64) -> io::Result<Option<(u64, u64)>> {
        if self.at >= end {
            return Ok(None);
        }
        let start = self.at;
        let tag = self.varint()?;
        let length = match tag & 7 {
            0 => {
                self.varint()?;
                0
            }
            1 => 8,
            2 => self.varint()?,
            5 => 4,
            _ => {
                return Err(io::Error::other(format!(
                    "byte {start} is not the start of an ONNX field"
                )));
            }
        };
        match self.at.checked_add(length) {
            Some(field_end) if field_end <= end => Ok(Some((tag >> 3, field_end))),
            _ => Err(io::Error::other(format!(
                "the file ends inside the field that begins at byte {start} of {}",
                self.size
            ))),
        }
    }

    fn varint(&mut self) -> io::Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let mut byte = [0];
            let size = self.size;
            self.reader.read_exact(&mut byte).map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => {
                    io::Error::other(format!("the file ends inside a number at byte {size}"))
                }
                _ => error,
            })?;
            self.at += 1;
            value |= u64::from(byte[0] & 0x7f) << shift;
            if byte[0] < 0x80 {
                return Ok(value);
            }
        }
        Err(io::Error::other(format!("the number at byte {} has no end", self.at)))
    }

    fn skip_to(&mut self, end: u64) -> io::Result<()> {
        let distance = i64::try_from(end - self.at).map_err(io::Error::other)?;
        self.reader.seek_relative(distance)?;
        self.at = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use graph::{DataType, Dim, Graph, Model, Node, Tensor, TensorData, ValueInfo};
    use std::fs;

    /// A model with two inputs, one of them a weight, and two outputs.
    fn write(path: &Path) {
        let value = |name: &str| ValueInfo {
            name: name.into(),
            dtype: DataType::Float,
            shape: Some(vec![Dim::Fixed(2)]),
        };
        let weight = Tensor {
            name: "weight".into(),
            dtype: DataType::Float,
            dims: vec![2],
            data: TensorData::Inline(vec![0; 8].into()),
        };
        let node = |name: &str, output: &str| Node {
            name: name.into(),
            op_type: "Relu".into(),
            domain: String::new(),
            inputs: vec!["x".into()],
            outputs: vec![output.into()],
            attributes: BTreeMap::new(),
        };
        let graph = Graph {
            name: "names".into(),
            inputs: vec![value("weight"), value("x")],
            outputs: vec![value("y"), value("a")],
            nodes: vec![node("first", "h"), node("last", "y"), node("", "a")],
            initializers: vec![weight],
            value_infos: vec![value("inside")],
        };
        let model = Model {
            graph,
            opsets: BTreeMap::from([(String::new(), 17)]),
            ir_version: 3,
            producer: "test".into(),
            metadata: BTreeMap::new(),
            functions: vec![],
            folder: None,
        };
        model.write(path).unwrap();
    }

    #[test]
    fn names_come_in_the_order_of_the_file_without_weights() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.onnx");
        write(&path);
        let names = read(&path).unwrap();
        assert_eq!(names.inputs, ["x"]);
        assert_eq!(names.outputs, ["y", "a"]);
        assert_eq!(names.makers, BTreeMap::from([("y".into(), "last".into())]));
    }

    #[test]
    fn a_file_cut_anywhere_is_an_error_or_has_lost_whole_fields_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.onnx");
        write(&path);
        let bytes = fs::read(&path).unwrap();
        let whole = read(&path).unwrap();
        let mut refused = 0;
        for length in 0..bytes.len() {
            fs::write(&path, &bytes[..length]).unwrap();
            match read(&path) {
                Ok(names) => assert_eq!(names, whole, "cut at {length}"),
                Err(_) => refused += 1,
            }
        }
        assert!(refused > bytes.len() / 2, "{refused} of {}", bytes.len());
    }

    #[test]
    fn what_is_no_model_is_refused_in_words() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.onnx");
        fs::write(&path, "hello").unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("is not the start of an ONNX field"));
        fs::write(&path, "").unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("no graph"));
        assert!(read(folder.path()).is_err());
        // A length that no file can have must not run over.
        fs::write(&path, b"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01").unwrap();
        assert!(read(&path).is_err());
    }
}
