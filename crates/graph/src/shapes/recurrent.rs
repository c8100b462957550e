//! Recurrent layers.

use super::value::{Call, Value};

/// Outputs of a recurrent layer; `None` if it is not one or its dims are unknown.
pub(crate) fn infer(call: &Call<'_>) -> Option<Vec<Value>> {
    let op = call.node.op_type.as_str();
    if !matches!(op, "LSTM" | "GRU" | "RNN" | "DynamicQuantizeLSTM") {
        return None;
    }
    let layer = Recurrent::of(call)?;
    let dtype = call.dtype(0);
    let batch_first = call.int("layout", 0) == 1;
    let Recurrent { steps, batch, directions, hidden, .. } = layer;
    let (sequence, state) = if batch_first {
        (vec![batch, steps, directions, hidden], vec![batch, directions, hidden])
    } else {
        (vec![steps, directions, batch, hidden], vec![directions, batch, hidden])
    };
    let state = Value::new(dtype, state);
    Some(vec![Value::new(dtype, sequence), state.clone(), state])
}

/// The sizes of a recurrent layer.
pub(crate) struct Recurrent {
    pub(crate) steps: usize,
    pub(crate) batch: usize,
    pub(crate) input: usize,
    pub(crate) directions: usize,
    pub(crate) hidden: usize,
}

impl Recurrent {
    /// The sizes of the layer a node is.
    pub(crate) fn of(call: &Call<'_>) -> Option<Recurrent> {
        let &[first, second, input] = call.dims(0)? else { return None };
        let (steps, batch) =
            if call.int("layout", 0) == 1 { (second, first) } else { (first, second) };
        let directions = if call.node.text("direction") == Some("bidirectional") { 2 } else { 1 };
        let hidden = match call.node.int("hidden_size") {
            Some(hidden) => usize::try_from(hidden).ok()?,
            // The recurrent weights are [directions, gates × hidden, hidden].
            None => *call.dims(2)?.last()?,
        };
        Some(Recurrent { steps, batch, input, directions, hidden })
    }
}
