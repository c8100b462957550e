//! A graph being drawn: the nodes in their module scopes, and the weights asked for on the way.

use super::{blocks::FusedPositions, naming::CheckpointNames};
use crate::{Blueprint, DecoderBlueprint, Init, InputKind, Layout, Origin, Weight};
use graph::{Attribute, DataType, Dim, GraphBuilder, Tensor};
use std::collections::HashSet;
use types::{Category, DecoderDialect, DecoderShape, InputRole, Postprocess};

/// The name of a value in the graph.
pub(super) type Value = String;

/// What a model is, apart from its graph.
pub(super) struct Purpose {
    pub(super) architecture: String,
    pub(super) category: Category,
    pub(super) postprocess: Postprocess,
    pub(super) max_length: Option<usize>,
    pub(super) origin: Origin,
}

/// A graph being drawn.
pub(super) struct Draft {
    graph: GraphBuilder,
    weights: Vec<Weight>,
    declared: HashSet<String>,
    inputs: Vec<InputKind>,
    outputs: Vec<(String, Value, Vec<Dim>)>,
    names: CheckpointNames,
    dialect: DecoderDialect,
    /// What the fused attentions of all layers share, in a graph that has them.
    fused: Option<FusedPositions>,
}

impl Draft {
    pub(super) fn new(name: &str, names: CheckpointNames) -> Draft {
        Draft {
            graph: GraphBuilder::new(name),
            weights: Vec::new(),
            declared: HashSet::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            names,
            dialect: DecoderDialect::Standard,
            fused: None,
        }
    }

    /// The same in another dialect, where the model can be drawn in it.
    pub(super) fn in_dialect(self, dialect: DecoderDialect) -> Draft {
        Draft { dialect, ..self }
    }

    /// Whether attentions with a past shall be one operator.
    pub(super) fn wants_fused(&self) -> bool {
        self.dialect == DecoderDialect::Fused
    }

    /// Draws inside a module; the path is relative to the module being drawn and may be empty.
    pub(super) fn within<R>(&mut self, module: &str, draw: impl FnOnce(&mut Draft) -> R) -> R {
        self.graph.push_scope(module);
        let result = draw(self);
        self.graph.pop_scope();
        result
    }

    /// A node with one output.
    pub(super) fn op(
        &mut self,
        op: &str,
        inputs: &[&str],
        attributes: &[(&str, Attribute)],
    ) -> Value {
        self.graph.node(op, inputs, attributes)
    }

    /// A node of the operators that ONNX Runtime added, with so many outputs.
    pub(super) fn microsoft(
        &mut self,
        op: &str,
        inputs: &[&str],
        attributes: &[(&str, Attribute)],
        outputs: usize,
    ) -> Vec<Value> {
        self.graph.add("com.microsoft", op, inputs, attributes, outputs)
    }

    /// Lets every attention with a past be one operator from here on.
    pub(super) fn fuse(&mut self, positions: FusedPositions) {
        self.fused = Some(positions);
    }

    /// What fused attentions share; `None` in a graph of standard operators.
    pub(super) fn fused(&self) -> Option<FusedPositions> {
        self.fused.clone()
    }

    /// A node that cuts its input into three equal parts along the last axis.
    pub(super) fn split_in_three(&mut self, value: &str, part: usize) -> [Value; 3] {
        let sizes = self.integers(&[part as i64; 3]);
        let axis = [("axis", Attribute::Int(-1))];
        let parts = self.graph.node_multi("Split", &[value, &sizes], &axis, 3);
        parts.try_into().expect("three outputs were asked for")
    }

    /// A parameter of the module being drawn.
    pub(super) fn weight(
        &mut self,
        parameter: &str,
        dims: &[usize],
        layout: Layout,
        init: Init,
    ) -> Value {
        let path = self.graph.path();
        let name =
            if path.is_empty() { parameter.to_owned() } else { format!("{path}.{parameter}") };
        self.shared_weight(name, dims, layout, init)
    }

    /// A parameter by its full name, wherever it is used; the second use gives the same one.
    pub(super) fn shared_weight(
        &mut self,
        name: String,
        dims: &[usize],
        layout: Layout,
        init: Init,
    ) -> Value {
        if self.declared.insert(name.clone()) {
            self.weights.push(Weight {
                name: name.clone(),
                checkpoint: self.names.candidates(&name),
                dims: dims.to_vec(),
                layout,
                init,
            });
        }
        name
    }

    /// A list of integers.
    pub(super) fn integers(&mut self, values: &[i64]) -> Value {
        self.graph.constant_i64(values)
    }

    /// One integer without dimensions.
    pub(super) fn integer(&mut self, value: i64) -> Value {
        self.graph.scalar_i64(value)
    }

