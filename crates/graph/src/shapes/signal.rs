//! Signal operators.

use super::{
    dims::axis,
    value::{Call, Value},
};
use crate::DataType;

/// Outputs of a signal operator; `None` if it is not one or its dims are unknown.
pub(crate) fn infer(call: &Call<'_>) -> Option<Vec<Value>> {
    match call.node.op_type.as_str() {
        "STFT" => call.like(0, short_time(call)),
        "DFT" => call.like(0, fourier(call)),
        "HannWindow" | "HammingWindow" | "BlackmanWindow" => {
            let number = i32::try_from(call.int("output_datatype", 1)).ok()?;
            let size = usize::try_from(*call.ints(0)?.first()?).ok()?;
            Some(vec![Value::new(DataType::try_from(number).ok()?, vec![size])])
        }
        _ => None,
    }
}

/// How many of the frequencies are kept.
fn bins(length: usize, onesided: bool) -> usize {
    if onesided { length / 2 + 1 } else { length }
}

fn short_time(call: &Call<'_>) -> Option<Vec<usize>> {
    let signal = call.dims(0)?;
    let step = usize::try_from(*call.ints(1)?.first()?).ok().filter(|step| *step > 0)?;
    let frame = match call.ints(3) {
        Some(list) => usize::try_from(*list.first()?).ok()?,
        None => *call.dims(2)?.first()?,
    };
    let frames = signal.get(1)?.checked_sub(frame)? / step + 1;
    Some(vec![signal[0], frames, bins(frame, call.int("onesided", 1) != 0), 2])
}

fn fourier(call: &Call<'_>) -> Option<Vec<usize>> {
    let mut dims = call.dims(0)?.to_vec();
    let place = match (call.ints(2), call.has(2)) {
        (Some(list), _) => *list.first()?,
        (None, true) => return None,
        (None, false) => call.int("axis", if call.node.int("axis").is_some() { 1 } else { -2 }),
    };
    let at = axis(place, dims.len())?;
    if call.has(1) {
        dims[at] = usize::try_from(*call.ints(1)?.first()?).ok()?;
    }
    let onesided = call.int("onesided", 0) != 0;
    (!(onesided && call.int("inverse", 0) != 0)).then_some(())?;
    dims[at] = bins(dims[at], onesided);
    *dims.last_mut()? = 2;
    Some(dims)
}
