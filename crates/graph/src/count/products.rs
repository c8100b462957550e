//! Operators made of multiply-adds: matrix products, attention, recurrent layers, Fourier transforms.

use super::{Operation, product};
use crate::shapes::{Heads, Recurrent, einsum};

/// The operations of such an operator; `None` if it is not one or its shapes are unknown.
pub(crate) fn flops(operation: &Operation<'_>) -> Option<u64> {
    match operation.op() {
        "MatMul" | "FusedMatMul" | "TransposeMatMul" | "MatMulInteger" | "QLinearMatMul"
        | "MatMulBnb4" | "MatMulFpQ4" => multiply(operation, None),
        "DynamicQuantizeMatMul" => multiply(operation, Some(4)),
        "MatMulIntegerToFloat" => multiply(operation, Some(6)),
        "MatMulNBits" => multiply(operation, Some(5)),
        "Gemm" | "FusedGemm" => multiply(operation, Some(2)),
        "QGemm" => multiply(operation, Some(6)),
        "Einsum" => contract(operation),
        "Attention" | "QAttention" | "MultiHeadAttention" | "GroupQueryAttention" => {
            attention(operation)
        }
        "LSTM" | "GRU" | "RNN" | "DynamicQuantizeLSTM" => recurrent(operation),
        "DFT" | "STFT" => fourier(operation),
        _ => None,
    }
}

/// A matrix product, 2 an element of the output and of the inner dimension; a bias, if that input is given, adds 1.
fn multiply(operation: &Operation<'_>, bias: Option<usize>) -> Option<u64> {
    let made = operation.made()?;
    let left = operation.call.dims(0)?;
    let turned = operation.call.int("transA", 0) != 0;
    let inner = if turned { left[left.len().checked_sub(2)?] } else { *left.last()? };
    let bias = u64::from(bias.is_some_and(|bias| operation.call.has(bias)));
    Some(made.saturating_mul((inner as u64).saturating_mul(2).saturating_add(bias)))
}

/// Every combination of labels once: a multiplication for each further operand, an addition where something is summed.
fn contract(operation: &Operation<'_>) -> Option<u64> {
    let (output, labels) = einsum(&operation.call)?;
    let all = product(&labels);
    let multiplications = (operation.call.inputs.len() as u64).saturating_sub(1);
    let additions = u64::from(all > product(&output));
    Some(all.saturating_mul(multiplications + additions))
}

/// Scores, softmax and the weighted sum; the packed operators also project queries, keys and values.
fn attention(operation: &Operation<'_>) -> Option<u64> {
    let call = &operation.call;
    let Heads { batch, heads, queries, keys, size, value_size, .. } = Heads::of(call)?;
    let square = product(&[batch, heads, queries, keys?]);
    // Products with keys and values, the scale, and 5 for the softmax.
    let both = (size as u64).saturating_add(value_size as u64);
    let each = both.saturating_mul(2).saturating_add(1 + 5);
    let core = square.saturating_mul(each);
    let packed = matches!(operation.op(), "Attention" | "QAttention") && !call.node.is_standard();
    if !packed {
        return Some(core);
    }
    let (&[_, _, width], &[_, columns]) = (call.dims(0)?, call.dims(1)?) else { return None };
    let rows = product(&[batch, queries, columns]);
    let bias = u64::from(call.has(2));
    Some(
        core.saturating_add(
            rows.saturating_mul((width as u64).saturating_mul(2).saturating_add(bias)),
        ),
    )
}

/// The gates' products with input and state, their biases, and the gates' own arithmetic.
fn recurrent(operation: &Operation<'_>) -> Option<u64> {
    let layer = Recurrent::of(&operation.call)?;
    // Gates; then operations a hidden unit: functions, products and sums of the cell's formulas.
    let (gates, own) = match operation.op() {
        "GRU" => (3u64, 8),
        "RNN" => (1, 1),
        _ => (4, 9),
    };
    let bias = if operation.call.has(3) { 2 } else { 0 };
    let width = (layer.input as u64).saturating_add(layer.hidden as u64);
    let gate = width.saturating_mul(2).saturating_add(bias);
    let unit = gates.saturating_mul(gate).saturating_add(own);
    let units = product(&[layer.steps, layer.batch, layer.directions, layer.hidden]);
    Some(units.saturating_mul(unit))
}

/// A fast transform of n points is 5 · n · log₂ n, by custom.
fn fourier(operation: &Operation<'_>) -> Option<u64> {
    let made = operation.outputs.first().copied().flatten()?.dims.as_deref()?;
    let (points, transforms) = if operation.op() == "STFT" {
        let frame = match operation.call.ints(3) {
            Some(list) => usize::try_from(*list.first()?).ok()?,
            None => *operation.call.dims(2)?.first()?,
        };
        (frame, product(made.get(..2)?))
    } else {
        let input = operation.call.dims(0)?;
        // The transformed axis is the one that may have changed; the last one holds real and imaginary parts.
        let at = (0..input.len().checked_sub(1)?).find(|at| input[*at] != made[*at]);
        let points = input[at.unwrap_or(1.min(input.len() - 1))];
        (points, product(&input[..input.len() - 1]) / (points as u64).max(1))
    };
    let one = 5.0 * points as f64 * (points.max(1) as f64).log2();
    Some(transforms.saturating_mul(one.round() as u64))
}
