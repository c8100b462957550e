//! From a model to the four graphs of a training step: forward, loss, backward, optimiser.
//!
//! Everything is written for concrete dims and of standard operators, so that an engine that runs the model can train
//! it. Values pass between the graphs by name: what the forward graph keeps is what the backward graph takes.
//!
//! - A weight is trained if the loss depends on it; it becomes an input of the graphs, wherever its bytes are.
//! - Only what a rule reads is kept, and with checkpointing only what lies between repeated modules.
//! - Looking up rows of a weight gives a gradient of those rows, not of the whole table.
//! - Batch normalisation uses the batch's own statistics; the running ones are not updated.
//! - An `If` whose branch is known before a run is replaced by that branch. Weights inside other bodies cannot be
//!   trained, which is said.
//! - An operator without a rule is named before anything runs, with all others of its kind.

mod activation;
mod attention;
mod checkpoint;
mod convolution;
mod emitter;
mod error;
mod inline;
mod layout;
mod loss;
mod normalise;
mod optimiser;
mod parameters;
mod patterns;
mod plan;
mod pointwise;
mod prepare;
mod products;
mod reduce;
mod reverse;
mod rows;
mod rules;
mod select;
mod sliding;
mod softmax;
mod tape;
mod training_form;
mod widen;
mod window;
mod write;

pub use error::{DifferentiateError, NoGradient};
pub use plan::{
    GradientForm, LabelSpec, Loss, MaskSpec, OptimizerKind, OptimizerScalar, PreparedValue,
    SavedValue, State, TrainedParameter, TrainingGraphs, TrainingPlan,
};

use crate::Model;
use checkpoint::Boundaries;
use emitter::Emitter;
use reverse::Reverse;
use tape::Tape;

/// The lowest operator set that the backward graph needs: adding updates came with 16.
const OPERATORS: i64 = 16;

/// Makes the graphs that train `model` when its inputs have these dims.
///
/// # Errors
/// Where the loss fits no output, no weight leads to it, a shape is unknown before a run, or an operator on the way
/// has no gradient.
pub fn differentiate(
    model: &Model,
    inputs: &[(String, Vec<usize>)],
    plan: &TrainingPlan,
) -> Result<TrainingGraphs, DifferentiateError> {
    if plan.spare_columns
        && let Some(graphs) = with_spare_columns(model, inputs, plan)
    {
        return Ok(graphs);
    }
    as_it_is(model, inputs, plan)
}

/// The graphs of the model with spare columns, where it has a place for them and they can be trained.
fn with_spare_columns(
    model: &Model,
    inputs: &[(String, Vec<usize>)],
    plan: &TrainingPlan,
) -> Option<TrainingGraphs> {
    let mut wide = widen::widen(model)?;
    let mut graphs = as_it_is(&wide.model, inputs, plan).ok()?;
    for parameter in &mut graphs.parameters {
        if let Some(own) = wide.own.remove(&parameter.name) {
            parameter.initializer = own;
        }
    }
    // A weight that is not trained would be a constant of the wrong size.
    wide.own.is_empty().then_some(graphs)
}

fn as_it_is(
    model: &Model,
    inputs: &[(String, Vec<usize>)],
    plan: &TrainingPlan,
) -> Result<TrainingGraphs, DifferentiateError> {
    let flat = inline::known_branches(model, inputs);
    let model = flat.as_ref().unwrap_or(model);
    let tape = Tape::new(model, inputs, plan)?;
    // Without nodes of the model in it, the backward graph is free to use later operators.
    let opset = match plan.checkpointing {
        true if tape.opset < OPERATORS => {
            let found = tape.opset;
            return Err(DifferentiateError::OldOperators { found, needed: OPERATORS });
        }
        true => tape.opset,
        false => tape.opset.max(loss::OPSET),
    };
    let taken = tape.values.keys().cloned().collect();
    let mut out = Emitter::new("backward", opset, taken);
    if plan.turned_first {
        out.turn_first();
    }
    let seed = out.fresh(&format!("{}_grad", tape.output));
    let boundaries = plan.checkpointing.then(|| Boundaries::new(&tape));
    let walked = Reverse::walk(&tape, out, boundaries, &seed)?;
    write::graphs(model, &tape, walked, plan, &seed)
}
