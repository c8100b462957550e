//! Operators that slide a window: convolutions, pools, resizing.

use super::{Operation, product};

/// The operations of such an operator; `None` if it is not one or its shapes are unknown.
pub(crate) fn flops(operation: &Operation<'_>) -> Option<u64> {
    match operation.op() {
        "Conv" | "FusedConv" => convolve(operation, 1, Some(2)),
        "ConvInteger" => convolve(operation, 1, None),
        "QLinearConv" => convolve(operation, 3, Some(8)),
        "ConvTranspose" => {
            // Each element of the input meets the whole kernel of its group.
            let weight = operation.call.dims(1)?;
            let taps = product(weight.get(1..)?).saturating_mul(2);
            let bias = if operation.call.has(2) { operation.made()? } else { 0 };
            Some(operation.read(0)?.saturating_mul(taps).saturating_add(bias))
        }
        "MaxPool" | "AveragePool" | "LpPool" | "QLinearAveragePool" => {
            let kernel = operation.call.node.ints("kernel_shape")?;
            let window = kernel.iter().try_fold(1u64, |product, size| {
                Some(product.saturating_mul(u64::try_from(*size).ok()?))
            });
            Some(operation.made()?.saturating_mul(window?))
        }
        "Resize" | "Upsample" => resize(operation),
        "GridSample" => {
            let space = operation.call.dims(0)?.len().checked_sub(2)? as u32;
            let mode = operation.call.node.text("mode").unwrap_or("linear");
            Some(operation.made()?.saturating_mul(interpolate(mode, space)))
        }
        _ => None,
    }
}

/// Each element of the output meets the channels of its group under the whole kernel.
fn convolve(operation: &Operation<'_>, weight: usize, bias: Option<usize>) -> Option<u64> {
    let weight = operation.call.dims(weight)?;
    let taps = product(weight.get(1..)?).saturating_mul(2);
    let bias = u64::from(bias.is_some_and(|bias| operation.call.has(bias)));
    Some(operation.made()?.saturating_mul(taps.saturating_add(bias)))
}

/// A weighted sum of neighbours for each element of the output, over the axes that change.
fn resize(operation: &Operation<'_>) -> Option<u64> {
    let made = operation.outputs.first().copied().flatten()?.dims.as_deref()?;
    let data = operation.call.dims(0)?;
    let changed = data.iter().zip(made).filter(|(before, after)| before != after).count() as u32;
    let mode = operation.call.node.text("mode").unwrap_or("nearest");
    Some(product(made).saturating_mul(interpolate(mode, changed)))
}

/// Operations for one interpolated element over this many axes: a multiply-add a neighbour.
fn interpolate(mode: &str, axes: u32) -> u64 {
    match mode {
        "nearest" => 0,
        "cubic" | "bicubic" => 2u64.saturating_mul(4u64.saturating_pow(axes)),
        _ => 2u64.saturating_mul(2u64.saturating_pow(axes)),
    }
}
