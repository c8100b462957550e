//! From our graph to ONNX's messages. The main graph's weights are left out here: `encode` streams them.

use super::{
    proto::{
        AttributeProto, DimensionProto, DimensionValue, GraphProto, ModelProto, NodeProto,
        OperatorSetIdProto, StringStringEntryProto, TensorProto, TensorShapeProto, TensorTypeProto,
        TypeProto, ValueInfoProto, kind,
    },
    tensor::tensor_to,
};
use crate::{Attribute, DataType, Dim, Graph, Model, Node, Tensor, ValueInfo};
use bytes::Bytes;
use prost::Message;

/// Everything of a model but its graph.
pub(crate) fn model_to(model: &Model) -> ModelProto {
    ModelProto {
        ir_version: Some(model.ir_version),
        producer_name: (!model.producer.is_empty()).then(|| model.producer.clone()),
        producer_version: None,
        graph: None,
        opset_import: model
            .opsets
            .iter()
            .map(|(domain, version)| OperatorSetIdProto {
                domain: Some(domain.clone()),
                version: Some(*version),
            })
            .collect(),
        metadata_props: model
            .metadata
            .iter()
            .map(|(key, value)| StringStringEntryProto {
                key: Some(key.clone()),
                value: Some(value.clone()),
            })
            .collect(),
        functions: model.functions.clone(),
    }
}

/// A graph without its weights.
pub(crate) fn graph_to(graph: &Graph) -> GraphProto {
    GraphProto {
        node: graph.nodes.iter().map(node_to).collect(),
        name: Some(graph.name.clone()),
        initializer: Vec::new(),
        input: graph.inputs.iter().map(value_to).collect(),
        output: graph.outputs.iter().map(value_to).collect(),
        value_info: graph.value_infos.iter().map(value_to).collect(),
        sparse_initializer: Vec::new(),
    }
}

fn node_to(node: &Node) -> NodeProto {
    NodeProto {
        input: node.inputs.clone(),
        output: node.outputs.clone(),
        name: (!node.name.is_empty()).then(|| node.name.clone()),
        op_type: Some(node.op_type.clone()),
        attribute: node.attributes.iter().map(|(name, value)| attribute_to(name, value)).collect(),
        domain: (!node.domain.is_empty()).then(|| node.domain.clone()),
    }
}

fn whole_tensor(tensor: &Tensor) -> TensorProto {
    let (mut proto, raw) = tensor_to(tensor);
    if matches!(tensor.data, crate::TensorData::Inline(_)) {
        proto.raw_data = Some(raw);
    }
    proto
}

fn attribute_to(name: &str, value: &Attribute) -> AttributeProto {
    let mut proto = AttributeProto { name: Some(name.to_string()), ..AttributeProto::default() };
    let kind = match value {
        Attribute::Int(value) => {
            proto.i = Some(*value);
            kind::INT
        }
        Attribute::Float(value) => {
            proto.f = Some(*value);
            kind::FLOAT
        }
        Attribute::String(value) => {
            proto.s = Some(Bytes::copy_from_slice(value));
            kind::STRING
        }
        Attribute::Ints(values) => {
            proto.ints = values.clone();
            kind::INTS
        }
        Attribute::Floats(values) => {
            proto.floats = values.clone();
            kind::FLOATS
        }
        Attribute::Strings(values) => {
            proto.strings = values.iter().map(|s| Bytes::copy_from_slice(s)).collect();
            kind::STRINGS
        }
        Attribute::Tensor(tensor) => {
            proto.t = Some(whole_tensor(tensor));
            kind::TENSOR
        }
        Attribute::Graph(graph) => {
            let mut inner = graph_to(graph);
            inner.initializer = graph.initializers.iter().map(whole_tensor).collect();
            proto.g = Some(inner);
            kind::GRAPH
        }
        Attribute::Opaque(wire) => {
            // Kept whole, its type included; what cannot be decoded was not made by us.
            return AttributeProto::decode(wire.as_slice()).unwrap_or(proto);
        }
    };
    proto.kind = Some(kind);
    proto
}

fn value_to(value: &ValueInfo) -> ValueInfoProto {
    let shape = value.shape.as_ref().map(|dims| TensorShapeProto {
        dim: dims
            .iter()
            .map(|dim| DimensionProto {
                value: match dim {
                    Dim::Fixed(value) => Some(DimensionValue::DimValue(*value as i64)),
                    Dim::Symbol(name) => Some(DimensionValue::DimParam(name.clone())),
                    Dim::Unknown => None,
                },
            })
            .collect(),
    });
    let undeclared = value.dtype == DataType::Undefined && shape.is_none();
    ValueInfoProto {
        name: Some(value.name.clone()),
        kind: (!undeclared).then_some(TypeProto {
            tensor_type: Some(TensorTypeProto { elem_type: Some(value.dtype as i32), shape }),
        }),
    }
}

/// The wire form of a graph as one of a model's functions; `references` are arguments that stand for the call's.
#[cfg(test)]
pub(crate) fn function_wire(domain: &str, graph: &Graph, references: &[(&str, &str)]) -> Bytes {
    let mut nodes: Vec<NodeProto> = graph.nodes.iter().map(node_to).collect();
    for attribute in nodes.iter_mut().flat_map(|node| &mut node.attribute) {
        let name = attribute.name.clone().unwrap_or_default();
        if let Some((_, reference)) = references.iter().find(|(known, _)| *known == name) {
            attribute.s = None;
            attribute.ref_attr_name = Some(reference.to_string());
        }
    }
    let function = super::FunctionProto {
        name: Some(graph.name.clone()),
        input: graph.inputs.iter().map(|value| value.name.clone()).collect(),
        output: graph.outputs.iter().map(|value| value.name.clone()).collect(),
        node: nodes,
        domain: Some(domain.to_string()),
        attribute_proto: Vec::new(),
    };
    function.encode_to_vec().into()
}
