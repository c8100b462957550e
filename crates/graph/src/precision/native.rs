//! Which format a model computes in.

use crate::{DataType, Graph, Model, Node};
use std::collections::HashSet;
use types::Precision;

/// Operators that multiply integers.
const QUANTISED: [&str; 11] = [
    "MatMulInteger",
    "ConvInteger",
    "QLinearMatMul",
    "QLinearConv",
    "QGemm",
    "QAttention",
    "DynamicQuantizeMatMul",
    "MatMulIntegerToFloat",
    "DynamicQuantizeLSTM",
    "QOrderedMatMul",
    "QOrderedAttention",
];

/// The number format a model computes in: int8 where its products are of integers or its weights are kept as bytes
/// beside their scales, else the float type that most of its weights have; fp32 where it has none.
#[must_use]
pub fn native_precision(model: &Model) -> Precision {
    if is_quantised(&model.graph) {
        return Precision::Int8;
    }
    let numbers = |dtype: DataType| {
        let tensors = model.graph.tensors().into_iter();
        let sizes = tensors.filter(|tensor| tensor.dtype == dtype).map(|tensor| tensor.elements());
        sizes.fold(0usize, usize::saturating_add)
    };
    let [wide, fp16, bf16] = [DataType::Float, DataType::Float16, DataType::Bfloat16].map(numbers);
    if fp16 > wide && fp16 >= bf16 {
        Precision::Fp16
    } else if bf16 > wide {
        Precision::Bf16
    } else {
        Precision::Fp32
    }
}

fn is_quantised(graph: &Graph) -> bool {
    let bytes: HashSet<&str> = graph
        .initializers
        .iter()
        .filter(|tensor| matches!(tensor.dtype, DataType::Int8 | DataType::Uint8))
        .map(|tensor| tensor.name.as_str())
        .collect();
    // An exporter writes both around every operator; a table of bytes that is only looked up has no `QuantizeLinear`.
    let both = |node: &Node| node.op_type == "QuantizeLinear";
    let is_product = |name: &str| {
        graph.nodes.iter().any(|node| {
            matches!(node.op_type.as_str(), "MatMul" | "Gemm" | "Conv")
                && node.inputs.iter().any(|input| input == name)
        })
    };
    graph.nodes.iter().any(|node| {
        let weight = node.op_type == "DequantizeLinear"
            && node.input(0).is_some_and(|name| bytes.contains(name))
            && node.outputs.iter().any(|output| is_product(output));
        QUANTISED.contains(&node.op_type.as_str())
            || both(node)
            || weight
            || node.subgraphs().any(|(_, inner)| is_quantised(inner))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GraphBuilder, Tensor};

    fn with_weights(list: &[(DataType, usize)]) -> Model {
        let mut builder = GraphBuilder::new("g");
        for (index, (dtype, elements)) in list.iter().enumerate() {
            let bytes = vec![0; dtype.size(*elements) as usize];
            builder.initializer(Tensor::from_bytes(
                format!("w{index}"),
                *dtype,
                &[*elements],
                bytes,
            ));
        }
        builder.finish_model()
    }

    #[test]
    fn most_weights_decide_between_floats() {
        let native = |list: &[_]| native_precision(&with_weights(list));
        assert_eq!(native(&[]), Precision::Fp32);
        assert_eq!(native(&[(DataType::Float, 5), (DataType::Float16, 5)]), Precision::Fp32);
        assert_eq!(native(&[(DataType::Float, 4), (DataType::Float16, 5)]), Precision::Fp16);
        assert_eq!(native(&[(DataType::Float, 2), (DataType::Bfloat16, 5)]), Precision::Bf16);
        assert_eq!(native(&[(DataType::Float, 2), (DataType::Int64, 50)]), Precision::Fp32);
    }

    #[test]
    fn integer_products_and_quantised_weights_are_int8() {
        let mut builder = GraphBuilder::new("g");
        let x = builder.input("x", DataType::Uint8, &[2.into(), 2.into()]);
        builder.node("MatMulInteger", &[&x, &x], &[]);
        assert_eq!(native_precision(&builder.finish_model()), Precision::Int8);
        let dequantised = |op: &str| {
            let mut builder = GraphBuilder::new("g");
            let x = builder.input("x", DataType::Float, &[2.into(), 2.into()]);
            builder.initializer(Tensor::from_bytes("w", DataType::Int8, &[2, 2], vec![1; 4]));
            let scale = builder.scalar_f32(0.5);
            let weight = builder.node("DequantizeLinear", &["w", &scale], &[]);
            builder.node(op, &[&x, &weight], &[]);
            native_precision(&builder.finish_model())
        };
        assert_eq!(dequantised("MatMul"), Precision::Int8);
        assert_eq!(dequantised("Gather"), Precision::Fp32);
    }
}
