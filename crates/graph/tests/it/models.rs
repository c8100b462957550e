//! Models that several tests use.

use modelmeter_graph::{Attribute, DataType, Dim, Graph, GraphBuilder, Model, Tensor, infer};

/// Dims out of numbers and names.
pub(crate) fn dims(list: &[usize]) -> Vec<Dim> {
    list.iter().map(|size| Dim::Fixed(*size)).collect()
}

/// A little of everything: weights of several types, a subgraph, a constant node, symbols, another domain.
pub(crate) fn everything() -> Model {
    let mut builder = GraphBuilder::new("everything");
    let ids = builder.input("ids", DataType::Int64, &["batch".into(), "length".into()]);
    let flag = builder.input("flag", DataType::Bool, &[]);
    let hidden = builder.scope("embeddings", |b| {
        let table = b.initializer(Tensor::from_f32s("word.weight", &[5, 4], &[0.25; 20]));
        b.node("Gather", &[&table, &ids], &[])
    });
    let hidden = builder.scope("encoder.layer.0", |b| {
        let weight = b.node(
            "Constant",
            &[],
            &[("value", Attribute::Tensor(Tensor::from_f32s("", &[4, 4], &[0.5; 16])))],
        );
        let product = b.node("MatMul", &[&hidden, &weight], &[]);
        let bias = b.initializer(Tensor::from_f32s("layer.0.bias", &[4], &[1.0, 2.0, 3.0, 4.0]));
        b.add("com.microsoft", "BiasGelu", &[&product, &bias], &[], 1).swap_remove(0)
    });
    let branch = |op: &str| {
        let mut inner = GraphBuilder::new(op);
        let made = inner.node(op, &[&hidden], &[]);
        inner.output(&format!("{op}_out"), &made, DataType::Float, &[]);
        let mut graph = inner.finish();
        graph.outputs[0].shape = None;
        subgraph(graph)
    };
    let chosen = [("then_branch", branch("Relu")), ("else_branch", branch("Neg"))];
    let y = builder.node("If", &[&flag], &chosen);
    builder.initializer(Tensor::from_bytes("spare", DataType::Int4, &[3], vec![0x21, 0x03]));
    builder.output("y", &y, DataType::Float, &["batch".into(), Dim::Unknown, 4.into()]);
    let mut model = builder.finish_model();
    model.metadata.insert("author".to_string(), "a test".to_string());
    model
}

/// A model of one node over inputs of these types and dims, with constants behind them.
pub(crate) struct One {
    builder: GraphBuilder,
    inputs: Vec<String>,
    attributes: Vec<(&'static str, Attribute)>,
    domain: &'static str,
}

impl One {
    pub(crate) fn new() -> One {
        One {
            builder: GraphBuilder::new("one"),
            inputs: Vec::new(),
            attributes: Vec::new(),
            domain: "",
        }
    }

    pub(crate) fn microsoft() -> One {
        One { domain: "com.microsoft", ..One::new() }
    }

    pub(crate) fn input(self, sizes: &[usize]) -> One {
        self.typed(DataType::Float, sizes)
    }

    pub(crate) fn typed(mut self, dtype: DataType, sizes: &[usize]) -> One {
        let name = format!("x{}", self.inputs.len());
        self.builder.input(&name, dtype, &dims(sizes));
        self.inputs.push(name);
        self
    }

    pub(crate) fn integers(mut self, values: &[i64]) -> One {
        self.inputs.push(self.builder.constant_i64(values));
        self
    }

    pub(crate) fn constant(mut self, tensor: Tensor) -> One {
        self.inputs.push(self.builder.initializer(tensor));
        self
    }

    pub(crate) fn omitted(mut self) -> One {
        self.inputs.push(String::new());
        self
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<Attribute>) -> One {
        self.attributes.push((name, value.into()));
        self
    }

    pub(crate) fn model(mut self, op: &str, outputs: usize) -> Model {
        let inputs: Vec<&str> = self.inputs.iter().map(String::as_str).collect();
        let made = self.builder.add(self.domain, op, &inputs, &self.attributes, outputs);
        for (index, value) in made.iter().enumerate() {
            self.builder.output(&format!("y{index}"), value, DataType::Undefined, &[]);
        }
        let mut model = self.builder.finish_model();
        for output in &mut model.graph.outputs {
            output.shape = None;
        }
        model
    }

    /// The dims of the only output.
    pub(crate) fn dims(self, op: &str) -> Option<Vec<usize>> {
        infer(&self.model(op, 1), &[]).dims("y0").map(<[usize]>::to_vec)
    }

    /// The operations of the node.
    pub(crate) fn flops(self, op: &str) -> Option<u64> {
        let analysis = modelmeter_graph::analyse(&self.model(op, 1), &[]);
        analysis.nodes[0].flops.map(|flops| flops.0)
    }
}

/// A graph as an argument.
pub(crate) fn subgraph(graph: Graph) -> Attribute {
    Attribute::Graph(Box::new(graph))
}
