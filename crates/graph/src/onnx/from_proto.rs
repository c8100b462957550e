//! From ONNX's messages to our graph.

use super::{
    ReadError,
    proto::{
        AttributeProto, DimensionValue, FunctionProto, GraphProto, ModelProto, NodeProto,
        SparseTensorProto, ValueInfoProto, kind,
    },
    tensor::tensor_from,
};
use crate::{Attribute, DataType, Dim, Graph, Model, Node, ValueInfo};
use bytes::Bytes;
use prost::Message;
use std::collections::{BTreeMap, HashSet};

/// Arguments of a call, which a function's body may refer to.
type CallAttributes = BTreeMap<String, Attribute>;

/// A model from its wire form; `None` if there is no graph.
pub(crate) fn model_from(proto: ModelProto) -> Result<Option<Model>, ReadError> {
    let Some(graph) = proto.graph else { return Ok(None) };
    let producer: Vec<String> = [proto.producer_name, proto.producer_version]
        .into_iter()
        .flatten()
        .filter(|part| !part.is_empty())
        .collect();
    let opsets = proto
        .opset_import
        .into_iter()
        .map(|set| {
            let domain = set.domain.unwrap_or_default();
            (if domain == "ai.onnx" { String::new() } else { domain }, set.version.unwrap_or(1))
        })
        .collect();
    Ok(Some(Model {
        graph: graph_from(graph, None)?,
        opsets,
        ir_version: proto.ir_version.unwrap_or(0),
        producer: producer.join(" "),
        metadata: proto
            .metadata_props
            .into_iter()
            .map(|entry| (entry.key.unwrap_or_default(), entry.value.unwrap_or_default()))
            .collect(),
        functions: proto.functions,
        folder: None,
    }))
}

fn graph_from(proto: GraphProto, call: Option<&CallAttributes>) -> Result<Graph, ReadError> {
    let initializers =
        proto.initializer.into_iter().map(tensor_from).collect::<Result<Vec<_>, _>>()?;
    let mut nodes = Vec::with_capacity(proto.node.len() + proto.sparse_initializer.len());
    for sparse in proto.sparse_initializer {
        nodes.extend(sparse_constant(&sparse));
    }
    let constants: HashSet<&str> = initializers
        .iter()
        .map(|tensor| tensor.name.as_str())
        .chain(nodes.iter().flat_map(|node: &Node| node.outputs.iter().map(String::as_str)))
        .collect();
    let inputs = proto
        .input
        .into_iter()
        .map(value_from)
        .filter(|input| !constants.contains(input.name.as_str()))
        .collect();
    for node in proto.node {
        nodes.push(node_from(node, call)?);
    }
    Ok(Graph {
        name: proto.name.unwrap_or_default(),
        inputs,
        outputs: proto.output.into_iter().map(value_from).collect(),
        nodes,
        initializers,
        value_infos: proto.value_info.into_iter().map(value_from).collect(),
    })
}

/// A sparse weight as the `Constant` node that means the same; our graph has no second kind of weight.
fn sparse_constant(wire: &Bytes) -> Option<Node> {
    let name = SparseTensorProto::decode(wire.clone()).ok()?.values?.name?;
    let attribute = AttributeProto {
        name: Some("sparse_value".to_string()),
        kind: Some(kind::SPARSE_TENSOR),
        sparse_tensor: Some(wire.clone()),
        ..AttributeProto::default()
    };
    Some(Node {
        name: format!("{name}.Constant"),
        op_type: "Constant".to_string(),
        domain: String::new(),
        inputs: Vec::new(),
        outputs: vec![name],
        attributes: BTreeMap::from([(
            "sparse_value".to_string(),
            Attribute::Opaque(attribute.encode_to_vec()),
        )]),
    })
}

fn node_from(proto: NodeProto, call: Option<&CallAttributes>) -> Result<Node, ReadError> {
    let mut attributes = BTreeMap::new();
    for attribute in proto.attribute {
        let name = attribute.name.clone().unwrap_or_default();
        let reference = attribute.ref_attr_name.as_deref().filter(|name| !name.is_empty());
        match (reference, call) {
            // In a function's body an argument may stand for one of the call's; one not given is not there.
            (Some(reference), Some(call)) => {
                if let Some(value) = call.get(reference) {
                    attributes.insert(name, value.clone());
                }
            }
            _ => {
                attributes.insert(name, attribute_from(attribute, call)?);
            }
        }
    }
    Ok(Node {
        name: proto.name.unwrap_or_default(),
        op_type: proto.op_type.unwrap_or_default(),
        domain: proto.domain.unwrap_or_default(),
        inputs: proto.input,
        outputs: proto.output,
        attributes,
    })
}

