//! Every input as it really was.

use serde::Serialize;
use types::{ElementType, FedInput, InputRole, InputShape, Run};

/// One input in JSON.
#[derive(Debug, Clone, Serialize)]
pub(super) struct InputDocument<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    dtype: Option<ElementType>,
    dims: &'a [usize],
    role: Option<InputRole>,
    values: Option<&'a str>,
    given: bool,
}

/// The inputs of a run; of one that was stored before they were recorded, the shapes that somebody gave.
pub(super) fn inputs<'a>(run: &'a Run) -> Vec<InputDocument<'a>> {
    let given = &run.cell.inputs;
    if run.inputs.is_empty() {
        let document = |shape: &'a InputShape| {
            let InputShape { name, dims } = shape;
            InputDocument { name, dtype: None, dims, role: None, values: None, given: true }
        };
        return given.iter().map(document).collect();
    }
    let document = |input: &'a FedInput| {
        let FedInput { name, dtype, dims, role, values } = input;
        InputDocument {
            name,
            dtype: Some(*dtype),
            dims,
            role: Some(*role),
            values: Some(values),
            given: given.iter().any(|shape| shape.name == *name),
        }
    };
    run.inputs.iter().map(document).collect()
}
