//! Every input as it really was.

use schemars::JsonSchema;
use serde::Serialize;
use types::{ElementType, FedInput, InputRole, InputShape, Run};

/// One input.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct InputDocument<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    dtype: Option<ElementType>,
    dims: &'a [usize],
    /// What it means.
    role: Option<InputRole>,
    /// The source of its values, as text.
    values: Option<&'a str>,
    /// Whether its shape was given.
    given: bool,
}

/// The inputs of a run; for older runs without recorded inputs, the shapes that the user gave.
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
