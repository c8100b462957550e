//! The small models that the tests run.

use graph::{Attribute, DataType, Dim, GraphBuilder, Model, Tensor, TensorData};
use std::path::{Path, PathBuf};
use types::HostTensor;

/// A model's parts, written as they come.
pub(crate) struct Sketch {
    builder: GraphBuilder,
}

impl Sketch {
    pub(crate) fn new() -> Sketch {
        let mut builder = GraphBuilder::new("test");
        builder.set_opset("", 17);
        Sketch { builder }
    }

    /// An input `[batch, columns]`.
    pub(crate) fn input(mut self, name: &str, dtype: DataType, columns: usize) -> Sketch {
        self.builder.input(name, dtype, &[Dim::Symbol("batch".into()), Dim::Fixed(columns)]);
        self
    }

    pub(crate) fn weight(
        mut self,
        name: &str,
        dtype: DataType,
        dims: &[usize],
        data: Vec<u8>,
    ) -> Sketch {
        self.builder.initializer(Tensor {
            name: name.into(),
            dtype,
            dims: dims.to_vec(),
            data: TensorData::Inline(data.into()),
        });
        self
    }

    pub(crate) fn floats(self, name: &str, dims: &[usize], values: &[f32]) -> Sketch {
        let bytes = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.weight(name, DataType::Float, dims, bytes)
    }

    pub(crate) fn write(
        self,
        path: &Path,
        nodes: &[Op<'_>],
        outputs: &[(&str, DataType)],
    ) -> PathBuf {
        let mut model: Model = self.builder.finish_model();
        model.graph.nodes = nodes.iter().map(Op::node).collect();
        model.graph.outputs = outputs
            .iter()
            .map(|(name, dtype)| graph::ValueInfo {
                name: (*name).into(),
                dtype: *dtype,
                shape: Some(vec![Dim::Unknown, Dim::Unknown]),
            })
            .collect();
        model.write(path).unwrap();
        path.to_owned()
    }
}

/// A node: name, operator, inputs, outputs.
pub(crate) struct Op<'a>(
    pub(crate) &'a str,
    pub(crate) &'a str,
    pub(crate) &'a [&'a str],
    pub(crate) &'a [&'a str],
);

impl Op<'_> {
    fn node(&self) -> graph::Node {
        let texts = |names: &[&str]| names.iter().map(|&name| name.into()).collect();
        let mut node = graph::Node {
            name: self.0.into(),
            op_type: self.1.into(),
            domain: String::new(),
            inputs: texts(self.2),
            outputs: texts(self.3),
            attributes: Default::default(),
        };
        if self.1 == "Cast" {
            node.attributes.insert("to".into(), Attribute::Int(DataType::Float as i64));
        }
        node
    }
}

/// `y = relu(x · w)` with a 2 × 2 weight, and whatever operator the test wants in front of it.
pub(crate) fn dense(folder: &Path, first_operator: &str) -> PathBuf {
    let nodes = [
        Op("first", first_operator, &["x"], &["h"]),
        Op("dense.MatMul", "MatMul", &["h", "w"], &["product"]),
        Op("dense.Relu", "Relu", &["product"], &["y"]),
    ];
    Sketch::new().input("x", DataType::Float, 2).floats("w", &[2, 2], &[1.0, 2.0, 3.0, -4.0]).write(
        &folder.join("model.onnx"),
        &nodes,
        &[("y", DataType::Float)],
    )
}

/// How many columns [`wide`] has.
pub(crate) const WIDE: usize = 512;

/// Two layers large enough to take time; ones in are ones out.
pub(crate) fn wide(folder: &Path) -> PathBuf {
    let nodes = [
        Op("encoder.first.MatMul", "MatMul", &["x", "w"], &["h"]),
        Op("encoder.first.Erf", "Erf", &["h"], &["s"]),
        Op("encoder.second.MatMul", "MatMul", &["s", "v"], &["y"]),
    ];
    let share = 1.0 / WIDE as f32;
    // The error function of 1.
    let back = share / 0.842_700_8;
    Sketch::new()
        .input("x", DataType::Float, WIDE)
        .floats("w", &[WIDE, WIDE], &vec![share; WIDE * WIDE])
        .floats("v", &[WIDE, WIDE], &vec![back; WIDE * WIDE])
        .write(&folder.join("wide.onnx"), &nodes, &[("y", DataType::Float)])
}

/// A transformer encoder of two layers, as `models` builds it, and inputs for it.
pub(crate) fn encoder(folder: &Path) -> (PathBuf, Vec<HostTensor>) {
    let description = folder.join("encoder.toml");
    let text = "vocab_size = 60\nd_model = 128\nnum_heads = 4\nnum_layers = 2\nd_ff = 256\n";
    std::fs::write(&description, text).unwrap();
    let name = description.to_str().unwrap();
    let request =
        ::models::Request { offline: true, ..::models::Request::new(name, folder.join("cache")) };
    let resolved = ::models::resolve(&request, &mut |_| {}).unwrap();
    let specs = resolved.inputs(2, Some(32), &[]).unwrap();
    (resolved.onnx, specs.iter().map(|spec| engine::draw(spec, 7)).collect())
}