fn attribute_from(
    proto: AttributeProto,
    call: Option<&CallAttributes>,
) -> Result<Attribute, ReadError> {
    // Files older than the type field say it by which value is there.
    let guessed = if proto.f.is_some() {
        kind::FLOAT
    } else if proto.i.is_some() {
        kind::INT
    } else if proto.s.is_some() {
        kind::STRING
    } else if proto.t.is_some() {
        kind::TENSOR
    } else if proto.g.is_some() {
        kind::GRAPH
    } else if !proto.floats.is_empty() {
        kind::FLOATS
    } else if !proto.ints.is_empty() {
        kind::INTS
    } else if !proto.strings.is_empty() {
        kind::STRINGS
    } else {
        0
    };
    let kind = proto.kind.filter(|kind| *kind != 0).unwrap_or(guessed);
    let value = match (kind, &proto) {
        (kind::FLOAT, proto) => Attribute::Float(proto.f.unwrap_or_default()),
        (kind::INT, proto) => Attribute::Int(proto.i.unwrap_or_default()),
        (kind::STRING, proto) => {
            Attribute::String(proto.s.as_ref().map(|s| s.to_vec()).unwrap_or_default())
        }
        (kind::FLOATS, _) => Attribute::Floats(proto.floats),
        (kind::INTS, _) => Attribute::Ints(proto.ints),
        (kind::STRINGS, proto) => {
            Attribute::Strings(proto.strings.iter().map(|s| s.to_vec()).collect())
        }
        (kind::TENSOR, AttributeProto { t: Some(_), .. }) => {
            Attribute::Tensor(tensor_from(proto.t.unwrap_or_default())?)
        }
        (kind::GRAPH, AttributeProto { g: Some(_), .. }) => {
            Attribute::Graph(Box::new(graph_from(proto.g.unwrap_or_default(), call)?))
        }
        _ => Attribute::Opaque(proto.encode_to_vec()),
    };
    Ok(value)
}

fn value_from(proto: ValueInfoProto) -> ValueInfo {
    let tensor = proto.kind.and_then(|kind| kind.tensor_type).unwrap_or_default();
    let dtype = DataType::try_from(tensor.elem_type.unwrap_or(0)).unwrap_or(DataType::Undefined);
    let shape = tensor.shape.map(|shape| {
        shape
            .dim
            .into_iter()
            .map(|dim| match dim.value {
                // A negative size is how some exporters write "unknown".
                Some(DimensionValue::DimValue(value)) => {
                    usize::try_from(value).map_or(Dim::Unknown, Dim::Fixed)
                }
                Some(DimensionValue::DimParam(name)) if !name.is_empty() => Dim::Symbol(name),
                _ => Dim::Unknown,
            })
            .collect()
    });
    ValueInfo { name: proto.name.unwrap_or_default(), dtype, shape }
}

/// The body of a model's own function with a call's arguments filled in.
pub(crate) fn function_body(
    function: &FunctionProto,
    call: &CallAttributes,
) -> Result<Graph, ReadError> {
    let mut arguments = CallAttributes::new();
    for default in &function.attribute_proto {
        let name = default.name.clone().unwrap_or_default();
        arguments.insert(name, attribute_from(default.clone(), None)?);
    }
    arguments.extend(call.iter().map(|(name, value)| (name.clone(), value.clone())));
    let value =
        |name: &String| ValueInfo { name: name.clone(), dtype: DataType::Undefined, shape: None };
    let nodes = function
        .node
        .iter()
        .map(|node| node_from(node.clone(), Some(&arguments)))
        .collect::<Result<Vec<Node>, ReadError>>()?;
    Ok(Graph {
        name: function.name.clone().unwrap_or_default(),
        inputs: function.input.iter().map(value).collect(),
        outputs: function.output.iter().map(value).collect(),
        nodes,
        initializers: Vec::new(),
        value_infos: Vec::new(),
    })
}

/// The type and dims of a sparse tensor kept as an attribute's wire form.
pub(crate) fn sparse_type(attribute: &[u8]) -> Option<(DataType, Vec<usize>)> {
    let wire = AttributeProto::decode(attribute).ok()?.sparse_tensor?;
    let sparse = SparseTensorProto::decode(wire).ok()?;
    let dtype = DataType::try_from(sparse.values?.data_type?).ok()?;
    let dims = sparse.dims.iter().map(|dim| usize::try_from(*dim).ok()).collect::<Option<_>>()?;
    Some((dtype, dims))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::onnx::proto::TensorProto;

    #[test]
    fn a_sparse_initializer_becomes_a_constant_and_is_no_input() {
        let sparse = SparseTensorProto {
            values: Some(TensorProto {
                name: Some("w".to_string()),
                data_type: Some(DataType::Float as i32),
                dims: vec![1],
                float_data: vec![1.0],
                ..TensorProto::default()
            }),
            dims: vec![3, 4],
        };
        let graph = GraphProto {
            sparse_initializer: vec![sparse.encode_to_vec().into()],
            input: vec![ValueInfoProto { name: Some("w".to_string()), kind: None }],
            ..GraphProto::default()
        };
        let graph = graph_from(graph, None).unwrap();
        assert!(graph.inputs.is_empty());
        let [node] = &graph.nodes[..] else { panic!("one node") };
        let Some(Attribute::Opaque(wire)) = node.attributes.get("sparse_value") else {
            panic!("{node:?}");
        };
        assert_eq!(node.outputs, ["w"]);
        assert_eq!(sparse_type(wire), Some((DataType::Float, vec![3, 4])));
    }

    #[test]
    fn attributes_of_old_files_are_known_by_their_value() {
        let old = |proto: AttributeProto| attribute_from(proto, None).unwrap();
        let int = AttributeProto { i: Some(3), ..AttributeProto::default() };
        assert_eq!(old(int), Attribute::Int(3));
        let ints = AttributeProto { ints: vec![1, 2], ..AttributeProto::default() };
        assert_eq!(old(ints), Attribute::Ints(vec![1, 2]));
    }
}
