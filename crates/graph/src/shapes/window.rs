//! Operators that slide a window over space: convolutions, pools, resizing.

use super::{
    dims::{axes, sizes},
    value::Call,
    value::Value,
};
use crate::DataType;

/// Outputs of a window operator; `None` if it is not one or its dims are unknown.
pub(crate) fn infer(call: &Call<'_>) -> Option<Vec<Value>> {
    match call.node.op_type.as_str() {
        "Conv" | "FusedConv" => call.like(0, conv(call, 0, 1)),
        "ConvInteger" => Some(vec![Value::new(DataType::Int32, conv(call, 0, 1)?)]),
        "QLinearConv" => Some(vec![Value::new(call.dtype(7), conv(call, 0, 3)?)]),
        "ConvTranspose" => call.like(0, conv_transpose(call)),
        "MaxPool" | "AveragePool" | "LpPool" | "QLinearAveragePool" => {
            let dims = pool(call)?;
            let indices = Value::new(DataType::Int64, dims.clone());
            Some(vec![Value::new(call.dtype(0), dims), indices])
        }
        "GlobalAveragePool" | "GlobalMaxPool" | "GlobalLpPool" | "QLinearGlobalAveragePool" => {
            let mut dims = call.dims(0)?.to_vec();
            dims.get_mut(2..)?.fill(1);
            call.like(0, Some(dims))
        }
        "Resize" | "Upsample" => call.like(0, resize(call)),
        "GridSample" => {
            let (data, grid) = (call.dims(0)?, call.dims(1)?);
            let mut dims = data.get(..2)?.to_vec();
            dims.extend(grid.get(1..grid.len().checked_sub(1)?)?);
            call.like(0, Some(dims))
        }
        "RoiAlign" => {
            let (data, rois) = (call.dims(0)?, call.dims(1)?);
            let size = |name| usize::try_from(call.int(name, 1)).ok();
            let dims =
                vec![*rois.first()?, *data.get(1)?, size("output_height")?, size("output_width")?];
            call.like(0, Some(dims))
        }
        _ => None,
    }
}

/// The arguments of a window along each axis of space.
struct Window {
    kernel: Vec<usize>,
    strides: Vec<usize>,
    dilations: Vec<usize>,
    pads: Vec<i64>,
}

impl Window {
    fn of(call: &Call<'_>, kernel: Vec<usize>) -> Option<Window> {
        let space = kernel.len();
        let list = |name: &str| match call.node.ints(name) {
            Some(values) => sizes(values).filter(|v| v.len() == space && !v.contains(&0)),
            None => Some(vec![1; space]),
        };
        let pads = call.node.ints("pads").map_or_else(|| vec![0; space * 2], <[i64]>::to_vec);
        (pads.len() == space * 2).then_some(())?;
        Some(Window { strides: list("strides")?, dilations: list("dilations")?, pads, kernel })
    }

    /// How far the window reaches along an axis.
    fn reach(&self, at: usize) -> i64 {
        let kernel = i64::try_from(self.kernel[at]).unwrap_or(i64::MAX);
        let dilation = i64::try_from(self.dilations[at]).unwrap_or(i64::MAX);
        kernel.saturating_sub(1).saturating_mul(dilation).saturating_add(1)
    }

    /// How often the window fits along an axis of this size.
    fn places(&self, call: &Call<'_>, at: usize, size: usize) -> Option<usize> {
        let stride = i64::try_from(self.strides[at]).ok()?;
        let size = i64::try_from(size).ok()?;
        let auto = call.node.text("auto_pad").unwrap_or("NOTSET");
        let pads = self.pads[at].checked_add(self.pads[at + self.kernel.len()])?;
        let places = match auto {
            "SAME_UPPER" | "SAME_LOWER" => size.checked_add(stride - 1)? / stride,
            _ => {
                let pads = if auto == "VALID" { 0 } else { pads };
                let room = size.checked_add(pads)?.checked_sub(self.reach(at))?;
                (room >= 0).then_some(())?;
                if call.int("ceil_mode", 0) == 1 {
                    let places = room.checked_add(stride - 1)? / stride + 1;
                    // A window may not begin in the padding behind the end.
                    let last = (places - 1).checked_mul(stride)?;
                    if last >= size.checked_add(self.pads[at])? { places - 1 } else { places }
                } else {
                    room / stride + 1
                }
            }
        };
        usize::try_from(places).ok()
    }
}