    /// One number without dimensions.
    pub(super) fn number(&mut self, value: f32) -> Value {
        self.graph.scalar_f32(value)
    }

    /// A table of numbers.
    pub(super) fn table(&mut self, dims: &[usize], values: &[f32]) -> Value {
        self.graph.constant(Tensor::from_f32s("", dims, values))
    }

    /// A list of numbers.
    pub(super) fn numbers(&mut self, values: &[f32]) -> Value {
        self.graph.constant(Tensor::from_f32s("", &[values.len()], values))
    }

    pub(super) fn reshape(&mut self, value: &str, shape: &[i64]) -> Value {
        let shape = self.integers(shape);
        self.op("Reshape", &[value, &shape], &[])
    }

    pub(super) fn transpose(&mut self, value: &str, order: &[i64]) -> Value {
        self.op("Transpose", &[value], &[("perm", order.to_vec().into())])
    }

    pub(super) fn unsqueeze(&mut self, value: &str, axes: &[i64]) -> Value {
        let axes = self.integers(axes);
        self.op("Unsqueeze", &[value, &axes], &[])
    }

    pub(super) fn concat(&mut self, values: &[&str], axis: i64) -> Value {
        self.op("Concat", values, &[("axis", axis.into())])
    }

    pub(super) fn cast(&mut self, value: &str, to: DataType) -> Value {
        self.op("Cast", &[value], &[("to", Attribute::Int(i64::from(to as i32)))])
    }

    /// What lies at one place of an axis, without that axis.
    pub(super) fn pick(&mut self, value: &str, place: i64, axis: i64) -> Value {
        let place = self.integer(place);
        self.op("Gather", &[value, &place], &[("axis", axis.into())])
    }

    /// From `start` up to `end` along one axis.
    pub(super) fn slice(&mut self, value: &str, start: i64, end: i64, axis: i64) -> Value {
        let (start, end) = (self.integers(&[start]), self.integers(&[end]));
        let axis = self.integers(&[axis]);
        self.op("Slice", &[value, &start, &end, &axis], &[])
    }

    /// Token ids, `[batch, sequence]`.
    pub(super) fn token_ids(
        &mut self,
        name: &str,
        role: InputRole,
        length: &str,
        vocabulary: Option<usize>,
    ) -> Value {
        let dims = [Dim::from("batch"), Dim::from(length)];
        self.input(name, role, DataType::Int64, &dims, vocabulary)
    }

    /// An input of the graph.
    pub(super) fn input(
        &mut self,
        name: &str,
        role: InputRole,
        dtype: DataType,
        dims: &[Dim],
        vocabulary: Option<usize>,
    ) -> Value {
        self.inputs.push(InputKind { name: name.to_owned(), role, vocabulary });
        self.graph.input(name, dtype, dims)
    }

    /// Makes a value an output; the names change only when the graph is finished, so drawing may go on.
    pub(super) fn output(&mut self, name: impl Into<String>, value: Value, dims: Vec<Dim>) {
        self.outputs.push((name.into(), value, dims));
    }

    pub(super) fn finish(mut self, purpose: Purpose) -> Blueprint {
        for (name, value, dims) in self.outputs {
            self.graph.output(&name, &value, DataType::Float, &dims);
        }
        Blueprint {
            model: self.graph.finish_model(),
            weights: self.weights,
            dtype: DataType::Float,
            category: purpose.category,
            architecture: purpose.architecture,
            inputs: self.inputs,
            max_length: purpose.max_length,
            postprocess: purpose.postprocess,
            origin: purpose.origin,
            decoder: None,
        }
    }

    /// The graph that was drawn, without what surrounds it, and its weights.
    pub(super) fn finish_decoder(mut self, shape: DecoderShape) -> (DecoderBlueprint, Vec<Weight>) {
        for (name, value, dims) in self.outputs {
            self.graph.output(&name, &value, DataType::Float, &dims);
        }
        let mut model = self.graph.finish_model();
        let fused = self.fused.as_ref();
        let tables = fused.and_then(|fused| fused.rotary.as_ref()).map(|tables| tables.join("\n"));
        model.metadata.extend(tables.map(|tables| (graph::BUFFERS.to_owned(), tables)));
        let reach = fused.map(|fused| fused.reach);
        (DecoderBlueprint { model, inputs: self.inputs, shape, reach }, self.weights)
    }
}

/// `[batch, length, width]`, the shape of hidden states.
pub(super) fn hidden_dims(length: &str, width: usize) -> Vec<Dim> {
    vec![Dim::from("batch"), Dim::from(length), Dim::from(width)]
}

/// `[batch, width]`, the shape of one vector for each sample.
pub(super) fn vector_dims(width: usize) -> Vec<Dim> {
    vec![Dim::from("batch"), Dim::from(width)]
}
