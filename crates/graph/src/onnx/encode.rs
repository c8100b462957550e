//! A model onto a stream, one weight at a time, so that no weight is held twice.

use super::{
    proto::TensorProto,
    tensor::tensor_to,
    to_proto::{graph_to, model_to},
};
use crate::{Model, Tensor};
use bytes::Bytes;
use prost::{
    Message,
    encoding::{WireType, encode_key, encode_varint, encoded_len_varint, key_len},
};
use std::io::{self, Write};

const MODEL_GRAPH: u32 = 7;
const GRAPH_INITIALIZER: u32 = 5;
const TENSOR_RAW_DATA: u32 = 9;

/// A model ready to be written: everything but the weights' bytes is encoded.
pub(crate) struct Encoded {
    head: Vec<u8>,
    graph: Vec<u8>,
    weights: Vec<(TensorProto, Option<Bytes>)>,
}

impl Encoded {
    /// Prepares `model` with these weights in place of its own.
    pub(crate) fn new(model: &Model, weights: &[Tensor]) -> Encoded {
        Encoded {
            head: model_to(model).encode_to_vec(),
            graph: graph_to(&model.graph).encode_to_vec(),
            weights: weights
                .iter()
                .map(|tensor| {
                    let (proto, raw) = tensor_to(tensor);
                    let inline = matches!(tensor.data, crate::TensorData::Inline(_));
                    (proto, inline.then_some(raw))
                })
                .collect(),
        }
    }

    fn weight_len((proto, raw): &(TensorProto, Option<Bytes>)) -> u64 {
        let raw = raw.as_ref().map_or(0, |raw| {
            key_len(TENSOR_RAW_DATA) + encoded_len_varint(raw.len() as u64) + raw.len()
        });
        (proto.encoded_len() + raw) as u64
    }

    fn graph_len(&self) -> u64 {
        let weights: u64 = self
            .weights
            .iter()
            .map(Encoded::weight_len)
            .map(|len| len + (key_len(GRAPH_INITIALIZER) + encoded_len_varint(len)) as u64)
            .sum();
        self.graph.len() as u64 + weights
    }

    /// Bytes of the whole file.
    pub(crate) fn len(&self) -> u64 {
        let graph = self.graph_len();
        let prefix = key_len(MODEL_GRAPH) + encoded_len_varint(graph);
        (self.head.len() + prefix) as u64 + graph
    }

    /// Writes the whole file.
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let mut small = Vec::new();
        out.write_all(&self.head)?;
        encode_key(MODEL_GRAPH, WireType::LengthDelimited, &mut small);
        encode_varint(self.graph_len(), &mut small);
        out.write_all(&small)?;
        out.write_all(&self.graph)?;
        for weight in &self.weights {
            small.clear();
            encode_key(GRAPH_INITIALIZER, WireType::LengthDelimited, &mut small);
            encode_varint(Encoded::weight_len(weight), &mut small);
            small.extend(weight.0.encode_to_vec());
            if let Some(raw) = &weight.1 {
                encode_key(TENSOR_RAW_DATA, WireType::LengthDelimited, &mut small);
                encode_varint(raw.len() as u64, &mut small);
                out.write_all(&small)?;
                out.write_all(raw)?;
            } else {
                out.write_all(&small)?;
            }
        }
        Ok(())
    }
}