fn conv(call: &Call<'_>, data: usize, weight: usize) -> Option<Vec<usize>> {
    let (data, weight) = (call.dims(data)?, call.dims(weight)?);
    (data.len() >= 3 && data.len() == weight.len()).then_some(())?;
    let window = Window::of(call, weight[2..].to_vec())?;
    let mut dims = vec![data[0], weight[0]];
    for (at, size) in data[2..].iter().enumerate() {
        dims.push(window.places(call, at, *size)?);
    }
    Some(dims)
}

fn pool(call: &Call<'_>) -> Option<Vec<usize>> {
    let data = call.dims(0)?;
    let kernel = sizes(call.node.ints("kernel_shape")?)?;
    (data.len() == kernel.len() + 2).then_some(())?;
    let window = Window::of(call, kernel)?;
    let mut dims = data[..2].to_vec();
    for (at, size) in data[2..].iter().enumerate() {
        dims.push(window.places(call, at, *size)?);
    }
    Some(dims)
}

fn conv_transpose(call: &Call<'_>) -> Option<Vec<usize>> {
    let (data, weight) = (call.dims(0)?, call.dims(1)?);
    (data.len() >= 3 && data.len() == weight.len()).then_some(())?;
    let window = Window::of(call, weight[2..].to_vec())?;
    let group = usize::try_from(call.int("group", 1)).ok()?;
    let space = data.len() - 2;
    let extra = call.node.ints("output_padding").map_or_else(|| vec![0; space], <[i64]>::to_vec);
    let asked = call.node.ints("output_shape");
    let mut dims = vec![data[0], weight[1].checked_mul(group)?];
    for at in 0..space {
        if let Some(asked) = asked {
            let skip = asked.len().checked_sub(space)?;
            dims.push(usize::try_from(asked[skip + at]).ok()?);
            continue;
        }
        let size = i64::try_from(data[2 + at]).ok()?;
        let stride = i64::try_from(window.strides[at]).ok()?;
        let auto = call.node.text("auto_pad").unwrap_or("NOTSET");
        let length = if auto.starts_with("SAME") {
            size.checked_mul(stride)?
        } else {
            let both = window.pads[at].checked_add(window.pads[at + space])?;
            let pads = if auto == "VALID" { 0 } else { both };
            let full = stride.checked_mul(size.checked_sub(1)?)?.checked_add(window.reach(at))?;
            full.checked_add(*extra.get(at)?)?.checked_sub(pads)?
        };
        dims.push(usize::try_from(length).ok()?);
    }
    Some(dims)
}

fn resize(call: &Call<'_>) -> Option<Vec<usize>> {
    let data = call.dims(0)?;
    let over = match call.node.ints("axes") {
        Some(list) => axes(list, data.len())?,
        None => (0..data.len()).collect(),
    };
    if call.has(3) {
        let wanted = sizes(&call.ints(3)?)?;
        (wanted.len() == over.len()).then_some(())?;
        let mut dims = data.to_vec();
        for (at, size) in over.iter().zip(&wanted) {
            dims[*at] = *size;
        }
        let policy = call.node.text("keep_aspect_ratio_policy").unwrap_or("stretch");
        return (policy == "stretch").then_some(dims);
    }
    // Operator set 10 had the scales as the second input; later ones have the region there.
    let from_attribute = match call.node.attributes.get("scales") {
        Some(crate::Attribute::Floats(scales)) => {
            Some(scales.iter().map(|scale| f64::from(*scale)).collect())
        }
        _ => None,
    };
    let place = if call.inputs.len() == 2 { 1 } else { 2 };
    let scales: Vec<f64> = from_attribute.or_else(|| call.numbers(place).map(<[f64]>::to_vec))?;
    (scales.len() == over.len()).then_some(())?;
    let mut dims = data.to_vec();
    for (at, scale) in over.iter().zip(&scales) {
        dims[*at] = (dims[*at] as f64 * scale).floor() as usize;
    }
    Some(dims)
}
